//! Rows that the batches of a sample have committed, in memory. Samples of `flat`, `memory` and
//! `redis` never change the base (the built state), so their readers look here first.

use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use workload::{NetChanges, genesis::AccountState};

/// Changed keys with their values. A deletion is `None` for an account, and zero for a slot.
#[derive(Debug, Default)]
pub(super) struct Changed {
    accounts: HashMap<Address, Option<AccountState>>,
    slots: HashMap<Address, HashMap<U256, U256>>,
    codes: HashMap<B256, Bytes>,
}

impl Changed {
    /// Returns a committed account; `Some(None)` if it was deleted, `None` if no batch has changed
    /// it.
    pub(super) fn account(&self, address: &Address) -> Option<Option<AccountState>> {
        self.accounts.get(address).copied()
    }

    pub(super) fn slot(&self, address: &Address, key: &U256) -> Option<U256> {
        self.slots.get(address)?.get(key).copied()
    }

    pub(super) fn code(&self, hash: &B256) -> Option<Bytes> {
        self.codes.get(hash).cloned()
    }
}

/// The changes of a sample's batches so far, shared by all its readers.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    changed: RwLock<Changed>,
    /// True after the first commit. Until then, readers take no lock.
    is_filled: AtomicBool,
}

impl Overlay {
    /// Returns true before the first commit.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.is_filled.load(Ordering::Acquire)
    }

    /// Returns the result of `find` on the committed rows; `None` before the first commit.
    #[inline]
    pub(super) fn find<T>(&self, find: impl FnOnce(&Changed) -> Option<T>) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        find(&self.changed.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the changes of a batch.
    pub(super) fn add(&self, changes: &NetChanges) {
        let mut changed = self.changed.write().unwrap_or_else(PoisonError::into_inner);
        changed.accounts.extend(changes.accounts.iter().copied());
        for (address, key, value) in &changes.slots {
            changed.slots.entry(*address).or_default().insert(*key, *value);
        }
        changed.codes.extend(changes.codes.iter().cloned());
        self.is_filled.store(true, Ordering::Release);
    }
}
