//! Tries built from rows have the root of the reference, and joined parts are the same trie.

use alloy_primitives::{B256, U256, keccak256};
use alloy_rlp::{Encodable, RlpEncodable};
use alloy_trie::root::ordered_trie_root_with_encoder;
use proptest::prelude::*;
use trie::{AccountValue, Builder, EMPTY_ROOT, Error, Format, MemoryTrie, Nodes, Path, SlotValue};

use crate::oracle::{State, formats, hashed, root, rows};

fn built(rows: &State) -> B256 {
    let mut builder = Builder::root_only();
    rows.iter().for_each(|(key, value)| builder.push(key.as_slice(), value).expect("in order"));
    builder.finish().expect("no sink").root
}

/// Builds a trie from parts, one below each path of `depth` nibbles.
fn joined(format: Format, rows: &State, depth: usize) -> (B256, Nodes) {
    let mut parts: Vec<(Path, Builder<Nodes>)> = Vec::new();
    for (key, value) in rows {
        let path = Path::of_key(key).prefix(depth);
        if parts.last().is_none_or(|(last, _)| *last != path) {
            parts.push((path, Builder::below(path, format, Nodes::default())));
        }
        let (_, builder) = parts.last_mut().expect("one");
        builder.push(key.as_slice(), value).expect("in order");
    }
    let mut nodes = Nodes::default();
    let mut subtrees = Vec::new();
    for (path, builder) in parts {
        let built = builder.finish_floating().expect("no sink");
        nodes.append(&built.sink);
        assert!(built.root.path().expect("a row").starts_with(&path));
        subtrees.push(built.root);
    }
    let mut builder = Builder::new(format, Nodes::default());
    subtrees.iter().for_each(|subtree| builder.push_floating(subtree).expect("in order"));
    let top = builder.finish().expect("no sink");
    nodes.append(&top.sink);
    (top.root, nodes)
}

