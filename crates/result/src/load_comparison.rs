//! The comparison of loads on live nodes, as it is written (`stress.send-compare/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{comparison::Change, schema::schema};

schema! {
    /// The schema of a [`LoadComparison`].
    SCHEMA: LoadCompareSchema = "stress.send-compare/1"
}

/// A comparison of loads. Each side has one or more loads; all have the same work at the same pace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadComparison {
    /// Name and version of this format.
    pub schema: LoadCompareSchema,
    /// The work of all loads.
    pub work: LoadWork,
    /// The sides, in the order given; the others are compared with the first.
    pub sides: Vec<LoadSide>,
    /// Facts of node and tool that differ between sides.
    pub changes: Vec<Change>,
    /// One row for each figure.
    pub rows: Vec<LoadRow>,
}

/// The work of all loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadWork {
    /// Name of the scenario.
    pub scenario: String,
    /// The workload's digest.
    pub digest: String,
    /// Kind of the pace: `rate`, `in-flight` or `pool-depth`.
    pub pace: String,
    /// Value of the pace.
    pub pace_value: f64,
}

/// Loads of a side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSide {
    /// Name in tables: `A`, `B`, ….
    pub label: String,
    /// The file or directory.
    pub path: String,
    /// Number of loads.
    pub load_count: u64,
    /// Transactions that the loads were to send.
    pub planned_count: u64,
    /// Transactions that are in blocks and succeeded.
    pub included_count: u64,
    /// Number of the loads' warnings.
    pub warning_count: u64,
}

/// A figure of all sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRow {
    /// Path of the figure in a load's result: `included_per_s`, `latency.inclusion_ns.p50`.
    pub key: String,
    /// The figures in the order of the sides; `null` where a load of the side lacks the figure.
    pub figures: Vec<Option<LoadFigure>>,
}

/// A figure of a side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFigure {
    /// Median over the loads, in the unit of the key.
    pub median: f64,
    /// 95 % confidence interval of the median; `null` with too few loads.
    pub ci95: Option<[f64; 2]>,
    /// The median over the first side's median.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio; `null` of the first side, and with too few loads.
    pub ratio_ci95: Option<[f64; 2]>,
}
