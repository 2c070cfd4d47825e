//! Hands the values of declared keys from the store to transactions. The first thread that needs a
//! key reads it, once, and all other threads get the value from here.
//!
//! The index of a key is its dense id in the list, so there is no map and no lock. One byte for
//! each key says whether the value is there. A release store of this byte publishes the value.
//! ```text
//! EMPTY ──claim──▶ CLAIMED ──publish──▶ READY
//! ```
//! Publishing is a plain store, because an atomic exchange would wait until the value has left the
//! core. The price: a waiter that arrives at the same moment may miss its wake-up. So each waiter
//! looks again after `MISSED_CALL` (`engine/gates.rs`).

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use alloy_primitives::U256;
use workload::genesis::AccountState;

use crate::{
    engine::gates::Gates,
    fiber::{Awaited, Wait, WaitAction},
    single_flight::{Arrival, Cancelled},
};

const EMPTY: u8 = 0;
const CLAIMED: u8 = 1;
const READY: u8 = 2;

/// State bytes of all keys of one kind (accounts or slots), one byte for each key.
#[derive(Debug)]
pub(crate) struct Claims {
    states: Vec<AtomicU8>,
    gates: Gates,
}

impl Claims {
    /// Makes the states of `count` unclaimed keys.
    pub(crate) fn new(count: usize) -> Self {
        Self { states: (0..count).map(|_| AtomicU8::new(EMPTY)).collect(), gates: Gates::new() }
    }

    /// Returns whether the value of `id` can be loaded.
    #[inline]
    pub(crate) fn is_ready(&self, id: usize) -> bool {
        self.states[id].load(Ordering::Acquire) == READY
    }

    /// Claims the read of `id`. Returns false if the read was claimed before, also if its value has
    /// arrived.
    #[inline]
    pub(crate) fn claim(&self, id: usize) -> bool {
        let state = &self.states[id];
        state.load(Ordering::Relaxed) == EMPTY
            && state.compare_exchange(EMPTY, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Publishes the value that was stored for `id` before, and wakes waiting threads.
    #[inline]
    pub(crate) fn publish(&self, id: usize) {
        self.states[id].store(READY, Ordering::Release);
        self.gates.open(id);
    }

    /// Waits until the value of `id`, which another caller has claimed, is ready.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub(crate) fn wait(&self, id: usize, cancel: &AtomicBool) -> Result<(), Cancelled> {
        let mut wait = Wait::new(Awaited::Value);
        loop {
            // On a fiber, this lets other fibers of the thread run first.
            let action = wait.next_action();
            if self.is_ready(id) {
                return Ok(());
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
            if action == WaitAction::Block {
                self.gates.sleep(id, || self.is_ready(id));
            }
        }
    }
}

/// The memory of one value. The claimer writes it once, then all threads read it. The state byte
/// orders the write before the reads.
pub(crate) trait Cell: Default + Sync {
    /// Type of the value.
    type Value: Copy;

    /// Returns the stored value; meaningless before a store.
    fn load(&self) -> Self::Value;

    /// Stores the value.
    fn store(&self, value: Self::Value);
}

/// A slot's value in four words. Each word is a relaxed atomic, so no lock and no `unsafe` is
/// needed.
#[derive(Debug, Default)]
pub(crate) struct SlotCell([AtomicU64; 4]);

impl Cell for SlotCell {
    type Value = U256;

    #[inline]
    fn load(&self) -> U256 {
        U256::from_limbs(std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed)))
    }

    #[inline]
    fn store(&self, value: U256) {
        for (word, limb) in self.0.iter().zip(value.as_limbs()) {
            word.store(*limb, Ordering::Relaxed);
        }
    }
}

/// An account's row; `None` if the account does not exist.
#[derive(Debug, Default)]
pub(crate) struct AccountCell(OnceLock<Option<AccountState>>);

impl Cell for AccountCell {
    type Value = Option<AccountState>;

    #[inline]
    fn load(&self) -> Option<AccountState> {
        self.0.get().copied().flatten()
    }

    #[inline]
    fn store(&self, value: Option<AccountState>) {
        // The cell is empty, because only the claimer stores.
        let stored = self.0.set(value);
        debug_assert!(stored.is_ok(), "an account was read twice");
    }
}

/// Values by dense id.
#[derive(Debug)]
pub(crate) struct Values<C> {
    claims: Claims,
    cells: Vec<C>,
}

impl<C: Cell> Values<C> {
    /// Makes the cells of `count` keys that nobody has read.
    pub(crate) fn new(count: usize) -> Self {
        Self { claims: Claims::new(count), cells: (0..count).map(|_| C::default()).collect() }
    }

    /// Returns the claims of the keys.
    #[inline]
    pub(crate) const fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Returns the value of `id` if it is ready.
    #[inline]
    pub(crate) fn get(&self, id: usize) -> Option<C::Value> {
        self.claims.is_ready(id).then(|| self.cells[id].load())
    }

    /// Loads the cell of `id` into the CPU's cache, for a read that follows soon.
    #[inline]
    pub(crate) fn touch(&self, id: usize) {
        std::hint::black_box(self.cells[id].load());
    }

    /// Stores and publishes the value of `id`, which the caller has claimed.
    #[inline]
    pub(crate) fn put(&self, id: usize, value: C::Value) {
        self.cells[id].store(value);
        self.claims.publish(id);
    }

    /// Returns the value of `id`. Calls `read` if nobody has claimed the key. Waits if another
    /// thread or fiber has.
    ///
    /// # Errors
    /// The error of `read`, or [`Cancelled`].
    #[inline]
    pub(crate) fn get_or_read<E: From<Cancelled>>(
        &self,
        id: usize,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<C::Value, E>,
    ) -> Result<(C::Value, Arrival), E> {
        if let Some(value) = self.get(id) {
            return Ok((value, Arrival::Ready));
        }
        if self.claims.claim(id) {
            let value = read()?;
            self.put(id, value);
            return Ok((value, Arrival::Read));
        }
        self.claims.wait(id, cancel)?;
        Ok((self.cells[id].load(), Arrival::Waited))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn every_key_is_read_once_and_everyone_sees_its_value() {
        const KEY_COUNT: usize = 2_000;
        let values = Values::<SlotCell>::new(KEY_COUNT);
        let cancel = AtomicBool::new(false);
        let read_count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for worker in 0..8 {
                let (values, cancel, read_count) = (&values, &cancel, &read_count);
                scope.spawn(move || {
                    for step in 0..KEY_COUNT {
                        let id = (step * 7 + worker * 31) % KEY_COUNT;
                        let read = || {
                            read_count.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                            Ok::<_, Cancelled>(U256::from(id) << 200)
                        };
                        let (value, _) = values.get_or_read(id, cancel, read).unwrap();
                        assert_eq!(value, U256::from(id) << 200);
                    }
                });
            }
        });
        assert_eq!(read_count.load(Ordering::Relaxed), KEY_COUNT);
    }

    #[test]
    fn a_waiter_leaves_when_the_run_is_cancelled() {
        let values = Values::<SlotCell>::new(1);
        assert!(values.claims().claim(0), "nobody else is here");
        let cancel = AtomicBool::new(true);
        let read = || -> Result<U256, Cancelled> { panic!("claimed by another") };
        assert_eq!(values.get_or_read(0, &cancel, read), Err(Cancelled));
    }
}
