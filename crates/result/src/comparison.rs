//! The comparison of results, as it is written (`stress.compare/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::schema;

schema! {
    /// The schema of a [`Comparison`].
    SCHEMA: CompareSchema = "stress.compare/1"
}

/// A comparison of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Name and version of this format.
    pub schema: CompareSchema,
    /// The work that all results did: scenario, gas, digest.
    pub work: Work,
    /// The results, in the order given; the others are compared with the first.
    pub results: Vec<Source>,
    /// Facts of tool, machine, stores, caches and rows that differ between results.
    pub changes: Vec<Change>,
    /// Counters that differ between results.
    pub counters: Vec<Change>,
    /// One row for each variant of any result.
    pub rows: Vec<Row>,
}

/// The work of all results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// Name of the scenario in the first result.
    pub scenario: String,
    /// Gas used.
    pub gas: Option<u64>,
    /// The workload's digest.
    pub digest: String,
}

/// The source of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Name in tables: `A`, `B`, ….
    pub label: String,
    /// The file.
    pub path: String,
    /// Start of the run, seconds since 1970.
    pub started_unix_s: Option<u64>,
    /// Commit of the tool.
    pub commit: Option<String>,
    /// The result's fastest row on each store, and that row's gain over execution in order by part.
    #[serde(default)]
    pub fastest: Option<String>,
    /// Time that the fastest row saves against the same row of the first result, by part; `null` of
    /// the first result.
    #[serde(default)]
    pub less_than_first: Option<String>,
    /// Number of the result's warnings.
    pub warning_count: u64,
    /// Whether the run ended before its plan was complete.
    pub interrupted: bool,
}

/// A fact that differs between results; `null` where a result does not have the fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Path of the fact in the result: `stores.rocksdb.block_cache_bytes`.
    pub key: String,
    /// Values of the fact, in the order of the results.
    pub values: Vec<Value>,
}

/// A variant's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The variant.
    pub variant: String,
    /// The figures in the order of the results; `null` where a result has no such cell.
    pub figures: Vec<Option<Figure>>,
}

/// A variant's figures in one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Number of samples after the warm-up.
    pub sample_count: u64,
    /// Number of databases behind the figures; `null` of a run on one database.
    pub database_count: Option<u64>,
    /// Median milliseconds per batch.
    pub ms_per_batch: Option<f64>,
    /// 95 % confidence interval of the median.
    pub ms_per_batch_ci95: Option<[f64; 2]>,
    /// Median throughput.
    pub mgas_per_s: Option<f64>,
    /// Share of the ceiling of the device in the same run.
    pub device_fraction: Option<f64>,
    /// The variant's time over its time in the first result.
    pub time_ratio: Option<f64>,
    /// 95 % confidence interval of the ratio; `null` of the first result, and with too few samples.
    #[serde(default)]
    pub time_ratio_ci95: Option<[f64; 2]>,
}
