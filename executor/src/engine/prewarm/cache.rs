//! The rows that the speculative pass has read, and their keys.

use alloy_primitives::{Address, B256, U256};
use revm::state::Bytecode;
use workload::genesis::AccountState;

use crate::{single_flight::SingleFlight, trace};

/// Rows of the state before the batch.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) accounts: SingleFlight<Address, Option<AccountState>>,
    pub(super) slots: SingleFlight<(Address, U256), U256>,
    pub(super) codes: SingleFlight<B256, Bytecode>,
}

/// The part of a cache that has one kind of key.
pub(super) type Part<K, V> = fn(&Cache) -> &SingleFlight<K, V>;

/// A key as the figures count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Account(Address),
    Slot(Address, U256),
    Code(B256),
}

impl Key {
    /// As a trace tells keys apart.
    pub(super) const fn kind(self) -> trace::Key {
        match self {
            Self::Account(_) => trace::Key::Account,
            Self::Slot(..) => trace::Key::Slot,
            Self::Code(_) => trace::Key::Code,
        }
    }
}
