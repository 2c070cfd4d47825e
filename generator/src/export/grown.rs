//! The result of growing a state by blocks.

use alloy_consensus::Header;
use alloy_primitives::B256;
use serde::Serialize;
use workload::Genesis;

use super::block::Parent;

/// Figures of blocks that have grown a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GrownFacts {
    /// Number of these blocks, with the empty ones at their end.
    pub block_count: u64,
    /// Their transactions.
    pub tx_count: u64,
    /// Slots that they wrote.
    pub slot_count: u64,
    /// Gas that they used.
    pub gas_used: u64,
    /// Gas limit of each block of the chain.
    pub gas_limit: u64,
    /// Unix time in seconds from which on blocks are under the workload's fork.
    pub fork_timestamp: u64,
    /// Hash of the last of them: the parent of the workload's first block.
    pub hash: B256,
    /// Root of the state after it.
    pub state_root: B256,
}

/// Blocks that have grown a state, and the place where a workload's blocks go on.
#[derive(Clone, Debug)]
pub struct Grown {
    /// Their figures.
    pub facts: GrownFacts,
    /// The state in the genesis block: without the slots of families.
    pub(super) genesis: Genesis,
    /// The genesis block's header.
    pub(super) genesis_header: Header,
    /// Its hash.
    pub(super) genesis_hash: B256,
    /// The state after the last block.
    pub(super) state: Genesis,
    /// The last block.
    pub(super) parent: Parent,
    /// Hashes of the last blocks, the genesis block's among them, as far back as BLOCKHASH reaches.
    pub(super) hashes: Vec<B256>,
}
