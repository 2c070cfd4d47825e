//! A state in Redis open for one sample: commits stay in this process, above rows that are never
//! written. Also the parts of a store that its samples and readers share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use alloy_primitives::hex;
use workload::Layout;

use super::{
    cluster::Topology,
    held::{Held, damaged},
    lines::Pool,
    row::Key,
};
use crate::{error::StoreError, store::overlay::Overlay};

/// The layout of the rows, the nodes, and the connections to them.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) layout: Layout,
    pub(super) topology: Arc<Topology>,
    pub(super) pool: Pool,
}

impl Shared {
    /// Error of a row whose value differs from the written one.
    pub(super) fn damaged(&self, key: &Key, reason: &str) -> StoreError {
        let node = &self.topology.nodes()[self.topology.node_of(key.as_slice())];
        let what = format!("the row {}", hex::encode_prefixed(key.as_slice()));
        damaged(&what, &node.address, reason)
    }
}

/// Rows of the cluster, below the commits of the sample's batches.
#[derive(Debug)]
pub(super) struct RedisSample<'s> {
    pub(super) shared: &'s Shared,
    held: &'s Held,
    /// Number of keys in the cluster.
    row_count: u64,
    pub(super) overlay: Overlay,
    /// Whether a read has failed: the sample then has an error already.
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

    /// Checks the number of keys in the cluster, unless a read has failed: the first failure is the
    /// one to report.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.held.check_key_count(self.row_count)
    }
}
