//! A comparison of results of runs, in the form in which it is written (`stress.compare/1`). Only
//! types: `crates/report/src/compare.rs` fills them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::schema;

schema! {
    /// The schema of a [`Comparison`].
    SCHEMA: CompareSchema = "stress.compare/1"
}

/// A comparison of results of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Name and version of this format.
    pub schema: CompareSchema,
    /// The work that all results did.
    pub work: Work,
    /// The compared results, in the order given. The first is the base of the comparison.
    pub results: Vec<Source>,
    /// Facts of tool, machine, stores, caches and clients that differ between results.
    pub changes: Vec<Change>,
    /// Exact counters that differ between results.
    pub counters: Vec<Change>,
    /// One row for each variant and each client of any result.
    pub rows: Vec<Row>,
}

/// The work that all results did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// Name of the scenario in the first result.
    pub scenario: String,
    /// Gas used: the sum of all receipts.
    pub gas: Option<u64>,
    /// The workload's digest.
    pub digest: String,
}

/// One of the compared results, which has a column in the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Name in tables: `A`, `B`, ….
    pub label: String,
    /// Path of the result's file.
    pub path: String,
    /// Start of the run, seconds since 1970.
    pub started_unix_s: Option<u64>,
    /// Commit of the program that made the result.
    pub commit: Option<String>,
    /// The result's fastest row on each store, and what that row gains over execution in order,
    /// part by part; in words.
    #[serde(default)]
    pub fastest: Option<String>,
    /// Time that the fastest row saves against the same row of the first result, part by part, in
    /// words; `null` for the first result.
    #[serde(default)]
    pub less_than_first: Option<String>,
    /// Number of the result's warnings.
    pub warning_count: u64,
    /// Whether the result's run ended before its plan was complete.
    pub interrupted: bool,
}

/// A fact that differs between results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Path of the fact in the result: `stores.rocksdb.block_cache_bytes`.
    pub key: String,
    /// Values of the fact, in the order of the results; `null` for a result without the fact.
    pub values: Vec<Value>,
}

/// A row of the comparison: a variant, or a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Name of the variant, or `client` and the client's name.
    pub variant: String,
    /// The row's figures in each result, in the order of the results; `null` for a result without
    /// the row.
    pub figures: Vec<Option<Figure>>,
}

/// Figures of a variant or client in one result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Number of samples after the warm-up.
    pub sample_count: u64,
    /// Number of databases behind the figures; `null` for a run on one database.
    pub database_count: Option<u64>,
    /// Median milliseconds per batch.
    pub ms_per_batch: Option<f64>,
    /// 95 % confidence interval of `ms_per_batch`.
    pub ms_per_batch_ci95: Option<[f64; 2]>,
    /// Median throughput, in million gas per second.
    pub mgas_per_s: Option<f64>,
    /// Block reads per second over the device's rate on the same blocks in the same run, at most 1;
    /// median.
    pub device_fraction: Option<f64>,
    /// The row's time over its time in the first result.
    pub time_ratio: Option<f64>,
    /// 95 % confidence interval of `time_ratio`; `null` for the first result, and with too few
    /// samples.
    #[serde(default)]
    pub time_ratio_ci95: Option<[f64; 2]>,
}
