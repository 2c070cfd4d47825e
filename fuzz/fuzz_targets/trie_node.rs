//! Any bytes are a stored node of a trie or an error; what is one encodes to the same bytes. The
//! first two bytes choose the format and the length of the node's path.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trie::{Format, NodeKey, Path, StoredNode};

fuzz_target!(|input: &[u8]| {
    let [format, depth, bytes @ ..] = input else { return };
    let format = match *format {
        0 => Format::All,
        251..=253 => Format::Branches,
        254.. => Format::RethLike,
        rows => Format::cut(rows).expect("in range"),
    };
    let path = Path::of_nibbles((0..depth % 65).map(|nibble| nibble % 16)).expect("at most 64");
    for key in [NodeKey::Top, NodeKey::Node(path)] {
        if let Ok(node) = StoredNode::decode(format, &key, bytes) {
            assert_eq!(node.encode(format), bytes);
        }
    }
});
