//! The tries of a state against its rows: every stored node is the one that the rows make, there is no
//! other, and the root is that of `alloy_trie::HashBuilder`, which shares no code with ours.

use ::rocksdb::DB;
use alloy_primitives::B256;
use alloy_trie::{HashBuilder, Nibbles};
use trie::{EMPTY_ROOT, Format, NodeKey, NodeSink, SlotValue, StoreError as SinkError};
use workload::layout::{decode_account, decode_slot};

use super::{
    options,
    rows::{Row, Rows},
    sample,
    settings::failed,
    trie_rows::{NodeTarget, SLOT_KEY_BYTES, TrieRows, wrong_value},
};
use crate::{
    leaves,
    state::{BuildPhase, BuiltTries, NodeCounts, ScanInput, StateError, Watch},
    tries::TrieId,
};

const THREADS: usize = 2;
/// Rows between two looks whether to stop.
const CHECK_ROWS: u64 = 1 << 16;

/// The tries, if all nodes are right.
pub(super) fn verify(
    input: &ScanInput<'_>,
    db: &DB,
    format: Format,
    watch: &Watch<'_>,
) -> Result<BuiltTries, StateError> {
    let genesis = &input.manifest.recipe;
    let rows = &input.manifest.rows;
    watch.progress.begin(BuildPhase::Tries, rows.accounts + rows.slots);
    let rows = TrieRows { db, format, genesis, watch, threads: THREADS };
    let compared = rows.hash(|range| {
        let mut reads = options::scan_reads();
        reads.set_iterate_lower_bound(range.first);
        if let Some(end) = range.end {
            reads.set_iterate_upper_bound(end);
        }
        let family = sample::family(db, options::TRIES)?;
        let stored = Rows::new(db, family, reads);
        Ok(Stored { nodes: stored, trie: TrieId::Accounts, counts: NodeCounts::default() })
    });
    let (root, targets) = compared.map_err(|error| error.of_check(input.name))?;
    let mut nodes = NodeCounts::default();
    for mut target in targets {
        nodes.merge(&target.counts);
        if let Some(row) = target.next()? {
            let row = alloy_primitives::hex::encode_prefixed(row.0);
            let reason = format!("the rows make no node that is stored as row {row}");
            return Err(StateError::untrusted(input.name, reason));
        }
    }
    let expected = reference(db, watch)?;
    if expected != root {
        let text = format!("its nodes have the root {root}, and by HashBuilder it is {expected}");
        return Err(StateError::untrusted(input.name, text));
    }
    Ok(BuiltTries { root, nodes })
}

/// The stored nodes, which must be those that are made.
struct Stored<'a> {
    nodes: Rows<'a>,
    trie: TrieId,
    counts: NodeCounts,
}

impl Stored<'_> {
    fn next(&mut self) -> Result<Option<Row<'_>>, StateError> {
        Ok(self.nodes.next().map_err(failed("read the nodes of tries"))?)
    }
}

impl NodeSink for Stored<'_> {
    fn put(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), SinkError> {
        let row = self.trie.row_key(key);
        self.counts.add(&self.trie, key, &row, node);
        match self.next()? {
            Some((stored_row, stored)) if stored_row == row && stored == node => Ok(()),
            Some((stored_row, _)) if stored_row == row => Err("it is stored otherwise".into()),
            _ => Err("it is not stored".into()),
        }
    }
}

impl NodeTarget for Stored<'_> {
    fn begin(&mut self, trie: TrieId) {
        self.trie = trie;
    }
}

/// The state root by hashing one node after the other.
fn reference(db: &DB, watch: &Watch<'_>) -> Result<B256, StateError> {
    let storage = sample::family(db, options::STORAGE)?;
    let mut roots: Vec<(B256, B256)> = Vec::new();
    let mut open: Option<(B256, HashBuilder)> = None;
    let mut rows = Rows::new(db, storage, options::scan_reads());
    let mut count = 0_u64;
    while let Some((key, value)) = rows.next().map_err(failed("read the rows of tries"))? {
        count += 1;
        if key.len() != SLOT_KEY_BYTES {
            return Err(wrong_value(key));
        }
        let account = B256::from_slice(&key[..32]);
        if let Some((of, mut trie)) = open.take_if(|(of, _)| *of != account) {
            roots.push((of, trie.root()));
        }
        let value = decode_slot(value).and_then(|value| SlotValue::new(&value));
        let value = value.ok_or_else(|| wrong_value(key))?;
        let (_, trie) = open.get_or_insert_with(|| (account, HashBuilder::default()));
        trie.add_leaf(Nibbles::unpack(&key[32..]), value.as_slice());
        if count.is_multiple_of(CHECK_ROWS) {
            watch.check()?;
        }
    }
    if let Some((of, mut trie)) = open {
        roots.push((of, trie.root()));
    }
    let mut roots = roots.into_iter().peekable();
    let (mut trie, mut leaf) = (HashBuilder::default(), Vec::new());
    let accounts = sample::family(db, options::ACCOUNTS)?;
    let mut rows = Rows::new(db, accounts, options::scan_reads());
    while let Some((key, value)) = rows.next().map_err(failed("read the rows of tries"))? {
        let state = decode_account(value).ok_or_else(|| wrong_value(key))?;
        while roots.next_if(|(of, _)| of.as_slice() < key).is_some() {}
        let root = roots.next_if(|(of, _)| of.as_slice() == key);
        leaves::account(&state, root.map_or(EMPTY_ROOT, |(_, root)| root), &mut leaf);
        trie.add_leaf(Nibbles::unpack(key), &leaf);
    }
    watch.check()?;
    Ok(trie.root())
}
