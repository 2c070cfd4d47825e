//! A state in Redis open for one sample: commits stay in this process, above rows that nobody writes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::shared::Shared;
use crate::store::overlay::Overlay;

/// The rows of the cluster, below what the sample's batches have committed.
#[derive(Debug)]
pub struct RedisSample {
    pub(super) shared: Arc<Shared>,
    pub(super) overlay: Overlay,
    /// Whether a read has failed: the sample has an error already.
    has_failed: AtomicBool,
}

impl RedisSample {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, overlay: Overlay::default(), has_failed: AtomicBool::new(false) }
    }

    pub(super) fn note_failure(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
