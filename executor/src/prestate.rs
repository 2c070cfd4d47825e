//! The state below a batch as its transactions see it: read once per key, shared by all.
//!
//! Two ways, one trait: with an EIP-7928 list every key has a dense id and a place
//! ([`Declared`]); with a list of changes only, keys come up as transactions ask
//! ([`Undeclared`]).

use std::sync::atomic::AtomicBool;

use alloy_primitives::{Address, U256};
use workload::{
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use crate::{
    handover::{AccountCell, Arrival, Cancelled, SlotCell, Values},
    single_flight::SingleFlight,
};

/// Whether a list says beforehand what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// A key that is not in the list must not be read.
    Declared,
    /// The list has changes only.
    Undeclared,
}

/// The state below a batch.
pub trait PreState: Send + Sync + Sized {
    /// Whether reads are declared.
    const READS: Reads;

    /// Nothing read yet of what `list` declares.
    fn new(list: &ListIndex) -> Self;

    /// The places to fill ahead of transactions, where reads are declared.
    fn declared(&self) -> Option<&Declared>;

    /// The slot `id`, or one a few places behind, will be asked for at once.
    #[inline]
    fn announce(&self, _id: SlotId) {}

    /// The account at `address`, whose id is `id` where the list has it.
    ///
    /// # Errors
    /// What `read` fails with, or [`Cancelled`].
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
    /// What `read` fails with, or [`Cancelled`].
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
pub struct Declared {
    /// By [`AccountId`].
    pub accounts: Values<AccountCell>,
    /// By [`SlotId`].
    pub slots: Values<SlotCell>,
}

impl PreState for Declared {
    const READS: Reads = Reads::Declared;

    fn new(list: &ListIndex) -> Self {
        Self {
            accounts: Values::new(list.account_count() as usize),
            slots: Values::new(list.slot_count() as usize),
        }
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
pub struct Undeclared {
    accounts: SingleFlight<Address, Option<AccountState>>,
    slots: SingleFlight<(Address, U256), U256>,
}

impl PreState for Undeclared {
    const READS: Reads = Reads::Undeclared;

    fn new(_list: &ListIndex) -> Self {
        Self::default()
    }

    fn declared(&self) -> Option<&Declared> {
        None
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
