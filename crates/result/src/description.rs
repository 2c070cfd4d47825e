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
    /// Of the slots that transactions are planned to ask for by a rule, the share that exists in the state.
    pub present_share: f64,
    /// Bytes of the `batched-io` list for each million gas.
    pub list_bytes_per_mgas: f64,
    /// Bytes of calldata.
    pub calldata_bytes: u64,
    /// The most bytes of calldata of a block.
    pub block_calldata_bytes_max: u64,
    /// Bytes of calldata and of the `batched-io` list together, for each million gas.
    pub wire_bytes_per_mgas: f64,
    /// Its loads, in the order of the scenario; none are known of a workload file.
    pub loads: Vec<LoadFacts>,
    /// All transactions.
    pub all: TxFacts,
    /// Where they meet.
    pub conflicts: Conflicts,
    /// Partitions over shards of execution, for each number of `--shards`.
    #[serde(default)]
    pub shards: Vec<Sharded>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFacts {
    /// Its name in the scenario; `null` where it has none.
    #[serde(default)]
    pub name: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Share of the gas of all.
    pub gas_share: f64,
    /// Its transactions.
    #[serde(flatten)]
    pub transactions: TxFacts,
}

/// Figures of some transactions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TxFacts {
    /// Their number.
    pub tx_count: u64,
    /// Their gas.
    pub gas: u64,
    /// Gas of one.
    pub gas_per_tx: Spread,
    /// Accounts and slots that one reads; it reads all that it writes.
    pub reads_per_tx: Spread,
    /// Accounts and slots that one leaves with another value.
    pub writes_per_tx: Spread,
}

/// A mean and the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The mean; 0 of nothing.
    pub mean: f64,
    /// The most.
    pub max: u64,
}

/// The conflict graphs of all batches together. Batches run one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conflicts {
    /// Components: transactions that conflicts join, directly or through others.
    pub component_count: u64,
    /// Transactions of the largest.
    pub largest_tx_count: u64,
    /// The most gas of a component.
    pub largest_gas: u64,
    /// Transactions that are in conflict with another.
    pub conflicting_tx_count: u64,
    /// Conflicts of writes with writes: two transactions write one key.
    #[serde(default)]
    pub write_write: Meetings,
    /// Conflicts of reads with writes: one transaction only reads a key that another writes.
    #[serde(default)]
    pub read_write: Meetings,
    /// The most transactions of a chain: each reads a key that one before it wrote.
    pub longest_chain_tx_count: u64,
    /// The most gas of a chain.
    pub longest_chain_gas: u64,
    /// The key that most transactions meet at.
    pub hottest: Option<HotKey>,
    /// Ideal speed-up without a list, by threads.
    pub ideal: Vec<Ideal>,
    /// The same without a bound on threads: gas over that of the longest chain.
    pub ideal_unbounded: f64,
    /// Components by their transactions, the smallest first.
    pub sizes: Vec<SizeClass>,
}

/// Conflicts of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Meetings {
    /// Transactions that are in such a conflict with another; those of both kinds count in both.
    pub tx_count: u64,
    /// Keys at which they are.
    pub key_count: u64,
}

/// A key at which transactions meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotKey {
    /// The account.
    pub account: String,
    /// Its slot; `null` for the account's own row.
    pub slot: Option<String>,
    /// Transactions that touch it.
    pub tx_count: u64,
    /// Those that write it.
    pub writer_count: u64,
}

/// The best gain of so many threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ideal {
    /// Executing threads.
    pub threads: u64,
    /// Gas over the gas done one after the other.
    pub speedup: f64,
}

/// Components of about one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeClass {
    /// The fewest transactions of one.
    pub least_tx_count: u64,
    /// The most.
    pub most_tx_count: u64,
    /// Components.
    pub component_count: u64,
    /// Their transactions.
    pub tx_count: u64,
    /// Their gas.
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

/// The quality of a partition. Keys of several batches count in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionFacts {
    /// The partitioner.
    #[serde(with = "Name::<Partitioner>")]
    pub partitioner: Partitioner,
    /// Mean number of shards that touch a key, of keys that two or more transactions touch; 1 where
    /// there is none.
    pub fanout: f64,
    /// The same of keys that one of these transactions writes.
    pub conflict_fanout: f64,
    /// Gas of the fullest shard above the mean, as a share of the mean.
    pub imbalance: f64,
    /// Values that shards read and send, in the order of the block.
    pub in_block_order: TrafficFacts,
    /// The same in an order by shards, which keeps that of each sender.
    pub in_shard_order: TrafficFacts,
    /// Wall time of the partitioner.
    pub partition_ns: u64,
}

/// Values that shards read and send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficFacts {
    /// Values that a transaction of one shard wrote and one of another shard reads next.
    pub cross_shard_value_count: u64,
    /// The most of them of which each waits for the one before.
    pub hop_count: u64,
    /// Values that shards read from the state before the batch: keys that no transaction before has
    /// written, each once for a shard.
    pub state_read_count: u64,
}

/// Transactions that are joined by conflicts, directly or through others: for a picture, in no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Transactions.
    pub tx_count: u64,
    /// Their gas.
    pub gas: u64,
    /// The most transactions of which each reads a key that one before it in the list wrote.
    pub chain_tx_count: u64,
    /// The most gas of such a chain.
    pub chain_gas: u64,
}
