//! Finds the block gas limits that keep a deadline (`stress limit`). Each load runs at two limits,
//! then where the line through its times expects the deadline. That run checks the line, and a line
//! through it gives the limit.
//!
//! `input` is the input. `ladder` runs a load, `fit` computes its limit, `operation` its price, and
//! `density` whether the state is large enough. `states` removes the states of finished loads.
//! Every run is a sweep of one cell in a directory named by its settings, so the same command finds
//! it again.

mod density;
mod fit;
mod input;
mod ladder;
mod operation;
mod states;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use report::units;
use result::{
    limit::{LimitResult, LoadLimits, SCHEMA},
    stored::LIMIT_FILE,
};

use crate::{
    figures::{cells::ns, facts},
    machine,
    run::prepare,
    sweep::lock::CellLock,
    terminal::{self, Code, Failure, WithExitCode, exit::fail},
};

pub use input::LimitInput;
use ladder::{Ladder, Load};
use states::States;

/// Directory of the runs without `--out`, in the directory of state databases.
const DIR: &str = "limit";

/// Finds the limits of all loads. Returns `None` if the user interrupts.
///
/// # Errors
/// A load cannot be run, or designs disagree.
pub fn run(input: &LimitInput) -> Result<Option<LimitResult>, Failure> {
    let started_unix_s = machine::unix_s();
    // All loads are read before the first run, as runs may take long.
    let loads = input.scenarios.iter().map(|name| Load::of(name, input));
    let loads = loads.collect::<Result<Vec<_>, _>>()?;
    let Some(Load { scenario: first, .. }) = loads.first() else {
        fail!(Code::Usage, "no scenario is named");
    };
    let journal = Journal::open(input)?;
    let states = States::of(first.run.stores[0], &journal.path, input.data_dir.as_deref())?;
    let ladder = Ladder::new(input, &journal.path);
    let (began, mut found) = (Instant::now(), Vec::new());
    for (index, load) in loads.iter().enumerate() {
        terminal::note(&format!("{} ({} of {})", load.name, index + 1, loads.len()));
        let Some(measured) = ladder.climb(load)? else {
            terminal::note("interrupted: the same command goes on");
            return Ok(None);
        };
        states.remove_built(&measured.state_names);
        let time_left = began.elapsed() / (index as u32 + 1) * (loads.len() - index - 1) as u32;
        terminal::note(&in_words(&measured.limits, time_left));
        found.push(measured);
    }
    let environment = found[0].environment.clone();
    let mut limits: Vec<LoadLimits> = found.into_iter().map(|measured| measured.limits).collect();
    limits.sort_by(|a, b| match (a.worst(), b.worst()) {
        (Some(a), Some(b)) => a.order(b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    let mut result = LimitResult {
        schema: SCHEMA,
        tool: facts::tool(&environment.build),
        command: input.command.clone(),
        started_unix_s,
        environment,
        deadline_ns: ns(input.deadline),
        target_gas: input.target_gas,
        slot_count: first.state.slot_count,
        store: first.run.stores[0],
        tried_gas: input.limits.clone(),
        loads: limits,
        answer: String::new(),
    };
    result.answer = report::limit_answer(&result);
    journal.close(&result)?;
    Ok(Some(result))
}

/// Formats the limits of a load, and the time left for the remaining loads.
fn in_words(limits: &LoadLimits, time_left: Duration) -> String {
    let designs = limits.designs.iter();
    let words = designs.map(|limit| format!("{} {}", report::limit_text(limit), limit.design));
    let words = words.collect::<Vec<_>>().join(", ");
    let time_left = match time_left.is_zero() {
        true => String::new(),
        false => format!("; about {} left", units::rough_time(time_left)),
    };
    format!("{}: {words}{time_left}", limits.scenario)
}

/// The directory of the runs, locked against other processes.
struct Journal<'a> {
    path: PathBuf,
    input: &'a LimitInput,
    _lock: CellLock,
}

impl<'a> Journal<'a> {
    fn open(input: &'a LimitInput) -> Result<Self, Failure> {
        let path = match &input.out {
            Some(path) => path.clone(),
            None => prepare::data_dir(input.data_dir.as_deref())?.path().join(DIR),
        };
        report::RunDirectory::at(&path)?;
        let lock = CellLock::try_take(&path.join("limit.lock")).with_exit_code(Code::Io)?;
        let Some(lock) = lock else {
            fail!(
                Code::Io,
                "{} is in use by another `stress limit`: wait for its end, or give --out DIR",
                path.display()
            );
        };
        Ok(Self { path, input, _lock: lock })
    }

    /// Writes the result beside the runs or, without `--out`, removes the runs.
    fn close(self, result: &LimitResult) -> Result<(), Failure> {
        let Self { path, input, _lock } = self;
        if input.out.is_none() {
            return fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove {}", path.display()))
                .with_exit_code(Code::Io);
        }
        let json = report::json(result).with_exit_code(Code::Io)?;
        let file = path.join(LIMIT_FILE);
        report::replace(&file, json.as_bytes())?;
        terminal::note(&format!("wrote {}", file.display()));
        Ok(())
    }
}
