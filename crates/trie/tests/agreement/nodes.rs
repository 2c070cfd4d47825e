//! Stored nodes decode and encode to the same bytes, and wrong bytes are refused.

use proptest::prelude::*;
use trie::{Format, MemoryTrie, NodeError, NodeKey, Path, Reference, StoredNode};

use crate::oracle::{formats, rows};

fn check(format: Format, key: &NodeKey, bytes: &[u8]) {
    if let Ok(node) = StoredNode::decode(format, key, bytes) {
        assert_eq!(node.encode(format), bytes, "{format:?} {key:?} {node:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nodes_are_read_back_as_they_were_written(
        rows in rows(40),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 8),
    ) {
        for format in formats() {
            let (trie, _) = MemoryTrie::build(format, rows.clone()).expect("rows");
            for (key, bytes) in &trie.nodes {
                let node = StoredNode::decode(format, key, bytes).expect("a node");
                prop_assert_eq!(&node.encode(format), bytes);
                for (place, byte) in &flips {
                    let mut other = bytes.clone();
                    other[place.index(bytes.len())] = *byte;
                    check(format, key, &other);
                }
                prop_assert!(StoredNode::decode(format, key, &bytes[..bytes.len() - 1]).is_err());
                prop_assert!(StoredNode::decode(format, key, &[bytes, &[0x80][..]].concat()).is_err());
            }
        }
    }

    #[test]
    fn any_bytes_are_a_node_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        depth in 0_usize..=64,
    ) {
        let path = Path::of_nibbles((0..depth).map(|nibble| nibble as u8 % 16)).expect("64");
        for format in formats() {
            [NodeKey::Top, NodeKey::Node(path)].iter().for_each(|key| check(format, key, &bytes));
        }
    }
}

#[test]
fn nodes_that_no_trie_has_are_refused() {
    let root = NodeKey::Node(Path::ROOT);
    let decode = |format, bytes: &[u8]| StoredNode::decode(format, &root, bytes).map(|_| ());
    let hash = [&[0xa0][..], &[7; 32]].concat();
    let cut = Format::cut(2).expect("in range");
    let branch = |mask: [u8; 2], children: &[&[u8]]| [&mask[..], &children.concat()].concat();
    let stored = [&[0][..], &hash].concat();
    let small = |rows: u8| [&[rows][..], &hash].concat();
    assert_eq!(decode(cut, &branch([0, 3], &[&stored, &small(2)])), Ok(()));
    assert_eq!(decode(cut, &branch([0, 1], &[&stored])), Err(NodeError::Shape));
    assert_eq!(decode(cut, &branch([0, 3], &[&stored, &small(3)])), Err(NodeError::Kind));
    // Two rows are below the cut: no such branch is stored.
    assert_eq!(decode(cut, &branch([0, 3], &[&small(1), &small(1)])), Err(NodeError::Kind));
    assert_eq!(decode(Format::RethLike, &branch([0, 3], &[&[1], &[1]])), Err(NodeError::Kind));
    let below = |nibbles: u8, path: &[u8]| [&[0xff, nibbles][..], path, &hash].concat();
    assert_eq!(decode(cut, &branch([0, 3], &[&stored, &below(1, &[0x10])])), Ok(()));
    for wrong in [below(1, &[0x11]), below(0, &[]), below(63, &[0x11; 32])] {
        let node = branch([0, 3], &[&stored, &wrong]);
        assert_eq!(decode(cut, &node), Err(NodeError::Path), "{wrong:?}");
    }
    assert!(StoredNode::decode(Format::All, &NodeKey::Top, &stored).is_err());
    let all = |bytes: &[u8]| decode(Format::All, bytes);
    assert_eq!(all(&[0xc2, 0x20, 0x05]), Err(NodeError::Path), "a leaf ends at 64 nibbles");
    assert_eq!(all(&[0xc2, 0x00, 0x05]), Err(NodeError::Path), "an extension has a nibble");
    assert_eq!(all(&[0xc3, 0x20, 0x81, 0x05]), Err(NodeError::Rlp), "the shortest form");
    assert_eq!(all(&[0xc1, 0x20]), Err(NodeError::ItemCount));
    assert_eq!(all(&[0x83, 1, 2, 3]), Err(NodeError::Rlp));
    let value = [&[0xd5, 0xc2, 0x31, 1, 0xc2, 0x31, 2][..], &[0x80; 14], &[5]].concat();
    assert_eq!(all(&value), Err(NodeError::Shape), "a branch has no value");
    let long = Path::of_nibbles([1; 64]).expect("64");
    let at = |len| NodeKey::Node(long.prefix(len));
    assert!(StoredNode::decode(Format::All, &at(64), &[0xc2, 0x20, 0x05]).is_ok());
    assert!(StoredNode::decode(cut, &at(64), &branch([0, 3], &[&stored, &stored])).is_err());
}

#[test]
fn a_node_tells_its_children() {
    let (trie, _) = MemoryTrie::build(Format::All, crate::oracle::hashed(500)).expect("rows");
    let root = NodeKey::Node(Path::ROOT);
    let node = StoredNode::decode(Format::All, &root, &trie.nodes[&root]).expect("a node");
    assert_eq!(node.child_count(), Some(16));
    assert_eq!(Reference::of_rlp(&trie.nodes[&root]).as_slice().len(), 33);
}
