//! The changes of a batch in the form that root computation needs, from the batch's net changes or
//! from its list.

use std::{borrow::Cow, ops::Range};

use alloy_primitives::{Address, B256, U256};
use workload::{
    AccountState, BlockAccessIndex, Layout, NetChanges,
    list::{ListIndex, SlotId},
};

use crate::tries::SlotChange;

/// A block access index above those of all steps of a batch.
const END: BlockAccessIndex = BlockAccessIndex::MAX;

/// Change of an account's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The row after the batch; `None` if the account does not exist.
    Row(Option<AccountState>),
    /// New values of some fields; the other fields come from the stored row, which must be read.
    Fields(Fields),
}

/// Fields of an account that change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) nonce: Option<u64>,
    pub(super) balance: Option<U256>,
    pub(super) code_hash: Option<B256>,
}

impl Fields {
    /// Returns `row` with these changes. An empty account does not exist (EIP-161).
    pub(super) fn apply_to(&self, row: Option<AccountState>) -> Option<AccountState> {
        if *self == Self::default() {
            return row;
        }
        let before = row.unwrap_or_default();
        let after = AccountState {
            nonce: self.nonce.unwrap_or(before.nonce),
            balance: self.balance.unwrap_or(before.balance),
            code_hash: self.code_hash.unwrap_or(before.code_hash),
        };
        (after != AccountState::default()).then_some(after)
    }
}

/// Changes of a batch.
#[derive(Clone, Debug)]
pub(super) struct Changes<'c> {
    /// Accounts by ascending address, with the ranges of their slots in `slots`.
    pub(super) accounts: Vec<(Address, Change, Range<usize>)>,
    /// Slots by ascending address and key.
    pub(super) slots: Cow<'c, [SlotChange]>,
}

impl<'c> Changes<'c> {
    /// Returns the hashes of the addresses of the accounts.
    pub(super) fn account_keys(&self) -> Vec<[u8; 32]> {
        let addresses: Vec<_> = self.accounts.iter().map(|(address, ..)| *address).collect();
        let mut keys = vec![[0; 32]; addresses.len()];
        Layout::Hashed.account_key_parts(&addresses, &mut keys);
        keys
    }

    /// Returns the hashes of the keys of the slots.
    pub(super) fn slot_keys(&self) -> Vec<[u8; 32]> {
        let slots: Vec<_> = self.slots.iter().map(|(_, key, _)| *key).collect();
        let mut keys = vec![[0; 32]; slots.len()];
        Layout::Hashed.slot_key_parts(&slots, &mut keys);
        keys
    }

    /// Converts the net changes of a batch.
    pub(super) fn new(net: &'c NetChanges) -> Self {
        let mut accounts = Vec::with_capacity(net.accounts.len());
        let mut changed = net.accounts.iter().peekable();
        let mut first = 0;
        for slots in net.slots.chunk_by(|a, b| a.0 == b.0) {
            let address = slots[0].0;
            while let Some((before, row)) = changed.next_if(|(next, _)| *next < address) {
                accounts.push((*before, Change::Row(*row), 0..0));
            }
            let row = changed.next_if(|(next, _)| *next == address);
            // Only slots of the account changed. Its row must be read, because its leaf gets a new
            // storage root.
            let change =
                row.map_or(Change::Fields(Fields::default()), |(_, row)| Change::Row(*row));
            accounts.push((address, change, first..first + slots.len()));
            first += slots.len();
        }
        accounts.extend(changed.map(|(address, row)| (*address, Change::Row(*row), 0..0)));
        Self { accounts, slots: Cow::Borrowed(&net.slots) }
    }

    /// Takes the last change of each key and field from a list.
    pub(super) fn from_list(list: &ListIndex) -> Self {
        let (mut accounts, mut slots) = (Vec::new(), Vec::new());
        for id in list.accounts() {
            let address = *list.address(id);
            let first = slots.len();
            for slot in list.slots_of(id).map(SlotId) {
                if let Some(value) = list.slot_before(slot, END) {
                    slots.push((address, list.slot_key(slot), value));
                }
            }
            let fields = Fields {
                nonce: list.nonce_before(id, END),
                balance: list.balance_before(id, END),
                code_hash: list.code_before(id, END).map(|code| code.hash),
            };
            if slots.len() > first || fields != Fields::default() {
                accounts.push((address, Change::Fields(fields), first..slots.len()));
            }
        }
        Self { accounts, slots: slots.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_without_anything_left_is_gone_and_one_without_changes_stays() {
        let row = AccountState { balance: U256::from(7), ..AccountState::default() };
        let spent = Fields { balance: Some(U256::ZERO), ..Fields::default() };
        assert_eq!(spent.apply_to(Some(row)), None);
        assert_eq!(spent.apply_to(None), None);
        assert_eq!(Fields::default().apply_to(Some(row)), Some(row));
        let sent = Fields { nonce: Some(1), ..spent };
        let after = AccountState { nonce: 1, ..AccountState::default() };
        assert_eq!(sent.apply_to(Some(row)), Some(after));
    }
}
