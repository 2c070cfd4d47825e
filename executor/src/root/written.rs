//! Passes the keys that steps write from the executing threads to the root thread, during
//! execution. The root thread reads the nodes above them (`follow.rs`).

use std::sync::{Condvar, Mutex, PoisonError};

use alloy_primitives::{Address, U256};
use evm::StepWrites;
use revm::state::EvmState;

use crate::lock::lock;

/// Keys in any order, some of them repeated.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Accounts, also the accounts of `slots`.
    pub(super) accounts: Vec<Address>,
    pub(super) slots: Vec<(Address, U256)>,
}

#[derive(Debug, Default)]
struct State {
    keys: Keys,
    is_open: bool,
}

/// The keys that steps have written and that the reading thread has not taken yet. Engines add the
/// keys of each run of a step, also if a step runs again.
#[derive(Debug, Default)]
pub struct WrittenKeys {
    state: Mutex<State>,
    changed: Condvar,
}

/// Guard of a batch whose steps are running. Its drop ends the batch, also while unwinding.
#[derive(Debug)]
pub(crate) struct Writing<'a>(&'a WrittenKeys);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        *lock(&self.0.state) = State::default();
        self.0.changed.notify_all();
    }
}

impl WrittenKeys {
    /// Adds the keys that a step or a part of a step wrote, by the EVM's state after it.
    pub(crate) fn add(&self, state: &EvmState) {
        let mut keys = Keys::default();
        for (address, account) in state.iter().filter(|(_, account)| account.is_touched()) {
            let before = keys.slots.len();
            let changed = account.storage.iter().filter(|(_, slot)| slot.is_changed());
            keys.slots.extend(changed.map(|(key, _)| (*address, *key)));
            let has_own_change = account.is_changed() || account.is_selfdestructed();
            if has_own_change || keys.slots.len() > before {
                keys.accounts.push(*address);
            }
        }
        self.append(keys);
    }

    /// Adds the keys that a step wrote.
    pub(crate) fn add_writes(&self, writes: &StepWrites) {
        let slots: Vec<_> = writes.slots.iter().map(|(address, key, _)| (*address, *key)).collect();
        let mut accounts: Vec<_> = writes.accounts.iter().map(|write| write.address).collect();
        accounts.extend(slots.chunk_by(|a, b| a.0 == b.0).map(|slots| slots[0].0));
        self.append(Keys { accounts, slots });
    }

    /// Adds accounts that a step wrote, without slots.
    pub(crate) fn add_accounts(&self, accounts: impl Iterator<Item = Address>) {
        self.append(Keys { accounts: accounts.collect(), slots: Vec::new() });
    }

    fn append(&self, mut keys: Keys) {
        if keys.accounts.is_empty() {
            return;
        }
        let mut state = lock(&self.state);
        state.keys.accounts.append(&mut keys.accounts);
        state.keys.slots.append(&mut keys.slots);
        drop(state);
        self.changed.notify_one();
    }

    /// Begins a batch.
    pub(super) fn begin(&self) -> Writing<'_> {
        *lock(&self.state) = State { is_open: true, ..State::default() };
        Writing(self)
    }

    /// Waits for keys, and takes all keys so far; `None` when the batch has ended.
    pub(super) fn next(&self) -> Option<Keys> {
        let mut state = lock(&self.state);
        while state.is_open && state.keys.accounts.is_empty() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_open.then(|| std::mem::take(&mut state.keys))
    }

    /// Returns whether the batch has ended.
    pub(super) fn has_ended(&self) -> bool {
        !lock(&self.state).is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(keys: Option<Keys>) -> Option<Vec<Address>> {
        keys.map(|keys| keys.accounts)
    }

    #[test]
    fn keys_are_taken_once_and_none_outlives_its_batch() {
        let [first, second] = [1, 2].map(Address::repeat_byte);
        let written = WrittenKeys::default();
        assert!(written.has_ended() && written.next().is_none());
        let batch = written.begin();
        written.add_accounts([first, first].into_iter());
        let slots = vec![(second, U256::ZERO, U256::from(1)), (second, U256::from(2), U256::ZERO)];
        written.add_writes(&StepWrites { slots, ..StepWrites::default() });
        let keys = written.next().expect("keys");
        assert_eq!(keys.accounts, [first, first, second]);
        assert_eq!(keys.slots, [(second, U256::ZERO), (second, U256::from(2))]);
        written.add_accounts([second].into_iter());
        drop(batch);
        assert!(written.next().is_none());
        let _next = written.begin();
        written.add_accounts([first].into_iter());
        assert_eq!(accounts(written.next()), Some(vec![first]));
    }

    #[test]
    fn the_end_of_a_batch_wakes_the_thread_that_waits() {
        let written = WrittenKeys::default();
        std::thread::scope(|scope| {
            let batch = written.begin();
            let waiting = scope.spawn(|| written.next().is_none());
            drop(batch);
            assert!(waiting.join().expect("no panic"));
        });
    }
}
