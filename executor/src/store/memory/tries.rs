//! Tries of a state in memory: nodes in a map, rows by hashed key in order, and above both what the
//! batches of a sample have committed.

use alloy_primitives::{Address, B256, U256, keccak256, map::HashMap};
use trie::{Builder, Format, NodeKey, NodeSink, RowRange, SlotValue, StoreError as SinkError};
use workload::{AccountState, Layout, NetChanges};

use crate::{
    checked_trie::{CheckedTrie, CheckedTrieError},
    error::StoreError,
    leaves,
    read_counters::ReadCounters,
    store::{hashed_overlay::HashedOverlay, overlay::Overlay},
    tries::{NodeChanges, NodeSink as FoundSink, StateTries, TrieId, TrieReader, Tries},
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

/// The tries of a sample.
#[derive(Debug)]
pub(super) struct SampleTries<'s> {
    base: &'s BaseTries,
    committed: HashedOverlay,
}

impl<'s> SampleTries<'s> {
    pub(super) fn new(base: &'s BaseTries) -> Self {
        Self { base, committed: HashedOverlay::default() }
    }
}

/// The tries of a sample, beside its flat state.
pub(super) struct OverlaidTries<'a> {
    pub(super) tries: &'a SampleTries<'a>,
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
        self.tries.committed.add(changes, nodes);
        Ok(())
    }
}

/// One thread's reads.
struct Reader<'a> {
    tries: &'a SampleTries<'a>,
    key_count: u64,
}

impl TrieReader for Reader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut FoundSink<'_>,
    ) -> Result<(), StoreError> {
        self.key_count += keys.len() as u64;
        let committed = self.tries.committed.committed();
        for (index, (trie, key)) in keys.iter().enumerate() {
            let node = match committed.node(*trie, *key) {
                Some(node) => node,
                None => self.tries.base.nodes.get(&trie.row_key(key)).map(Vec::as_slice),
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
        let base = self.tries.base.slots.get(account).map_or(&[][..], Vec::as_slice);
        let committed = self.tries.committed.committed();
        committed.slots_over(account, range, within(base, range), &mut |key, value| {
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
        let base = within(&self.tries.base.accounts, range);
        self.tries.committed.committed().accounts_over(range, base, &mut |key, state| {
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
