//! State roots and execution on shards in a result: the settings and the work of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use variant::{PartitionTime, Partitioner, RootCache, RootReads};

use crate::named::Name;

/// How state roots are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootWayFacts {
    /// Shards of the accounts' trie and of large storage tries. Each is folded on a thread of its
    /// own.
    pub root_shards: u64,
    /// The way to read nodes.
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
    /// Tries that changed: storage tries and the accounts' trie.
    pub tries: u64,
    /// Nodes that were needed, present or not. `nodes_read` + `nodes_cached` = these nodes + unused
    /// nodes that were read ahead.
    #[serde(default)]
    pub nodes_used: u64,
    /// Nodes requested from the store, present or not.
    pub nodes_read: u64,
    /// Nodes that were in memory.
    #[serde(default)]
    pub nodes_cached: u64,
    /// Part of `nodes_read` and `nodes_cached` that `pipelined` had read, or found in memory, while
    /// blocks were executed.
    #[serde(default)]
    pub nodes_ahead: u64,
    /// Rows that were read by range.
    pub rows_read: u64,
    /// Blocks that the store read for nodes and rows. The sample's own blocks do not include them.
    pub root_blocks_read: Option<u64>,
    /// Bytes of these blocks.
    pub root_block_bytes: Option<u64>,
    /// Nodes that were committed.
    pub nodes_written: u64,
    /// Bytes of the committed nodes, without keys.
    pub node_bytes_written: u64,
    /// Nodes that were deleted.
    pub nodes_deleted: u64,
    /// Nodes that were hashed.
    pub hashes: u64,
    /// Keccak permutations for these hashes.
    pub permutations: u64,
    /// CPU time of all threads that folded and joined tries.
    #[serde(default)]
    pub fold_cpu_ns: u64,
}

/// How shards execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardWayFacts {
    /// Partitioner of the transactions.
    #[serde(with = "Name::<Partitioner>")]
    pub partitioner: Partitioner,
    /// When the partitioner runs: `inside` the clock, or `before` it.
    #[serde(with = "Name::<PartitionTime>")]
    pub partition_time: PartitionTime,
    /// Keys in a request that a shard makes ahead of its steps.
    pub micro_batch_key_count: u64,
    /// Delay that the transport adds to each message, in one direction.
    pub delay_ns: u64,
}

/// Work for execution on shards, over all batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardWorkFacts {
    /// Time of partitioning, inside the clock or before it.
    pub partition_ns: u64,
    /// Time that threads of shards waited for values, summed.
    pub value_wait_ns: u64,
    /// Requests ahead of steps: micro-batches.
    pub ahead_request_count: u64,
    /// Keys of the requests ahead.
    pub ahead_key_count: u64,
    /// Requests that a step waited for, one key each.
    pub demand_request_count: u64,
    /// Values that a step of one shard wrote and that were sent to another shard; 0 where shards
    /// execute by a list.
    #[serde(default)]
    pub cross_shard_value_count: u64,
    /// Results that replaced the result of an earlier run of the step.
    #[serde(default)]
    pub replaced_result_count: u64,
    /// Results whose reads were stale when their commit was due: lower steps had written other
    /// values.
    #[serde(default)]
    pub stale_result_count: u64,
}
