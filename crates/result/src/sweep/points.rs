//! The figures of a sweep's cells: one point for each cell and variant. Knees and reports are made
//! from points.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use variant::{Design, StoreKind};

use super::matrix::{Axis, Keys};
use crate::{named::Name, run::RunResult};

/// Keys whose values are in the name of a variant. Cells that differ in these keys alone may have
/// variants of equal names.
const TOLD_BY_VARIANT: [&str; 6] =
    ["run.designs", "run.stores", "run.threads", "run.io_threads", "run.schedule", "run.duties"];
/// Beginnings of further keys whose values are in the name of a variant.
const TOLD_BY_VARIANT_FROM: [&str; 2] = ["run.prefetch", "run.root"];

/// A variant's figures in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Index of the cell.
    pub cell: u64,
    /// Index of the cell that gave these figures, if this cell is left out.
    #[serde(default)]
    pub same_as: Option<u64>,
    /// Value of each axis in the cell.
    pub keys: Keys,
    /// The variant.
    pub variant: String,
    /// Store of the variant.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// Design of the variant.
    #[serde(with = "Name::<Design>")]
    pub design: Design,
    /// Number of threads that execute.
    pub threads: u64,
    /// Number of threads that only read.
    pub io_threads: u64,
    /// Number of samples, with those of the warm-up.
    pub sample_count: u64,
    /// Number of samples, with those of the warm-up; for a run on several databases, the number of
    /// databases.
    pub value_count: u64,
    /// Median milliseconds per batch.
    pub ms_per_batch: Option<f64>,
    /// 95 % confidence interval of `ms_per_batch`.
    pub ms_per_batch_ci95: Option<[f64; 2]>,
    /// Median throughput, in million gas per second.
    pub mgas_per_s: Option<f64>,
    /// 95 % confidence interval of `mgas_per_s`.
    pub mgas_per_s_ci95: Option<[f64; 2]>,
}

impl Point {
    /// The variant's name without its thread counts: `rocksdb/batched-io/bal+batched`.
    pub fn name_without_threads(&self) -> &str {
        self.variant.rsplit_once('@').map_or(self.variant.as_str(), |(way, _)| way)
    }

    /// The values of the axes that the variant's name does not have.
    pub fn unnamed_keys(&self) -> Keys {
        unnamed_keys(&self.keys)
    }
}

/// Returns the values of the axes that the name of a variant does not have.
pub fn unnamed_keys(keys: &Keys) -> Keys {
    let unnamed = keys.iter().filter(|(key, _)| {
        !TOLD_BY_VARIANT.contains(&key.as_str())
            && !TOLD_BY_VARIANT_FROM.iter().any(|start| key.starts_with(start))
    });
    unnamed.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Returns the values of the axes that decide the work.
pub fn work_keys(axes: &[Axis], keys: &Keys) -> Keys {
    let axes = axes.iter().filter(|axis| axis.is_work());
    axes.filter_map(|axis| Some((axis.key.clone(), keys.get(&axis.key)?.clone()))).collect()
}

/// Makes the points of one result; empty unless all its samples equal the reference.
pub fn points_of(index: u64, keys: &Keys, result: &RunResult) -> Vec<Point> {
    if result.agree != Some(true) {
        return Vec::new();
    }
    let points = result.cells.iter().map(|cell| Point {
        cell: index,
        same_as: None,
        keys: keys.clone(),
        variant: cell.variant.clone(),
        store: cell.store,
        design: cell.design,
        threads: cell.threads,
        io_threads: cell.io_threads,
        sample_count: cell.samples.len() as u64,
        value_count: cell.value_count() as u64,
        ms_per_batch: cell.ms_per_batch.median.filter(is_positive),
        ms_per_batch_ci95: cell.ms_per_batch.ci95,
        mgas_per_s: cell.mgas_per_s.median.filter(is_positive),
        mgas_per_s_ci95: cell.mgas_per_s.ci95,
    });
    points.collect()
}

fn is_positive(value: &f64) -> bool {
    value.is_finite() && *value > 0.0
}
