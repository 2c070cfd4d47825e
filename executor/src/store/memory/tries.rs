//! Tries of a state in memory: nodes in a map, rows by hashed key in order, and above both what the
//! batches of a sample have committed.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use alloy_primitives::{Address, B256, U256, keccak256, map::HashMap};
use trie::{Builder, Format, NodeKey, NodeSink, RowRange, SlotValue, StoreError as SinkError};
use workload::{AccountState, Layout, NetChanges};

use crate::{
    checked_trie::{CheckedTrie, CheckedTrieError},
    error::StoreError,
    leaves,
    read_counters::ReadCounters,
    store::overlay::Overlay,
    tries::{self, NodeChanges, StateTries, TrieId, TrieReader, Tries},
};

type Slots = Vec<(B256, U256)>;

/// Tries of a whole state.
#[derive(Debug)]
pub(super) struct BaseTries {
    pub(super) known: StateTries,
    accounts: Vec<(B256, AccountState)>,
    slots: HashMap<B256, Slots>,
    nodes: HashMap<Vec<u8>, Vec<u8>>,
}

/// Takes the nodes of one trie.
struct Sink<'a> {
    trie: TrieId,
    nodes: &'a mut HashMap<Vec<u8>, Vec<u8>>,
}

impl NodeSink for Sink<'_> {
    fn put(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), SinkError> {
        self.nodes.insert(self.trie.row_key(key), node.to_vec());
        Ok(())
    }
}

impl BaseTries {
    /// The tries of all rows.
    pub(super) fn build(
        accounts: &HashMap<Address, AccountState>,
        slots_of: &HashMap<Address, HashMap<U256, U256>>,
        format: Format,
    ) -> Result<Self, CheckedTrieError> {
        let mut nodes = HashMap::default();
        let mut slots = HashMap::default();
        let mut roots = HashMap::<B256, B256>::default();
        for (address, of_account) in slots_of {
            let account = keccak256(address);
            let rows = sorted_slots(of_account);
            let sink = Sink { trie: TrieId::Slots(account), nodes: &mut nodes };
            let mut checked = CheckedTrie::new(Builder::new(format, sink));
            for (key, value) in &rows {
                if let Some(value) = SlotValue::new(value) {
                    checked.push(key, value.as_slice())?;
                }
            }
            roots.insert(account, checked.finish()?.0);
            slots.insert(account, rows);
        }
        let hashed = accounts.iter().map(|(address, state)| (keccak256(address), *state));
        let mut accounts: Vec<_> = hashed.collect();
        accounts.sort_unstable_by_key(|(key, _)| *key);
        let sink = Sink { trie: TrieId::Accounts, nodes: &mut nodes };
        let mut checked = CheckedTrie::new(Builder::new(format, sink));
        let mut value = Vec::new();
        for (key, state) in &accounts {
            let storage_root = roots.get(key).copied().unwrap_or(trie::EMPTY_ROOT);
            leaves::account(state, storage_root, &mut value);
            checked.push(key, &value)?;
        }
        let (root, _) = checked.finish()?;
        Ok(Self { known: StateTries { format, root }, accounts, slots, nodes })
    }
}

/// Slots by ascending hash of their keys.
fn sorted_slots(slots: &HashMap<U256, U256>) -> Slots {
    let keys: Vec<U256> = slots.keys().copied().collect();
    let mut hashes = vec![[0; 32]; keys.len()];
    Layout::Hashed.slot_key_parts(&keys, &mut hashes);
    let rows = hashes.into_iter().zip(&keys).map(|(hash, key)| (B256::new(hash), slots[key]));
    let mut rows: Vec<_> = rows.filter(|(_, value)| !value.is_zero()).collect();
    rows.sort_unstable_by_key(|(key, _)| *key);
    rows
}

/// Committed by a sample.
#[derive(Debug, Default)]
struct Committed {
    accounts: BTreeMap<B256, Option<AccountState>>,
    slots: HashMap<B256, BTreeMap<B256, U256>>,
    nodes: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

/// The tries of a sample.
#[derive(Debug)]
pub(super) struct SampleTries {
    base: Arc<BaseTries>,
    committed: RwLock<Committed>,
}

impl SampleTries {
    pub(super) fn new(base: &Arc<BaseTries>) -> Self {
        Self { base: Arc::clone(base), committed: RwLock::default() }
    }

