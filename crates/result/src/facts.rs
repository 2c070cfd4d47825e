//! Facts of a result beside its figures: tool, workload, device, stores, cache states and CPU
//! profile. Only types: `src/figures/facts.rs` and `src/run/prepare/` fill them.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use variant::{CacheMode, ListForm, StoreKind};

use crate::{
    named::{Name, NameOrNull},
    program::Program,
};

/// Speed-up of a second pass over the same blocks of the device, above which a cache below this
/// machine must have answered. A smaller speed-up does not exclude such a cache. It may have held
/// all blocks before the first pass already, since they were written shortly before.
pub const HOST_CACHE_RATIO: f64 = 1.3;

/// Largest difference between the ceilings of the device before and after the samples, as a share
/// of the one before. A larger difference means that the device's rate has changed.
pub const DRIFT_MAX: f64 = 0.2;

/// The program and the EVM that made a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// The program: its version, sources and file.
    #[serde(flatten)]
    pub program: Program,
    /// Version of revm.
    pub revm: String,
}

/// Facts of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadFacts {
    /// The scenario's name.
    pub scenario: String,
    /// Seed of the workload.
    pub seed: u64,
    /// Fork of the workload.
    pub fork: String,
    /// Gas used: the sum of all receipts.
    pub gas: u64,
    /// Sum of the gas in the blocks' headers. It may differ from the sum of the receipts
    /// (EIP-8037).
    pub header_gas: u64,
    /// Number of blocks.
    pub block_count: u64,
    /// Number of batches in which the blocks are run.
    pub batch_count: u64,
    /// Number of blocks in a batch. They are run as one, and committed once.
    pub blocks_per_batch: u64,
    /// Number of transactions.
    pub tx_count: u64,
    /// BLAKE3 of the workload, without its scenario's name and its signatures.
    pub digest: String,
    /// Encoded length of all lists, in each form.
    pub bal: BalBytes,
    /// Number of accounts that the lists name.
    pub list_account_count: u64,
    /// Number of slots that the lists name.
    pub list_slot_count: u64,
    /// Number of slots in the state.
    pub state_slot_count: u64,
    /// Number of slots in the state that `state.slots` or `state.size` asks for. The other slots
    /// are there because loads need them. `null` in results of earlier builds.
    #[serde(default)]
    pub sized_slot_count: Option<u64>,
    /// Number of accounts in the state.
    pub state_account_count: u64,
    /// Layout of the state's rows: `hashed` or `plain`.
    pub layout: String,
    /// Keys of the scenario's work whose values were overridden from outside the scenario.
    pub overridden: Vec<String>,
    /// Use of the blocks' gas limits. `null` where this program did not run the reference on the
    /// workload, and in results of earlier builds.
    #[serde(default)]
    pub fill: Option<Fill>,
}

/// How full the blocks are, in both dimensions of gas, over all blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    /// Value of `block.limit` in the scenario; `null` where the scenario sets the blocks' size by
    /// another key.
    pub block_limit_gas: Option<u64>,
    /// Sum of the gas limits in the headers.
    pub limit_gas: u64,
    /// Execution gas: before refunds and without state gas (EIP-7778, EIP-8037). In forks before
    /// Amsterdam, the gas of the receipts.
    pub execution_gas: u64,
    /// State gas (EIP-8037).
    pub state_gas: u64,
    /// Gas of each load, in the order of the scenario. Empty for a workload file, which does not
    /// name loads.
    pub loads: Vec<LoadFill>,
}

/// Gas of a load, in both dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFill {
    /// Name of the load in the scenario; `null` for a load without a name.
    pub name: Option<String>,
    /// Kind of the load.
    pub kind: String,
    /// Execution gas of the load.
    pub execution_gas: u64,
    /// State gas of the load.
    pub state_gas: u64,
}

impl LoadFill {
    /// Returns whether state gas bounds the load: whether it uses more state gas than execution
    /// gas.
    pub const fn is_bound_by_state(&self) -> bool {
        self.state_gas > self.execution_gas
    }
}

