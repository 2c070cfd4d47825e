//! Runs the cells of a sweep for `stress sweep`: one cell in this process, or all unfinished cells,
//! each in its own process. `limit` runs its cells in this process.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{anyhow, bail};

use super::{
    cell::FinishedCell,
    device::WatchedDevice,
    dir::SweepDir,
    estimate::{CellTime, Estimate, took_in_words},
    lock::CellLock,
    matrix,
};
use report::units;
use result::RunResult;
use variant::WholeRows;

use crate::{
    machine::child::{self, Ended},
    run::{
        RunInput,
        extras::ExtraSamples,
        hooks::Hooks,
        prepare::{DeviceFigures, InUse, shared_time},
    },
    terminal::{self, Code, Failure, ProgressForm, UndecidedCodes, WithExitCode, interrupt},
};

/// Polling interval for the lock of a cell that another process runs.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Variables by which schedulers give an index: Slurm to a task of an array, Kubernetes to a pod of
/// an Indexed Job.
const VARIABLES: [&str; 2] = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"];

/// A cell to run alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellChoice {
    /// The index of the cell.
    pub index: u64,
    /// Origin of the index: `--cell`, or a variable's name.
    pub source: &'static str,
}

/// Returns the cell to run alone, if there is one. `explicit` is the value of `--cell`. Without it,
/// an environment `variable` of a scheduler gives the cell.
///
/// # Errors
/// A value is no index, or no index of this sweep, or two variables disagree.
pub fn cell_to_run(
    explicit: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
    cell_count: u64,
) -> anyhow::Result<Option<CellChoice>> {
    let indices: Vec<_> = match explicit {
        Some(text) => vec![("--cell", text.to_owned())],
        None => VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?))).collect(),
    };
    if let [(one, a), (other, b)] = indices.as_slice()
        && a != b
    {
        bail!("{one} is {a} and {other} is {b}: say by --cell which cell to run");
    }
    let Some((source, text)) = indices.into_iter().next() else { return Ok(None) };
    let last = cell_count.saturating_sub(1);
    match text.trim().parse::<u64>() {
        Ok(index) if index < cell_count => Ok(Some(CellChoice { index, source })),
        Ok(index) => bail!(
            "{source} {index}: the sweep has {cell_count} cells, from 0 to {last}; `--list` shows them"
        ),
        Err(_) => bail!("{source} {text}: an index from 0 to {last} is wanted"),
    }
}

/// A cell to run in this process.
#[derive(Debug)]
pub struct OneCell<'a> {
    /// The directory of the sweep.
    pub dir: &'a SweepDir,
    /// The index of the cell, and the origin of the index.
    pub choice: &'a CellChoice,
    /// The directory of state databases, if the user names one.
    pub data_dir: Option<PathBuf>,
    /// Origin of the device's figures.
    pub device: DeviceFigures,
    pub progress_form: ProgressForm,
    /// Exit codes for claims that stay open.
    pub open: UndecidedCodes,
    /// Origin of the request.
    pub asked_by: AskedBy,
}

/// Origin of the request for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedBy {
    /// The user. A note names the path of the result.
    User,
    /// A sweep in another process, or `stress limit`: it prints the notes itself.
    Sweep,
}

impl AskedBy {
    fn tell(self, note: &str) {
        if self == Self::User {
            terminal::note(note);
        }
    }
}

impl OneCell<'_> {
    /// Runs the cell unless it is finished or left out. `show` gets the result of the run. Returns
    /// the exit code of the run, also of an earlier one.
    ///
    /// # Errors
    /// The run gives no result, or the result cannot be written.
    pub fn run(
        self,
        show: impl FnOnce(&RunResult) -> Result<(), Failure>,
    ) -> Result<Code, Failure> {
        let Self { dir, choice, data_dir, device, progress_form, open, asked_by } = self;
        let index = choice.index;
        let name = cell_name(dir, index);
        asked_by.tell(&format!("{name}: the index is of {}", choice.source));
        if let Some(same_as) = dir.matrix().same_as(index) {
            asked_by.tell(&format!("{name}: left out: it would be the run of cell {same_as}"));
            return Ok(Code::Fine);
        }
        let Some(lock) = wait_for(dir, index, &name)? else { return Ok(Code::Interrupted) };
        if let Some(cell) = dir.own_cell(index).with_exit_code(Code::Io)? {
            let path = dir.cell_path(index);
            terminal::note(&format!("{name}: finished already, in {}", path.display()));
            return Ok(cell.code(open));
        }
        let scratch = dir.scratch(index, &lock).with_exit_code(Code::Io)?;
        let input = RunInput {
            source: matrix::source(dir.matrix(), index),
            run_overrides: Vec::new(),
            command: dir.matrix().command(index),
            same_work: None,
            data_dir,
            in_use: InUse::Wait,
            // Whole rows that the user does not ask for would add a third to the time of each cell.
            open_whole: WholeRows::Nothing,
            open,
            device,
            out: Some(scratch.path()),
            progress_form,
            extras: ExtraSamples::default(),
            hooks: Hooks::default(),
            show_kept: |_| (),
        };
        let finished = input.run()?;
        show(&finished.result)?;
        let digest = finished.result.workload.digest.clone();
        let was_interrupted = finished.result.interrupted;
        let code = finished.code(open)?;
        if was_interrupted {
            // A cell must be whole, so the files of an interrupted run are not published.
            return Ok(code);
        }
        let path = dir.publish(index, &scratch, &digest).with_exit_code(Code::Io)?;
        asked_by.tell(&format!("{name}: wrote {}", path.display()));
        Ok(code)
    }
}

