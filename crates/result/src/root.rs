//! State roots in a result: how they are computed, and the work for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use variant::{RootCache, RootReads};

use crate::named::Name;

/// How state roots are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootWayFacts {
    /// Shards of the accounts' trie and of large tries of slots, each folded on a thread.
    pub root_shards: u64,
    /// How nodes are read.
    #[serde(with = "Name::<RootReads>")]
    pub root_reads: RootReads,
    /// Nodes that are in memory when the clock starts.
    #[serde(with = "Name::<RootCache>")]
    pub root_cache: RootCache,
}

/// Work for the state roots of all batches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RootFacts {
    /// The state root after the last batch.
    pub state_root: String,
    /// Time from the end of execution to the root, summed over the batches.
    pub lag_ns: u64,
    /// Tries that changed: of slots, and that of the accounts.
    pub tries: u64,
    /// Nodes that were needed, present or not: with the unused nodes that were read ahead they are the
    /// sum of the next two.
    #[serde(default)]
    pub nodes_used: u64,
    /// Nodes that were asked of the store, present or not.
    pub nodes_read: u64,
    /// Nodes that were in memory.
    #[serde(default)]
    pub nodes_cached: u64,
    /// Nodes of the last two counts that `pipelined` had read, or found in memory, while blocks were
    /// executed.
    #[serde(default)]
    pub nodes_ahead: u64,
    /// Rows that were read by range.
    pub rows_read: u64,
    /// Blocks that the store read for both; no part of those of the sample.
    pub root_blocks_read: Option<u64>,
    /// Bytes of them.
    pub root_block_bytes: Option<u64>,
    /// Nodes that were committed.
    pub nodes_written: u64,
    /// Bytes of them, without keys.
    pub node_bytes_written: u64,
    /// Nodes that were deleted.
    pub nodes_deleted: u64,
    /// Nodes that were hashed.
    pub hashes: u64,
    /// Permutations of Keccak for them.
    pub permutations: u64,
    /// CPU time of all threads that folded and joined tries.
    #[serde(default)]
    pub fold_cpu_ns: u64,
}
