//! The decoded list as executors use it. Accounts and slots have dense ids: numbers from 0 on, in
//! the order of the list. The writes of each are in the order of their block access indices.
//! Lookups use these orders: no hash table, no allocation per item.

use alloy_eip7928::{
    AccountChanges, BalanceChange, BlockAccessIndex as AlloyIndex, CodeChange, NonceChange,
    SlotChanges, StorageChange,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use std::ops::Range;

use super::{
    radix::{Radix, Window, is_less},
    writes::Writes,
};
use crate::step::BlockAccessIndex;

/// Dense id of an account: its position among a list's accounts, by ascending address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub u32);

/// Dense id of a slot: its position among the slots of all of a list's accounts, by ascending
/// address and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u32);

impl AccountId {
    /// The id as an index into an array.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl SlotId {
    /// The id as an index into an array.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// A code that a step gives an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Keccak-256 of the code, computed and not read from the list.
    pub hash: B256,
    /// Bytes of the code; empty where a delegation ends (EIP-7702).
    pub bytes: Bytes,
}

impl Code {
    /// First bytes of a delegation (EIP-7702): the magic, and version 0.
    const DELEGATION_PREFIX: [u8; 3] = [0xef, 0x01, 0x00];
    /// Length of a delegation in bytes: the prefix and an address.
    const DELEGATION_BYTES: usize = 23;

    fn is_delegation(bytes: &[u8]) -> bool {
        bytes.len() == Self::DELEGATION_BYTES && bytes.starts_with(&Self::DELEGATION_PREFIX)
    }

    /// Whether `bytes` begin like a delegation and are not one: EVMs refuse them as code.
    pub(crate) fn is_broken_delegation(bytes: &[u8]) -> bool {
        bytes.starts_with(&Self::DELEGATION_PREFIX[..2]) && !Self::is_delegation(bytes)
    }

    /// Whether a block can give an account the code `bytes`. Creation refuses a code that begins
    /// with 0xef (EIP-3541). Only delegations of a transaction (EIP-7702) set such a code.
    pub(super) fn can_be_set(bytes: &[u8]) -> bool {
        bytes.first() != Some(&Self::DELEGATION_PREFIX[0]) || Self::is_delegation(bytes)
    }
}

/// Number of keys that are compared without a branch. Most buckets have no more.
const BUCKET_KEY_COUNT: usize = 4;

/// The slots of one account: the id of the first one, and their window of the radix directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first_slot: u32,
    pub(super) window: Window,
}

/// A list, checked and indexed. Made by [`Self::decode`] alone, so that its parts agree.
///
/// Methods that take an id panic on one that is not from this list.
#[derive(Clone, Debug, Default)]
pub struct ListIndex {
    pub(super) addresses: Vec<Address>,
    /// The slots of each account.
    pub(super) spans: Vec<Span>,
    pub(super) account_window: Window,
    /// Keys of all slots, in the order of their ids.
    pub(super) keys: Vec<U256>,
    pub(super) radix: Radix,
    pub(super) slots: Writes<U256>,
    pub(super) balances: Writes<U256>,
    pub(super) nonces: Writes<u64>,
    pub(super) codes: Writes<Code>,
    /// Number of changes by block access index, up to the last step that has a change.
    pub(super) change_counts: Vec<u32>,
}

/// An address as a number for the radix directory; numbers ascend as addresses do.
pub(super) fn address_key(address: &Address) -> U256 {
    let mut word = [0; 32];
    word[..20].copy_from_slice(address.as_slice());
    U256::from_be_bytes(word)
}

impl ListIndex {
    /// Number of accounts.
    pub const fn account_count(&self) -> u32 {
        self.addresses.len() as u32
    }

    /// Number of slots of all accounts.
    pub const fn slot_count(&self) -> u32 {
        self.keys.len() as u32
    }

    /// The ids of all accounts, in order.
    pub fn accounts(&self) -> impl ExactSizeIterator<Item = AccountId> + use<> {
        (0..self.account_count()).map(AccountId)
    }

