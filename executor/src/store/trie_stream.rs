//! Builds the tries of rows that are added in the order of their keys, all slots before all
//! accounts. `flat`, `mdbx` and `memory` build their tries with it; `flat`, `mdbx` and `rocksdb`
//! verify stored nodes with it. It passes nodes on in the order of [`TrieId::slots_first_key`].

use std::collections::VecDeque;

use alloy_primitives::{B256, hex};
use alloy_trie::{HashBuilder, Nibbles};
use trie::{Builder, EMPTY_ROOT, Format, NodeKey, NodeSink, SlotValue, StoreError as SinkError};
use workload::{
    Table,
    layout::{decode_account, decode_slot},
};

use crate::{
    error::StoreError,
    leaves,
    state::{BuildPhase, BuiltTries, NodeCounts, RowSink, ScanInput, StateError, Watch},
    tries::TrieId,
};

/// A receiver of the nodes of all tries.
pub(super) trait NodeRows: Sized {
    const STORE: &'static str;

    /// Takes a node. Its key must be above the keys of all nodes before.
    fn node(&mut self, key: &[u8], node: &[u8]) -> Result<(), SinkError>;

    /// Finishes after the last node.
    fn end(self) -> Result<(), StateError> {
        Ok(())
    }
}

/// Which implementations hash the tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hashing {
    /// Only `trie::Builder`, which makes the nodes.
    Once,
    /// `trie::Builder` and `alloy_trie::HashBuilder`, whose roots must be equal.
    Twice,
}

/// A trie that is built twice: by the builder of nodes, and by `alloy_trie::HashBuilder`, which
/// shares no code with the builder.
struct CheckedTrie<S> {
    builder: Builder<S>,
    reference: HashBuilder,
}

/// Failure to build a [`CheckedTrie`].
#[derive(Debug, thiserror::Error)]
pub(super) enum CheckedTrieError {
    /// The rows are invalid, or the sink failed.
    #[error(transparent)]
    Trie(#[from] trie::Error),
    #[error("its root is {got}, and by HashBuilder {expected}")]
    Root {
        /// Root of the reference, `alloy_trie::HashBuilder`.
        expected: B256,
        /// Root of the builder.
        got: B256,
    },
}

impl<S: NodeSink> CheckedTrie<S> {
    fn new(builder: Builder<S>) -> Self {
        Self { builder, reference: HashBuilder::default() }
    }

    fn push(&mut self, key: &B256, value: &[u8]) -> Result<(), trie::Error> {
        // The builder is first, since it checks the order of the keys. The reference would panic at
        // a wrong order.
        self.builder.push(key.as_slice(), value)?;
        self.reference.add_leaf(Nibbles::unpack(key), value);
        Ok(())
    }

