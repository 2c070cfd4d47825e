//! Running the cells of a sweep: one in this process, or all that are not finished, each in a
//! process of its own.

use std::{
    ffi::OsString,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use anyhow::anyhow;

use super::{cell::FinishedCell, dir::SweepDir, index::Which, lock::CellLock, matrix};
use report::units;
use result::RunResult;

use crate::{
    child::{self, Ended},
    exit::{Code, Failure, OrExit, Strictness},
    extras::Wishes,
    hooks::Hooks,
    interrupt,
    prepare::InUse,
    run::RunInput,
    terminal,
};

/// Between two looks whether another process has ended its cell.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// A cell that is run in this process.
#[derive(Debug)]
pub struct OneCell<'a> {
    /// The directory of its sweep.
    pub dir: &'a SweepDir,
    /// Its index, and who said so.
    pub which: &'a Which,
    /// Where state databases are kept, if the user said so.
    pub data_dir: Option<PathBuf>,
    /// Who wants it.
    pub asked_by: AskedBy,
}

/// Who wants a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedBy {
    /// The user, who is told where its result is.
    User,
    /// A sweep in another process, which tells the user itself.
    Sweep,
}

impl OneCell<'_> {
    /// Runs it, unless it is finished. `show` gets the result.
    ///
    /// # Errors
    /// There is no result, or it cannot be written.
    pub fn run(
        self,
        show: impl FnOnce(&RunResult) -> Result<(), Failure>,
    ) -> Result<Code, Failure> {
        let Self { dir, which, data_dir, asked_by } = self;
        let index = which.index;
        let name = cell_name(dir, index);
        let tell = |text: &str| {
            if asked_by == AskedBy::User {
                terminal::note(&format!("{name}: {text}"));
            }
        };
        tell(&format!("the index is of {}", which.source));
        let Some(lock) = wait_for(dir, index, &name)? else { return Ok(Code::Interrupted) };
        if let Some(cell) = dir.own_cell(index).or_exit(Code::Io)? {
            let path = dir.cell_path(index);
            terminal::note(&format!("{name}: finished already, in {}", path.display()));
            return Ok(cell.code());
        }
        let scratch = dir.scratch(index, &lock).or_exit(Code::Io)?;
        let input = RunInput {
            source: matrix::source(dir.matrix(), index),
            how: Vec::new(),
            command: dir.matrix().command(index),
            data_dir,
            in_use: InUse::Wait,
            strictness: Strictness::Lenient,
            out: Some(scratch.path().to_owned()),
            extras: Wishes::default(),
            hooks: Hooks::default(),
            show_kept: |_| (),
        };
        let finished = input.run()?;
        show(&finished.result)?;
        let digest = finished.result.workload.digest.clone();
        let was_interrupted = finished.result.interrupted;
        let code = finished.code(Strictness::Lenient)?;
        if was_interrupted {
            // Its files so far are not the whole cell.
            return Ok(code);
        }
        let path = dir.publish(index, scratch, &digest).or_exit(Code::Io)?;
        tell(&format!("wrote {}", path.display()));
        Ok(code)
    }
}

/// The lock of a cell, once nobody else has it; `None` where the user interrupts.
fn wait_for(dir: &SweepDir, index: u64, name: &str) -> Result<Option<CellLock>, Failure> {
    let mut is_told = false;
    while !interrupt::happened() {
        if let Some(lock) = dir.try_lock(index).or_exit(Code::Io)? {
            return Ok(Some(lock));
        }
        if let (false, Some(runner)) = (is_told, dir.runner(index)) {
            terminal::note(&format!("{name}: waiting for {runner}, which runs it"));
            is_told = true;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    Ok(None)
}

/// How a sweep of all cells ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every cell has a result.
    Finished,
    /// The user interrupted; the same command goes on.
    Interrupted,
}

/// Runs all cells that are not finished, each in a process of its own.
///
/// # Errors
/// A cell failed.
pub fn all(dir: &SweepDir) -> Result<Ending, Failure> {
    // Each cell stops by itself, and keeps its samples.
    let _hold = interrupt::hold();
    let missing = missing(dir)?;
    let count = dir.matrix().cell_count;
    let finished = count - missing.len() as u64;
    if finished > 0 {
        terminal::note(&format!("{finished} of {count} cells are finished already"));
    }
    let mut running = Running { dir, left: missing, took: Vec::new() };
    let mut failures = Vec::new();
    while let Some(index) = running.next()
        && !interrupt::happened()
    {
        if let Err(ended) = running.cell(index)? {
            failures.push(Failed { index, ended });
        }
    }
    conclude(dir, &failures)
}

/// Cells without a result of this program.
fn missing(dir: &SweepDir) -> Result<Vec<u64>, Failure> {
    let mut missing = Vec::new();
    for index in 0..dir.matrix().cell_count {
        if dir.own_cell(index).or_exit(Code::Io)?.is_none() {
            missing.push(index);
        }
    }
    Ok(missing)
}

/// A cell that left no result.
struct Failed {
    index: u64,
    ended: Ended,
}

/// A sweep under way.
struct Running<'a> {
    dir: &'a SweepDir,
    /// Cells that are still to be run.
    left: Vec<u64>,
    /// How long each took that was run here.
    took: Vec<Duration>,
}