    /// The ids of all slots, in order.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = SlotId> + use<> {
        (0..self.slot_count()).map(SlotId)
    }

    /// The addresses of all accounts, in order.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The keys of all slots, in order.
    pub fn slot_keys(&self) -> &[U256] {
        &self.keys
    }

    /// The address of an account.
    #[inline]
    pub fn address(&self, account: AccountId) -> &Address {
        &self.addresses[account.get()]
    }

    /// The ids of an account's slots, as a range.
    #[inline]
    pub fn slots_of(&self, account: AccountId) -> Range<u32> {
        let next = self.spans.get(account.get() + 1);
        let end = next.map_or(self.slot_count(), |span| span.first_slot);
        self.spans[account.get()].first_slot..end
    }

    /// The account that has a slot, found by bisection.
    pub fn account_of(&self, slot: SlotId) -> AccountId {
        assert!(slot.0 < self.slot_count(), "slot {} of {}", slot.0, self.slot_count());
        // An account without slots has the same `first_slot` as the next account, so bisection
        // passes over it.
        AccountId(self.spans.partition_point(|span| span.first_slot <= slot.0) as u32 - 1)
    }

    /// The key of a slot.
    #[inline]
    pub fn slot_key(&self, slot: SlotId) -> U256 {
        self.keys[slot.get()]
    }

    /// The id of the account at `address`, if the list has the account.
    #[inline]
    pub fn account_id(&self, address: &Address) -> Option<AccountId> {
        let key = address_key(address);
        let bucket = self.radix.bucket(self.account_window, &key, 0..self.account_count());
        let index = self.addresses[bucket.clone()].binary_search(address).ok()?;
        Some(AccountId((bucket.start + index) as u32))
    }

    /// The id of the slot `key` of `account`, if the list declares the slot.
    #[inline]
    pub fn slot_id(&self, account: AccountId, key: &U256) -> Option<SlotId> {
        self.slot_id_announced(account, key, |_| ())
    }

    /// Finds a slot, as [`Self::slot_id`] does. Before any key is compared, `announce` gets the id
    /// of the first slot in the key's bucket. This id is the slot's own or a few below it. So the
    /// caller can prefetch its own value of the slot meanwhile.
    #[inline]
    pub fn slot_id_announced(
        &self,
        account: AccountId,
        key: &U256,
        announce: impl FnOnce(SlotId),
    ) -> Option<SlotId> {
        let window = self.spans[account.get()].window;
        let bucket = self.radix.bucket(window, key, self.slots_of(account));
        if bucket.is_empty() {
            return None;
        }
        announce(SlotId(bucket.start as u32));
        let index = match self.keys[bucket.start..].first_chunk::<BUCKET_KEY_COUNT>() {
            Some(keys) if bucket.len() <= BUCKET_KEY_COUNT => {
                // All keys of a bucket are compared without a branch. A branch could not be
                // predicted, and a wrong prediction would wait for memory.
                let lower = |(at, probe)| usize::from((at < bucket.len()) & is_less(probe, key));
                bucket.start + keys.iter().enumerate().map(lower).sum::<usize>()
            }
            _ => {
                bucket.start
                    + self.keys[bucket.clone()].partition_point(|probe| is_less(probe, key))
            }
        };
        (bucket.contains(&index) && self.keys[index] == *key).then_some(SlotId(index as u32))
    }

    /// Whether any step writes the slot.
    #[inline]
    pub fn has_changes(&self, slot: SlotId) -> bool {
        self.slots.contains(slot.0)
    }

    /// The first account with a slot that no step writes; without one, the first account with
    /// neither changes nor slots. A list in the `parallel-io` form names changes alone, so it has no
    /// such account.
    pub fn account_beyond_changes(&self) -> Option<AccountId> {
        if self.slots.id_count() < self.keys.len()
            && let Some(slot) = self.slots().find(|slot| !self.has_changes(*slot))
        {
            return Some(self.account_of(slot));
        }
        self.accounts().find(|id| {
            let is_changed = self.balances.contains(id.0)
                || self.nonces.contains(id.0)
                || self.codes.contains(id.0);
            !is_changed && self.slots_of(*id).is_empty()
        })
    }

    /// The first index at which a step writes the slot, if any does.
    pub fn first_slot_change(&self, slot: SlotId) -> Option<BlockAccessIndex> {
        self.slots.of(slot.0).next().map(|(index, _)| index)
    }

    /// The first index at which a step changes balance, nonce or code of the account, if any
    /// does.
    pub fn first_account_change(&self, account: AccountId) -> Option<BlockAccessIndex> {
        let balance = self.balances.of(account.0).next().map(|(index, _)| index);
        let nonce = self.nonces.of(account.0).next().map(|(index, _)| index);
        let code = self.codes.of(account.0).next().map(|(index, _)| index);
        [balance, nonce, code].into_iter().flatten().min()
    }

    /// The indices at which steps write the slot, ascending.
    pub fn slot_change_indices(&self, slot: SlotId) -> impl Iterator<Item = BlockAccessIndex> {
        self.slots.of(slot.0).map(|(index, _)| index)
    }

    /// The indices at which steps change balance, nonce or code of the account. A step that changes
    /// several of them gives its index several times.
    pub fn account_change_indices(
        &self,
        account: AccountId,
    ) -> impl Iterator<Item = BlockAccessIndex> {
        let balances = self.balances.of(account.0).map(|(index, _)| index);
        let nonces = self.nonces.of(account.0).map(|(index, _)| index);
        let codes = self.codes.of(account.0).map(|(index, _)| index);
        balances.chain(nonces).chain(codes)
    }

    /// Number of changes of the step at `index`: slots, balances, nonces and codes.
    pub fn change_count_at(&self, index: BlockAccessIndex) -> u32 {
        self.change_counts.get(index as usize).copied().unwrap_or(0)
    }

    /// Number of changes of all steps.
    pub const fn change_count(&self) -> usize {
        self.slots.count() + self.balances.count() + self.nonces.count() + self.codes.count()
    }

    /// The slot's value before the step at `index`, where an earlier step wrote it.
    #[inline]
    pub fn slot_before(&self, slot: SlotId, index: BlockAccessIndex) -> Option<U256> {
        self.slots.before(slot.0, index).copied()
    }

    /// The value that the step at `index` writes to the slot.
    #[inline]
    pub fn slot_at(&self, slot: SlotId, index: BlockAccessIndex) -> Option<U256> {
        self.slots.at(slot.0, index).copied()
    }

    /// The balance before the step at `index`, where an earlier step changed it.
    #[inline]
    pub fn balance_before(&self, account: AccountId, index: BlockAccessIndex) -> Option<U256> {
        self.balances.before(account.0, index).copied()
    }

    /// The balance that the step at `index` leaves, where it changes it.
    #[inline]
    pub fn balance_at(&self, account: AccountId, index: BlockAccessIndex) -> Option<U256> {
        self.balances.at(account.0, index).copied()
    }

    /// The nonce before the step at `index`, where an earlier step changed it.
    #[inline]
    pub fn nonce_before(&self, account: AccountId, index: BlockAccessIndex) -> Option<u64> {
        self.nonces.before(account.0, index).copied()
    }

    /// The nonce that the step at `index` leaves, where it changes it.
    #[inline]
    pub fn nonce_at(&self, account: AccountId, index: BlockAccessIndex) -> Option<u64> {
        self.nonces.at(account.0, index).copied()
    }

    /// The code before the step at `index`, where an earlier step changed it.
    #[inline]
    pub fn code_before(&self, account: AccountId, index: BlockAccessIndex) -> Option<&Code> {
        self.codes.before(account.0, index)
    }

    /// The code that the step at `index` leaves, where it changes it.
    #[inline]
    pub fn code_at(&self, account: AccountId, index: BlockAccessIndex) -> Option<&Code> {
        self.codes.at(account.0, index)
    }

    /// The list as alloy's `AccountChanges`, from which lists are encoded.
    pub fn to_changes(&self) -> Vec<AccountChanges> {
        self.accounts().map(|account| self.account_changes(account)).collect()
    }

    /// The bytes that the index was decoded from: no two encodings decode to the same index.
    pub fn encode(&self) -> Bytes {
        super::encode(&self.to_changes())
    }

    fn account_changes(&self, account: AccountId) -> AccountChanges {
        let mut out = AccountChanges::new(*self.address(account));
        for slot in self.slots_of(account).map(SlotId) {
            let key = self.slot_key(slot);
            if !self.has_changes(slot) {
                out.storage_reads.push(key);
                continue;
            }
            let writes = self.slots.of(slot.0);
            let changes =
                writes.map(|(index, value)| StorageChange::new(alloy_index(index), *value));
            out.storage_changes.push(SlotChanges::new(key, changes.collect()));
        }
        let balances = self.balances.of(account.0);
        out.balance_changes.extend(
            balances.map(|(index, balance)| BalanceChange::new(alloy_index(index), *balance)),
        );
        let nonces = self.nonces.of(account.0);
        out.nonce_changes
            .extend(nonces.map(|(index, nonce)| NonceChange::new(alloy_index(index), *nonce)));
        let codes = self.codes.of(account.0);
        out.code_changes.extend(
            codes.map(|(index, code)| CodeChange::new(alloy_index(index), code.bytes.clone())),
        );
        out
    }
}

fn alloy_index(index: BlockAccessIndex) -> AlloyIndex {
    AlloyIndex::new(index.into())
}
