//! Condition variables on which workers wait for values that other workers read from the store, for
//! `bal/handover.rs` and `block_stm/memory.rs`. Waiters of many keys share one.

use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{lock::lock, single_flight::Cancelled};

/// Number of condition variables for waits.
const GATE_COUNT: usize = 64;
/// Longest sleep of a waiter that missed its wake-up: the time of a few reads from a fast SSD.
const MISSED_CALL: Duration = Duration::from_micros(500);

#[derive(Debug, Default)]
struct Gate {
    waiter_count: AtomicUsize,
    lock: Mutex<()>,
    opened: Condvar,
}

/// Condition variables for keys with dense ids.
#[derive(Debug)]
pub(super) struct Gates(Vec<Gate>);

impl Gates {
    pub(super) fn new() -> Self {
        Self((0..GATE_COUNT).map(|_| Gate::default()).collect())
    }

    /// Wakes the waiters for `id`, whose value can now be seen. A waiter that arrives at the same
    /// moment may be missed, and sleeps for [`MISSED_CALL`]. The lock makes sure that one which has
    /// looked in vain already sleeps when it is called.
    #[inline]
    pub(super) fn open(&self, id: usize) {
        let gate = &self.0[id % GATE_COUNT];
        if gate.waiter_count.load(Ordering::Relaxed) > 0 {
            drop(lock(&gate.lock));
            gate.opened.notify_all();
        }
    }

    /// Waits until `has_come` returns true.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub(super) fn wait(
        &self,
        id: usize,
        cancel: &AtomicBool,
        has_come: impl Fn() -> bool,
    ) -> Result<(), Cancelled> {
        while !has_come() {
            if cancel.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
            self.sleep(id, &has_come);
        }
        Ok(())
    }

    /// Sleeps until a gate of the key `id` opens, for at most [`MISSED_CALL`]. Does not sleep if
    /// `has_come` returns true.
    pub(super) fn sleep(&self, id: usize, has_come: impl Fn() -> bool) {
        let gate = &self.0[id % GATE_COUNT];
        gate.waiter_count.fetch_add(1, Ordering::SeqCst);
        let held = lock(&gate.lock);
        if !has_come() {
            drop(gate.opened.wait_timeout(held, MISSED_CALL));
        }
        gate.waiter_count.fetch_sub(1, Ordering::SeqCst);
    }
}
