//! `stress doctor io`: raw random reads, as they are written (`stress.io/2`, explained in
//! `docs/designs.md`). An unknown value is `null`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use variant::{ReadMethod, StoreKind};

use crate::{
    environment::Environment,
    facts::Fact,
    named::Name,
    run::{CacheFacts, Percentiles, StoreFacts, Tool},
    schema::schema,
};

schema! {
    /// The schema of an [`IoResult`].
    SCHEMA: IoSchema = "stress.io/2"
}

/// Order of the measurements.
pub const ORDER: &str = "for each store: host cache, ceiling, sweep of the device by depth, then one \
                         point after the other as listed, each from a fresh cold sample, then the \
                         ceiling again";

/// A whole result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoResult {
    /// Name and version of this format.
    pub schema: IoSchema,
    /// The program.
    pub tool: Tool,
    /// The command line, to repeat the measurement.
    pub command: Vec<String>,
    /// Start of the measurement, seconds since 1970.
    pub started_unix_s: u64,
    /// The machine.
    pub environment: Environment,
    /// The state that is read.
    pub state: IoState,
    /// `get` or `multi-get`.
    #[serde(with = "Name::<ReadMethod>")]
    pub read: ReadMethod,
    /// Seed of the draw of keys.
    pub seed: u64,
    /// Duration of each point.
    pub seconds: f64,
    /// Order of the measurements, in words.
    pub order: String,
    /// The stores.
    pub stores: Vec<IoStore>,
    /// Whether the measurement ended before its plan was complete.
    pub interrupted: bool,
    /// Reasons for doubt, each with its remedy.
    pub warnings: Vec<String>,
}

/// The rows that are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoState {
    /// Slots.
    pub rows: u64,
    /// `hashed` or `plain`.
    pub key_layout: String,
    /// Bytes of a row's key.
    pub key_bytes: u64,
    /// Bytes of a row's value.
    pub value_bytes: u64,
    /// Share of the requested keys that exist.
    pub present_share: f64,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoStore {
    /// Name of the store.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// Settings and sizes, with the store's own names.
    #[schemars(with = "BTreeMap<String, Fact>")]
    pub facts: serde_json::Map<String, serde_json::Value>,
    /// The device below the store; `null` for a store without files.
    pub device: Option<IoDevice>,
    /// The points, in the order of measurement.
    pub points: Vec<IoPoint>,
}

impl IoStore {
    /// A store before its first measurement.
    pub fn new(facts: StoreFacts) -> Self {
        Self { store: facts.store, facts: facts.facts, device: None, points: Vec::new() }
    }
}

/// The device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoDevice {
    /// The larger of the two ceilings. Fractions are shares of this ceiling.
    pub ceiling_iops: Option<f64>,
    /// Method of the ceiling: `io_uring depth 256`.
    pub ceiling_method: Option<String>,
    /// Ceiling before the points.
    pub ceiling_start_iops: Option<f64>,
    /// Ceiling after the points.
    pub ceiling_end_iops: Option<f64>,
    /// The ceiling after the points over the ceiling before them.
    pub ceiling_drift: Option<f64>,
    /// Speed-up of a second pass over the same blocks.
    pub host_cache_ratio: Option<f64>,
    /// Reads for these figures that repeated a block, because no other blocks were left. A cache
    /// below this machine may have answered them.
    pub repeated_read_count: u64,
    /// One thread's `io_uring` at each depth.
    pub sweep: Vec<DevicePoint>,
    /// Reason for unknown figures.
    pub reason: Option<String>,
}

/// The device at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DevicePoint {
    /// Method of reading: `io_uring depth 16`.
    pub method: String,
    /// Reads under way.
    pub depth: u64,
    /// Reads of 4 KiB a second.
    pub iops: f64,
    /// Time of a read.
    pub latency_ns: Percentiles,
    /// CPU time of the reading thread for each read.
    pub cpu_ns_per_read: Option<u64>,
}

/// A store at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoPoint {
    /// Threads that read.
    pub threads: u64,
    /// Keys in a call: 1 for `get`.
    pub keys_per_call: u64,
    /// Most gets under way: threads times keys per call.
    pub depth: u64,
    /// Gets made.
    pub gets: u64,
    /// Gets of keys that exist.
    pub present_gets: u64,
    /// Time from the first get to the last.
    pub elapsed_ns: u64,
    /// Gets a second.
    pub gets_per_s: f64,
    /// Blocks a second that the store read.
    pub blocks_per_s: Option<f64>,
    /// Block reads for each get.
    pub blocks_per_get: Option<f64>,
    /// Bytes that the store requested from its files for each block.
    pub bytes_per_block: Option<f64>,
    /// Bytes from the device for each get.
    pub device_bytes_per_get: Option<f64>,
    /// System calls that read, for each get.
    pub read_syscalls_per_get: Option<f64>,
    /// CPU time of the reading threads for each get.
    pub cpu_ns_per_get: Option<f64>,
    /// Time of a get of a key that exists.
    pub present_latency_ns: Percentiles,
    /// Time of a get of a key that does not exist.
    pub absent_latency_ns: Percentiles,
    /// Whether keys were requested together. Then each get counts as long as its call.
    pub latency_of_calls: bool,
    /// Block reads a second over the ceiling of single random reads. Above 1 where neighbouring
    /// blocks come in one request.
    pub ceiling_ratio: Option<f64>,
    /// Whether the point ended early because every key had been requested.
    pub keys_exhausted: bool,
    /// Complete passes over the keys that earlier points made; 0 where they made none.
    pub earlier_passes: u64,
    /// Whether the state was cold.
    pub cache: CacheFacts,
}