    /// Returns the root and the sink.
    fn finish(mut self) -> Result<(B256, S), CheckedTrieError> {
        let built = self.builder.finish()?;
        let (expected, got) = (self.reference.root(), built.root);
        if expected != got {
            return Err(CheckedTrieError::Root { expected, got });
        }
        Ok((got, built.sink))
    }
}

/// Builds a state's tries again from its rows, and passes the nodes to `nodes`, which compares them
/// with the stored nodes. `each_row` passes all rows of a table to the given sink.
///
/// # Errors
/// [`StateError::Untrusted`] if a node or a row is wrong, two roots differ, or the store failed.
pub(super) fn verify<N: NodeRows>(
    input: &ScanInput<'_>,
    watch: &Watch<'_>,
    format: Format,
    nodes: N,
    each_row: impl FnMut(Table, &mut RowSink<'_>) -> Result<(), StateError>,
) -> Result<BuiltTries, StateError> {
    let rows = &input.manifest.rows;
    watch.progress.begin(BuildPhase::Tries, rows.accounts + rows.slots);
    compare(watch, format, nodes, each_row).map_err(|error| error.of_check(input.name))
}

fn compare<N: NodeRows>(
    watch: &Watch<'_>,
    format: Format,
    nodes: N,
    mut each_row: impl FnMut(Table, &mut RowSink<'_>) -> Result<(), StateError>,
) -> Result<BuiltTries, StateError> {
    let mut tries = TrieStream::new(format, Hashing::Twice, nodes);
    for table in [Table::Slots, Table::Accounts] {
        let mut rows = watch.rows();
        each_row(table, &mut |key, value| {
            rows.add_one()?;
            tries.row(table, key, value)
        })?;
    }
    tries.finish()
}

/// Builds the tries of a state, one after the other.
pub(super) struct TrieStream<N> {
    format: Format,
    hashing: Hashing,
    /// Sink for the nodes of the next trie; `None` while a trie is open.
    idle: Option<Sink<N>>,
    /// The trie whose rows are being added.
    open: Option<(TrieId, TrieBuilder<Sink<N>>)>,
    /// Roots of slot tries by hashed address, ascending, for accounts whose rows are not added yet.
    roots: VecDeque<(B256, B256)>,
    /// Memory for an account's leaf.
    leaf: Vec<u8>,
}

/// Counts the nodes of `trie`, and passes them to `nodes` with their keys.
struct Sink<N> {
    trie: TrieId,
    nodes: N,
    counts: NodeCounts,
}

impl<N: NodeRows> NodeSink for Sink<N> {
    fn put(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), SinkError> {
        let row = self.trie.slots_first_key(key);
        self.counts.add(&self.trie, key, &row, node);
        self.nodes.node(&row, node)
    }
}

enum TrieBuilder<S> {
    Once(Box<Builder<S>>),
    Twice(Box<CheckedTrie<S>>),
}

impl<S: NodeSink> TrieBuilder<S> {
    fn push(&mut self, key: &B256, value: &[u8]) -> Result<(), trie::Error> {
        match self {
            Self::Once(builder) => builder.push(key.as_slice(), value),
            Self::Twice(checked) => checked.push(key, value),
        }
    }

    fn finish(self) -> Result<(B256, S), CheckedTrieError> {
        match self {
            Self::Once(builder) => {
                let built = builder.finish()?;
                Ok((built.root, built.sink))
            }
            Self::Twice(checked) => checked.finish(),
        }
    }
}

impl<N: NodeRows> TrieStream<N> {
    /// Makes a stream without rows, which passes the nodes of all tries to `nodes`.
    pub(super) fn new(format: Format, hashing: Hashing, nodes: N) -> Self {
        let idle = Some(Sink { trie: TrieId::Accounts, nodes, counts: NodeCounts::default() });
        let roots = VecDeque::new();
        Self { format, hashing, idle, open: None, roots, leaf: Vec::new() }
    }

    /// Adds a row of `table`. Ignores codes, which are in no trie.
    pub(super) fn row(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), StateError> {
        match table {
            Table::Slots => self.slot(key, value),
            Table::Accounts => self.account(key, value),
            Table::Codes => Ok(()),
        }
    }

    /// Adds a slot's row. Its key is the hashed address and the hashed key of the slot.
    fn slot(&mut self, key: &[u8], value: &[u8]) -> Result<(), StateError> {
        let wrong = || wrong_row(N::STORE, key);
        let (account, slot) = key.split_first_chunk::<32>().ok_or_else(wrong)?;
        let slot = B256::try_from(slot).map_err(|_| wrong())?;
        let value = decode_slot(value).and_then(|value| SlotValue::new(&value));
        let value = value.ok_or_else(wrong)?;
        let trie = TrieId::Slots(B256::new(*account));
        self.push(trie, &slot, value.as_slice())
    }

    /// Adds an account's row, after all slots.
    fn account(&mut self, key: &[u8], value: &[u8]) -> Result<(), StateError> {
        let wrong = || wrong_row(N::STORE, key);
        let state = decode_account(value).ok_or_else(wrong)?;
        let key = B256::try_from(key).map_err(|_| wrong())?;
        self.close()?;
        while self.roots.front().is_some_and(|(account, _)| *account < key) {
            self.roots.pop_front();
        }
        let root = self.roots.front().filter(|(account, _)| *account == key);
        let root = root.map_or(EMPTY_ROOT, |(_, root)| *root);
        let mut leaf = std::mem::take(&mut self.leaf);
        leaves::encode_account(&state, root, &mut leaf);
        let pushed = self.push(TrieId::Accounts, &key, &leaf);
        self.leaf = leaf;
        pushed
    }

    /// Finishes the last trie. Returns the state root and the counts of nodes.
    pub(super) fn finish(mut self) -> Result<BuiltTries, StateError> {
        self.close()?;
        let accounts = match self.open.take() {
            Some((_, accounts)) => accounts,
            None => self.begin(TrieId::Accounts),
        };
        let (root, sink) = accounts.finish().map_err(|error| trie_error(N::STORE, error))?;
        sink.nodes.end()?;
        Ok(BuiltTries { root, nodes: sink.counts })
    }

    fn push(&mut self, trie: TrieId, key: &B256, value: &[u8]) -> Result<(), StateError> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != trie) {
            self.close()?;
            self.open = Some((trie, self.begin(trie)));
        }
        let Some((_, open)) = &mut self.open else { return Ok(()) };
        open.push(key, value).map_err(|error| trie_error(N::STORE, error.into()))
    }

    fn begin(&mut self, trie: TrieId) -> TrieBuilder<Sink<N>> {
        let Some(idle) = self.idle.take() else { unreachable!("one trie is open at a time") };
        let builder = Builder::new(self.format, Sink { trie, ..idle });
        match self.hashing {
            Hashing::Once => TrieBuilder::Once(Box::new(builder)),
            Hashing::Twice => TrieBuilder::Twice(Box::new(CheckedTrie::new(builder))),
        }
    }

    /// Finishes the open trie, if it is a trie of slots.
    fn close(&mut self) -> Result<(), StateError> {
        let open = self.open.take_if(|(trie, _)| matches!(trie, TrieId::Slots(_)));
        let Some((trie, open)) = open else { return Ok(()) };
        let (root, sink) = open.finish().map_err(|error| trie_error(N::STORE, error))?;
        if let TrieId::Slots(account) = trie {
            self.roots.push_back((account, root));
        }
        self.idle = Some(sink);
        Ok(())
    }
}

/// Key and bytes of a stored node.
pub(super) type NodeRow = (Vec<u8>, Vec<u8>);

/// An iterator over a state's stored nodes, by ascending key.
pub(super) trait StoredNodes {
    const STORE: &'static str;

