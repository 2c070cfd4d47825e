//! `stress shard simulate`: the result of predicted times of a workload on shards of execution
//! (`stress.simulate/1`, explained in `docs/shards.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    description::Spread,
    named::Name,
    run::{Tool, WorkloadFacts},
    schema::schema,
    ways::ShardWayFacts,
};

schema! {
    /// The schema of a [`Simulation`].
    SCHEMA: SimulateSchema = "stress.simulate/1"
}

variant::named! {
    /// Lower bounds of a simulated time. More shards or threads cannot go below the largest bound.
    #[derive(Default)]
    pub enum SimulatedBound: "bound of a simulated time" {
        /// The work of the fullest shard over its threads.
        #[default]
        ShardThreads = "shard-threads",
        /// The longest sequence of steps that wait for one another. With a list, the longest step.
        Chain = "chain",
        /// The work of the coordinator's thread for one shard, and its work before and after.
        CoordinatorThread = "coordinator-thread",
        /// All work of the coordinator over its cores.
        CoordinatorCores = "coordinator-cores",
        /// All work over the cores of the shared host.
        HostCores = "host-cores",
        /// Four one-way delays a batch.
        Delays = "delays",
    }
}

/// Predicted times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// Name and version of this format.
    pub schema: SimulateSchema,
    /// The program.
    pub tool: Tool,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Cores of the machine on which costs were measured.
    pub core_count: u64,
    /// Cores of the coordinator; `null` where all processes share one host.
    pub coordinator_core_count: Option<u64>,
    /// Cores of the shared host; `null` where each shard has its own host.
    pub host_core_count: Option<u64>,
    /// The times and costs behind the predictions.
    pub costs: SimulationCosts,
    /// The assumptions, and the parts of a real execution that are left out.
    pub assumptions: Vec<String>,
    /// Predictions, in the order of the settings.
    pub rows: Vec<SimulatedRow>,
    /// Predictions for the rows of a result beside their measured times; empty without a result.
    pub checks: Vec<CheckedRow>,
}

/// The times and costs behind the predictions. Each is a median over the samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationCosts {
    /// The variant whose samples gave the times of the steps.
    pub step_variant: String,
    /// The variant whose samples gave all other costs.
    pub shard_variant: String,
    /// Samples of each of the two variants.
    pub sample_count: u64,
    /// Time of each transaction as the user gave it; `null` where it was measured.
    pub given_tx_ns: Option<u64>,
    /// Time of a transaction.
    pub tx_ns: Spread,
    /// Time of all steps in sequence on one thread of a shard. CPU time, unless the user gave a
    /// time.
    pub steps_ns: u64,
    /// Time of all steps in sequence on one thread without shards, reads included. The time of a
    /// step is its time in these samples, multiplied by `steps_ns` over `alone_steps_ns`.
    pub alone_steps_ns: u64,
    /// Time to decode all lists at the coordinator.
    pub decode_ns: u64,
    /// Work of a shard until it is ready for a batch.
    pub start_ns: u64,
    /// Work of the coordinator for a message of a shard, independent of its contents.
    pub message_ns: u64,
    /// Work of the coordinator for a value that it sends.
    pub value_ns: u64,
    /// Work of the coordinator for a result that it takes in.
    pub result_ns: u64,
    /// Work of a shard for a message, independent of its contents. A message has results, or a
    /// request with its answer.
    pub shard_message_ns: u64,
    /// Work of a shard for a value that it takes in.
    pub shard_value_ns: u64,
    /// Work of a shard for a result that it sends.
    pub shard_result_ns: u64,
    /// Time to join and commit all batches.
    pub after_ns: u64,
    /// Measured time of one shard with one thread on this host. No cost is fitted to it.
    pub one_shard_ns: u64,
}

/// A prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedRow {
    /// Number of shards.
    pub shard_count: u64,
    /// Threads of each shard.
    pub thread_count: u64,
    /// How shards execute.
    pub sharding: ShardWayFacts,
    /// Whether shards have the list. Without it, a step waits for the steps that wrote its keys.
    pub has_list: bool,
    /// Time of all batches.
    pub time_ns: u64,
    /// Transactions a second.
    pub tx_per_s: f64,
    /// Transactions a second over those of one shard with the same settings; `null` where one shard
    /// is not among the rows.
    pub speedup: Option<f64>,
    /// The largest lower bound.
    #[serde(with = "Name::<SimulatedBound>")]
    pub bound: SimulatedBound,
    /// The largest lower bound as a share of the time.
    pub bound_share: f64,
    /// Time to partition all batches, as measured on this machine.
    pub partition_ns: u64,
    /// Time of the fullest shard's steps above the mean, as a share of the mean.
    pub imbalance: f64,
    /// The longest sequence of steps that wait for one another, with delays between shards, summed
    /// over the batches. With a list, the longest steps.
    pub chain_ns: u64,
    /// Time that threads of shards waited for values, summed; 0 without a list.
    pub value_wait_ns: u64,
    /// Work of the coordinator.
    pub coordinator_work_ns: u64,
    /// Work of the busiest thread of the coordinator.
    pub busiest_thread_work_ns: u64,
    /// Work of shards for their messages, summed.
    pub shard_message_work_ns: u64,
    /// Requests ahead of steps: micro-batches.
    pub ahead_request_count: u64,
    /// Keys of the requests ahead.
    pub ahead_key_count: u64,
    /// Requests that a step waited for, one key each.
    pub demand_request_count: u64,
    /// Messages with results.
    pub result_message_count: u64,
    /// Messages from shard to shard.
    pub shard_message_count: u64,
}

/// A prediction for a row of a result, with all processes on this host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedRow {
    /// Name of the row.
    pub variant: String,
    /// Number of the row's samples.
    pub sample_count: u64,
    /// Median time of the samples.
    pub measured_ns: u64,
    /// The prediction.
    pub predicted_ns: u64,
    /// The prediction over the measured time, minus one.
    pub error: f64,
    /// Whether the costs were measured on a row like this one. Then the error is that of adding
    /// costs up.
    pub is_source: bool,
    /// Predicted number of keys that shards request ahead and on demand.
    pub predicted_key_count: u64,
    /// Number of such keys in the row's first sample.
    pub measured_key_count: u64,
}
