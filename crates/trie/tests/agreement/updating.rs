//! Stored tries after writes: the same roots and the same nodes as tries built anew.

use std::collections::BTreeMap;

use alloy_primitives::{B256, keccak256};
use proptest::prelude::*;
use trie::{
    EMPTY_ROOT, Error, Format, Found, MemoryTrie, NodeKey, Plan, Reading, Rows, Source, Update,
    guess_nodes, join, update,
};

use crate::oracle::{as_rows, check_update, formats, hashed, root, rows, update_by, writes};

pub(crate) const SHARD_COUNTS: [Option<u8>; 5] = [None, Some(1), Some(2), Some(3), Some(16)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn writes_lead_to_the_trie_that_is_built_anew(
        rows in rows(40),
        batches in prop::collection::vec(writes(20), 1..4),
    ) {
        for format in formats() {
            for shard_count in SHARD_COUNTS {
                let (mut trie, _) = MemoryTrie::build(format, rows.clone()).expect("rows");
                for batch in &batches {
                    trie = check_update(format, shard_count, &trie, &as_rows(batch));
                }
            }
        }
    }

    /// Deletes leave little, so that most branches collapse.
    #[test]
    fn deletes_collapse_branches_to_what_is_left(
        rows in rows(24),
        kept in prop::collection::vec(any::<bool>(), 24),
    ) {
        let deletes: Vec<_> = rows.keys().zip(kept).filter(|(_, kept)| !kept).collect();
        let deletes = as_rows(&deletes.into_iter().map(|(key, _)| (*key, None)).collect::<Vec<_>>());
        for format in formats() {
            let (trie, _) = MemoryTrie::build(format, rows.clone()).expect("rows");
            for shard_count in SHARD_COUNTS {
                check_update(format, shard_count, &trie, &deletes);
            }
        }
    }
}

#[test]
fn large_tries_are_updated_in_every_format_and_shard_count() {
    let rows = hashed(6_000);
    let mut writes = BTreeMap::new();
    for index in 0..900_u64 {
        let value = keccak256((index + 7).to_le_bytes()).to_vec();
        // Updates, inserts, deletes of rows that are there and of rows that are not.
        writes.insert(keccak256((index * 9).to_be_bytes()), (index % 3 > 0).then_some(value));
    }
    let writes: Vec<_> = writes.into_iter().collect();
    for format in formats() {
        let (trie, _) = MemoryTrie::build(format, rows.clone()).expect("rows");
        for shard_count in SHARD_COUNTS {
            check_update(format, shard_count, &trie, &as_rows(&writes));
        }
    }
}

#[test]
fn a_trie_grows_from_nothing_and_is_deleted_to_nothing() {
    let rows = hashed(300);
    let inserts: Vec<_> = rows.iter().map(|(key, value)| (*key, Some(value.clone()))).collect();
    let deletes: Vec<_> = rows.keys().map(|key| (*key, None)).collect();
    for format in formats() {
        for shard_count in SHARD_COUNTS {
            let full =
                check_update(format, shard_count, &MemoryTrie::default(), &as_rows(&inserts));
            assert_eq!(full.rows, rows);
            let empty = check_update(format, shard_count, &full, &as_rows(&deletes));
            assert_eq!(empty, MemoryTrie::default());
            let again = update_by(format, shard_count, &as_rows(&deletes), &empty).expect("empty");
            assert_eq!((again.root, again.deleted.len()), (EMPTY_ROOT, 0));
        }
    }
}

#[test]
fn no_writes_leave_all_as_it_is() {
    for count in [0, 1, 2, 40, 1_000] {
        let rows = hashed(count);
        for format in formats() {
            let (trie, root) = MemoryTrie::build(format, rows.clone()).expect("rows");
            for shard_count in SHARD_COUNTS {
                let folded = update_by(format, shard_count, &Rows::default(), &trie);
                let folded = folded.expect("a trie");
                assert_eq!((folded.root, folded.deleted.len()), (root, 0), "{format:?} {count}");
            }
        }
    }
}

