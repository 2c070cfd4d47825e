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

/// In which order things are measured.
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
    /// The command line, to make it again.
    pub command: Vec<String>,
    /// When it began, seconds since 1970.
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
    /// How long each point reads.
    pub seconds: f64,
    /// In which order things were measured.
    pub order: String,
    /// One for each store.
    pub stores: Vec<IoStore>,
    /// Whether it ended before its plan did.
    pub interrupted: bool,
    /// Reasons for doubt, each with its remedy.
    pub warnings: Vec<String>,
}

/// The rows.
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
    /// Share of the keys asked for that exist.
    pub present_share: f64,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoStore {
    /// Its name.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// Settings and sizes, by names of the store's own.
    #[schemars(with = "BTreeMap<String, Fact>")]
    pub facts: serde_json::Map<String, serde_json::Value>,
    /// The device below it; `null` for a store without files.
    pub device: Option<IoDevice>,
    /// The order of the measurements.
    pub points: Vec<IoPoint>,
}

impl IoStore {
    /// A store of which nothing was measured yet.
    pub fn new(facts: StoreFacts) -> Self {
        Self { store: facts.store, facts: facts.facts, device: None, points: Vec::new() }
    }
}

/// The device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoDevice {
    /// The larger of the two ceilings: fractions are of this one.
    pub ceiling_iops: Option<f64>,
    /// How it was reached.
    pub ceiling_method: Option<String>,
    /// Before the points.
    pub ceiling_start_iops: Option<f64>,
    /// After them.
    pub ceiling_end_iops: Option<f64>,
    /// The second by the first: how much the device changed meanwhile.
    pub ceiling_drift: Option<f64>,
    /// How much faster a second pass over the same blocks was.
    pub host_cache_ratio: Option<f64>,
    /// Reads of all of these that were of a block read before, because there were no others left:
    /// a cache below may have answered them.
    pub repeated_read_count: u64,
    /// One thread's `io_uring` at each depth.
    pub sweep: Vec<DevicePoint>,
    /// Why something is not known.
    pub reason: Option<String>,
}

/// The device at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DevicePoint {
    /// How: `io_uring depth 16`.
    pub method: String,
    /// Reads under way.
    pub depth: u64,
    /// Reads of 4 KiB a second.
    pub iops: f64,
    /// Time of a read.
    pub latency_ns: Percentiles,
    /// CPU time of the reading thread for a read.
    pub cpu_ns_per_read: Option<u64>,
}

/// A store at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoPoint {
    /// Threads that read.
    pub threads: u64,
    /// Keys in a call: 1 for `get`.
    pub keys_per_call: u64,
    /// Gets that threads and calls let be under way.
    pub depth: u64,
    /// Gets made.
    pub gets: u64,
    /// Those of keys that exist.
    pub present_gets: u64,
    /// First get to last.
    pub elapsed_ns: u64,
    /// Gets a second.
    pub gets_per_s: f64,
    /// Blocks that the store read a second.
    pub blocks_per_s: Option<f64>,
    /// Block reads for each get.
    pub blocks_per_get: Option<f64>,
    /// Bytes that the store asked of its files for a block.
    pub bytes_per_block: Option<f64>,
    /// Bytes from the device for each get.
    pub device_bytes_per_get: Option<f64>,
    /// System calls that read, for each get.
    pub read_syscalls_per_get: Option<f64>,
    /// CPU time of the reading threads for each get.
    pub cpu_ns_per_get: Option<f64>,
    /// Time of a get of a key that exists.
    pub present_latency_ns: Percentiles,
    /// Time of a get of a key that does not.
    pub absent_latency_ns: Percentiles,
    /// Whether keys were asked for together and each get counts as long as its call.
    pub latency_of_calls: bool,
    /// Block reads a second over the ceiling, which is of single random reads: above 1 where neighbours come in
    /// one request.
    pub ceiling_ratio: Option<f64>,
    /// Whether the point ended early because every key had been asked for.
    pub keys_exhausted: bool,
    /// Times that keys had been asked for before by earlier points: 0 where none had.
    pub earlier_passes: u64,
    /// Whether the state was cold.
    pub cache: CacheFacts,
}