    /// Returns the next node; `None` after the last one.
    fn next(&mut self) -> Result<Option<NodeRow>, StoreError>;
}

/// Compares the nodes that are built from rows with the stored nodes. Additional stored nodes are
/// an error.
pub(super) struct SameNodes<S>(pub(super) S);

impl<S: StoredNodes> NodeRows for SameNodes<S> {
    const STORE: &'static str = S::STORE;

    fn node(&mut self, key: &[u8], node: &[u8]) -> Result<(), SinkError> {
        let reason = match self.0.next()? {
            Some((stored_key, stored)) if stored_key == key && stored == node => return Ok(()),
            Some((stored_key, _)) if stored_key == key => "it is stored otherwise",
            _ => "it is not stored",
        };
        Err(wrong_node(S::STORE, key, reason).into())
    }

    fn end(mut self) -> Result<(), StateError> {
        let Some((key, _)) = self.0.next()? else { return Ok(()) };
        Err(wrong_node(S::STORE, &key, "it is stored, and the rows make no such node").into())
    }
}

fn wrong_node(store: &'static str, key: &[u8], reason: &str) -> StoreError {
    StoreError::damaged(store, format!("node {}", hex::encode_prefixed(key)), reason)
}

/// Makes the error of a trie that could not be built, with the reason if the sink failed.
pub(super) fn trie_error(store: &'static str, error: CheckedTrieError) -> StateError {
    let reason = match &error {
        CheckedTrieError::Trie(trie::Error::Sink { source, .. }) => format!("{error}: {source}"),
        error => error.to_string(),
    };
    StoreError::failed(store, "make the tries", reason).into()
}

fn wrong_row(store: &'static str, key: &[u8]) -> StateError {
    let reason = "its key or its value has another length";
    StoreError::damaged(store, hex::encode_prefixed(key), reason).into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use alloy_primitives::U256;
    use variant::TrieForm;
    use workload::{
        AccountState,
        layout::{encode_account, encode_slot},
    };

    use super::*;
    use crate::{state::NodeTotals, tries};

    impl NodeRows for &mut Vec<NodeRow> {
        const STORE: &'static str = "test";

        fn node(&mut self, key: &[u8], node: &[u8]) -> Result<(), SinkError> {
            self.push((key.to_vec(), node.to_vec()));
            Ok(())
        }
    }

    impl StoredNodes for std::vec::IntoIter<NodeRow> {
        const STORE: &'static str = "test";

        fn next(&mut self) -> Result<Option<NodeRow>, StoreError> {
            Ok(Iterator::next(self))
        }
    }

    /// Puts the rows of a few accounts, of which two have slots, into a stream.
    fn streamed<N: NodeRows>(
        format: Format,
        hashing: Hashing,
        rows: N,
    ) -> Result<BuiltTries, StateError> {
        let mut tries = TrieStream::new(format, hashing, rows);
        for (account, count) in [(3_u8, 400_u64), (7, 1)] {
            for slot in 0..count {
                let part: U256 = U256::from(slot) << 200;
                let key = [[account; 32], part.to_be_bytes::<32>()].concat();
                tries.slot(&key, &encode_slot(&U256::from(slot + 1)))?;
            }
        }
        for account in 1..40_u8 {
            let state = AccountState { nonce: 9, ..AccountState::default() };
            tries.account(&[account; 32], &encode_account(&state))?;
        }
        tries.finish()
    }

    fn formats() -> impl Iterator<Item = Format> {
        TrieForm::ALL.iter().filter_map(|form| tries::trie_format(*form))
    }

    /// The nodes of accounts and of slots at each depth that has some.
    type ByDepth = BTreeMap<(bool, usize), (u64, u64)>;

    fn by_depth(counts: &NodeCounts) -> ByDepth {
        let all = |is_account, depths: &[NodeTotals]| {
            let depths = depths.iter().map(|at| (at.count, at.bytes)).enumerate();
            depths.map(move |(depth, at)| ((is_account, depth), at)).collect::<Vec<_>>()
        };
        let both = [all(true, &counts.accounts), all(false, &counts.slots)].concat();
        both.into_iter().filter(|(_, (count, _))| *count > 0).collect()
    }

    /// Nodes at each depth, counted from the bytes of the rows' keys.
    fn by_depth_of_rows(nodes: &[NodeRow]) -> ByDepth {
        let mut depths = ByDepth::new();
        for (row, node) in nodes {
            let (is_account, key) = (row[0] == 1, &row[if row[0] == 1 { 1 } else { 33 }..]);
            let Ok(NodeKey::Node(_)) = NodeKey::of_bytes(key) else { continue };
            let at = depths.entry((is_account, key.len() - 1)).or_default();
            *at = (at.0 + 1, at.1 + (row.len() + node.len()) as u64);
        }
        depths
    }

    #[test]
    fn nodes_ascend_and_are_counted_and_the_root_is_one_in_every_format() {
        let mut roots = Vec::new();
        for format in formats() {
            let mut nodes = Vec::new();
            let built = streamed(format, Hashing::Once, &mut nodes).unwrap();
            assert!(nodes.windows(2).all(|pair| pair[0].0 < pair[1].0), "{format:?}");
            let bytes: usize = nodes.iter().map(|(key, node)| key.len() + node.len()).sum();
            let totals = NodeTotals { count: nodes.len() as u64, bytes: bytes as u64 };
            assert_eq!(built.nodes.totals, totals);
            assert_eq!(by_depth(&built.nodes), by_depth_of_rows(&nodes), "{format:?}");
            let same = SameNodes(nodes.into_iter());
            assert_eq!(streamed(format, Hashing::Twice, same).unwrap(), built);
            roots.push(built.root);
        }
        roots.dedup();
        assert_eq!(roots.len(), 1);
    }

    #[test]
    fn a_wrong_a_lost_and_a_foreign_node_are_found() {
        for format in formats() {
            let mut nodes = Vec::new();
            streamed(format, Hashing::Once, &mut nodes).unwrap();
            let found = |stored: Vec<NodeRow>| {
                let same = SameNodes(stored.into_iter());
                streamed(format, Hashing::Twice, same).unwrap_err().to_string()
            };
            for index in [0, nodes.len() / 2, nodes.len() - 1] {
                let mut wrong = nodes.clone();
                wrong[index].1[0] ^= 1;
                assert!(found(wrong).contains("stored otherwise"), "{format:?}");
                let mut fewer = nodes.clone();
                fewer.remove(index);
                assert!(found(fewer).contains("it is not stored"), "{format:?}");
                let mut more = nodes.clone();
                more.insert(index, (nodes[index].0[..1].to_vec(), vec![1]));
                assert!(found(more).contains("it is not stored"), "{format:?}");
            }
            let foreign = (vec![9], vec![1]);
            let more = nodes.into_iter().chain([foreign]).collect();
            assert!(found(more).contains("make no such node"), "{format:?}");
        }
    }

    #[test]
    fn no_rows_have_the_empty_root_and_a_short_row_is_an_error() {
        for format in formats() {
            let mut nodes = Vec::new();
            let built = TrieStream::new(format, Hashing::Twice, &mut nodes).finish().unwrap();
            assert_eq!((built.root, nodes.len() as u64), (EMPTY_ROOT, built.nodes.totals.count));
            let mut tries = TrieStream::new(format, Hashing::Twice, &mut nodes);
            assert!(tries.slot(&[1; 63], &[1; 32]).is_err());
            assert!(tries.slot(&[1; 64], &[1; 31]).is_err());
            assert!(tries.account(&[1; 31], &[0; 72]).is_err());
        }
    }
}