/// Encoded length of all lists, in each form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BalBytes {
    /// With changes only (`parallel-io`).
    pub parallel_io_bytes: u64,
    /// With changes and read keys, as EIP-7928 has it (`batched-io`).
    pub batched_io_bytes: u64,
    /// With changes, keys, and values before the batch (`full`).
    pub full_bytes: u64,
}

impl BalBytes {
    /// Returns the length in one form.
    pub const fn of(&self, form: ListForm) -> u64 {
        match form {
            ListForm::ParallelIo => self.parallel_io_bytes,
            ListForm::BatchedIo => self.batched_io_bytes,
            ListForm::Full => self.full_bytes,
        }
    }
}

/// Figures of the device below the state databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Ceiling before the samples: random reads of 4 KiB a second, by the fastest method.
    pub ceiling_iops: Option<f64>,
    /// Ceiling after the samples: random reads of 4 KiB a second.
    pub ceiling_end_iops: Option<f64>,
    /// The ceiling after the samples over the ceiling before them.
    pub ceiling_drift: Option<f64>,
    /// Method that reached the ceiling: `io_uring depth 256`.
    pub method: Option<String>,
    /// Median latency of a read with no other read under way.
    pub depth1_p50_ns: Option<u64>,
    /// Speed-up of a second pass over the same blocks. Above 1.3, a cache below this machine must
    /// have answered.
    pub host_cache_ratio: Option<f64>,
    /// Share of the state files' blocks that were read to measure the device before the first
    /// sample. A cache below this machine may hold them, and answer the same share of the samples'
    /// reads.
    pub probed_block_share: Option<f64>,
    /// Number of reads to measure the device that repeated a block, because the files have no more
    /// blocks. A cache below this machine may have answered them.
    pub repeated_read_count: u64,
    /// Seconds since the state was built. A host may still hold pages that were written a short
    /// time ago.
    pub state_age_s: Option<u64>,
    /// Reason why figures of the device are unknown.
    pub reason: Option<String>,
    /// The sweep's measurement that gave these figures to several cells; `null` if this run
    /// measured them itself.
    pub shared: Option<SharedDevice>,
}

/// Origin of the device's figures that several cells of a sweep share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedDevice {
    /// Time of the first measurement of the ceiling, seconds since 1970.
    pub measured_unix_s: u64,
    /// Name of the state whose files were read.
    pub state: String,
    /// Seed of the order in which the blocks of the files were read.
    pub draw_seed: u64,
}

/// A store of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoreFacts {
    /// Name of the store.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// Settings and sizes of the store, under the store's own names.
    #[schemars(with = "BTreeMap<String, Fact>")]
    pub facts: serde_json::Map<String, Value>,
}

/// Type of a store's setting or size, for schemas alone.
pub(crate) struct Fact;

impl JsonSchema for Fact {
    fn schema_name() -> Cow<'static, str> {
        "Fact".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer", "boolean", "null"],
            "description": "A setting or a size: text, a number or a truth value. An integer is not negative.",
            "minimum": 0,
        })
    }
}

/// The requested cache state, and whether the samples had it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheFacts {
    /// The requested cache state: `cold` or `warm`; `null` for a store without a device, which is
    /// never cold.
    #[serde(with = "NameOrNull::<CacheMode>")]
    pub want: Option<CacheMode>,
    /// Whether the samples are proved to have had the requested cache state; `null` where there is
    /// no proof either way.
    pub proved: Option<bool>,
    /// Reason for the value of `proved`.
    pub reason: String,
}

/// CPU profile of a variant, from extra samples that count for no other figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileFacts {
    /// The profiled variant.
    pub variant: String,
    /// Number of samples that were taken for the profile.
    pub sample_count: u64,
    /// Number of call stacks that were recorded inside the engine.
    pub stack_count: u64,
    /// Number of call stacks that were recorded outside the engine. The profile leaves them out.
    pub outside_count: u64,
    /// File name of the flame graph.
    pub flame_graph: String,
    /// The functions that were innermost most often, at most ten.
    pub frames: Vec<FrameFacts>,
}

/// A function of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameFacts {
    /// Name of the function.
    pub name: String,
    /// Share of the stacks in which the function is the innermost one.
    pub self_share: f64,
    /// Share of the stacks in which the function occurs at any depth.
    pub total_share: f64,
}
