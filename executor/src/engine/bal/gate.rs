//! The gate that holds executors until the declared keys are read.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::lock::lock;

/// Opens when as many have passed as it was made for.
#[derive(Debug)]
pub(super) struct Gate {
    missing: Mutex<usize>,
    opened: Condvar,
}

impl Gate {
    /// A gate that opens once `count` have passed.
    pub(super) const fn new(count: usize) -> Self {
        Self { missing: Mutex::new(count), opened: Condvar::new() }
    }

    /// Counts the caller as passed when the guard goes, in a panic too.
    pub(super) const fn pass(&self) -> Pass<'_> {
        Pass(self)
    }

    /// Waits until it is open.
    pub(super) fn wait(&self) {
        let mut missing = lock(&self.missing);
        while *missing > 0 {
            missing = self.opened.wait(missing).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Counts one as passed when dropped.
#[derive(Debug)]
pub(super) struct Pass<'a>(&'a Gate);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut missing = lock(&self.0.missing);
        *missing = missing.saturating_sub(1);
        if *missing == 0 {
            self.0.opened.notify_all();
        }
    }
}
