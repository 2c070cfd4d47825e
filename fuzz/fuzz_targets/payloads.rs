//! Any bytes are lines of Engine payloads or an error. The genesis has a fork at each time from 0 to 7.
#![no_main]

use generator::import::{NamedStream, NamedText, payloads};
use libfuzzer_sys::fuzz_target;

const GENESIS: &str = r#"{"difficulty": 0, "gasLimit": 30000000, "alloc": {}, "config": {"chainId": 1,
    "londonBlock": 0, "terminalTotalDifficulty": 0, "shanghaiTime": 1, "cancunTime": 2, "pragueTime": 3,
    "osakaTime": 4, "bpo1Time": 5, "bpo2Time": 6, "amsterdamTime": 7}}"#;

fuzz_target!(|input: &[u8]| {
    let text = NamedText { name: "genesis.json", text: GENESIS };
    let stream = NamedStream { name: "payloads.txt", source: &mut &*input };
    drop(payloads(text, stream, 1..=u64::MAX, || ()));
});
