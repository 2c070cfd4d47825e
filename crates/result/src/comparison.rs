//! Results side by side as they are written (`stress.compare/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::schema;

schema! {
    /// The schema of a [`Comparison`].
    SCHEMA: CompareSchema = "stress.compare/1"
}

/// Results side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Name and version of this format.
    pub schema: CompareSchema,
    /// The work that all of them did: scenario, gas, digest.
    pub work: Work,
    /// The results, in the order given; the others are compared with the first.
    pub results: Vec<Source>,
    /// Facts of tool, machine, stores, caches and rows that are not the same in all.
    pub changes: Vec<Change>,
    /// Counters that are not the same in all.
    pub counters: Vec<Change>,
    /// One per variant of any of them.
    pub rows: Vec<Row>,
}

/// The work of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// The scenario's name in the first.
    pub scenario: String,
    /// Gas used.
    pub gas: Option<u64>,
    /// The workload's digest.
    pub digest: String,
}

/// Where a column comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// `A`, `B`, …: how a table names it.
    pub label: String,
    /// The file.
    pub path: String,
    /// When the run began, seconds since 1970.
    pub started_unix_s: Option<u64>,
    /// Commit of the tool.
    pub commit: Option<String>,
    /// Number of its warnings.
    pub warning_count: u64,
    /// Whether it ended before its plan did.
    pub interrupted: bool,
}

/// A fact that is not the same in all; `null` where a result has not got it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Where in the result: `stores.rocksdb.block_cache_bytes`.
    pub key: String,
    /// Its values, in the order of the results.
    pub values: Vec<Value>,
}

/// A variant's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The variant.
    pub variant: String,
    /// In the order of the results; `null` where a result has no such cell.
    pub figures: Vec<Option<Figure>>,
}

/// A variant's figures in one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Number of samples after the warm-up.
    pub sample_count: u64,
    /// Databases that the figures are over; `null` of a run on one.
    pub database_count: Option<u64>,
    /// Median milliseconds per batch.
    pub ms_per_batch: Option<f64>,
    /// 95 % confidence interval of the median.
    pub ms_per_batch_ci95: Option<[f64; 2]>,
    /// Median throughput.
    pub mgas_per_s: Option<f64>,
    /// Share of the device's ceiling of its own run.
    pub device_fraction: Option<f64>,
    /// Its time over that of the first result.
    pub time_ratio: Option<f64>,
    /// 95 % confidence interval of that; `null` of the first result, and with too few samples.
    #[serde(default)]
    pub time_ratio_ci95: Option<[f64; 2]>,
}