/// Waits for the lock of a cell; `None` if the user interrupts.
fn wait_for(dir: &SweepDir, index: u64, name: &str) -> Result<Option<CellLock>, Failure> {
    let mut is_noted = false;
    while !interrupt::happened() {
        if let Some(lock) = dir.try_lock(index).with_exit_code(Code::Io)? {
            return Ok(Some(lock));
        }
        if !is_noted && let Some(runner) = dir.runner(index) {
            terminal::note(&format!("{name}: waiting for {runner}, which runs it"));
            is_noted = true;
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(None)
}

/// The end of a sweep of all cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every cell has a result.
    Finished,
    /// The user interrupted. The same command continues the sweep.
    Interrupted,
}

/// Runs all unfinished cells, each in its own process. The states are in `data_dir`, if the user
/// names one.
///
/// # Errors
/// A cell failed.
pub fn run_all(dir: &SweepDir, data_dir: Option<&Path>) -> Result<Ending, Failure> {
    // At an interrupt, this process stays until the process of the cell has ended.
    let _hold = interrupt::hold();
    let Some(missing) = missing(dir)? else { return Ok(interrupted(dir)) };
    if let Some(words) = dir.matrix().left_out_words() {
        terminal::note(&format!("left out: {words}"));
    }
    let count = run_count(dir);
    let finished = count - missing.len() as u64;
    if finished > 0 {
        terminal::note(&format!("{finished} of {count} cells are finished already"));
    }
    let estimate = Estimate::from_cells(dir.matrix(), &missing, interrupt::control_flow)?;
    if let Some(words) = estimate.and_then(|estimate| estimate.words()) {
        terminal::note(&words);
    }
    let device = WatchedDevice::new(dir, data_dir).with_exit_code(Code::Io)?;
    let mut running = Running { dir, remaining: missing, cell_times: Vec::new(), device };
    let mut failures = Vec::new();
    while let Some(index) = running.next()
        && !interrupt::happened()
    {
        if let Some(ended) = running.cell(index)? {
            failures.push(Failed { index, ended });
        }
    }
    if !interrupt::happened() {
        running.device.end().with_exit_code(Code::Io)?;
    }
    conclude(dir, &failures)
}

/// Returns the number of cells that are not left out.
fn run_count(dir: &SweepDir) -> u64 {
    dir.matrix().cell_count - dir.matrix().left_out.len() as u64
}

/// Returns the cells without a result of this program; `None` if the user interrupts.
fn missing(dir: &SweepDir) -> Result<Option<Vec<u64>>, Failure> {
    let mut missing = Vec::new();
    for index in run_cells(dir) {
        if interrupt::happened() {
            return Ok(None);
        }
        if dir.own_cell(index).with_exit_code(Code::Io)?.is_none() {
            missing.push(index);
        }
    }
    Ok(Some(missing))
}

/// Returns the indices of the cells that are not left out.
fn run_cells(dir: &SweepDir) -> impl Iterator<Item = u64> {
    (0..dir.matrix().cell_count).filter(move |index| dir.matrix().same_as(*index).is_none())
}

/// A cell that gave no result.
struct Failed {
    index: u64,
    ended: Ended,
}

/// A sweep whose cells run one after the other.
struct Running<'a> {
    dir: &'a SweepDir,
    /// Cells that have not run yet.
    remaining: Vec<u64>,
    /// Times of the cells that this process ran.
    cell_times: Vec<CellTime>,
    /// The device under the states of the cells.
    device: WatchedDevice<'a>,
}

impl Running<'_> {
    /// Removes and returns the first cell that no other process runs. If other processes run all of
    /// them, it is the first cell, whose new process then waits for the other one.
    fn next(&mut self) -> Option<u64> {
        let free = self.remaining.iter().position(|index| self.dir.runner(*index).is_none());
        let position = free.unwrap_or(0);
        (position < self.remaining.len()).then(|| self.remaining.remove(position))
    }

    /// Runs a cell in a new process. Returns the end of the process if it left no result.
    fn cell(&mut self, index: u64) -> Result<Option<Ended>, Failure> {
        let name = cell_name(self.dir, index);
        if self.dir.own_cell(index).with_exit_code(Code::Io)?.is_some() {
            return Ok(None);
        }
        self.device.before_cell().with_exit_code(Code::Io)?;
        terminal::note(&format!("{name}: begins"));
        let began = Instant::now();
        let ended =
            child::run(&cell_arguments(index, self.device.path())).with_exit_code(Code::Io)?;
        let (wall, once) = (began.elapsed(), shared_time::take(self.device.path()));
        self.device.after_cell().with_exit_code(Code::Io)?;
        let Some(cell) = self.dir.own_cell(index).with_exit_code(Code::Io)? else {
            if !interrupt::happened() {
                terminal::note(&format!("{name}: no result, {}", ended.describe()));
            }
            return Ok(Some(ended));
        };
        self.cell_times.push(CellTime { wall, once });
        let end = self.device.end_time().with_exit_code(Code::Io)?;
        let time = took_in_words(&self.cell_times, self.remaining.len(), end);
        terminal::note(&format!("{name}: {}, {time}", fastest_in_words(&cell)));
        Ok(None)
    }
}

