//! The reference root by `alloy_trie`, random rows and writes, and the steps that tests share.

use std::collections::BTreeMap;

use alloy_primitives::{B256, keccak256};
use alloy_trie::{HashBuilder, Nibbles};
use proptest::prelude::*;
use trie::{
    Error, Folded, Format, Found, MemoryTrie, NodeKey, Path, Plan, Reading, Rows, ShardCount,
    Source, Update, join, update,
};

pub(crate) type State = BTreeMap<B256, Vec<u8>>;

/// Computes the root by the reference.
pub(crate) fn root(rows: &State) -> B256 {
    let mut builder = HashBuilder::default();
    for (key, value) in rows {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    builder.root()
}

/// Every format, with cuts at several sizes.
pub(crate) fn formats() -> Vec<Format> {
    let cuts = [1, 2, 3, 16, 250].map(|rows| Format::cut(rows).expect("in range"));
    cuts.into_iter().chain([Format::RethLike, Format::Branches, Format::All]).collect()
}

/// Keys that share prefixes of every length, up to 63 nibbles, with one base key and with each
/// other. There are few of them, so writes often meet rows.
pub(crate) fn key() -> impl Strategy<Value = B256> {
    let shared = prop_oneof![
        4 => 58_usize..64,
        2 => 0_usize..4,
        1 => 0_usize..64,
    ];
    (shared, 0_u8..3, 0_u64..6).prop_map(|(shared, nibble, tail)| {
        let base = Path::of_key(&keccak256("the key that others share"));
        let tail = Path::of_key(&keccak256(tail.to_be_bytes()));
        let nibbles = base.prefix(shared).nibbles().chain([nibble * 7]).collect::<Vec<_>>();
        let rest = tail.nibbles().skip(nibbles.len()).collect::<Vec<_>>();
        Path::of_nibbles(nibbles.into_iter().chain(rest)).expect("64 nibbles").first_key()
    })
}

/// Values that mostly make inline nodes of short leaves.
pub(crate) fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 1..3),
        1 => prop::collection::vec(any::<u8>(), 1..40),
        1 => prop::collection::vec(any::<u8>(), 55..140),
    ]
}

pub(crate) fn rows(count: usize) -> impl Strategy<Value = State> {
    prop::collection::btree_map(key(), value(), 0..count)
}

/// Random writes in the order of their keys; `None` deletes.
pub(crate) fn writes(count: usize) -> impl Strategy<Value = Vec<(B256, Option<Vec<u8>>)>> {
    let write = prop::option::weighted(0.5, value());
    prop::collection::btree_map(key(), write, 0..count).prop_map(|all| all.into_iter().collect())
}

pub(crate) fn as_rows(writes: &[(B256, Option<Vec<u8>>)]) -> Rows {
    let mut rows = Rows::default();
    writes.iter().for_each(|(key, value)| rows.push(*key, value.as_deref().unwrap_or_default()));
    rows
}

/// Rows with hashed keys and values of one length.
pub(crate) fn hashed(count: u64) -> State {
    (0..count)
        .map(|index| (keccak256(index.to_be_bytes()), keccak256(index.to_le_bytes()).to_vec()))
        .collect()
}

/// Updates a trie by shards, or the whole trie at once if `shard_count` is `None`.
pub(crate) fn update_by(
    format: Format,
    shard_count: Option<u8>,
    writes: &Rows,
    source: &impl Source,
) -> Result<Folded, Error> {
    let Some(count) = shard_count else { return update(format, writes.clone(), source) };
    let mut shards = Vec::new();
    for nibbles in ShardCount::new(count).expect("1 to 16").nibbles() {
        let mut own = Rows::default();
        for (key, value) in writes.iter().filter(|(key, _)| nibbles.contains(&(key[0] >> 4))) {
            own.push(*key, value);
        }
        let mut plan = Plan::shard(format, nibbles, own.keys().to_vec())?;
        plan.read(source)?;
        let mut update = Update::new(plan, own)?;
        update.read(source)?;
        shards.push(update.fold_shard()?);
    }
    shards.reverse();
    join(shards)
}

/// Updates the whole trie, and reads all nodes before any row.
fn update_nodes_first(format: Format, writes: &Rows, source: &MemoryTrie) -> Result<Folded, Error> {
    let answer = |keys: &[NodeKey]| {
        let mut found = Found::default();
        source.nodes(keys, &mut found).expect("in memory");
        found
    };
    let mut plan = Plan::new(format, writes.keys().to_vec())?;
    while !plan.reads().nodes.is_empty() {
        plan.supply_nodes(&answer(&plan.reads().nodes))?;
    }
    assert!(plan.reads().ranges.is_sorted_by(|a, b| a.last < b.first), "{:?}", plan.reads());
    plan.read(source)?;
    let mut update = Update::new(plan, writes.clone())?;
    while !update.reads().nodes.is_empty() {
        update.supply_nodes(&answer(&update.reads().nodes))?;
    }
    update.read(source)?;
    update.fold()
}

/// Returns the trie after writes. Asserts that its root and nodes are those of a trie built anew.
pub(crate) fn check_update(
    format: Format,
    shard_count: Option<u8>,
    before: &MemoryTrie,
    writes: &Rows,
) -> MemoryTrie {
    let place = || format!("{format:?}, {shard_count:?} shards");
    let folded = update_by(format, shard_count, writes, before);
    let folded = folded.unwrap_or_else(|error| panic!("{}: {error}", place()));
    if shard_count.is_none() {
        let nodes_first = update_nodes_first(format, writes, before);
        let nodes_first = nodes_first.unwrap_or_else(|error| panic!("{}: {error}", place()));
        assert_eq!(nodes_first, folded, "{}", place());
    }
    let mut after = before.clone();
    after.apply(writes, &folded);
    assert_eq!(folded.root, root(&after.rows), "{}", place());
    let (anew, root) = MemoryTrie::build(format, after.rows.clone()).expect("rows");
    assert_eq!(root, folded.root, "{}", place());
    assert_eq!(after.nodes, anew.nodes, "{}", place());
    assert!(folded.nodes.iter().is_sorted_by(|a, b| a.0 < b.0), "{}", place());
    assert!(folded.deleted.iter().all(|key| before.nodes.contains_key(key)), "{}", place());
    after
}
