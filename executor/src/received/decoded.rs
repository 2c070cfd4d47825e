//! The blocks of a batch as their bytes say.

use std::sync::Arc;

use alloy_consensus::Block;

use super::{bytes::Envelope, signers::Recovery};

/// The blocks of a batch as their bytes say.
#[derive(Clone, Debug, Default)]
pub struct DecodedBlocks {
    pub(super) blocks: Arc<Vec<Block<Envelope>>>,
    /// Who signed each transaction, through all blocks; `None` without recovery.
    pub(super) recovery: Option<Arc<Recovery>>,
}
