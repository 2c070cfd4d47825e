//! Any bytes are a stored node of a trie or an error; what is one encodes to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trie::{Format, NodeKey, Path, StoredNode};

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (format, depth, bytes) = input;
    let format = match format % 4 {
        0 => Format::All,
        1 => Format::RethLike,
        2 => Format::Branches,
        _ => Format::cut(format.clamp(1, 250)).expect("in range"),
    };
    let path = Path::of_nibbles((0..depth % 65).map(|nibble| nibble % 16)).expect("at most 64");
    for key in [NodeKey::Top, NodeKey::Node(path)] {
        if let Ok(node) = StoredNode::decode(format, &key, bytes) {
            assert_eq!(node.encode(format), bytes);
        }
    }
});
