//! Expected numbers and bytes of nodes are near those of built tries.

use std::collections::BTreeMap;

use alloy_primitives::keccak256;
use trie::{EMPTY_ROOT, Format, MemoryTrie};

use crate::oracle::formats;

/// Bytes of a slot's value in its leaf.
const VALUE_BYTES: u64 = 33;

/// Returns the number and bytes of the nodes of `row_count` rows: expected, and found.
fn both(format: Format, row_count: u64) -> [(f64, f64); 2] {
    let value = [0xa0_u8; VALUE_BYTES as usize];
    let rows = (0..row_count).map(|i| (keccak256(i.to_be_bytes()), value.to_vec()));
    let (trie, _) = MemoryTrie::build(format, rows.collect::<BTreeMap<_, _>>()).expect("rows");
    let bytes: usize = trie.nodes.values().map(Vec::len).sum();
    let found = (trie.nodes.len() as f64, bytes as f64);
    let expected = format.expected_nodes(row_count, VALUE_BYTES);
    [(expected.count, expected.bytes), found]
}

#[test]
fn nodes_of_hashed_rows_are_as_many_and_as_large_as_expected() {
    // Sixteen times the rows have one level more: these counts are spread over a whole level.
    for row_count in [2_000, 4_300, 9_000, 17_000, 33_000] {
        for format in formats() {
            let [expected, found] = both(format, row_count);
            // A cut has some twenty nodes for 2,000 rows: an allowance of hundreds would hide all
            // of them.
            let near_count = (expected.0 - found.0).abs() <= (0.06 * found.0).max(1.5);
            let near_bytes = (expected.1 - found.1).abs() <= 0.06 * found.1 + 300.0;
            assert!(
                near_count && near_bytes,
                "{format:?} of {row_count} rows: expected {expected:?}, found {found:?}"
            );
        }
    }
}

#[test]
fn sixteen_times_the_rows_have_as_many_bytes_a_row() {
    for format in formats() {
        let per_row = |rows: u64| format.expected_nodes(rows, VALUE_BYTES).bytes / rows as f64;
        assert!((per_row(8_000_000) / per_row(128_000_000) - 1.0).abs() < 0.01, "{format:?}");
    }
    let cut = Format::cut(16).expect("a cut");
    let per_row = |rows: u64| cut.expected_nodes(rows, VALUE_BYTES).bytes / rows as f64;
    // With rows just above the cut, each branch of a level is stored for its few rows. With more
    // rows, many share such a branch.
    assert!(per_row(2_000_000) > 3.0 * per_row(8_000_000));
}

#[test]
fn no_rows_have_no_nodes() {
    let (trie, root) = MemoryTrie::build(Format::Branches, BTreeMap::new()).expect("no rows");
    assert_eq!((trie.nodes.len(), root), (0, EMPTY_ROOT));
    assert!(formats().iter().all(|format| format.expected_nodes(0, 33).count == 0.0));
}
