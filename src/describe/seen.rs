//! What a workload holds, seen by a reference run before anything is measured.

use generator::{
    Generated,
    describe::{self, Description},
    reference::ReferenceError,
};
use spec::Scenario;
use workload::Workload;

use result::description::Described;

use super::figures::{self, OfScenario, Subject};
use crate::{
    environment,
    exit::{Code, Failure},
    facts, interrupt, prepare,
    progress::Progress,
};

/// What the workload of `scenario` holds, and the workload. `threads`: numbers of threads that the
/// ideal speed-up is given for.
///
/// # Errors
/// It cannot be generated, or the user interrupted.
pub fn of_scenario(
    scenario: &Scenario,
    threads: &[usize],
    progress: &Progress,
) -> Result<(Described, Workload), Failure> {
    let Generated { workload, loads } = prepare::generate_by_load(scenario, progress)?;
    let described =
        described(&workload, Some(OfScenario { scenario, loads: &loads }), threads, progress)?;
    Ok((described, workload))
}

/// What a workload holds that no scenario is known of.
///
/// # Errors
/// The reference differs from it, or the user interrupted.
pub fn of_workload(
    workload: &Workload,
    threads: &[usize],
    progress: &Progress,
) -> Result<Described, Failure> {
    described(workload, None, threads, progress)
}

fn described(
    workload: &Workload,
    scenario: Option<OfScenario<'_>>,
    threads: &[usize],
    progress: &Progress,
) -> Result<Described, Failure> {
    let seen = seen(workload, progress)?;
    let subject = Subject { workload, scenario, tool: facts::tool(&environment::build()) };
    Ok(figures::described(subject, &seen, threads))
}

/// What the reference run sees.
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
