//! Rows (by hashed keys) and nodes of tries that the batches of a sample have committed, in memory.
//! Samples of `flat` and `memory` never change the base (the built state). So their readers of
//! tries apply these changes to the base's rows and nodes.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

use alloy_primitives::{B256, U256, keccak256, map::HashMap};
use trie::{NodeKey, RowRange};
use workload::{AccountState, Layout, NetChanges};

use crate::tries::{self, NodeChanges, TrieId};

/// Changed keys with their values. A deletion is `None` for an account or a node, and zero for a
/// slot.
#[derive(Debug, Default)]
pub(super) struct Committed {
    accounts: BTreeMap<B256, Option<AccountState>>,
    slots: HashMap<B256, BTreeMap<B256, U256>>,
    nodes: HashMap<(TrieId, NodeKey), Option<Vec<u8>>>,
}

impl Committed {
    /// Returns a committed node; `Some(None)` if it was deleted, `None` if no batch has changed it.
    pub(super) fn node(&self, trie: TrieId, key: NodeKey) -> Option<Option<&[u8]>> {
        self.nodes.get(&(trie, key)).map(Option::as_deref)
    }

    /// Passes the slots of an account in `range` to `sink`, in order: the slots of `base` with the
    /// changes applied.
    pub(super) fn merge_slots(
        &self,
        account: &B256,
        range: &RowRange,
        base: &[(B256, U256)],
        sink: &mut dyn FnMut(B256, U256),
    ) {
        let changes = self.slots.get(account).into_iter();
        let changes = changes.flat_map(|slots| slots.range(range.first..=range.last));
        let changes = changes.map(|(key, value)| (*key, (!value.is_zero()).then_some(*value)));
        merge(base, changes, sink);
    }

    /// Passes the accounts in `range` to `sink`, in order: the accounts of `base` with the changes
    /// applied.
    pub(super) fn merge_accounts(
        &self,
        range: &RowRange,
        base: &[(B256, AccountState)],
        sink: &mut dyn FnMut(B256, AccountState),
    ) {
        let changes = self.accounts.range(range.first..=range.last);
        merge(base, changes.map(|(key, state)| (*key, *state)), sink);
    }
}

/// The changes of a sample's batches so far, shared by all its readers.
#[derive(Debug, Default)]
pub(super) struct HashedOverlay(RwLock<Committed>);

impl HashedOverlay {
    /// Returns all changes so far, locked for reading.
    pub(super) fn committed(&self) -> RwLockReadGuard<'_, Committed> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the changes of a batch.
    pub(super) fn add(&self, changes: &NetChanges, nodes: &[NodeChanges]) {
        let mut committed = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let accounts = changes.accounts.iter();
        committed.accounts.extend(accounts.map(|(address, state)| (keccak256(address), *state)));
        let keys: Vec<U256> = changes.slots.iter().map(|(_, key, _)| *key).collect();
        let mut hashes = vec![[0; 32]; keys.len()];
        Layout::Hashed.slot_key_parts(&keys, &mut hashes);
        for (slots, hashes) in tries::slots_by_account(&changes.slots, &hashes) {
            let account_slots = committed.slots.entry(keccak256(slots[0].0)).or_default();
            let rows = hashes.iter().zip(slots);
            account_slots.extend(rows.map(|(hash, (_, _, value))| (B256::new(*hash), *value)));
        }
        for NodeChanges { trie, put, deleted } in nodes {
            committed.nodes.extend(deleted.iter().map(|key| ((*trie, *key), None)));
            let put = put.iter().map(|(key, node)| ((*trie, *key), Some(node.to_vec())));
            committed.nodes.extend(put);
        }
    }
}

/// Applies `changes` to the rows of `base`, and passes the resulting rows to `sink`, in order.
/// `base` and `changes` are sorted. A change to `None` deletes the row.
fn merge<V: Copy>(
    base: &[(B256, V)],
    changes: impl Iterator<Item = (B256, Option<V>)>,
    sink: &mut dyn FnMut(B256, V),
) {
    let mut base = base.iter().peekable();
    for (key, value) in changes {
        while let Some((base_key, base_value)) = base.next_if(|(base_key, _)| *base_key < key) {
            sink(*base_key, *base_value);
        }
        // The change replaces the row of `base`.
        base.next_if(|(base_key, _)| *base_key == key);
        if let Some(value) = value {
            sink(key, value);
        }
    }
    base.for_each(|(key, value)| sink(*key, *value));
}
