//! The contents of a workload, by a reference run before anything is measured.

use generator::{
    Generated,
    describe::{self, Description},
    reference::ReferenceError,
};
use spec::Scenario;
use workload::Workload;

use super::figures::{self, Figures, OfScenario, Subject};
use crate::{
    environment,
    exit::{Code, Failure},
    facts, interrupt, prepare,
    progress::Progress,
};

/// The contents of the workload of `scenario`, and the workload. `threads`: numbers of threads that
/// the ideal speed-up is given for.
///
/// # Errors
/// It cannot be generated, or the user interrupted.
pub fn of_scenario(
    scenario: &Scenario,
    threads: &[usize],
    progress: &Progress,
) -> Result<(Figures, Workload), Failure> {
    let Generated { workload, loads } = prepare::generate_by_load(scenario, progress)?;
    let of = OfScenario { scenario, loads: &loads };
    let figures = figures(&workload, Some(of), threads, progress)?;
    Ok((figures, workload))
}

/// The contents of a workload without a known scenario.
///
/// # Errors
/// The reference differs from it, or the user interrupted.
pub fn of_workload(
    workload: &Workload,
    threads: &[usize],
    progress: &Progress,
) -> Result<Figures, Failure> {
    figures(workload, None, threads, progress)
}

fn figures(
    workload: &Workload,
    scenario: Option<OfScenario<'_>>,
    threads: &[usize],
    progress: &Progress,
) -> Result<Figures, Failure> {
    let seen = seen(workload, progress)?;
    let subject = Subject { workload, scenario, tool: facts::tool(&environment::build()) };
    Ok(figures::figures(subject, &seen, threads))
}

/// The keys that the reference run touches.
fn seen(workload: &Workload, progress: &Progress) -> Result<Description, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("looking at what is touched", total);
    let mut done = 0;
    let seen = describe::describe(workload, || {
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
