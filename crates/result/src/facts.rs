//! Facts of a result beside its figures: the tool, the workload, the device, the stores, a profile.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use variant::{CacheMode, StoreKind};

use crate::{
    named::{Name, NameOrNull},
    program::Program,
};

/// Speed-up of a second pass over the same blocks above which a cache below this machine must have
/// answered. A smaller speed-up does not exclude such a cache: it may hold all blocks before the
/// first pass, since they were written shortly before.
pub const HOST_CACHE_RATIO: f64 = 1.3;

/// Largest difference of the device's early and late ceilings, as a share of the early one. A
/// larger difference means that the device's rate has changed.
pub const DRIFT_MAX: f64 = 0.2;

/// The tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Version, sources and file of the program.
    #[serde(flatten)]
    pub program: Program,
    /// Version of revm.
    pub revm: String,
}

/// The workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadFacts {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The fork.
    pub fork: String,
    /// Gas used: the sum of all receipts.
    pub gas: u64,
    /// Sum of the gas in the blocks' headers. It may differ from the sum of the receipts
    /// (EIP-8037).
    pub header_gas: u64,
    /// Blocks.
    pub block_count: u64,
    /// Batches that the blocks are run in.
    pub batch_count: u64,
    /// Blocks of a batch, which are run as one and committed once.
    pub blocks_per_batch: u64,
    /// Transactions.
    pub tx_count: u64,
    /// BLAKE3 of the workload.
    pub digest: String,
    /// Encoded length of all lists.
    pub bal: BalBytes,
    /// Accounts that the lists name.
    pub list_account_count: u64,
    /// Slots that the lists name.
    pub list_slot_count: u64,
    /// Slots of the state.
    pub state_slot_count: u64,
    /// Slots that `state.slots` or `state.size` asks for; the workload needs the other slots.
    /// `null` in results of earlier builds.
    #[serde(default)]
    pub sized_slot_count: Option<u64>,
    /// Accounts of the state.
    pub state_account_count: u64,
    /// Layout of the state's rows.
    pub layout: String,
    /// Work keys that were overridden from outside the scenario.
    pub overridden: Vec<String>,
    /// Fill of the blocks. `null` where this program did not run the reference on the workload, and
    /// in results of earlier builds.
    #[serde(default)]
    pub fill: Option<Fill>,
}

/// Fill of all blocks together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    /// `block.limit` of the scenario; `null` where the scenario sets the size by another key.
    pub block_limit_gas: Option<u64>,
    /// Sum of the gas limits of the headers.
    pub limit_gas: u64,
    /// Gas of execution: before refunds and without state gas (EIP-7778, EIP-8037). In forks before
    /// Amsterdam, the gas of the receipts.
    pub execution_gas: u64,
    /// State gas (EIP-8037).
    pub state_gas: u64,
    /// The loads in the order of the scenario; empty for a workload file, which does not name
    /// loads.
    pub loads: Vec<LoadFill>,
}

/// A load's part of both dimensions of gas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFill {
    /// Name of the load in the scenario; `null` without a name.
    pub name: Option<String>,
    /// Kind of the load.
    pub kind: String,
    /// Execution gas of the load.
    pub execution_gas: u64,
    /// State gas of the load.
    pub state_gas: u64,
}

impl LoadFill {
    /// Whether state gas bounds the load: it uses more state gas than execution gas.
    pub const fn is_bound_by_state(&self) -> bool {
        self.state_gas > self.execution_gas
    }
}

/// Encoded length of the list in each form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BalBytes {
    /// Changes only.
    pub parallel_io_bytes: u64,
    /// The EIP-7928 list.
    pub batched_io_bytes: u64,
    /// Changes, keys and values.
    pub full_bytes: u64,
}

/// The device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Random reads of 4 KiB a second before the samples, by the best method.
    pub ceiling_iops: Option<f64>,
    /// Random reads of 4 KiB a second after the samples.
    pub ceiling_end_iops: Option<f64>,
    /// The ceiling after the samples over the ceiling before them.
    pub ceiling_drift: Option<f64>,
    /// Method of the ceiling: `io_uring depth 256`.
    pub method: Option<String>,
    /// Median latency of one read with nothing else under way.
    pub depth1_p50_ns: Option<u64>,
    /// Speed-up of a second pass over the same blocks. Above 1.3, a cache outside this machine
    /// answers.
    pub host_cache_ratio: Option<f64>,
    /// Share of the files' blocks that were read for these figures before the first sample. A cache
    /// below this machine may hold them, and answer the same share of the samples' reads.
    pub probed_block_share: Option<f64>,
    /// Reads for these figures that repeated a block, because the files have no more blocks. A
    /// cache below this machine may have answered them.
    pub repeated_read_count: u64,
    /// Seconds since the state was built: a host may still hold the pages that it has just written.
    pub state_age_s: Option<u64>,
    /// Reason for unknown figures.
    pub reason: Option<String>,
    /// The sweep's measurement that gave the figures of all its cells; `null`: this run measured
    /// them.
    pub shared: Option<SharedDevice>,
}

/// Origin of figures of the device that the cells of a sweep share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedDevice {
    /// Time at which the ceiling was measured, seconds since 1970.
    pub measured_unix_s: u64,
    /// The state whose files were read.
    pub state: String,
    /// Seed of the order in which the files' blocks were read.
    pub draw_seed: u64,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoreFacts {
    /// Name of the store.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// Settings and sizes, with the store's own names.
    #[schemars(with = "BTreeMap<String, Fact>")]
    pub facts: serde_json::Map<String, Value>,
}

/// A setting or a size of a store, for schemas.
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
    /// `cold` or `warm`; `null` for a store without a device, which has neither state.
    #[serde(with = "NameOrNull::<CacheMode>")]
    pub want: Option<CacheMode>,
    /// Whether the state is proved to be as requested; `null` where there is no proof.
    pub proved: Option<bool>,
    /// Reason for the proof or the lack of one.
    pub reason: String,
}

/// CPU profile of a variant, from samples that count for no other figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileFacts {
    /// The profiled variant.
    pub variant: String,
    /// Samples that were taken for the profile.
    pub sample_count: u64,
    /// Stacks that were seen inside the engine.
    pub stack_count: u64,
    /// Stacks that were seen outside the engine; the profile leaves them out.
    pub outside_count: u64,
    /// File name of the flame graph.
    pub flame_graph: String,
    /// The functions that ran most often, at most ten.
    pub frames: Vec<FrameFacts>,
}

/// A function of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameFacts {
    /// Name of the function.
    pub name: String,
    /// Share of the stacks in which the function is the innermost.
    pub self_share: f64,
    /// Share of the stacks in which the function occurs.
    pub total_share: f64,
}
