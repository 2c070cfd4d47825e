//! Loads on live nodes side by side, as they are written (`stress.send-compare/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{comparison::Change, schema::schema};

schema! {
    /// The schema of a [`LoadComparison`].
    SCHEMA: LoadCompareSchema = "stress.send-compare/1"
}

/// Loads side by side: of each side one or more, all of the same work at the same pace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadComparison {
    /// Name and version of this format.
    pub schema: LoadCompareSchema,
    /// The work of all.
    pub work: LoadWork,
    /// The sides, in the order given; the others are compared with the first.
    pub sides: Vec<LoadSide>,
    /// Facts of node and tool that are not the same on all sides.
    pub changes: Vec<Change>,
    /// One for each figure.
    pub rows: Vec<LoadRow>,
}

/// The work of all loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadWork {
    /// Name of the scenario.
    pub scenario: String,
    /// The workload's digest.
    pub digest: String,
    /// `rate`, `in-flight` or `pool-depth`.
    pub pace: String,
    /// The number of that.
    pub pace_value: f64,
}

/// Loads of a side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSide {
    /// `A`, `B`, …: how a table names it.
    pub label: String,
    /// The file or directory.
    pub path: String,
    /// Number of loads.
    pub load_count: u64,
    /// Transactions that they were to send.
    pub planned_count: u64,
    /// Those that are in blocks and succeeded.
    pub included_count: u64,
    /// Number of their warnings.
    pub warning_count: u64,
}

/// A figure of all sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRow {
    /// Where a load has it: `included_per_s`, `latency.inclusion_ns.p50`.
    pub key: String,
    /// In the order of the sides; `null` where a load of the side has not got it.
    pub figures: Vec<Option<LoadFigure>>,
}

/// A figure of a side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFigure {
    /// Median over the loads, in the unit of the key.
    pub median: f64,
    /// 95 % confidence interval of the median; `null` with too few loads.
    pub ci95: Option<[f64; 2]>,
    /// The median over that of the first side.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of that; `null` of the first side, and with too few loads.
    pub ratio_ci95: Option<[f64; 2]>,
}
