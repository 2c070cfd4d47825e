//! Tries of the memory store: nodes in a map, and rows sorted by hashed key. The commits of a
//! sample are kept apart, in a [`HashedOverlay`].

use alloy_primitives::{Address, B256, U256, keccak256, map::HashMap};
use trie::{Format, NodeKey, RowRange, StoreError as SinkError};
use workload::{
    AccountState, Layout, NetChanges, Table,
    layout::{encode_account, encode_slot},
};

use crate::{
    error::StoreError,
    read_counters::ReadCounters,
    state::StateError,
    store::{
        hashed_overlay::HashedOverlay,
        overlay::Overlay,
        trie_stream::{Hashing, NodeRows, TrieStream},
    },
    tries::{NodeChanges, NodeSink, StateTries, TrieId, TrieReader, Tries},
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

/// Puts the nodes of all tries into a map.
struct Nodes<'a>(&'a mut HashMap<Vec<u8>, Vec<u8>>);

impl NodeRows for Nodes<'_> {
    const STORE: &'static str = "memory";

    fn node(&mut self, key: &[u8], node: &[u8]) -> Result<(), SinkError> {
        self.0.insert(key.to_vec(), node.to_vec());
        Ok(())
    }
}

impl BaseTries {
    /// Builds the tries of all rows.
    pub(super) fn build(
        accounts: &HashMap<Address, AccountState>,
        slots: &HashMap<Address, HashMap<U256, U256>>,
        format: Format,
    ) -> Result<Self, StateError> {
        let hashed = slots.iter();
        let hashed = hashed.map(|(address, slots)| (keccak256(address), sorted_slots(slots)));
        let mut slots: Vec<_> = hashed.collect();
        slots.sort_unstable_by_key(|(account, _)| *account);
        let mut accounts: Vec<_> =
            accounts.iter().map(|(address, state)| (keccak256(address), *state)).collect();
        accounts.sort_unstable_by_key(|(key, _)| *key);
        let mut nodes = HashMap::default();
        let mut tries = TrieStream::new(format, Hashing::Twice, Nodes(&mut nodes));
        for (account, rows) in &slots {
            for (key, value) in rows {
                let key = [account.as_slice(), key.as_slice()].concat();
                tries.row(Table::Slots, &key, &encode_slot(value))?;
            }
        }
        for (key, state) in &accounts {
            tries.row(Table::Accounts, key.as_slice(), &encode_account(state))?;
        }
        let known = StateTries { format, root: tries.finish()?.root };
        Ok(Self { known, accounts, slots: slots.into_iter().collect(), nodes })
    }
}

/// Returns the slots, sorted by the hash of their keys.
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

/// The tries of a sample, with the overlay of its flat state, which a commit also changes.
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

/// Reads of one thread.
struct Reader<'a> {
    tries: &'a SampleTries<'a>,
    key_count: u64,
}

impl TrieReader for Reader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        self.key_count += keys.len() as u64;
        let committed = self.tries.committed.committed();
        for (index, (trie, key)) in keys.iter().enumerate() {
            let node = match committed.node(*trie, *key) {
                Some(node) => node,
                None => self.tries.base.nodes.get(&trie.slots_first_key(key)).map(Vec::as_slice),
            };
            sink(index, node);
        }
        Ok(())
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        let committed = self.tries.committed.committed();
        for (index, (account, range)) in ranges.iter().enumerate() {
            let base = self.tries.base.slots.get(account).map_or(&[][..], Vec::as_slice);
            committed.merge_slots(account, range, within(base, range), &mut |key, value| {
                self.key_count += 1;
                sink(index, key, value);
            });
        }
        Ok(())
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        let base = within(&self.tries.base.accounts, range);
        self.tries.committed.committed().merge_accounts(range, base, &mut |key, state| {
            self.key_count += 1;
            sink(key, state);
        });
        Ok(())
    }

    fn counters(&self) -> ReadCounters {
        ReadCounters { key_count: self.key_count, ..ReadCounters::default() }
    }
}

/// Returns those of the sorted `rows` whose keys are in `range`.
fn within<'r, V>(rows: &'r [(B256, V)], range: &RowRange) -> &'r [(B256, V)] {
    let rows = &rows[rows.partition_point(|(key, _)| *key < range.first)..];
    &rows[..rows.partition_point(|(key, _)| *key <= range.last)]
}
