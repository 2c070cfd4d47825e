//! A state in Redis open for one sample: commits stay in this process, above rows that nobody writes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{RedisStore, shared::Shared};
use crate::{error::StoreError, store::overlay::Overlay};

/// The rows of the cluster, below what the sample's batches have committed.
#[derive(Debug)]
pub(super) struct RedisSample<'s> {
    store: &'s RedisStore,
    pub(super) shared: &'s Shared,
    pub(super) overlay: Overlay,
    /// Whether a read has failed: the sample has an error already.
    has_failed: AtomicBool,
}

impl<'s> RedisSample<'s> {
    pub(super) fn new(store: &'s RedisStore) -> Self {
        let (overlay, has_failed) = (Overlay::default(), AtomicBool::new(false));
        Self { store, shared: &store.shared, overlay, has_failed }
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
        self.store.held.check_key_count(self.store.filled.row_count)
    }
}
