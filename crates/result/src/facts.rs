//! Facts of a result beside its figures: the tool, the workload, the device, the stores.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use variant::{CacheMode, StoreKind};

use crate::{
    named::{Name, NameOrNull},
    program::Program,
};

/// A second pass over the same blocks that is faster than the first by more than this factor was
/// answered by a cache below this machine. Where it is not, there may be one all the same: one
/// that had all blocks before the first pass, as soon after writing them.
pub const HOST_CACHE_RATIO: f64 = 1.3;

/// Ceilings of the device, early and late, that differ by more than this share of the first make it
/// another device.
pub const DRIFT_MAX: f64 = 0.2;

/// The tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its version, sources and file.
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
    /// Sum over the blocks of the header's gas, where it is another (EIP-8037).
    pub header_gas: u64,
    /// Blocks.
    pub block_count: u64,
    /// Batches that the blocks are run in.
    pub batch_count: u64,
    /// Blocks of a batch: run as one, and committed once.
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
    /// Those of them that `state.slots` or `state.size` asks for; the work needs the others. `None` of a
    /// result of an earlier build.
    #[serde(default)]
    pub sized_slot_count: Option<u64>,
    /// Accounts of the state.
    pub state_account_count: u64,
    /// Layout of the state's rows.
    pub layout: String,
    /// Work keys that were overridden from outside the scenario.
    pub overridden: Vec<String>,
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
    /// The same after them.
    pub ceiling_end_iops: Option<f64>,
    /// The second by the first: the device's change meanwhile.
    pub ceiling_drift: Option<f64>,
    /// How: `io_uring depth 256`.
    pub method: Option<String>,
    /// Median latency of one read with nothing else under way.
    pub depth1_p50_ns: Option<u64>,
    /// How much faster a second pass over the same blocks was; above 1.3 a cache outside this
    /// machine answers.
    pub host_cache_ratio: Option<f64>,
    /// Share of the files' blocks that were read for these figures before the first sample: a cache
    /// below that holds them may answer as many of the samples' reads.
    pub probed_block_share: Option<f64>,
    /// Reads of all of these that were of a block read before, because the files have no more: a
    /// cache below may have answered them.
    pub repeated_read_count: u64,
    /// Seconds since the state was built: a host may still hold the pages that it has just written.
    pub state_age_s: Option<u64>,
    /// Why something is not known.
    pub reason: Option<String>,
    /// Where and when a sweep measured the figures for all of its cells; `null`: this run measured
    /// them.
    pub shared: Option<SharedDevice>,
}

/// Origin of figures of the device that the cells of a sweep share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedDevice {
    /// When the ceiling was measured, seconds since 1970.
    pub measured_unix_s: u64,
    /// The state whose files were read.
    pub state: String,
    /// Seed of the order in which their blocks were read.
    pub draw_seed: u64,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoreFacts {
    /// Its name.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// Settings and sizes, by names of the store's own.
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

/// Whether the state was as cold as asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheFacts {
    /// `cold` or `warm`; `null` for a store without a device, which has neither state.
    #[serde(with = "NameOrNull::<CacheMode>")]
    pub want: Option<CacheMode>,
    /// Whether it is proved; `null` where it cannot be.
    pub proved: Option<bool>,
    /// Why, or why not.
    pub reason: String,
}
