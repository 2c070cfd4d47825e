//! Plans of all tries that a batch changes, from its changes alone; then updates, with values and with
//! what was read.

use std::ops::Range;

use alloy_primitives::B256;
use trie::{
    EMPTY_ROOT, Folded, Format, Found, NodeKey, Plan, Reads, Rows, SlotValue, Update, Work,
    stored_root,
};
use workload::{AccountState, Layout};

use super::{
    changes::{Change, Changes},
    error::RootError,
    read::{Answers, Asks, Readers},
    work::{RootWork, Rooted},
};
use crate::{
    leaves,
    tries::{NodeChanges, SlotChange, TrieId},
};

/// What is read level by level.
trait Reading {
    fn reads(&self) -> &Reads;
    fn supply(&mut self, found: Found) -> Result<(), trie::Error>;
}

impl Reading for Plan {
    fn reads(&self) -> &Reads {
        self.reads()
    }

    fn supply(&mut self, found: Found) -> Result<(), trie::Error> {
        self.supply(found)
    }
}

impl Reading for Update {
    fn reads(&self) -> &Reads {
        self.reads()
    }

    fn supply(&mut self, found: Found) -> Result<(), trie::Error> {
        self.supply(found)
    }
}

/// Reads for all tries until none wants more. Returns the first answers, which begin with those to
/// `asks`.
fn read_all<T: Reading>(
    tries: &mut [(TrieId, T)],
    mut asks: Asks,
    readers: &Readers<'_>,
    work: &mut RootWork,
) -> Result<Option<Answers>, RootError> {
    let mut first = None;
    loop {
        let (first_node, first_range) = (asks.nodes.len(), asks.ranges.len());
        let reading: Vec<usize> =
            (0..tries.len()).filter(|index| !tries[*index].1.reads().is_empty()).collect();
        for (id, trie) in reading.iter().map(|index| &tries[*index]) {
            let Reads { nodes, ranges } = trie.reads();
            asks.nodes.extend(nodes.iter().map(|key| (*id, *key)));
            asks.ranges.extend(ranges.iter().map(|range| (*id, *range)));
        }
        if asks.is_empty() {
            return Ok(first);
        }
        let answers = readers.read(std::mem::take(&mut asks), work)?;
        let (mut node, mut range) = (first_node, first_range);
        for index in reading {
            let trie = &mut tries[index].1;
            let mut found = Found::default();
            let (node_count, range_count) = (trie.reads().nodes.len(), trie.reads().ranges.len());
            (node..node + node_count).for_each(|index| found.push_node(answers.node(index)));
            for index in range..range + range_count {
                answers.rows(index).for_each(|(key, value)| found.push_row(key, value));
            }
            (node, range) = (node + node_count, range + range_count);
            trie.supply(found)?;
        }
        first.get_or_insert(answers);
    }
}

/// An account whose leaf may change.
#[derive(Debug)]
struct Account {
    /// Hash of its address.
    key: B256,
    /// Change of its row.
    change: Change,
    /// Its row after the batch; `None`: it is gone.
    row: Option<AccountState>,
    /// Its slots that change, by their place among all.
    slots: Range<usize>,
    /// The root of its slots.
    storage_root: B256,
}

/// The writes to one trie of slots, by ascending hash of their keys.
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

/// Plans of all tries.
#[derive(Debug)]
pub(super) struct Planned {
    format: Format,
    /// By ascending hash of their addresses.
    accounts: Vec<Account>,
    /// Of the accounts with slots in their order, then that of the accounts.
    plans: Vec<(TrieId, Plan)>,
    /// Of the plans for slots.
    writes: Vec<Rows>,
}

impl Planned {
    /// Hashes the keys of a batch's changes and begins a plan for each trie.
    pub(super) fn new(format: Format, changes: &Changes<'_>) -> Result<Self, RootError> {
        let addresses: Vec<_> = changes.accounts.iter().map(|(address, ..)| *address).collect();
        let mut hashes = vec![[0; 32]; addresses.len()];
        Layout::Hashed.account_key_parts(&addresses, &mut hashes);
        let account =
            |((_, change, slots), hash): (&(_, Change, Range<usize>), [u8; 32])| Account {
                key: B256::new(hash),
                change: *change,
                row: None,
                slots: slots.clone(),
                storage_root: EMPTY_ROOT,
            };
        let mut accounts: Vec<_> = changes.accounts.iter().zip(hashes).map(account).collect();
        accounts.sort_unstable_by_key(|account| account.key);
        let keys: Vec<_> = changes.slots.iter().map(|(_, key, _)| *key).collect();
        let mut hashes = vec![[0; 32]; keys.len()];
        Layout::Hashed.slot_key_parts(&keys, &mut hashes);
        let (mut plans, mut writes) = (Vec::new(), Vec::new());
        for account in accounts.iter().filter(|account| !account.slots.is_empty()) {
            let slots = account.slots.clone();
            let rows = slot_writes(&changes.slots[slots.clone()], &hashes[slots]);
            let plan = Plan::new(format, rows.keys().to_vec())?;
            plans.push((TrieId::Slots(account.key), plan));
            writes.push(rows);
        }
        let keys = accounts.iter().map(|account| account.key).collect();
        plans.push((TrieId::Accounts, Plan::new(format, keys)?));
        Ok(Self { format, accounts, plans, writes })
    }

