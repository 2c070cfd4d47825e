//! Any bytes are a genesis and a chain of RLP on it, or an error. The first byte chooses the one that is
//! fuzzed; the other is whole.
#![no_main]

use generator::import::{NamedStream, NamedText, chain};
use libfuzzer_sys::fuzz_target;

const GENESIS: &str = include_str!("../../fixtures/early/genesis.json");
const CHAIN: &[u8] = include_bytes!("../../fixtures/early/chain.rlp");

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let (genesis, mut source) = match choice % 2 {
        0 => (GENESIS, bytes),
        _ => (std::str::from_utf8(bytes).unwrap_or_default(), CHAIN),
    };
    let text = NamedText { name: "genesis.json", text: genesis };
    let stream = NamedStream { name: "chain.rlp", source: &mut source };
    drop(chain(text, stream, 1..=u64::MAX, || ()));
});