/// Returns the arguments of the process for cell `index`: those of this process and options for the
/// cell. `device`: the file in which cells share the device's figures.
fn cell_arguments(index: u64, device: &Path) -> Vec<OsString> {
    let index = index.to_string().into();
    child::own_arguments([OsString::from("--cell"), index, "--device".into(), device.into()])
}

fn cell_name(dir: &SweepDir, index: u64) -> String {
    let matrix = dir.matrix();
    format!("cell {index} of {} ({})", matrix.cell_count, matrix.name(index))
}

/// States the speed of the fastest variant of a cell.
fn fastest_in_words(cell: &FinishedCell) -> String {
    if !cell.agrees() {
        return "THE DESIGNS DISAGREE".to_owned();
    }
    let points = cell.points();
    let speeds = points.iter().filter_map(|point| Some((point.mgas_per_s?, &point.variant)));
    match speeds.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((speed, variant)) => format!("{} MGas/s by {variant}", units::number(speed)),
        None => "no figure".to_owned(),
    }
}

/// Returns the ending of a sweep after its last cell. If a cell has no result, the error says how
/// to continue.
fn conclude(dir: &SweepDir, failures: &[Failed]) -> Result<Ending, Failure> {
    let Some(missing) = missing(dir)? else { return Ok(interrupted(dir)) };
    if missing.is_empty() {
        return Ok(Ending::Finished);
    }
    let finished = run_count(dir) - missing.len() as u64;
    let each: Vec<_> = failures
        .iter()
        .map(|failed| format!("cell {}: {}", failed.index, failed.ended.describe()))
        .collect();
    Err(anyhow!(
        "{} failed ({}); {}",
        units::things(missing.len() as u64, "cell"),
        each.join(", "),
        how_to_continue(dir, finished)
    ))
    .with_exit_code(failures.first().map_or(Code::Io, |failed| failed.ended.code()))
}

/// Returns the ending of a sweep at an interrupt: finished if every cell has a result, otherwise
/// interrupted. Results may be large, so they are not read.
fn interrupted(dir: &SweepDir) -> Ending {
    let finished = run_cells(dir).filter(|index| dir.has_own_cell(*index)).count() as u64;
    if finished == run_count(dir) {
        return Ending::Finished;
    }
    terminal::note(&format!("interrupted: {}", how_to_continue(dir, finished)));
    Ending::Interrupted
}

fn how_to_continue(dir: &SweepDir, finished_count: u64) -> String {
    format!(
        "{finished_count} of {} cells are finished in {}; the same command goes on with the others",
        run_count(dir),
        dir.path().display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(
        explicit: Option<&str>,
        slurm: Option<&str>,
        job: Option<&str>,
    ) -> anyhow::Result<Option<CellChoice>> {
        let variable = |name: &str| match name {
            "SLURM_ARRAY_TASK_ID" => slurm.map(str::to_owned),
            "JOB_COMPLETION_INDEX" => job.map(str::to_owned),
            _ => None,
        };
        cell_to_run(explicit, variable, 24)
    }

    fn found(
        explicit: Option<&str>,
        slurm: Option<&str>,
        job: Option<&str>,
    ) -> (u64, &'static str) {
        let choice = with(explicit, slurm, job).unwrap().expect("an index");
        (choice.index, choice.source)
    }

    #[test]
    fn what_is_explicit_comes_before_what_a_scheduler_set() {
        assert_eq!(with(None, None, None).unwrap(), None);
        assert_eq!(found(Some("7"), Some("8"), Some("9")), (7, "--cell"));
        assert_eq!(found(None, Some("8"), None), (8, "SLURM_ARRAY_TASK_ID"));
        assert_eq!(found(None, None, Some("0")), (0, "JOB_COMPLETION_INDEX"));
        assert_eq!(found(None, Some("9"), Some("9")), (9, "SLURM_ARRAY_TASK_ID"));
    }

    #[test]
    fn what_is_no_index_of_the_sweep_is_refused_with_its_source() {
        for (explicit, slurm, job, words) in [
            (Some("24"), None, None, "--cell 24: the sweep has 24 cells, from 0 to 23"),
            (Some("-1"), None, None, "--cell -1: an index"),
            (Some(""), None, None, "--cell : an index"),
            (None, Some("x"), None, "SLURM_ARRAY_TASK_ID x"),
            (None, None, Some("99999999999999999999"), "JOB_COMPLETION_INDEX 9999"),
            (None, Some("1"), Some("2"), "say by --cell"),
        ] {
            let error = with(explicit, slurm, job).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
