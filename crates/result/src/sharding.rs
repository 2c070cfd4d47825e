//! Execution on shards in a result: how it goes, and the work of the shards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use variant::{PartitionTime, Partitioner};

use crate::named::Name;

/// How shards execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardWayFacts {
    /// Partitioner of the transactions.
    #[serde(with = "Name::<Partitioner>")]
    pub partitioner: Partitioner,
    /// When it runs: `inside` the clock, or `before` it.
    #[serde(with = "Name::<PartitionTime>")]
    pub partition_time: PartitionTime,
    /// Keys of a request that a shard makes ahead.
    pub micro_batch_key_count: u64,
    /// Delay of each message in one direction that the transport adds.
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
    /// Keys of those.
    pub ahead_key_count: u64,
    /// Requests that a step waited for, one key each.
    pub demand_request_count: u64,
    /// Values that a step of one shard wrote and another shard was sent; 0 where shards execute by a list.
    #[serde(default)]
    pub cross_shard_value_count: u64,
    /// Results that came in the place of one of an earlier run of the step.
    #[serde(default)]
    pub replaced_result_count: u64,
    /// Results whose reads were stale when it was their turn to be committed: lower steps had left other values.
    #[serde(default)]
    pub stale_result_count: u64,
}
