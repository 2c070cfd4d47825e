//! Compares predictions with the measured rows of a result: the same workload, on shards of this
//! host.

use std::{num::NonZeroUsize, path::Path};

use anyhow::{Result, bail};
use result::{Cell, Content, RunResult, SampleFacts, Shown, simulation::CheckedRow, stats};
use variant::Sharding;

use super::{
    costs::MEASURED_STORE,
    predict::{Predictions, one_host},
};
use crate::terminal::{Code, Failure, WithExitCode, exit::fail};

/// Returns a prediction for each row of the result that shards executed.
///
/// # Errors
/// The file has no such row, or its workload has another digest than `digest`; or the user
/// interrupted.
pub fn checked(
    path: &Path,
    digest: &str,
    predictions: &Predictions<'_>,
    core_count: NonZeroUsize,
) -> Result<Vec<CheckedRow>, Failure> {
    let run = read(path, digest).with_exit_code(Code::Usage)?;
    let mut rows = Vec::new();
    for cell in run.cells.iter().filter(|cell| cell.shards > 0 && cell.store == MEASURED_STORE) {
        rows.extend(row(cell, predictions, core_count)?);
    }
    if rows.is_empty() {
        fail!(
            Code::Usage,
            "--check {}: it has no row that shards executed on the store {MEASURED_STORE}; make one by `stress \
             … --design batched-io --store {MEASURED_STORE} --shards 1,2 --out DIR`",
            path.display()
        );
    }
    Ok(rows)
}

fn read(path: &Path, digest: &str) -> Result<RunResult> {
    let mut all = Shown::read_all(path)?;
    let (Some(shown), true) = (all.pop(), all.is_empty()) else {
        bail!("--check {}: name one result of a run", path.display());
    };
    let Content::Run(run) = shown.content else {
        bail!("--check {}: this is no result of a run", path.display());
    };
    if run.workload.digest != digest {
        bail!(
            "--check {}: its workload is {}, and that of the simulation {digest}; give the same scenario and \
             options of the work as that run",
            path.display(),
            run.workload.digest
        );
    }
    Ok(*run)
}

/// Returns the prediction for a measured row; `None` if the row has no sample that agrees.
fn row(
    cell: &Cell,
    predictions: &Predictions<'_>,
    core_count: NonZeroUsize,
) -> Result<Option<CheckedRow>, Failure> {
    let warm_up_count = cell.warm_up_sample_count.unwrap_or(0) as usize;
    let samples: Vec<&SampleFacts> =
        cell.samples.iter().skip(warm_up_count).filter(|sample| sample.agree).collect();
    let walls: Vec<f64> = samples.iter().map(|sample| sample.wall_ns as f64).collect();
    let (Some(measured_ns), Some(way)) = (stats::median(&walls), cell.sharding) else {
        return Ok(None);
    };
    let sharding = Sharding {
        count: cell.shards as usize,
        partitioner: way.partitioner,
        partition_time: way.partition_time,
        micro_batch_key_count: u32::try_from(way.micro_batch_key_count).unwrap_or(u32::MAX),
        delay_us: u32::try_from(way.delay_ns / 1_000).unwrap_or(u32::MAX),
    };
    let thread_count = u32::try_from(cell.threads).unwrap_or(u32::MAX);
    let [predicted, _] = predictions.rows(&sharding, thread_count, one_host(core_count))?;
    let work = samples.first().and_then(|sample| sample.shard_work).unwrap_or_default();
    Ok(Some(CheckedRow {
        variant: cell.variant.clone(),
        sample_count: samples.len() as u64,
        measured_ns: measured_ns as u64,
        predicted_ns: predicted.time_ns,
        error: predicted.time_ns as f64 / measured_ns - 1.0,
        is_source: sharding == Sharding::on(1) && thread_count == 1,
        predicted_key_count: predicted.ahead_key_count + predicted.demand_request_count,
        measured_key_count: work.ahead_key_count + work.demand_request_count,
    }))
}
