//! A state in Redis, open for one sample. Commits stay in the memory of this process, so the
//! cluster's rows never change. `reader.rs` has the sample's reads. This file also has the parts of
//! a store that its samples and readers share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use alloy_primitives::hex;
use workload::Layout;

use super::{
    cluster::Topology, connections::ControlConnections, error::damaged, pipelines::Pool, row::Key,
};
use crate::{error::StoreError, store::overlay::Overlay};

/// The layout of the rows, the cluster's nodes, and idle connections to the nodes.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) layout: Layout,
    pub(super) topology: Arc<Topology>,
    pub(super) pool: Pool,
}

impl Shared {
    /// Makes the error of a row whose value differs from the value that was written.
    pub(super) fn damaged(&self, key: &Key, reason: &str) -> StoreError {
        let node = &self.topology.nodes()[self.topology.node_of(key.as_slice())];
        let what = format!("the row {}", hex::encode_prefixed(key.as_slice()));
        damaged(&what, &node.address, reason)
    }
}

/// One sample: the cluster's rows, and the commits of the sample's batches.
#[derive(Debug)]
pub(super) struct RedisSample<'s> {
    pub(super) shared: &'s Shared,
    connections: &'s ControlConnections,
    /// Number of rows in the cluster, without the marker.
    row_count: u64,
    pub(super) overlay: Overlay,
    /// True after a failed read, whose error ends the sample.
    has_failed: AtomicBool,
}

impl<'s> RedisSample<'s> {
    pub(super) fn new(
        shared: &'s Shared,
        connections: &'s ControlConnections,
        row_count: u64,
    ) -> Self {
        let (overlay, has_failed) = (Overlay::default(), AtomicBool::new(false));
        Self { shared, connections, row_count, overlay, has_failed }
    }

    pub(super) fn note_failure(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Checks the number of keys in the cluster. Checks nothing after a failed read, so that the
    /// error of the read is reported.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.connections.check_key_count(self.row_count)
    }
}
