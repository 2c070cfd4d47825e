//! `stress describe`: what a workload holds, before it runs.

use result::description::Described;
use std::fs;

use anyhow::{Context, anyhow};
use generator::{
    Generated,
    describe::{self, Description},
    reference::ReferenceError,
};
use spec::Scenario;
use workload::Workload;

use crate::{
    cli::DescribeArgs,
    cmd::{kinds, run, scenarios},
    description::{self, Subject},
    environment,
    exit::{Code, Failure, OrExit},
    facts, interrupt,
    progress::Progress,
    terminal,
};

/// Describes what the arguments name.
pub fn describe(args: &DescribeArgs) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::look());
    if args.table {
        return kinds::table(&args.work, &progress);
    }
    let described = described(args, &progress)?;
    progress.clear();
    if let Some(path) = &args.svg {
        let written = fs::write(path, report::picture(&described));
        written
            .with_context(|| format!("cannot write --svg {}", path.display()))
            .or_exit(Code::Io)?;
        terminal::note(&format!("wrote {}", path.display()));
    }
    terminal::out(&match args.json {
        true => report::json(&described),
        false => report::describe(&described, terminal::width(), terminal::paint()),
    });
    Ok(Code::Fine)
}

fn described(args: &DescribeArgs, progress: &Progress) -> Result<Described, Failure> {
    let overrides = args.work.overrides().or_exit(Code::Usage)?;
    let threads: Vec<usize> = args.threads.iter().map(|count| *count as usize).collect();
    match (&args.scenario, &args.workload) {
        (None, Some(path)) => {
            if let Some(given) = overrides.first() {
                let error = anyhow!(
                    "{}: the work of a workload file is fixed; generate another",
                    given.origin
                );
                return Err(error).or_exit(Code::Usage);
            }
            let workload = run::read_workload(path, progress)?;
            of_workload(&workload, None, &threads, progress)
        }
        (name, _) => {
            let scenario = scenarios::load(name.as_deref().unwrap_or_default(), &overrides)?;
            of_scenario(&scenario, &threads, progress).map(|(described, _)| described)
        }
    }
}

/// What the workload of `scenario` holds, and the workload.
pub fn of_scenario(
    scenario: &Scenario,
    threads: &[usize],
    progress: &Progress,
) -> Result<(Described, Workload), Failure> {
    let Generated { workload, loads } = run::generate_by_load(scenario, progress)?;
    let described = of_workload(&workload, Some((scenario, &loads)), threads, progress)?;
    Ok((described, workload))
}

fn of_workload(
    workload: &Workload,
    scenario: Option<(&Scenario, &[u32])>,
    threads: &[usize],
    progress: &Progress,
) -> Result<Described, Failure> {
    let seen = seen(workload, progress)?;
    let subject = Subject { workload, scenario, tool: facts::tool(&environment::build()) };
    Ok(description::described(subject, &seen, threads))
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