    /// Reads all that the plans want, the rows of accounts of which slots alone change, and the roots
    /// of the slots of all others.
    pub(super) fn read(
        &mut self,
        readers: &Readers<'_>,
        work: &mut RootWork,
    ) -> Result<(), RootError> {
        let mut asks = Asks::default();
        let top = NodeKey::top(self.format);
        for account in &self.accounts {
            if account.slots.is_empty() {
                asks.nodes.push((TrieId::Slots(account.key), top));
            }
            if matches!(account.change, Change::Fields(_)) {
                asks.accounts.push(account.key);
            }
        }
        let Some(answers) = read_all(&mut self.plans, asks, readers, work)? else { return Ok(()) };
        let (mut node, mut row) = (0, 0);
        for account in &mut self.accounts {
            if account.slots.is_empty() {
                let invalid = |source| trie::Error::InvalidNode { path: top.path(), source };
                let root = stored_root(self.format, answers.node(node)).map_err(invalid);
                account.storage_root = root?;
                node += 1;
            }
            account.row = match account.change {
                Change::Row(row) => row,
                Change::Fields(fields) => {
                    row += 1;
                    fields.over(answers.account(row - 1))
                }
            };
        }
        Ok(())
    }

    /// Adds the values of the slots.
    pub(super) fn with_values(mut self) -> Result<SlotUpdates, RootError> {
        let Some((_, accounts_plan)) = self.plans.pop() else {
            unreachable!("there is a plan for the accounts")
        };
        let mut updates = Vec::with_capacity(self.plans.len());
        for ((trie, plan), writes) in self.plans.into_iter().zip(self.writes) {
            updates.push((trie, Update::new(plan, writes)?));
        }
        Ok(SlotUpdates { accounts: self.accounts, accounts_plan, updates })
    }
}

/// Updates of the tries of slots.
#[derive(Debug)]
pub(super) struct SlotUpdates {
    accounts: Vec<Account>,
    accounts_plan: Plan,
    updates: Vec<(TrieId, Update)>,
}

impl SlotUpdates {
    /// Reads the subtrees that deletes leave alone.
    pub(super) fn read_siblings(
        &mut self,
        readers: &Readers<'_>,
        work: &mut RootWork,
    ) -> Result<(), RootError> {
        read_all(&mut self.updates, Asks::default(), readers, work).map(drop)
    }

    /// Folds the tries of slots: their roots are the last values of the accounts.
    pub(super) fn fold(self) -> Result<AccountsUpdate, RootError> {
        let Self { accounts, accounts_plan, updates } = self;
        let mut folded = updates.into_iter();
        let (mut nodes, mut hashed) = (Vec::new(), Work::default());
        let (mut writes, mut leaf) = (Rows::default(), Vec::new());
        for account in &accounts {
            let mut storage_root = account.storage_root;
            if !account.slots.is_empty()
                && let Some((trie, update)) = folded.next()
            {
                let folded = update.fold()?;
                storage_root = folded.root;
                hashed = hashed.with(folded.work);
                nodes.push(changed(trie, folded));
            }
            leaf.clear();
            if let Some(row) = &account.row {
                leaves::account(row, storage_root, &mut leaf);
            }
            writes.push(account.key, &leaf);
        }
        let update = Update::new(accounts_plan, writes)?;
        Ok(AccountsUpdate { update: [(TrieId::Accounts, update)], nodes, hashed })
    }
}

fn changed(trie: TrieId, folded: Folded) -> NodeChanges {
    NodeChanges { trie, put: folded.nodes, deleted: folded.deleted }
}

/// The update of the trie of accounts.
#[derive(Debug)]
pub(super) struct AccountsUpdate {
    update: [(TrieId, Update); 1],
    nodes: Vec<NodeChanges>,
    hashed: Work,
}

impl AccountsUpdate {
    /// Reads the subtrees that deletes leave alone.
    pub(super) fn read_siblings(
        &mut self,
        readers: &Readers<'_>,
        work: &mut RootWork,
    ) -> Result<(), RootError> {
        read_all(&mut self.update, Asks::default(), readers, work).map(drop)
    }

    /// The state root.
    pub(super) fn fold(self) -> Result<(Rooted, Work), RootError> {
        let Self { update: [(trie, update)], mut nodes, hashed } = self;
        let folded = update.fold()?;
        let (root, hashed) = (folded.root, hashed.with(folded.work));
        nodes.push(changed(trie, folded));
        Ok((Rooted { root, nodes }, hashed))
    }
}
