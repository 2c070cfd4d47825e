//! The figures of `stress describe`: the contents of a workload (`stress.describe/1`, explained in
//! `docs/workloads.md`). Only types: `src/describe/` fills them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use variant::Partitioner;

use crate::{
    named::Name,
    run::{Tool, WorkloadFacts},
    schema::schema,
};

schema! {
    /// The schema of a [`WorkloadDescription`].
    SCHEMA: DescribeSchema = "stress.describe/1"
}

/// The contents of a workload, as figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadDescription {
    /// Name and version of this format.
    pub schema: DescribeSchema,
    /// The program.
    pub tool: Tool,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Share of slots that exist in the state, among the slots of families that the workload plans
    /// to access.
    pub present_share: f64,
    /// Bytes of the `batched-io` lists for each million gas.
    pub list_bytes_per_mgas: f64,
    /// Bytes of calldata of all transactions.
    pub calldata_bytes: u64,
    /// Most bytes of calldata in one block.
    pub block_calldata_bytes_max: u64,
    /// Bytes of calldata and of the `batched-io` lists together, for each million gas.
    pub wire_bytes_per_mgas: f64,
    /// The loads, in the order of the scenario; empty for a workload file.
    pub loads: Vec<LoadFacts>,
    /// Figures of all transactions.
    pub all: TxFacts,
    /// Conflicts between the transactions of each batch.
    pub conflicts: Conflicts,
    /// Partitions over shards of execution, one entry for each number that `--shards` has.
    #[serde(default)]
    pub shards: Vec<ShardPartitions>,
}

/// A load of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFacts {
    /// Name of the load in the scenario; `null` for a load without a name.
    #[serde(default)]
    pub name: Option<String>,
    /// Kind of the load.
    pub kind: String,
    /// Gas of the load's transactions, as a share of the gas of all transactions.
    pub gas_share: f64,
    /// Figures of the load's transactions.
    #[serde(flatten)]
    pub transactions: TxFacts,
}

/// Figures of a set of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TxFacts {
    /// Number of transactions.
    pub tx_count: u64,
    /// Gas of all these transactions.
    pub gas: u64,
    /// Gas of one transaction.
    pub gas_per_tx: MeanAndMax,
    /// Number of accounts and slots that one transaction reads. A transaction reads all that it
    /// writes.
    pub reads_per_tx: MeanAndMax,
    /// Number of accounts and slots that one transaction changes.
    pub writes_per_tx: MeanAndMax,
}

/// The mean and the maximum of a figure over transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanAndMax {
    /// The mean; 0 without transactions.
    pub mean: f64,
    /// The maximum.
    pub max: u64,
}

/// Figures of the conflict graphs of all batches. Batches run one after the other, so only
/// transactions of one batch conflict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conflicts {
    /// Number of components. A component has the transactions that conflicts join, directly or
    /// through other transactions; a transaction without conflicts is a component.
    pub component_count: u64,
    /// Number of transactions in the largest component.
    pub largest_tx_count: u64,
    /// Largest gas of a component.
    pub largest_gas: u64,
    /// Number of transactions that conflict with another transaction.
    pub conflicting_tx_count: u64,
    /// Conflicts of writes with writes: two transactions write one key.
    #[serde(default)]
    pub write_write: ConflictCounts,
    /// Conflicts of reads with writes: one transaction only reads a key that another one writes.
    #[serde(default)]
    pub read_write: ConflictCounts,
    /// Largest number of transactions in a chain. Each transaction of a chain reads a key that the
    /// one before it wrote.
    pub longest_chain_tx_count: u64,
    /// Largest gas of a chain.
    pub longest_chain_gas: u64,
    /// The key that most transactions touch, among keys at which transactions conflict; `null`
    /// without conflicts.
    pub hottest: Option<HotKey>,
    /// Ideal speed-up without a list, by the number of executing threads.
    pub ideal: Vec<IdealSpeedup>,
    /// Ideal speed-up on any number of threads: the gas of all transactions over the gas of the
    /// longest chain of each batch, summed.
    pub ideal_unbounded: f64,
    /// Classes of components by their number of transactions, the smallest first.
    pub sizes: Vec<SizeClass>,
}

/// Counts of the conflicts of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConflictCounts {
    /// Number of transactions with a conflict of this kind. A transaction with conflicts of both
    /// kinds counts in both.
    pub tx_count: u64,
    /// Number of keys with a conflict of this kind. A key counts once in each batch.
    pub key_count: u64,
}

/// The key at which most transactions meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotKey {
    /// Address of the account.
    pub account: String,
    /// The slot; `null` for the account's own row.
    pub slot: Option<String>,
    /// Number of transactions that touch the key.
    pub tx_count: u64,
    /// Number of transactions that write the key.
    pub writer_count: u64,
}

/// Ideal speed-up on a number of threads, over execution on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdealSpeedup {
    /// Number of executing threads.
    pub threads: u64,
    /// Gas of all transactions over the gas of a schedule's length on these threads. The schedule
    /// is at most twice as long as the shortest one.
    pub speedup: f64,
}

/// Components whose numbers of transactions are in one range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeClass {
    /// Smallest number of transactions in the range.
    pub least_tx_count: u64,
    /// Largest number of transactions in the range.
    pub most_tx_count: u64,
    /// Number of components in the range.
    pub component_count: u64,
    /// Number of transactions of all these components.
    pub tx_count: u64,
    /// Gas of the transactions of all these components.
    pub gas: u64,
}

/// Partitions of each batch's transactions over one number of shards of execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardPartitions {
    /// Number of shards.
    pub shard_count: u64,
    /// One partition by each partitioner.
    pub partitions: Vec<PartitionFacts>,
}

/// Quality of the partitions of all batches by one partitioner. A key of several batches counts in
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionFacts {
    /// The partitioner.
    #[serde(with = "Name::<Partitioner>")]
    pub partitioner: Partitioner,
    /// Mean number of shards that touch a key, over keys that two or more transactions touch; 1
    /// without such a key.
    pub fanout: f64,
    /// Mean number of shards that touch a key, over keys that two or more transactions touch and
    /// one of them writes; 1 without such a key.
    pub conflict_fanout: f64,
    /// Excess of the fullest shard's gas over the mean gas of a shard, as a share of that mean.
    pub imbalance: f64,
    /// Values that shards read and send, if transactions run in block order.
    pub in_block_order: TrafficFacts,
    /// Values that shards read and send, if transactions run in an order by shards that keeps the
    /// order of each sender.
    pub in_shard_order: TrafficFacts,
    /// Wall time that the partitioner took for all batches.
    pub partition_ns: u64,
}

/// Counts of values that shards read and send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficFacts {
    /// Number of values that a transaction of one shard wrote and a transaction of another shard
    /// reads. A value counts once for each shard that reads it.
    pub cross_shard_value_count: u64,
    /// Number of hops: values in the longest chain, in which each value waits for the one before.
    /// Summed over the batches.
    pub hop_count: u64,
    /// Number of values that shards read from the state as it was before the batch. No earlier
    /// transaction of the batch wrote these keys, and each key counts once for each shard.
    pub state_read_count: u64,
}

/// A set of transactions that conflicts join, directly or through other transactions. Only pictures
/// use components: no file has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Number of transactions.
    pub tx_count: u64,
    /// Gas of the transactions.
    pub gas: u64,
    /// Number of transactions of the longest chain. Each transaction of a chain reads a key that
    /// the one before it wrote.
    pub chain_tx_count: u64,
    /// Gas of the chain with the most gas, which need not be the longest chain.
    pub chain_gas: u64,
}