/// A cut reads only rows below the cut, and the format of all nodes reads no row. Each format reads
/// only nodes that `guess_nodes` lists.
#[test]
fn formats_read_what_they_are_for() {
    let rows = hashed(20_000);
    let key = *rows.keys().nth(777).expect("a row");
    let mut write = Rows::default();
    write.push(key, b"new");
    let mut read = Vec::new();
    for format in
        [Format::cut(16).expect("in range"), Format::RethLike, Format::Branches, Format::All]
    {
        let (trie, _) = MemoryTrie::build(format, rows.clone()).expect("rows");
        let mut plan = Plan::new(format, vec![key]).expect("one key");
        let (mut levels, mut nodes, mut row_count) = (0, 0, 0);
        while !plan.reads().is_empty() {
            levels += 1;
            nodes += plan.reads().nodes.len();
            let mut found = Found::default();
            trie.nodes(&plan.reads().nodes, &mut found).expect("memory");
            let mut rows = Found::default();
            trie.rows(&plan.reads().ranges, &mut rows).expect("memory");
            row_count += plan
                .reads()
                .ranges
                .iter()
                .map(|range| trie.rows.range(range.first..=range.last).count())
                .sum::<usize>();
            trie.rows(&plan.reads().ranges, &mut found).expect("memory");
            plan.supply(found).expect("a trie");
        }
        // The nodes that can be guessed at once are at least as many.
        let guessed = guess_nodes(format, &[key], 8);
        assert!(guessed.is_sorted() || guessed.len() > nodes);
        assert!(nodes <= guessed.len());
        read.push((levels, nodes, row_count));
        let mut update = Update::new(plan, write.clone()).expect("the plan's keys");
        update.read(&trie).expect("memory");
        let folded = update.fold().expect("a trie");
        let mut after = rows_after(&trie.rows, &write);
        assert_eq!(folded.root, root(&after));
        after.clear();
    }
    let [cut, reth, branches, all] = read[..] else { panic!("four formats") };
    assert!((1..=16).contains(&cut.2) && reth.2 > branches.2, "{read:?}");
    assert_eq!((branches.2, all.2), (1, 0), "{read:?}");
    assert!(cut.1 <= branches.1 && reth.1 <= branches.1, "{read:?}");
}

fn rows_after(rows: &BTreeMap<B256, Vec<u8>>, writes: &Rows) -> BTreeMap<B256, Vec<u8>> {
    let mut after = rows.clone();
    writes.iter().for_each(|(key, value)| drop(after.insert(*key, value.to_vec())));
    after
}

#[test]
fn guessed_nodes_have_every_path_once() {
    let keys = [B256::ZERO, B256::repeat_byte(0x01), B256::repeat_byte(0x11)];
    let paths = |format| -> Vec<String> {
        let nodes = guess_nodes(format, &keys, 2);
        nodes.iter().map(|key| format!("{:?}", (*key == NodeKey::Top, key.path()))).collect()
    };
    let nodes = ["/", "/0", "/00", "/01", "/1", "/11"].map(|path| format!("(false, {path})"));
    assert_eq!(paths(Format::All), nodes);
    assert_eq!(paths(Format::RethLike).last().map(String::as_str), Some("(true, /)"));
}

#[test]
fn plans_and_joins_of_other_writes_are_refused() {
    let format = Format::Branches;
    let (trie, _) = MemoryTrie::build(format, hashed(100)).expect("rows");
    let key = B256::repeat_byte;
    assert!(matches!(Plan::new(format, vec![key(2), key(1)]), Err(Error::Unsorted { .. })));
    assert!(matches!(Plan::new(format, vec![key(2); 2]), Err(Error::Duplicate { .. })));
    assert!(matches!(Plan::shard(format, 0..1, vec![key(0x10)]), Err(Error::Outside { .. })));
    let mut other = Rows::default();
    other.push(key(9), b"x");
    let unread = Plan::new(format, vec![key(9)]).expect("one key");
    assert!(matches!(Update::new(unread, other.clone()), Err(Error::Answer { .. })));
    let mut plan = Plan::new(format, vec![key(8)]).expect("one key");
    assert!(matches!(plan.supply(Found::default()), Err(Error::Answer { .. })));
    let mut plan = Plan::new(format, vec![key(8)]).expect("one key");
    plan.read(&trie).expect("memory");
    assert!(matches!(Update::new(plan, other.clone()), Err(Error::Answer { .. })));
    let shard = |format, nibbles: std::ops::Range<u8>| {
        let (trie, _) = MemoryTrie::build(format, hashed(100)).expect("rows");
        let mut plan = Plan::shard(format, nibbles, Vec::new()).expect("no keys");
        plan.read(&trie).expect("memory");
        Update::new(plan, Rows::default()).expect("no writes").fold_shard().expect("a shard")
    };
    let refused = |shards| matches!(join(shards), Err(Error::Shards { .. }));
    assert!(refused(vec![]));
    assert!(refused(vec![shard(format, 0..8)]));
    assert!(refused(vec![shard(format, 0..8), shard(format, 9..16)]));
    assert!(refused(vec![shard(format, 0..9), shard(format, 8..16)]));
    assert!(refused(vec![shard(format, 0..8), shard(Format::All, 8..16)]));
    assert!(join(vec![shard(format, 8..16), shard(format, 0..8)]).is_ok());
    assert!(update(format, other, &trie).is_ok());
}
