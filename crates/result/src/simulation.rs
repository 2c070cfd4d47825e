//! The result of `stress shard simulate`: predicted times of a workload on shards of execution
//! (`stress.simulate/1`, explained in `docs/shards.md`). Only types: `src/simulate/` fills them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    description::MeanAndMax,
    named::Name,
    root_and_shards::ShardWayFacts,
    run::{Tool, WorkloadFacts},
    schema::schema,
};

schema! {
    /// The schema of a [`Simulation`].
    SCHEMA: SimulateSchema = "stress.simulate/1"
}

variant::named! {
    /// Lower bounds of a predicted time: at this number of shards and threads, no schedule is faster
    /// than the largest bound.
    #[derive(Default)]
    pub enum SimulatedBound: "bound of a simulated time" {
        /// Work of the steps of the shard with the most work, divided by its threads.
        #[default]
        ShardThreads = "shard-threads",
        /// The longest sequence of steps in which each waits for the one before. With a list, the
        /// longest step.
        Chain = "chain",
        /// Work of the coordinator's busiest thread, which serves one shard, and the coordinator's
        /// work before and after execution.
        CoordinatorThread = "coordinator-thread",
        /// Work of the coordinator for messages divided by its cores, and its work before and after
        /// execution.
        CoordinatorCores = "coordinator-cores",
        /// All work of all processes, divided by the cores of the shared host.
        HostCores = "host-cores",
        /// Four one-way delays of messages for each batch.
        Delays = "delays",
    }
}

/// Predicted times of a workload on shards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// Name and version of this format.
    pub schema: SimulateSchema,
    /// The program that predicted.
    pub tool: Tool,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Number of cores of the machine on which costs were measured.
    pub core_count: u64,
    /// Number of the coordinator's cores; `null` where all processes share one host.
    pub coordinator_core_count: Option<u64>,
    /// Number of the shared host's cores; `null` where each shard has its own host.
    pub host_core_count: Option<u64>,
    /// The times and costs behind the predictions.
    pub costs: SimulationCosts,
    /// Assumptions of the predictions, and effects of a real execution that they leave out.
    pub assumptions: Vec<String>,
    /// The predictions, in the order of the settings.
    pub rows: Vec<SimulatedRow>,
    /// Predictions for the rows of a measured result, beside the measured times; empty without a
    /// result.
    pub checks: Vec<CheckedRow>,
}

/// Measured times and costs behind the predictions. Each is a median over samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationCosts {
    /// The variant whose samples gave the times of the steps.
    pub step_variant: String,
    /// The variant whose samples gave all other costs.
    pub shard_variant: String,
    /// Number of samples of each of the two variants.
    pub sample_count: u64,
    /// Time of each transaction, if the user gave one; `null` where it was measured.
    pub given_tx_ns: Option<u64>,
    /// Time of a transaction on a thread of a shard.
    pub tx_ns: MeanAndMax,
    /// Time of all steps in sequence on one thread of a shard: CPU time, unless the user gave the
    /// time of transactions.
    pub steps_ns: u64,
    /// Time of all steps in sequence on one thread without shards, with reads. A step's predicted
    /// time on a shard is its time in these samples, times `steps_ns` over `alone_steps_ns`.
    pub alone_steps_ns: u64,
    /// Time that the coordinator needs to hash and decode all lists.
    pub decode_ns: u64,
    /// Work of a shard until it is ready for one batch.
    pub start_ns: u64,
    /// Work of the coordinator for one message of a shard, without the work for its contents.
    pub message_ns: u64,
    /// Work of the coordinator for one value that it sends to a shard.
    pub value_ns: u64,
    /// Work of the coordinator for one step's result that it takes in.
    pub result_ns: u64,
    /// Work of a shard for one message, without the work for its contents. A message has results,
    /// or is a request with its answer.
    pub shard_message_ns: u64,
    /// Work of a shard for one value that it takes in.
    pub shard_value_ns: u64,
    /// Work of a shard for one step's result that it sends.
    pub shard_result_ns: u64,
    /// Time that the coordinator needs to join and commit all batches.
    pub after_ns: u64,
    /// Measured time of all batches on one shard with one thread, on this host. No cost is fitted
    /// to it.
    pub one_shard_ns: u64,
}

/// A prediction for one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedRow {
    /// Number of shards.
    pub shard_count: u64,
    /// Number of threads of each shard.
    pub thread_count: u64,
    /// How the shards execute.
    pub sharding: ShardWayFacts,
    /// Whether shards have the list. Without it, a step waits for the steps that wrote its keys.
    pub has_list: bool,
    /// Predicted time of all batches.
    pub time_ns: u64,
    /// Transactions a second at the predicted time.
    pub tx_per_s: f64,
    /// Transactions a second over those of one shard with the same settings; `null` if no row has
    /// one shard with them.
    pub speedup: Option<f64>,
    /// The largest lower bound of the predicted time.
    #[serde(with = "Name::<SimulatedBound>")]
    pub bound: SimulatedBound,
    /// The largest lower bound as a share of the predicted time.
    pub bound_share: f64,
    /// Time to partition all batches, as measured on this machine.
    pub partition_ns: u64,
    /// Excess of the fullest shard's step time over the mean of all shards, as a share of that
    /// mean.
    pub imbalance: f64,
    /// Time of the longest sequence of steps in which each waits for the one before, with delays
    /// between shards; summed over the batches. With a list, the time of the longest steps.
    pub chain_ns: u64,
    /// Time that threads of shards waited for values, summed; 0 without a list.
    pub value_wait_ns: u64,
    /// Work of the coordinator, summed over its threads.
    pub coordinator_work_ns: u64,
    /// Work of the coordinator's busiest thread, for the messages of one shard.
    pub busiest_thread_work_ns: u64,
    /// Work of shards for their messages, summed.
    pub shard_message_work_ns: u64,
    /// Number of requests that shards made ahead of their steps (micro-batches).
    pub ahead_request_count: u64,
    /// Number of keys of the requests ahead.
    pub ahead_key_count: u64,
    /// Number of requests that a step waited for, of one key each.
    pub demand_request_count: u64,
    /// Number of messages with results.
    pub result_message_count: u64,
    /// Number of messages from shard to shard.
    pub shard_message_count: u64,
}

/// A prediction for a row of a measured result, with all processes on this host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedRow {
    /// Name of the row's variant.
    pub variant: String,
    /// Number of the row's samples after the warm-up.
    pub sample_count: u64,
    /// Median wall time of the row's samples after the warm-up.
    pub measured_ns: u64,
    /// Predicted time.
    pub predicted_ns: u64,
    /// Predicted time over measured time, minus one.
    pub error: f64,
    /// Whether the costs were measured on a row like this one. Then the error is only that of
    /// adding the costs up.
    pub is_source: bool,
    /// Predicted number of keys that shards request, ahead and on demand.
    pub predicted_key_count: u64,
    /// Number of keys that shards requested, ahead and on demand, in the first of the row's
    /// samples.
    pub measured_key_count: u64,
}