impl Running<'_> {
    /// The first cell that nobody runs, or else the first: it may be finished soon.
    fn next(&mut self) -> Option<u64> {
        let free = self.left.iter().position(|index| self.dir.runner(*index).is_none());
        let at = free.unwrap_or(0);
        (at < self.left.len()).then(|| self.left.remove(at))
    }

    /// Runs a cell; how its process ended, where it left no result.
    fn cell(&mut self, index: u64) -> Result<Result<(), Ended>, Failure> {
        let name = cell_name(self.dir, index);
        if self.dir.own_cell(index).or_exit(Code::Io)?.is_some() {
            return Ok(Ok(()));
        }
        terminal::note(&format!("{name}: begins"));
        let began = Instant::now();
        let ended = child::run(&words(index)).or_exit(Code::Io)?;
        let Some(cell) = self.dir.own_cell(index).or_exit(Code::Io)? else {
            if !interrupt::happened() {
                terminal::note(&format!("{name}: no result, {}", ended.words()));
            }
            return Ok(Err(ended));
        };
        self.took.push(began.elapsed());
        terminal::note(&format!("{name}: {}, {}", found(&cell), self.time()));
        Ok(Ok(()))
    }

    /// `took 3.21 s, about 2 min left`.
    fn time(&self) -> String {
        let last = self.took.last().copied().unwrap_or_default();
        let each = self.took.iter().sum::<Duration>() / self.took.len().max(1) as u32;
        let took = units::time(last);
        match self.left.len() {
            0 => format!("took {took}"),
            left => format!("took {took}, about {} left", units::time(each * left as u32)),
        }
    }
}

/// The arguments of this process, for cell `index` alone.
fn words(index: u64) -> Vec<OsString> {
    let mut words = std::env::args_os().skip(1);
    // The verb comes first, and options may come before the axes.
    let verb = words.next();
    let parent = std::process::id().to_string();
    let own = ["--cell".to_owned(), index.to_string(), "--parent".to_owned(), parent];
    verb.into_iter().chain(own.map(OsString::from)).chain(words).collect()
}

fn cell_name(dir: &SweepDir, index: u64) -> String {
    let matrix = dir.matrix();
    format!("cell {index} of {} ({})", matrix.cell_count, matrix.name(index))
}

/// The fastest variant of a cell.
fn found(cell: &FinishedCell) -> String {
    if cell.code() == Code::Disagree {
        return "THE DESIGNS DISAGREE".to_owned();
    }
    let points = result::sweep::of_result(cell.file.index, &cell.file.keys, &cell.result.result);
    let with_figure = points.iter().filter_map(|point| Some((point.mgas_per_s?, point)));
    let fastest = with_figure.max_by(|a, b| a.0.total_cmp(&b.0));
    fastest.map_or_else(
        || "no figure".to_owned(),
        |(mgas_per_s, point)| format!("{} MGas/s by {}", units::plain(mgas_per_s), point.variant),
    )
}

/// The outcome of a sweep, or how to go on.
fn conclude(dir: &SweepDir, failures: &[Failed]) -> Result<Ending, Failure> {
    let count = dir.matrix().cell_count;
    let missing = missing(dir)?;
    if missing.is_empty() {
        return Ok(Ending::Finished);
    }
    let finished = count - missing.len() as u64;
    let state = format!(
        "{finished} of {count} cells are finished in {}; the same command goes on with the others",
        dir.path().display()
    );
    if interrupt::happened() {
        terminal::note(&format!("interrupted: {state}"));
        return Ok(Ending::Interrupted);
    }
    let each: Vec<_> = failures
        .iter()
        .map(|failed| format!("cell {}: {}", failed.index, failed.ended.words()))
        .collect();
    Err(anyhow!(
        "{} failed ({}); {state}",
        units::things(missing.len() as u64, "cell"),
        each.join(", ")
    ))
    .or_exit(failures.first().map_or(Code::Io, |failed| code_of(failed.ended)))
}

/// The sweep's exit code for a cell that left no result.
const fn code_of(ended: Ended) -> Code {
    match ended {
        Ended::Code(2) => Code::Usage,
        Ended::Code(3) => Code::Disagree,
        _ => Code::Io,
    }
}
