//! Makes plans of all tries that a batch changes, from its changes alone. Then makes updates from
//! the plans, with the new values and the nodes and rows that were read. `compute.rs` folds them.

use std::ops::Range;

use alloy_primitives::B256;
use trie::{
    EMPTY_ROOT, Folded, Plan, Rows, ShardCount, SlotValue, Update, guess_nodes, stored_root,
};
use variant::RootReads;
use workload::AccountState;

use super::{
    changes::{Change, Changes},
    error::RootError,
    part::{Extent, Part, read_all},
    read::{KnownNodes, ReadRequests, Readers},
    settings::RootSettings,
    work::{RootWork, Rooted},
};
use crate::{
    leaves,
    tries::{NodeChanges, SlotChange, TrieId},
};

/// An account whose leaf may change.
#[derive(Debug)]
struct Account {
    /// Hash of the address.
    key: B256,
    /// Change of the account's row.
    change: Change,
    /// Row after the batch; `None` if the account does not exist.
    row: Option<AccountState>,
    /// Range of the account's changed slots among all changed slots.
    slots: Range<usize>,
    /// Root of the trie of the account's slots.
    storage_root: B256,
}

/// Returns the writes to one trie of slots, by ascending hash of their keys.
fn slot_writes(slots: &[SlotChange], hashes: &[[u8; 32]]) -> Rows {
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_unstable_by_key(|index| hashes[*index]);
    let mut writes = Rows::default();
    for index in order {
        let value = SlotValue::new(&slots[index].2);
        let value = value.as_ref().map_or(&[][..], SlotValue::as_slice);
        writes.push(B256::new(hashes[index]), value);
    }
    writes
}

/// Returns the index range of the sorted keys whose first nibble is in `nibbles`.
fn index_range(keys: &[B256], nibbles: &Range<u8>) -> Range<usize> {
    let start = keys.partition_point(|key| (key[0] >> 4) < nibbles.start);
    start..keys.partition_point(|key| (key[0] >> 4) < nibbles.end)
}

/// Adds the plans of a trie: one plan, or one for each shard.
fn add_plans(
    plans: &mut Vec<Part<Plan>>,
    settings: &RootSettings,
    trie: TrieId,
    keys: &[B256],
) -> Result<(), trie::Error> {
    if !settings.divides(trie, keys.len()) {
        let stage = Plan::new(settings.format, keys.to_vec())?;
        plans.push(Part { trie, extent: Extent::Whole, stage });
        return Ok(());
    }
    for nibbles in settings.shards.nibbles() {
        let extent = if nibbles.start == 0 { Extent::FirstShard } else { Extent::OtherShard };
        let keys = keys[index_range(keys, &nibbles)].to_vec();
        plans.push(Part { trie, extent, stage: Plan::shard(settings.format, nibbles, keys)? });
    }
    Ok(())
}

/// Returns the writes to a trie, divided by shard.
fn divide(writes: &Rows, shards: ShardCount) -> Vec<Rows> {
    let divided = shards.nibbles().map(|nibbles| {
        let mut rows = Rows::default();
        for index in index_range(writes.keys(), &nibbles) {
            rows.push(writes.keys()[index], writes.value(index));
        }
        rows
    });
    divided.collect()
}

/// Makes updates from plans, with the values of `writes`, which has one element for each trie.
fn make_updates(
    plans: Vec<Part<Plan>>,
    writes: Vec<Rows>,
    shards: ShardCount,
) -> Result<Vec<Part<Update>>, trie::Error> {
    let mut writes = writes.into_iter();
    let mut shard_writes = Vec::new().into_iter();
    let updates = plans.into_iter().map(|Part { trie, extent, stage }| {
        let writes = match extent {
            Extent::Whole => writes.next(),
            Extent::FirstShard => {
                let writes = writes.next().unwrap_or_default();
                shard_writes = divide(&writes, shards).into_iter();
                shard_writes.next()
            }
            Extent::OtherShard => shard_writes.next(),
        };
        Ok(Part { trie, extent, stage: Update::new(stage, writes.unwrap_or_default())? })
    });
    updates.collect()
}

/// Plans of all tries.
#[derive(Debug)]
pub(super) struct Planned {
    settings: RootSettings,
    /// Accounts by ascending hash of their addresses.
    accounts: Vec<Account>,
    /// Plans of the tries of slots, in the order of their accounts, then of the trie of accounts.
    plans: Vec<Part<Plan>>,
    /// Writes to each trie of slots.
    writes: Vec<Rows>,
    /// Changes of the nodes of the tries of slots, once these tries are folded.
    nodes: Vec<NodeChanges>,
}

impl Planned {
    /// Hashes the keys of a batch's changes, and begins the plan of each trie or shard.
    pub(super) fn new(settings: RootSettings, changes: &Changes<'_>) -> Result<Self, RootError> {
        let accounts = changes.accounts.iter().zip(changes.account_keys());
        let accounts = accounts.map(|((_, change, slots), hash)| Account {
            key: B256::new(hash),
            change: *change,
            row: None,
            slots: slots.clone(),
            storage_root: EMPTY_ROOT,
        });
        let mut accounts: Vec<_> = accounts.collect();
        accounts.sort_unstable_by_key(|account| account.key);
        let hashes = changes.slot_keys();
        let (mut plans, mut writes) = (Vec::new(), Vec::new());
        for account in accounts.iter().filter(|account| !account.slots.is_empty()) {
            let slots = account.slots.clone();
            let rows = slot_writes(&changes.slots[slots.clone()], &hashes[slots]);
            add_plans(&mut plans, &settings, TrieId::Slots(account.key), rows.keys())?;
            writes.push(rows);
        }
        let keys: Vec<_> = accounts.iter().map(|account| account.key).collect();
        add_plans(&mut plans, &settings, TrieId::Accounts, &keys)?;
        Ok(Self { settings, accounts, plans, writes, nodes: Vec::new() })
    }

