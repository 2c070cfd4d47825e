//! The state before a batch, from which the views of all transactions read. Each key is read from
//! the store once at most.
//!
//! One trait has three implementations. [`Declared`] is for a list of the EIP-7928 form, which
//! gives every key a dense id, and so a cell. [`Undeclared`] is for a list of changes only: its
//! keys are known when transactions request them. [`Listed`] is for a full list, which has the
//! values themselves.

use std::sync::atomic::AtomicBool;

use alloy_primitives::{Address, U256};
use workload::{
    genesis::AccountState,
    list::{AccountId, FullList, ListBounds, ListIndex, SlotId},
};

use super::handover::{AccountCell, SlotCell, Values};
use crate::{
    engine::error::ListFault,
    single_flight::{Arrival, Cancelled, SingleFlight},
};

/// The reads that a list declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// The list declares all reads. A key that is not in the list must not be read.
    Declared,
    /// The list has changes only.
    Undeclared,
}

/// The state before a batch.
pub(crate) trait PreState: Send + Sync + Sized {
    /// The reads that lists of this form declare.
    const READS: Reads;

    /// Decodes a list of the form that belongs to this implementation.
    ///
    /// # Errors
    /// [`ListFault`]: the bytes are not a list of that form.
    fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<(ListIndex, Self), ListFault>;

    /// Returns the largest size of a list of that form, in bytes.
    fn max_bytes(bounds: &ListBounds) -> u64 {
        bounds.max_bytes()
    }

    /// Returns the cells for values that readers read ahead, if the list declares the keys and has
    /// no values.
    fn declared(&self) -> Option<&Declared> {
        None
    }

    /// Returns the values to verify, if they came with the list.
    fn listed(&self) -> Option<&Listed> {
        None
    }

    /// Brings the value of slot `id` into the CPU's cache. A read of this slot, or of one a few ids
    /// above it, usually follows at once.
    #[inline]
    fn announce(&self, _id: SlotId) {}

    /// Returns the account at `address`. `id` is its id, if the list has the account. Calls `read`
    /// if the account is neither known nor claimed.
    ///
    /// # Errors
    /// The error of `read`, or [`Cancelled`].
    fn account<E: From<Cancelled>>(
        &self,
        id: Option<AccountId>,
        address: &Address,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<Option<AccountState>, E>,
    ) -> Result<(Option<AccountState>, Arrival), E>;

    /// Returns slot `key` of `address`. `id` is its id, if the list has the slot. Calls `read` if
    /// the slot is neither known nor claimed.
    ///
    /// # Errors
    /// The error of `read`, or [`Cancelled`].
    fn slot<E: From<Cancelled>>(
        &self,
        id: Option<SlotId>,
        address: &Address,
        key: &U256,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<U256, E>,
    ) -> Result<(U256, Arrival), E>;
}

/// Values by dense id, for a list that declares all reads.
#[derive(Debug)]
pub(crate) struct Declared {
    /// Accounts by [`AccountId`].
    pub(crate) accounts: Values<AccountCell>,
    /// Slots by [`SlotId`].
    pub(crate) slots: Values<SlotCell>,
}

impl Declared {
    /// Makes the cells of all keys of `list`. No key has been read yet.
    pub(crate) fn new(list: &ListIndex) -> Self {
        Self {
            accounts: Values::new(list.account_count() as usize),
            slots: Values::new(list.slot_count() as usize),
        }
    }
}

impl PreState for Declared {
    const READS: Reads = Reads::Declared;

    fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<(ListIndex, Self), ListFault> {
        let list = ListIndex::decode(bytes, bounds)?;
        let values = Self::new(&list);
        Ok((list, values))
    }

    fn declared(&self) -> Option<&Declared> {
        Some(self)
    }

    #[inline]
    fn announce(&self, id: SlotId) {
        self.slots.touch(id.get());
    }

