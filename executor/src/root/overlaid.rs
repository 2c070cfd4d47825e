//! Reads the tries of a state as they are after some batches: the changes of the batches replace
//! nodes and rows of the stored state. Used by the check of roots, outside any clock.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256, keccak256, map::HashMap};
use trie::{NodeKey, RowRange};
use workload::{AccountState, NetChanges};

use super::work::Rooted;
use crate::{
    error::StoreError,
    read_counters::ReadCounters,
    tries::{NodeSink, TrieId, TrieReader},
};

/// Changes of accounts and slots, by hashed keys.
#[derive(Debug, Default)]
pub(super) struct HashedChanges {
    pub(super) accounts: BTreeMap<B256, Option<AccountState>>,
    pub(super) slots: BTreeMap<B256, BTreeMap<B256, U256>>,
}

impl HashedChanges {
    /// Hashes the keys of a batch's changes.
    pub(super) fn new(changes: &NetChanges) -> Self {
        let accounts = changes.accounts.iter();
        let accounts = accounts.map(|(address, state)| (keccak256(address), *state)).collect();
        let mut slots = BTreeMap::new();
        for of_account in changes.slots.chunk_by(|a, b| a.0 == b.0) {
            let values = of_account
                .iter()
                .map(|(_, key, value)| (keccak256(key.to_be_bytes::<32>()), *value));
            slots.insert(keccak256(of_account[0].0), values.collect());
        }
        Self { accounts, slots }
    }

    /// Returns whether there are no changes.
    pub(super) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.slots.is_empty()
    }

    /// Adds later changes.
    fn append(&mut self, mut later: Self) {
        self.accounts.append(&mut later.accounts);
        for (account, mut slots) in later.slots {
            self.slots.entry(account).or_default().append(&mut slots);
        }
    }
}

/// A reader of the tries after the added batches.
pub(super) struct Overlaid<'a> {
    below: &'a mut dyn TrieReader,
    changes: HashedChanges,
    /// Nodes that the batches changed; `None` for a deleted node.
    nodes: HashMap<(TrieId, NodeKey), Option<Vec<u8>>>,
}

impl<'a> Overlaid<'a> {
    /// Makes a reader of the tries before all batches.
    pub(super) fn new(below: &'a mut dyn TrieReader) -> Self {
        Self { below, changes: HashedChanges::default(), nodes: HashMap::default() }
    }

    /// Adds the changes of a batch.
    pub(super) fn add(&mut self, changes: HashedChanges, rooted: &Rooted) {
        self.changes.append(changes);
        let nodes = rooted.changes().map(|(key, node)| (key, node.map(<[u8]>::to_vec)));
        self.nodes.extend(nodes);
    }
}

impl TrieReader for Overlaid<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        let mut indices = Vec::new();
        for (index, id) in keys.iter().enumerate() {
            match self.nodes.get(id) {
                Some(node) => sink(index, node.as_deref()),
                None => indices.push(index),
            }
        }
        let others: Vec<_> = indices.iter().map(|index| keys[*index]).collect();
        self.below.nodes(&others, &mut |index, node| sink(indices[index], node))
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        for (index, (account, range)) in ranges.iter().enumerate() {
            let mut rows = BTreeMap::new();
            self.below.slots(account, range, &mut |key, value| {
                rows.insert(key, value);
            })?;
            let changed = self.changes.slots.get(account).into_iter();
            let changed = changed.flat_map(|slots| slots.range(range.first..=range.last));
            rows.extend(changed.map(|(key, value)| (*key, *value)));
            let rows = rows.into_iter().filter(|(_, value)| !value.is_zero());
            rows.for_each(|(key, value)| sink(index, key, value));
        }
        Ok(())
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        let mut rows = BTreeMap::new();
        self.below.accounts(range, &mut |key, state| {
            rows.insert(key, Some(state));
        })?;
        let changed = self.changes.accounts.range(range.first..=range.last);
        rows.extend(changed.map(|(key, state)| (*key, *state)));
        for (key, state) in rows {
            if let Some(state) = state {
                sink(key, state);
            }
        }
        Ok(())
    }

    fn account(&mut self, key: &B256) -> Result<Option<AccountState>, StoreError> {
        match self.changes.accounts.get(key) {
            Some(state) => Ok(*state),
            None => self.below.account(key),
        }
    }

    fn counters(&self) -> ReadCounters {
        self.below.counters()
    }
}
