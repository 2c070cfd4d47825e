//! The result of growing a state by blocks: `grow.rs` makes it, and `chain.rs` continues its chain.

use alloy_consensus::Header;
use alloy_primitives::B256;
use serde::Serialize;
use workload::Genesis;

use super::block::Parent;

/// Figures of blocks that have grown a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GrownFacts {
    /// Number of blocks, with the empty ones.
    pub block_count: u64,
    /// Number of transactions in the blocks.
    pub tx_count: u64,
    /// Number of slots that the blocks wrote.
    pub slot_count: u64,
    /// Gas that the blocks used.
    pub gas_used: u64,
    /// Gas limit of each block of the chain.
    pub gas_limit: u64,
    /// Unix time in seconds from which on blocks have the workload's fork.
    pub fork_timestamp: u64,
    /// Hash of the last block, which is the parent of the workload's first block.
    pub hash: B256,
    /// Root of the state after the last block.
    pub state_root: B256,
}

/// A grown state, and the chain that a workload's blocks continue.
#[derive(Clone, Debug)]
pub struct Grown {
    /// Figures of the blocks.
    pub facts: GrownFacts,
    /// The state in the genesis block: without the slots of families.
    pub(super) genesis: Genesis,
    /// The genesis block's header.
    pub(super) genesis_header: Header,
    /// Hash of the genesis block.
    pub(super) genesis_hash: B256,
    /// The state after the last block.
    pub(super) state: Genesis,
    /// The last block.
    pub(super) parent: Parent,
    /// Hashes of the last blocks, as far back as BLOCKHASH reaches. The genesis block may be among
    /// them.
    pub(super) hashes: Vec<B256>,
}