    fn account<E: From<Cancelled>>(
        &self,
        id: Option<AccountId>,
        address: &Address,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<Option<AccountState>, E>,
    ) -> Result<(Option<AccountState>, Arrival), E> {
        let id = id.unwrap_or_else(|| panic!("{address} was refused before"));
        self.accounts.get_or_read(id.get(), cancel, read)
    }

    #[inline]
    fn slot<E: From<Cancelled>>(
        &self,
        id: Option<SlotId>,
        address: &Address,
        key: &U256,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<U256, E>,
    ) -> Result<(U256, Arrival), E> {
        let id = id.unwrap_or_else(|| panic!("slot {key} of {address} was refused before"));
        self.slots.get_or_read(id.get(), cancel, read)
    }
}

/// Values of the keys that transactions have requested, for a list of changes only.
#[derive(Debug, Default)]
pub(crate) struct Undeclared {
    accounts: SingleFlight<Address, Option<AccountState>>,
    slots: SingleFlight<(Address, U256), U256>,
}

impl PreState for Undeclared {
    const READS: Reads = Reads::Undeclared;

    fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<(ListIndex, Self), ListFault> {
        let list = ListIndex::decode(bytes, bounds)?;
        match list.account_beyond_changes() {
            Some(id) => Err(ListFault::MoreThanChanges(*list.address(id))),
            None => Ok((list, Self::default())),
        }
    }

    fn account<E: From<Cancelled>>(
        &self,
        _id: Option<AccountId>,
        address: &Address,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<Option<AccountState>, E>,
    ) -> Result<(Option<AccountState>, Arrival), E> {
        self.accounts.get_or_read(*address, cancel, read)
    }

    fn slot<E: From<Cancelled>>(
        &self,
        _id: Option<SlotId>,
        address: &Address,
        key: &U256,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<U256, E>,
    ) -> Result<(U256, Arrival), E> {
        self.slots.get_or_read((*address, *key), cancel, read)
    }
}

/// Values that came with the list, by dense id. The store is read only to verify them.
#[derive(Debug)]
pub(crate) struct Listed {
    accounts: Vec<Option<AccountState>>,
    slots: Vec<U256>,
}

impl Listed {
    /// Returns the account before the batch, as the list has it.
    pub(crate) fn account_of(&self, id: AccountId) -> Option<AccountState> {
        self.accounts[id.get()]
    }

    /// Returns the slot before the batch, as the list has it.
    #[inline]
    pub(crate) fn slot_of(&self, id: SlotId) -> U256 {
        self.slots[id.get()]
    }
}

impl PreState for Listed {
    const READS: Reads = Reads::Declared;

    fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<(ListIndex, Self), ListFault> {
        let (list, accounts, slots) = FullList::decode(bytes, bounds)?.into_parts();
        Ok((list, Self { accounts, slots }))
    }

    fn max_bytes(bounds: &ListBounds) -> u64 {
        bounds.max_full_bytes()
    }

    fn listed(&self) -> Option<&Listed> {
        Some(self)
    }

    #[inline]
    fn announce(&self, id: SlotId) {
        std::hint::black_box(self.slots[id.get()]);
    }

    fn account<E: From<Cancelled>>(
        &self,
        id: Option<AccountId>,
        address: &Address,
        _cancel: &AtomicBool,
        _read: impl FnOnce() -> Result<Option<AccountState>, E>,
    ) -> Result<(Option<AccountState>, Arrival), E> {
        let id = id.unwrap_or_else(|| panic!("{address} was refused before"));
        Ok((self.account_of(id), Arrival::Ready))
    }

    #[inline]
    fn slot<E: From<Cancelled>>(
        &self,
        id: Option<SlotId>,
        address: &Address,
        key: &U256,
        _cancel: &AtomicBool,
        _read: impl FnOnce() -> Result<U256, E>,
    ) -> Result<(U256, Arrival), E> {
        let id = id.unwrap_or_else(|| panic!("slot {key} of {address} was refused before"));
        Ok((self.slot_of(id), Arrival::Ready))
    }
}