fn check_joins(format: Format, rows: &State, depth: usize) {
    let (whole, root) = MemoryTrie::build(format, rows.clone()).expect("rows");
    let (joined, nodes) = joined(format, rows, depth);
    assert_eq!(joined, root, "{format:?} {depth}");
    let nodes: Vec<_> = nodes.iter().map(|(key, node)| (*key, node.to_vec())).collect();
    assert_eq!(nodes.len(), whole.nodes.len(), "{format:?} {depth}");
    assert!(nodes.into_iter().all(|(key, node)| whole.nodes.get(&key) == Some(&node)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn a_built_trie_has_the_root_of_the_reference(rows in rows(60)) {
        let expected = root(&rows);
        prop_assert_eq!(built(&rows), expected);
        for format in formats() {
            let (_, root) = MemoryTrie::build(format, rows.clone()).expect("rows");
            prop_assert_eq!(root, expected, "{:?}", format);
        }
    }

    #[test]
    fn parts_of_any_depth_join_to_the_same_trie(rows in rows(40), depth in 0_usize..63) {
        formats().into_iter().for_each(|format| check_joins(format, &rows, depth));
    }
}

#[test]
fn many_rows_are_hashed_piece_by_piece() {
    let rows = hashed(20_000);
    let expected = root(&rows);
    assert_eq!(built(&rows), expected);
    for format in formats() {
        let (trie, root) = MemoryTrie::build(format, rows.clone()).expect("rows");
        assert_eq!(root, expected, "{format:?}");
        assert!(!trie.nodes.is_empty());
        [1, 2].into_iter().for_each(|depth| check_joins(format, &rows, depth));
    }
}

#[test]
fn a_cut_has_a_record_for_each_branch_over_more_rows_and_for_no_other() {
    let rows = hashed(5_000);
    for limit in [1, 8, 100] {
        let (trie, _) =
            MemoryTrie::build(Format::cut(limit).expect("in range"), rows.clone()).expect("rows");
        for depth in 0..6 {
            let mut above = std::collections::BTreeMap::new();
            for key in rows.keys() {
                *above.entry(Path::of_key(key).prefix(depth)).or_insert(0) += 1;
            }
            for (path, count) in above {
                // A path over one child only is no branch.
                let next = |key: &&B256| Path::of_key(key).prefix(depth + 1);
                let range = rows.range(path.first_key()..=path.last_key()).map(|(key, _)| key);
                let (first, last) = (range.clone().next(), range.clone().next_back());
                let is_branch = first.as_ref().map(next) != last.as_ref().map(next);
                let is_stored = trie.nodes.contains_key(&trie::NodeKey::Node(path));
                assert_eq!(is_stored, is_branch && count > usize::from(limit), "{path} {count}");
            }
        }
    }
}

#[test]
fn lists_have_keys_of_several_lengths() {
    for count in [0, 1, 2, 16, 127, 128, 129, 256, 300] {
        let values: Vec<Vec<u8>> = (0..count).map(|i| vec![(i % 251) as u8; i % 700 + 1]).collect();
        let mut rows: Vec<_> = values.iter().enumerate().collect();
        rows.sort_by_key(|(index, _)| alloy_rlp::encode(index));
        let mut builder = Builder::root_only();
        for (index, value) in rows {
            builder.push(&alloy_rlp::encode(index), value).expect("in order");
        }
        let expected =
            ordered_trie_root_with_encoder(&values, |value, out| out.extend_from_slice(value));
        assert_eq!(builder.finish().expect("no sink").root, expected, "{count}");
    }
}

/// An account of the yellow paper, encoded without the code under test.
#[derive(RlpEncodable)]
struct Account {
    nonce: u64,
    balance: U256,
    storage_root: B256,
    code_hash: B256,
}

#[test]
fn a_state_of_accounts_with_slots_has_the_root_of_the_reference() {
    let mut ours = State::new();
    let mut reference = State::new();
    for index in 0..300_u64 {
        let mut slots = State::new();
        let mut slot_rows = State::new();
        for slot in 0..index % 40 {
            let key = keccak256(U256::from(slot).to_be_bytes::<32>());
            let value = U256::from(slot * index) << (slot % 5 * 50);
            if let Some(slot) = SlotValue::new(&value) {
                slots.insert(key, slot.as_slice().to_vec());
                slot_rows.insert(key, alloy_rlp::encode(value));
            }
        }
        let key = keccak256(index.to_be_bytes());
        let (nonce, balance) = (index * 977, U256::from(index) << (index % 200));
        let code_hash = keccak256([index as u8]);
        let account = AccountValue { nonce, balance, storage_root: built(&slots), code_hash };
        let mut value = Vec::new();
        account.encode_to(&mut value);
        ours.insert(key, value);
        let account = Account { nonce, balance, storage_root: root(&slot_rows), code_hash };
        let mut value = Vec::new();
        account.encode(&mut value);
        reference.insert(key, value);
    }
    assert_eq!(built(&ours), root(&reference));
}

#[test]
fn wrong_rows_are_refused() {
    let key = |byte| B256::repeat_byte(byte);
    let pushed = |rows: &[(&[u8], &[u8])]| {
        let mut builder = Builder::root_only();
        rows.iter().try_for_each(|(key, value)| builder.push(key, value))
    };
    let (one, two) = (key(1), key(2));
    assert!(matches!(pushed(&[(&two[..], b"b"), (&one[..], b"a")]), Err(Error::Unsorted { .. })));
    assert!(matches!(pushed(&[(&one[..], b"a"), (&one[..], b"a")]), Err(Error::Duplicate { .. })));
    assert!(matches!(pushed(&[(b"a", b"a"), (b"ab", b"a")]), Err(Error::Prefix { .. })));
    assert!(matches!(pushed(&[(b"ab", b"a"), (b"a", b"a")]), Err(Error::Prefix { .. })));
    assert!(matches!(pushed(&[(b"a", b"")]), Err(Error::EmptyValue { .. })));
    assert!(matches!(pushed(&[(&[1; 33], b"a")]), Err(Error::LongKey { bytes: 33 })));
    let below = Path::of_nibbles([1]).expect("short");
    let mut builder = Builder::below(below, Format::Branches, ());
    assert!(builder.push(&key(0x10)[..], b"a").is_ok());
    assert!(matches!(builder.push(&key(0x20)[..], b"a"), Err(Error::Outside { .. })));
    assert!(Format::cut(0).is_err() && Format::cut(251).is_err());
    assert_eq!(Builder::root_only().finish().expect("empty").root, EMPTY_ROOT);
}
