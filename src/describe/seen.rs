//! The contents of a workload, by a reference run before anything is measured.

use generator::{
    Generated,
    describe::{self, Description, Kept},
    reference::ReferenceError,
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
    terminal::{Code, Failure, Progress, interrupt},
};

/// The numbers that figures are given for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Numbers of threads, for the ideal speed-up.
    pub threads: &'a [usize],
    /// Numbers of shards, for partitions.
    pub shards: &'a [u32],
}

/// The contents of the workload of `scenario`, and the workload.
///
/// # Errors
/// It cannot be generated, or the user interrupted.
pub fn of_scenario(
    scenario: &Scenario,
    asked: Asked<'_>,
    progress: &Progress,
) -> Result<(Figures, Workload), Failure> {
    let Generated { workload, loads, .. } = prepare::generate_by_load(scenario, progress)?;
    let scenario = Loads { scenario, of_txs: &loads };
    let figures = of_workload(&workload, Some(scenario), asked, progress)?;
    Ok((figures, workload))
}

/// The contents of a workload; a workload file has no scenario.
///
/// # Errors
/// The reference differs from it, or the user interrupted.
pub fn of_workload(
    workload: &Workload,
    scenario: Option<Loads<'_>>,
    asked: Asked<'_>,
    progress: &Progress,
) -> Result<Figures, Failure> {
    let kept = if asked.shards.is_empty() { Kept::Graphs } else { Kept::Accesses };
    let mut seen = seen(workload, kept, progress)?;
    let mut figures = figures::figures(workload, scenario, &seen, asked.threads);
    if !asked.shards.is_empty() {
        let batches = shards::transactions(workload, &mut seen);
        figures.described.shards = shards::partitioned(&batches, asked.shards, progress)?;
        figures.first_batch = batches.into_iter().next();
    }
    Ok(figures)
}

/// The keys that the reference run touches.
///
/// # Errors
/// The reference differs from the workload, or the user interrupted.
pub fn seen(workload: &Workload, kept: Kept, progress: &Progress) -> Result<Description, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("reading the touched keys", total);
    let mut done = 0;
    let seen = describe::describe_keeping(workload, kept, || {
        done += 1;
        stage.set(done, total);
        interrupt::answer()
    });
    stage.finish();
    seen.map_err(|error| {
        let code = match &error {
            ReferenceError::Cancelled => Code::Interrupted,
            _ => Code::Disagree,
        };
        Failure { code, error: error.into() }
    })
}
