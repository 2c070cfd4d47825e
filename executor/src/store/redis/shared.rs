//! What samples of a store in Redis and their readers need of it.

use std::sync::Arc;

use alloy_primitives::hex;
use workload::Layout;

use super::{cluster::Topology, held::damaged, lines::Pool, row::Key};
use crate::error::StoreError;

/// The layout of its rows, its nodes, and the connections to them.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) layout: Layout,
    pub(super) topology: Arc<Topology>,
    pub(super) pool: Pool,
}

impl Shared {
    /// The error of a row whose value is not as it was written.
    pub(super) fn damaged(&self, key: &Key, reason: &str) -> StoreError {
        let node = &self.topology.nodes()[self.topology.node_of(key.as_slice())];
        let what = format!("the row {}", hex::encode_prefixed(key.as_slice()));
        damaged(&what, &node.address, reason)
    }
}
