//! Any bytes are a workload file or an error, with the checksum made right so that the fuzzer
//! gets behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::file;

fuzz_target!(|body: &[u8]| {
    drop(file::decode(body));
    let mut bytes = Vec::from(file::MAGIC);
    bytes.extend(file::FORMAT_VERSION.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes.extend(blake3::hash(body).as_bytes());
    if let Ok(workload) = file::decode(&bytes) {
        assert_eq!(file::encode(&workload).ok(), Some(bytes));
    }
});
