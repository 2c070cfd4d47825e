//! `stress describe`: the contents of a workload as figures (`stress.describe/1`, explained in
//! `docs/workloads.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use variant::Partitioner;

use crate::{
    named::Name,
    run::{Tool, WorkloadFacts},
    schema::schema,
};

schema! {
    /// The schema of a [`Described`].
    SCHEMA: DescribeSchema = "stress.describe/1"
}

/// The contents of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Described {
    /// Name and version of this format.
    pub schema: DescribeSchema,
    /// The program.
    pub tool: Tool,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Share of existing slots, among the slots of families that transactions are planned to
    /// access.
    pub present_share: f64,
    /// Bytes of the `batched-io` list for each million gas.
    pub list_bytes_per_mgas: f64,
    /// Bytes of calldata.
    pub calldata_bytes: u64,
    /// The most bytes of calldata of a block.
    pub block_calldata_bytes_max: u64,
    /// Bytes of calldata and of the `batched-io` list together, for each million gas.
    pub wire_bytes_per_mgas: f64,
    /// The loads, in the order of the scenario; empty for a workload file.
    pub loads: Vec<LoadFacts>,
    /// All transactions.
    pub all: TxFacts,
    /// Conflicts between transactions.
    pub conflicts: Conflicts,
    /// Partitions over shards of execution, for each number of `--shards`.
    #[serde(default)]
    pub shards: Vec<Sharded>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFacts {
    /// Name of the load in the scenario; `null` where it has none.
    #[serde(default)]
    pub name: Option<String>,
    /// Kind of the load.
    pub kind: String,
    /// Share of the gas of all transactions.
    pub gas_share: f64,
    /// Transactions of the load.
    #[serde(flatten)]
    pub transactions: TxFacts,
}

/// Figures of some transactions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TxFacts {
    /// Number of transactions.
    pub tx_count: u64,
    /// Gas of the transactions.
    pub gas: u64,
    /// Gas of one transaction.
    pub gas_per_tx: Spread,
    /// Accounts and slots that one transaction reads. A transaction reads all that it writes.
    pub reads_per_tx: Spread,
    /// Accounts and slots that one transaction changes.
    pub writes_per_tx: Spread,
}

/// A mean and a maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The mean; 0 without values.
    pub mean: f64,
    /// The maximum.
    pub max: u64,
}

/// The conflict graphs of all batches together. Batches run one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conflicts {
    /// Components: transactions that conflicts join, directly or through others.
    pub component_count: u64,
    /// Transactions of the largest component.
    pub largest_tx_count: u64,
    /// The most gas of a component.
    pub largest_gas: u64,
    /// Transactions that conflict with another transaction.
    pub conflicting_tx_count: u64,
    /// Conflicts of writes with writes: two transactions write one key.
    #[serde(default)]
    pub write_write: Meetings,
    /// Conflicts of reads with writes: one transaction only reads a key that another writes.
    #[serde(default)]
    pub read_write: Meetings,
    /// The most transactions of a chain. Each transaction of a chain reads a key that an earlier
    /// one wrote.
    pub longest_chain_tx_count: u64,
    /// The most gas of a chain.
    pub longest_chain_gas: u64,
    /// The key with conflicts that most transactions touch; `null` without conflicts.
    pub hottest: Option<HotKey>,
    /// Ideal speed-up without a list, by threads.
    pub ideal: Vec<Ideal>,
    /// Ideal speed-up without a bound on threads: gas over the gas of the longest chain.
    pub ideal_unbounded: f64,
    /// Components by their number of transactions, the smallest first.
    pub sizes: Vec<SizeClass>,
}

/// Conflicts of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Meetings {
    /// Transactions with a conflict of this kind. A transaction with conflicts of both kinds counts
    /// in both.
    pub tx_count: u64,
    /// Keys with a conflict of this kind.
    pub key_count: u64,
}

/// A key at which transactions conflict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotKey {
    /// The account.
    pub account: String,
    /// The slot; `null` for the account's own row.
    pub slot: Option<String>,
    /// Transactions that touch the key.
    pub tx_count: u64,
    /// Transactions that write the key.
    pub writer_count: u64,
}

/// The ideal speed-up on a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ideal {
    /// Executing threads.
    pub threads: u64,
    /// Gas of all transactions over the gas that is done one after the other.
    pub speedup: f64,
}

/// Components of similar size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeClass {
    /// The fewest transactions of a component.
    pub least_tx_count: u64,
    /// The most transactions of a component.
    pub most_tx_count: u64,
    /// Number of components.
    pub component_count: u64,
    /// Transactions of all these components.
    pub tx_count: u64,
    /// Gas of all these components.
    pub gas: u64,
}

/// Partitions of each batch's transactions over one number of shards of execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sharded {
    /// Shards.
    pub shard_count: u64,
    /// One partition by each partitioner.
    pub partitions: Vec<PartitionFacts>,
}

/// The quality of a partition. A key of several batches counts in each batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionFacts {
    /// The partitioner.
    #[serde(with = "Name::<Partitioner>")]
    pub partitioner: Partitioner,
    /// Mean number of shards that touch a key, of keys that two or more transactions touch; 1
    /// without such a key.
    pub fanout: f64,
    /// Mean number of shards that touch a key, of those keys that a transaction also writes.
    pub conflict_fanout: f64,
    /// Gas of the fullest shard above the mean, as a share of the mean.
    pub imbalance: f64,
    /// Values that shards read and send, in the order of the block.
    pub in_block_order: TrafficFacts,
    /// Values that shards read and send, in an order by shards that keeps the order of each sender.
    pub in_shard_order: TrafficFacts,
    /// Wall time of the partitioner.
    pub partition_ns: u64,
}

/// Values that shards read and send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficFacts {
    /// Values that a transaction of one shard writes and a transaction of another shard reads next.
    pub cross_shard_value_count: u64,
    /// The longest chain of these values, in which each waits for the one before.
    pub hop_count: u64,
    /// Values that shards read from the state before the batch. No earlier transaction wrote these
    /// keys, and each key counts once per shard.
    pub state_read_count: u64,
}

/// Transactions that conflicts join, directly or through others. A component is for pictures alone:
/// no file has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Transactions.
    pub tx_count: u64,
    /// Gas of the transactions.
    pub gas: u64,
    /// Transactions of the longest chain: each transaction reads a key that an earlier one wrote.
    pub chain_tx_count: u64,
    /// Gas of the chain with the most gas.
    pub chain_gas: u64,
}
