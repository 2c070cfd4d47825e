//! A state in Redis open for one sample: commits stay in this process, above rows that nobody writes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{held::Held, shared::Shared};
use crate::{error::StoreError, store::overlay::Overlay};

/// The rows of the cluster, below what the sample's batches have committed.
#[derive(Debug)]
pub(super) struct RedisSample<'s> {
    pub(super) shared: &'s Shared,
    held: &'s Held,
    /// Keys that the cluster holds.
    row_count: u64,
    pub(super) overlay: Overlay,
    /// Whether a read has failed: the sample has an error already.
    has_failed: AtomicBool,
}

impl<'s> RedisSample<'s> {
    pub(super) fn new(shared: &'s Shared, held: &'s Held, row_count: u64) -> Self {
        let (overlay, has_failed) = (Overlay::default(), AtomicBool::new(false));
        Self { shared, held, row_count, overlay, has_failed }
    }

    pub(super) fn note_failure(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Compares the number of keys in the cluster, unless a read has failed: the first failure is
    /// the one to report.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.held.check_key_count(self.row_count)
    }
}
