//! Runs the reference over a workload, and describes the keys that its transactions touch. Nothing
//! is timed.

use generator::{
    Generated,
    describe::{self, Description, Detail},
};
use spec::Scenario;
use workload::Workload;

use super::{
    figures::{self, Figures},
    shards,
};
use crate::{
    figures::facts::Loads,
    run::prepare,
    terminal::{Failure, Progress},
};

/// The thread counts and shard counts for which the user asks figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requested<'a> {
    /// Thread counts of the ideal speed-ups.
    pub threads: &'a [usize],
    /// Shard counts of the partitions.
    pub shards: &'a [u32],
}

/// Generates the workload of `scenario`, and describes it.
///
/// # Errors
/// The workload cannot be generated, the reference run differs from its expected outcome, or the
/// user interrupted.
pub fn of_scenario(
    scenario: &Scenario,
    asked: Requested<'_>,
    progress: &Progress,
) -> Result<(Figures, Workload), Failure> {
    let Generated { workload, loads, .. } = prepare::generate_by_load(scenario, progress)?;
    let scenario = Loads { scenario, of_txs: &loads };
    let figures = of_workload(&workload, Some(scenario), asked, progress)?;
    Ok((figures, workload))
}

/// Describes a workload. `scenario` is `None` for a workload file.
///
/// # Errors
/// The reference run differs from the workload's expected outcome, or the user interrupted.
pub fn of_workload(
    workload: &Workload,
    scenario: Option<Loads<'_>>,
    asked: Requested<'_>,
    progress: &Progress,
) -> Result<Figures, Failure> {
    let detail = if asked.shards.is_empty() { Detail::Graphs } else { Detail::Accesses };
    let mut description = touched_keys(workload, detail, progress)?;
    let mut figures = figures::figures(workload, scenario, &description, asked.threads);
    if !asked.shards.is_empty() {
        let batches = shards::transactions(workload, &mut description);
        figures.described.shards = shards::partitioned(&batches, asked.shards, progress)?;
        figures.first_batch = batches.into_iter().next();
    }
    Ok(figures)
}

/// Runs the reference over `workload`, and returns the touched keys.
///
/// # Errors
/// The reference run differs from the workload's expected outcome, or the user interrupted.
pub fn touched_keys(
    workload: &Workload,
    detail: Detail,
    progress: &Progress,
) -> Result<Description, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("reading the touched keys", total);
    let description = describe::describe_with_detail(workload, detail, stage.counting(total));
    stage.finish();
    Ok(description?)
}
