//! The result of `stress doctor io`: rates and latencies of raw random reads (`stress.io/2`,
//! explained in `docs/designs.md`). An unknown value is `null`. Only types: `src/io/` fills them.

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

/// Order of the measurements, in words.
pub const ORDER: &str = "for each store: host cache, ceiling, sweep of the device by depth, then one \
                         point after the other as listed, each from a fresh cold sample, then the \
                         ceiling again";

/// The whole result of `stress doctor io`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoResult {
    /// Name and version of this format.
    pub schema: IoSchema,
    /// The program that measured.
    pub tool: Tool,
    /// The command line, to repeat the measurement.
    pub command: Vec<String>,
    /// Start of the measurement, seconds since 1970.
    pub started_unix_s: u64,
    /// The machine that was measured.
    pub environment: Environment,
    /// The state whose rows are read.
    pub state: IoState,
    /// Call that reads keys: `get` or `multi-get`.
    #[serde(with = "Name::<ReadMethod>")]
    pub read: ReadMethod,
    /// Seed by which keys are drawn.
    pub seed: u64,
    /// Planned duration of each point.
    pub seconds: f64,
    /// Order of the measurements, in words.
    pub order: String,
    /// The stores, each with its device and its points.
    pub stores: Vec<IoStore>,
    /// Whether the measurement ended before its plan was complete.
    pub interrupted: bool,
    /// Reasons to doubt the figures, each with its remedy.
    pub warnings: Vec<String>,
}

/// The state whose rows are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoState {
    /// Number of rows, each of one slot.
    pub rows: u64,
    /// Layout of the rows: `hashed` or `plain`.
    pub key_layout: String,
    /// Bytes of a row's key.
    pub key_bytes: u64,
    /// Bytes of a row's value.
    pub value_bytes: u64,
    /// Share of the requested keys that exist.
    pub present_share: f64,
}

/// A measured store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoStore {
    /// Name of the store.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// Settings and sizes of the store, under the store's own names.
    #[schemars(with = "BTreeMap<String, Fact>")]
    pub facts: serde_json::Map<String, serde_json::Value>,
    /// The device below the store's files; `null` for a store without files.
    pub device: Option<IoDevice>,
    /// The measured points, in their order.
    pub points: Vec<IoPoint>,
}

impl IoStore {
    /// Makes a store without points.
    pub fn new(facts: StoreFacts) -> Self {
        Self { store: facts.store, facts: facts.facts, device: None, points: Vec::new() }
    }
}

/// The device below a store's files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoDevice {
    /// The larger of the ceilings before and after the points, in random reads of 4 KiB. The
    /// points' ceiling ratios refer to it.
    pub ceiling_iops: Option<f64>,
    /// Method that reached the ceiling: `io_uring depth 256`.
    pub ceiling_method: Option<String>,
    /// Ceiling before the points.
    pub ceiling_start_iops: Option<f64>,
    /// Ceiling after the points.
    pub ceiling_end_iops: Option<f64>,
    /// The ceiling after the points over the ceiling before them.
    pub ceiling_drift: Option<f64>,
    /// Speed-up of a second pass over the same blocks of the device.
    pub host_cache_ratio: Option<f64>,
    /// Number of reads for these figures that repeated a block, because no other blocks were left.
    /// A cache below this machine may have answered them.
    pub repeated_read_count: u64,
    /// Rates of one thread with `io_uring`, one entry for each depth.
    pub sweep: Vec<DevicePoint>,
    /// Reason why figures of the device are unknown.
    pub reason: Option<String>,
}

/// The device at one depth of `io_uring`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DevicePoint {
    /// Method of reading: `io_uring depth 16`.
    pub method: String,
    /// Number of reads under way.
    pub depth: u64,
    /// Random reads of 4 KiB a second.
    pub iops: f64,
    /// Latency of a read.
    pub latency_ns: Percentiles,
    /// CPU time of the reading thread per read.
    pub cpu_ns_per_read: Option<u64>,
}

/// A store's reads at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoPoint {
    /// Number of threads that read.
    pub threads: u64,
    /// Number of keys in a call: 1 for `get`.
    pub keys_per_call: u64,
    /// Largest number of gets under way: threads times keys per call. A get reads one key.
    pub depth: u64,
    /// Number of gets.
    pub gets: u64,
    /// Number of gets of keys that exist.
    pub present_gets: u64,
    /// Time from the start of the first get to the end of the last.
    pub elapsed_ns: u64,
    /// Gets a second.
    pub gets_per_s: f64,
    /// Blocks a second that the store read from its files.
    pub blocks_per_s: Option<f64>,
    /// Blocks that the store read per get.
    pub blocks_per_get: Option<f64>,
    /// Bytes that the store requested from its files per block.
    pub bytes_per_block: Option<f64>,
    /// Bytes read from the device per get.
    pub device_bytes_per_get: Option<f64>,
    /// Read system calls per get.
    pub read_syscalls_per_get: Option<f64>,
    /// CPU time of the reading threads per get.
    pub cpu_ns_per_get: Option<f64>,
    /// Latency of a get of a key that exists.
    pub present_latency_ns: Percentiles,
    /// Latency of a get of a key that does not exist.
    pub absent_latency_ns: Percentiles,
    /// Whether several keys were read in one call. Then each get has the latency of its call.
    pub latency_of_calls: bool,
    /// Block reads a second over the device's ceiling of single random reads. Above 1 if
    /// neighbouring blocks come in one request.
    pub ceiling_ratio: Option<f64>,
    /// Whether the point ended early because every key had been read.
    pub keys_exhausted: bool,
    /// Number of complete passes over all keys that earlier points made.
    pub earlier_passes: u64,
    /// The requested cache state, and whether the point had it.
    pub cache: CacheFacts,
}
