//! A comparison of loads on live nodes, in the form in which it is written
//! (`stress.send-compare/1`). Only types: `crates/report/src/compare_loads.rs` fills them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{comparison::Change, schema::schema};

schema! {
    /// The schema of a [`LoadComparison`].
    SCHEMA: LoadCompareSchema = "stress.send-compare/1"
}

/// A comparison of loads on live nodes. Each side has one or more loads. All loads have the same
/// work at the same pace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadComparison {
    /// Name and version of this format.
    pub schema: LoadCompareSchema,
    /// The work of all loads.
    pub work: LoadWork,
    /// The sides, in the order given. The first is the base of the comparison.
    pub sides: Vec<LoadSide>,
    /// Facts of node and program that differ between the sides.
    pub changes: Vec<Change>,
    /// The compared figures, one row for each.
    pub rows: Vec<LoadRow>,
}

/// The work and the pace of all loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadWork {
    /// Name of the scenario.
    pub scenario: String,
    /// The workload's digest.
    pub digest: String,
    /// Kind of the pace: `rate`, `in-flight` or `pool-depth`.
    pub pace: String,
    /// Value of the pace, in the unit of its kind.
    pub pace_value: f64,
}

/// One side of the comparison: loads on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSide {
    /// Name in tables: `A`, `B`, ….
    pub label: String,
    /// Path of the file, or of the directory with the loads' files.
    pub path: String,
    /// Number of loads.
    pub load_count: u64,
    /// Number of transactions that the side's loads were to send.
    pub planned_count: u64,
    /// Number of transactions that are in blocks and succeeded.
    pub included_count: u64,
    /// Number of warnings in all results of the side.
    pub warning_count: u64,
}

/// A figure on all sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRow {
    /// Path of the figure in a load's result: `included_per_s`, `latency.inclusion_ns.p50`.
    pub key: String,
    /// The figure on each side, in the order of the sides; `null` where a load of the side lacks
    /// it.
    pub figures: Vec<Option<LoadFigure>>,
}

/// A figure on one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFigure {
    /// Median over the side's loads, in the unit of the key.
    pub median: f64,
    /// 95 % confidence interval of the median; `null` with too few loads.
    pub ci95: Option<[f64; 2]>,
    /// This side's median over the median of the first side.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of `ratio`; `null` for the first side, and with too few loads.
    pub ratio_ci95: Option<[f64; 2]>,
}
