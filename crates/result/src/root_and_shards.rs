//! How state roots and execution on shards are set in a run, and the work that a sample does for
//! them. Only types: `src/figures/cells/` fills them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use variant::{PartitionTime, Partitioner, RootCache, RootReads};

use crate::named::Name;

/// Settings of state roots: how they are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootWayFacts {
    /// Number of shards of the accounts' trie, and of each slot trie with many written slots. Each
    /// shard is folded on a thread of its own.
    pub root_shards: u64,
    /// Order in which nodes are read.
    #[serde(with = "Name::<RootReads>")]
    pub root_reads: RootReads,
    /// Nodes that are in memory at a sample's start.
    #[serde(with = "Name::<RootCache>")]
    pub root_cache: RootCache,
}

/// Work of a sample for the state roots of all batches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RootFacts {
    /// The state root after the last batch.
    pub state_root: String,
    /// Lag: time from the end of execution to the state root, summed over the batches.
    pub lag_ns: u64,
    /// Number of tries that changed: slot tries and the accounts' trie.
    pub tries: u64,
    /// Number of nodes that were needed, present or not. `nodes_read` + `nodes_cached` =
    /// `nodes_used` + nodes that were read ahead and not needed.
    #[serde(default)]
    pub nodes_used: u64,
    /// Number of nodes requested from the store, present or not.
    pub nodes_read: u64,
    /// Number of nodes that were found in memory.
    #[serde(default)]
    pub nodes_cached: u64,
    /// Number of nodes of `nodes_read` and `nodes_cached` that `pipelined` had read, or found in
    /// memory, before the end of execution.
    #[serde(default)]
    pub nodes_ahead: u64,
    /// Number of rows of accounts and slots that were read by range, for the leaves beside changed
    /// ones.
    pub rows_read: u64,
    /// Number of blocks that the store read for nodes and rows of state roots. `blocks_read` of the
    /// sample does not include them.
    pub root_blocks_read: Option<u64>,
    /// Bytes that the store requested from its files for nodes and rows of state roots.
    pub root_block_bytes: Option<u64>,
    /// Number of nodes that were committed.
    pub nodes_written: u64,
    /// Bytes of the committed nodes, without their keys.
    pub node_bytes_written: u64,
    /// Number of nodes that were deleted.
    pub nodes_deleted: u64,
    /// Number of nodes that were hashed.
    pub hashes: u64,
    /// Number of Keccak permutations to hash nodes.
    pub permutations: u64,
    /// CPU time of all threads that folded and joined tries.
    #[serde(default)]
    pub fold_cpu_ns: u64,
}

/// Settings of execution on shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardWayFacts {
    /// Partitioner of the transactions over the shards.
    #[serde(with = "Name::<Partitioner>")]
    pub partitioner: Partitioner,
    /// When the partitioner runs: `inside` the clock, or `before` it.
    #[serde(with = "Name::<PartitionTime>")]
    pub partition_time: PartitionTime,
    /// Maximum number of keys of a request that a shard makes ahead of its steps (micro-batch).
    pub micro_batch_key_count: u64,
    /// Delay that the transport adds to each message, in one direction.
    pub delay_ns: u64,
}

/// Work of a sample for execution on shards, over all batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardWorkFacts {
    /// Time of partitioning all batches, inside the clock or before it.
    pub partition_ns: u64,
    /// Time that threads of shards waited for values, summed.
    pub value_wait_ns: u64,
    /// Number of requests that shards made ahead of their steps (micro-batches).
    pub ahead_request_count: u64,
    /// Number of keys of the requests ahead.
    pub ahead_key_count: u64,
    /// Number of requests that a step waited for, of one key each.
    pub demand_request_count: u64,
    /// Number of values that a step of one shard wrote and that were sent to another shard; 0 where
    /// shards execute by a list.
    #[serde(default)]
    pub cross_shard_value_count: u64,
    /// Number of results that replaced the result of an earlier run of the same step.
    #[serde(default)]
    pub replaced_result_count: u64,
    /// Number of results whose reads were stale when their commit was due, because lower steps had
    /// written other values.
    #[serde(default)]
    pub stale_result_count: u64,
}