    fn committed(&self) -> RwLockReadGuard<'_, Committed> {
        self.committed.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the changes of a batch.
    fn add(&self, changes: &NetChanges, nodes: &[NodeChanges]) {
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        let accounts = changes.accounts.iter();
        committed.accounts.extend(accounts.map(|(address, state)| (keccak256(address), *state)));
        let keys: Vec<U256> = changes.slots.iter().map(|(_, key, _)| *key).collect();
        let mut hashes = vec![[0; 32]; keys.len()];
        Layout::Hashed.slot_key_parts(&keys, &mut hashes);
        for (slots, hashes) in tries::by_account(&changes.slots, &hashes) {
            let of_account = committed.slots.entry(keccak256(slots[0].0)).or_default();
            let rows = hashes.iter().zip(slots);
            of_account.extend(rows.map(|(hash, (_, _, value))| (B256::new(*hash), *value)));
        }
        for NodeChanges { trie, put, deleted } in nodes {
            let gone = deleted.iter().map(|key| (trie.row_key(key), None));
            committed.nodes.extend(gone);
            let kept = put.iter().map(|(key, node)| (trie.row_key(key), Some(node.to_vec())));
            committed.nodes.extend(kept);
        }
    }
}

/// The tries of a sample, beside its flat state.
pub(super) struct OverlaidTries<'a> {
    pub(super) tries: &'a SampleTries,
    pub(super) overlay: &'a Overlay,
}

impl Tries for OverlaidTries<'_> {
    fn format(&self) -> Format {
        self.tries.base.known.format
    }

    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError> {
        Ok(Box::new(Reader { tries: self.tries, key_count: 0 }))
    }

    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError> {
        self.overlay.add(changes);
        self.tries.add(changes, nodes);
        Ok(())
    }
}

/// One thread's reads.
struct Reader<'a> {
    tries: &'a SampleTries,
    key_count: u64,
}

impl TrieReader for Reader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut tries::NodeSink<'_>,
    ) -> Result<(), StoreError> {
        self.key_count += keys.len() as u64;
        let committed = self.tries.committed();
        for (index, (trie, key)) in keys.iter().enumerate() {
            let row = trie.row_key(key);
            let node = match committed.nodes.get(&row) {
                Some(node) => node.as_deref(),
                None => self.tries.base.nodes.get(&row).map(Vec::as_slice),
            };
            sink(index, node);
        }
        Ok(())
    }

    fn slots(
        &mut self,
        account: &B256,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, U256),
    ) -> Result<(), StoreError> {
        let committed = self.tries.committed();
        let base = self.tries.base.slots.get(account).map_or(&[][..], Vec::as_slice);
        let above = committed.slots.get(account);
        let above = above.into_iter().flat_map(|slots| slots.range(range.first..=range.last));
        let above = above.map(|(key, value)| (*key, Some(*value).filter(|value| !value.is_zero())));
        merge(within(base, range), above, &mut |key, value| {
            self.key_count += 1;
            sink(key, value);
        });
        Ok(())
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        let committed = self.tries.committed();
        let above = committed.accounts.range(range.first..=range.last);
        let above = above.map(|(key, state)| (*key, *state));
        merge(within(&self.tries.base.accounts, range), above, &mut |key, state| {
            self.key_count += 1;
            sink(key, state);
        });
        Ok(())
    }

    fn counters(&self) -> ReadCounters {
        ReadCounters { key_count: self.key_count, ..ReadCounters::default() }
    }
}

/// The sorted rows in a range.
fn within<'r, V>(rows: &'r [(B256, V)], range: &RowRange) -> &'r [(B256, V)] {
    let rows = &rows[rows.partition_point(|(key, _)| *key < range.first)..];
    &rows[..rows.partition_point(|(key, _)| *key <= range.last)]
}

/// Hands over sorted rows under sorted changes, in order; a change of `None` deletes.
fn merge<V: Copy>(
    base: &[(B256, V)],
    above: impl Iterator<Item = (B256, Option<V>)>,
    sink: &mut dyn FnMut(B256, V),
) {
    let mut base = base.iter().peekable();
    for (key, value) in above {
        while let Some((before, value)) = base.next_if(|(row, _)| *row < key) {
            sink(*before, *value);
        }
        base.next_if(|(row, _)| *row == key);
        if let Some(value) = value {
            sink(key, value);
        }
    }
    base.for_each(|(key, value)| sink(*key, *value));
}
