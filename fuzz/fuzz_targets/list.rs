//! Any bytes are a list or an error; a list encodes to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::list::{ListBounds, ListIndex};

fuzz_target!(|bytes: &[u8]| {
    let bounds = ListBounds {
        last_index: 1_000,
        gas_limit: 60_000_000,
        free_item_count: 502,
        surplus_item_count: 0,
        max_code_bytes: 1 << 16,
    };
    if let Ok(list) = ListIndex::decode(bytes, &bounds) {
        assert_eq!(&list.encode()[..], bytes);
    }
});
