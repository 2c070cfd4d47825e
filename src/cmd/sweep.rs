//! `stress sweep`: all cells of a matrix one after the other, each in a process of its own; one
//! cell alone; or all results joined.

use report::units;
use result::sweep::{Matrix, ranges};
use std::{
    ffi::OsString,
    thread,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use clap::Parser;

use crate::{
    cli::{Cli, Format, RunArgs, SweepArgs},
    cmd::run,
    exit::{Code, Failure, OrExit},
    interrupt,
    sweep::{
        cell::FinishedCell,
        child::{self, Ended},
        dir::SweepDir,
        index::{self, Which},
        lock::CellLock,
        matrix, merged,
    },
    terminal,
};

/// Between two looks whether another process has ended its cell.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Does what the arguments ask for.
pub fn sweep(args: &SweepArgs) -> Result<Code, Failure> {
    if let Some(path) = &args.merge {
        return merge(&SweepDir::existing(path).or_exit(Code::Io)?, args.format);
    }
    if let Some(parent_pid) = args.parent
        && !child::end_with_parent(parent_pid).or_exit(Code::Io)?
    {
        return Ok(Code::Interrupted);
    }
    let matrix = matrix::of(args)?;
    let variable = |name: &str| std::env::var(name).ok();
    let out = match &args.out {
        Some(out) if !args.list => out,
        _ => return Ok(list(&matrix)),
    };
    let which = index::which(args.cell.as_deref(), variable, matrix.cell_count);
    let which = which.or_exit(Code::Usage)?;
    let dir = SweepDir::open(out, matrix)?;
    match which {
        Some(which) => one(args, &dir, &which),
        None => all(args, &dir),
    }
}

fn list(matrix: &Matrix) -> Code {
    let width = (matrix.cell_count - 1).to_string().len();
    for index in 0..matrix.cell_count {
        terminal::out(&format!("{index:width$}  {}\n", matrix.name(index)));
    }
    Code::Fine
}

/// Runs one cell in this process, unless it is finished.
fn one(args: &SweepArgs, dir: &SweepDir, which: &Which) -> Result<Code, Failure> {
    let index = which.index;
    let name = cell_name(dir, index);
    if args.parent.is_none() {
        terminal::note(&format!("{name}: the index is of {}", which.source));
    }
    let Some(lock) = wait_for(dir, index, &name)? else { return Ok(Code::Interrupted) };
    if let Some(cell) = dir.own_cell(index).or_exit(Code::Io)? {
        let path = dir.cell_path(index);
        terminal::note(&format!("{name}: finished already, in {}", path.display()));
        return Ok(cell.code());
    }
    let scratch = dir.scratch(index, &lock).or_exit(Code::Io)?;
    let command = dir.matrix().command(index);
    let run_args = RunArgs {
        out: Some(scratch.path().to_owned()),
        data_dir: args.data_dir.clone(),
        wait: true,
        ..Cli::try_parse_from(&command).or_exit(Code::Usage)?.run
    };
    let mut finished = run::result(&run_args, command)?;
    let result = &finished.result;
    terminal::out(&match args.format {
        Format::Table => report::table(result, terminal::width(), terminal::paint()),
        Format::Json => report::json(result),
    });
    let digest = result.workload.digest.clone();
    let was_interrupted = result.interrupted;
    let code = finished.code(&run_args)?;
    if was_interrupted {
        // What is there of it is not the whole cell.
        return Ok(code);
    }
    let path = dir.publish(index, scratch, &digest).or_exit(Code::Io)?;
    if args.parent.is_none() {
        terminal::note(&format!("{name}: wrote {}", path.display()));
    }
    Ok(code)
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

/// Runs all cells that are not finished, each in a process of its own.
fn all(args: &SweepArgs, dir: &SweepDir) -> Result<Code, Failure> {
    let mut missing = Vec::new();
    for index in 0..dir.matrix().cell_count {
        if dir.own_cell(index).or_exit(Code::Io)?.is_none() {
            missing.push(index);
        }
    }
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
            failures.push((index, ended));
        }
    }
    conclude(args, dir, &failures)
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
    // The verb comes first, and options may come before what is varied.
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
    let points = result::sweep::of_result(cell.file.index, &cell.file.keys, &cell.result);
    let with_figure = points.iter().filter_map(|point| Some((point.mgas_per_s?, point)));
    let fastest = with_figure.max_by(|a, b| a.0.total_cmp(&b.0));
    fastest.map_or_else(
        || "no figure".to_owned(),
        |(mgas_per_s, point)| format!("{} MGas/s by {}", units::plain(mgas_per_s), point.variant),
    )
}

/// What a sweep comes to: all results joined, or how to go on.
fn conclude(args: &SweepArgs, dir: &SweepDir, failures: &[(u64, Ended)]) -> Result<Code, Failure> {
    let count = dir.matrix().cell_count;
    let mut missing = Vec::new();
    for index in 0..count {
        if dir.own_cell(index).or_exit(Code::Io)?.is_none() {
            missing.push(index);
        }
    }
    if missing.is_empty() {
        return merge(dir, args.format);
    }
    let finished = count - missing.len() as u64;
    let state = format!(
        "{finished} of {count} cells are finished in {}; the same command goes on with the others",
        dir.path().display()
    );
    if interrupt::happened() {
        terminal::note(&format!("interrupted: {state}"));
        return Ok(Code::Interrupted);
    }
    let each: Vec<_> =
        failures.iter().map(|(index, ended)| format!("cell {index}: {}", ended.words())).collect();
    Err(anyhow!(
        "{} failed ({}); {state}",
        units::things(missing.len() as u64, "cell"),
        each.join(", ")
    ))
    .or_exit(failures.first().map_or(Code::Io, |(_, ended)| code_of(*ended)))
}

/// The sweep's exit code for a cell that left no result.
const fn code_of(ended: Ended) -> Code {
    match ended {
        Ended::Code(2) => Code::Usage,
        Ended::Code(3) => Code::Disagree,
        _ => Code::Io,
    }
}

/// Joins the results in `dir`, writes them as one, shows them.
fn merge(dir: &SweepDir, format: Format) -> Result<Code, Failure> {
    let merged = merged::merge(dir)?;
    let json = report::json(&merged);
    let path = dir.write_merged(&json).or_exit(Code::Io)?;
    match format {
        Format::Table => {
            let (width, paint) = (terminal::width(), terminal::paint());
            terminal::out(&report::sweep_table(&merged, width, paint));
        }
        Format::Json => terminal::out(&json),
    }
    terminal::note(&format!("wrote {}", path.display()));
    if !merged.disagreeing.is_empty() {
        let cells = ranges(&merged.disagreeing);
        return Err(anyhow!("the designs disagree in cells {cells}")).or_exit(Code::Disagree);
    }
    if !merged.missing.is_empty() {
        let (count, all) = (merged.missing.len(), merged.sweep.cell_count);
        let cells = ranges(&merged.missing);
        return Err(anyhow!(
            "{count} of {all} cells are missing: {cells}; `stress sweep` with the same arguments runs them"
        ))
        .or_exit(Code::Io);
    }
    let fails = merged.cells.iter().any(|cell| crate::sweep::cell::claim_fails(&cell.result));
    Ok(if fails { Code::Claim } else { Code::Fine })
}