    /// Reads the nodes and rows that the plans need. Also reads the rows of accounts with
    /// [`Change::Fields`], and the storage roots of accounts without changed slots.
    pub(super) fn read(
        &mut self,
        known: &mut KnownNodes,
        readers: &Readers<'_>,
        work: &mut RootWork,
    ) -> Result<(), RootError> {
        let mut requests = ReadRequests::default();
        let top = self.settings.top();
        for account in &self.accounts {
            let slots = TrieId::Slots(account.key);
            if account.slots.is_empty() {
                work.used_node_count += 1;
                if !known.has(slots, top) {
                    requests.nodes.push((slots, top));
                }
            }
            if matches!(account.change, Change::Fields(_)) {
                requests.accounts.push(account.key);
            }
        }
        let is_at_once = self.settings.reads == RootReads::AtOnce;
        if is_at_once {
            self.add_guesses(&mut requests, known);
        }
        let (keys, row_count) = (requests.nodes.clone(), requests.accounts.len());
        let answers = if is_at_once && !requests.is_empty() {
            Some(readers.read(std::mem::take(&mut requests), work)?)
        } else {
            read_all(&mut self.plans, std::mem::take(&mut requests), known, readers, work)?
        };
        let mut found = Vec::new();
        if let Some(answers) = answers {
            found = (0..row_count).map(|index| answers.account(index)).collect();
            known.add(&keys, answers);
        }
        if is_at_once {
            read_all(&mut self.plans, requests, known, readers, work)?;
        }
        self.complete_accounts(found, known)
    }

    /// Adds to `requests` all unknown nodes that may be above the writes.
    fn add_guesses(&self, requests: &mut ReadRequests, known: &KnownNodes) {
        let RootSettings { format, guess_depth, .. } = self.settings;
        let mut add = |trie: TrieId, keys: &[B256]| {
            let nodes = guess_nodes(format, keys, guess_depth).into_iter();
            requests
                .nodes
                .extend(nodes.filter(|key| !known.has(trie, *key)).map(|key| (trie, key)));
        };
        let with_slots = self.accounts.iter().filter(|account| !account.slots.is_empty());
        for (account, writes) in with_slots.zip(&self.writes) {
            add(TrieId::Slots(account.key), writes.keys());
        }
        let keys: Vec<_> = self.accounts.iter().map(|account| account.key).collect();
        add(TrieId::Accounts, &keys);
    }

    /// Sets the rows of accounts after the batch, and the stored roots of accounts without changed
    /// slots. `rows` has the stored rows of accounts with [`Change::Fields`].
    fn complete_accounts(
        &mut self,
        rows: Vec<Option<AccountState>>,
        known: &KnownNodes,
    ) -> Result<(), RootError> {
        let top = self.settings.top();
        let mut rows = rows.into_iter();
        for account in &mut self.accounts {
            if account.slots.is_empty() {
                let stored = known.node(TrieId::Slots(account.key), top).flatten();
                account.storage_root = stored_root(self.settings.format, stored)
                    .map_err(|source| trie::Error::InvalidNode { path: top.path(), source })?;
            }
            account.row = match account.change {
                Change::Row(row) => row,
                Change::Fields(fields) => fields.apply_to(rows.next().flatten()),
            };
        }
        Ok(())
    }

    /// Returns the updates of the tries of slots, with their values.
    pub(super) fn slot_updates(&mut self) -> Result<Vec<Part<Update>>, RootError> {
        let count = self.plans.iter().take_while(|part| part.trie != TrieId::Accounts).count();
        let account_plans = self.plans.split_off(count);
        let plans = std::mem::replace(&mut self.plans, account_plans);
        Ok(make_updates(plans, std::mem::take(&mut self.writes), self.settings.shards)?)
    }

    /// Returns the update of the trie of accounts, whole or in shards, with its values. The roots
    /// of the folded tries of slots complete these values.
    pub(super) fn account_updates(
        &mut self,
        folded: Vec<(TrieId, Folded)>,
    ) -> Result<Vec<Part<Update>>, RootError> {
        let mut folded = folded.into_iter();
        let (mut writes, mut leaf) = (Rows::default(), Vec::new());
        for account in &self.accounts {
            let mut storage_root = account.storage_root;
            if !account.slots.is_empty()
                && let Some((trie, folded)) = folded.next()
            {
                storage_root = folded.root;
                self.nodes.push(node_changes(trie, folded));
            }
            leaf.clear();
            if let Some(row) = &account.row {
                leaves::encode_account(row, storage_root, &mut leaf);
            }
            writes.push(account.key, &leaf);
        }
        Ok(make_updates(std::mem::take(&mut self.plans), vec![writes], self.settings.shards)?)
    }

    /// Returns the state root: the root of the folded trie of accounts.
    pub(super) fn rooted(self, folded: Vec<(TrieId, Folded)>) -> Rooted {
        let Self { mut nodes, .. } = self;
        let mut root = EMPTY_ROOT;
        for (trie, folded) in folded {
            root = folded.root;
            nodes.push(node_changes(trie, folded));
        }
        Rooted { root, nodes }
    }
}

fn node_changes(trie: TrieId, folded: Folded) -> NodeChanges {
    NodeChanges { trie, put: folded.nodes, deleted: folded.deleted }
}
