//! The state below a batch as its transactions see it: read once per key, shared by all.
//!
//! One trait has three implementations. [`Declared`]: an EIP-7928 list gives every key a dense id
//! and a cell. [`Undeclared`]: with a list of changes only, keys appear as transactions request
//! them. [`Listed`]: a full list has the values themselves.

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
    /// A key that is not in the list must not be read.
    Declared,
    /// The list has changes only.
    Undeclared,
}

/// The state below a batch.
pub(crate) trait PreState: Send + Sync + Sized {
    /// The reads that its lists declare.
    const READS: Reads;

    /// Decodes a list in the form that goes with this way.
    ///
    /// # Errors
    /// [`ListFault`]: the bytes are no list of that form.
    fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<(ListIndex, Self), ListFault>;

    /// Most bytes of a list in that form.
    fn max_bytes(bounds: &ListBounds) -> u64 {
        bounds.max_bytes()
    }

    /// The places to fill ahead of transactions, where there are some.
    fn declared(&self) -> Option<&Declared> {
        None
    }

    /// The values to verify, where they came with the list.
    fn listed(&self) -> Option<&Listed> {
        None
    }

    /// The slot `id`, or one a few places behind, will be asked for at once.
    #[inline]
    fn announce(&self, _id: SlotId) {}

    /// The account at `address`, whose id is `id` where the list has it.
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

    /// The slot `key` of `address`, whose id is `id` where the list has it.
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

/// Places by dense id, for a list that declares all reads.
#[derive(Debug)]
pub(crate) struct Declared {
    /// Accounts by [`AccountId`].
    pub(crate) accounts: Values<AccountCell>,
    /// Slots by [`SlotId`].
    pub(crate) slots: Values<SlotCell>,
}

impl Declared {
    /// None of the keys of `list` is read yet.
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
        let places = Self::new(&list);
        Ok((list, places))
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

/// Keys as they come up, for a list of changes only.
#[derive(Debug, Default)]
pub(crate) struct Undeclared {
    accounts: SingleFlight<Address, Option<AccountState>>,
    slots: SingleFlight<(Address, U256), U256>,
}

impl PreState for Undeclared {
    const READS: Reads = Reads::Undeclared;

    fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<(ListIndex, Self), ListFault> {
        let list = ListIndex::decode(bytes, bounds)?;
        match list.first_read() {
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

/// Values that came with the list, by dense id. Nothing is read for them but to verify them.
#[derive(Debug)]
pub(crate) struct Listed {
    accounts: Vec<Option<AccountState>>,
    slots: Vec<U256>,
}

impl Listed {
    /// The account before the batch, as the list has it.
    pub(crate) fn account_of(&self, id: AccountId) -> Option<AccountState> {
        self.accounts[id.get()]
    }

    /// The slot before the batch, as the list has it.
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
