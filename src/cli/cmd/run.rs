//! `stress run`, or `stress` without a verb: runs the work of its arguments, prints the result, and
//! saves it as a baseline if asked.

use std::path::PathBuf;

use anyhow::Context;
use report::{Existing, Paint, units};
use result::{RunResult, stored::Stored};

use crate::{
    cli::args::{Format, RunArgs, typed_words},
    figures::metrics::MetricsFile,
    gate::{
        baseline::PROCESS_COUNT_MIN,
        baselines::{Baselines, Saved},
    },
    machine,
    run::{Finished, SameWork, effect, plan::Machine, prepare},
    terminal::{self, Code, Failure, WithExitCode, exit},
};

/// Runs the work of the arguments, prints the result, and writes the requested files.
pub fn run(args: &RunArgs) -> Result<Code, Failure> {
    let started = machine::unix_s();
    let metrics = MetricsFile::at(args.metrics.as_deref(), args.force.existing())?;
    match run_work(args) {
        Ok((finished, saving)) => {
            let result = finished.result.clone();
            let ended = conclude(args, finished, saving);
            metrics.write(ended, |code| report::metrics_of_run(&result, code))
        }
        Err(failure) => {
            metrics.write(Err(failure), |code| report::metrics_of_failure("run", started, code))
        }
    }
}

/// Runs the work. Returns the run, and the request to save it as a baseline.
fn run_work(args: &RunArgs) -> Result<(Finished, Option<Saving<'_>>), Failure> {
    let mut input = args.input(typed_words())?;
    let saving = Saving::asked(args)?;
    input.same_work = saving
        .as_ref()
        .filter(|saving| saving.existing == Existing::Refuse)
        .and_then(Saving::same_work);
    input.show_kept = show_kept(args.format);
    for note in effect::without_effect(&input.source, &input.run_overrides, &Machine::this()) {
        terminal::note(&note);
    }
    Ok((input.run()?, saving))
}

/// Prints and saves the result. Returns the exit code of the program.
fn conclude(
    args: &RunArgs,
    finished: Finished,
    saving: Option<Saving<'_>>,
) -> Result<Code, Failure> {
    show(&finished, args.format)?;
    let saved = saving.map_or(Ok(()), |saving| saving.save(&finished));
    exit::with_side_work(finished.code(args.open.codes()), saved, terminal::error)
}

/// The request to save a result as a baseline after the run.
struct Saving<'a> {
    baselines: Baselines,
    name: &'a str,
    existing: Existing,
}

impl<'a> Saving<'a> {
    /// Returns the request of the arguments, checked before the run; `None` without one.
    fn asked(args: &'a RunArgs) -> Result<Option<Self>, Failure> {
        let Some(name) = args.save_baseline.as_deref() else { return Ok(None) };
        let data_path = prepare::known_data_path(args.databases.data_dir.asked())?;
        let baselines = Baselines::below(&data_path);
        let existing = args.force.existing();
        baselines.check(name, existing).context("--save-baseline").with_exit_code(Code::Usage)?;
        baselines.check_writable().with_exit_code(Code::Io)?;
        Ok(Some(Self { baselines, name, existing }))
    }

    /// Returns the work of the baseline's existing results.
    fn same_work(&self) -> Option<SameWork> {
        let option = format!("--save-baseline {}", self.name);
        // An unreadable baseline is no error: the run replaces it, and a note reports that.
        let stored = Stored::read(&self.baselines.dir().join(self.name)).ok()?;
        let remedy = "save under another name, or replace all with --force";
        Some(SameWork::of(option, &stored, remedy))
    }

    /// Saves the result, unless the run ended early or with a wrong result.
    fn save(&self, finished: &Finished) -> Result<(), Failure> {
        let Self { baselines, name, existing } = self;
        let Finished { result, failure, .. } = finished;
        let reason = match (failure, result.interrupted) {
            (Some(_), _) => Some("the run failed"),
            (None, true) => Some("the run was interrupted"),
            (None, false) => (!result.is_sound()).then_some("the designs disagree"),
        };
        if let Some(reason) = reason {
            terminal::note(&format!("baseline {name}: not saved: {reason}"));
            return Ok(());
        }
        let outcome = match baselines.save(name, result, *existing).with_exit_code(Code::Io)? {
            Saved::First => "saved".to_owned(),
            Saved::Added(count) if count < PROCESS_COUNT_MIN => {
                let enough = format!("{PROCESS_COUNT_MIN} decide times (--absolute)");
                format!("{count} results of this build; {enough}")
            }
            Saved::Added(count) => format!("{count} results of this build"),
            Saved::Replaced(count, reason) => {
                let results = units::things(count as u64, "result");
                format!("saved, in place of {results} {reason}")
            }
        };
        terminal::note(&format!("baseline {name}: {outcome}, in {}", baselines.dir().display()));
        Ok(())
    }
}

/// Prints the result, and a line for each written file. Histograms have no line: the result's line
/// has their count.
///
/// # Errors
/// A number in the result is not finite.
pub fn show(finished: &Finished, format: Format) -> Result<(), Failure> {
    format.print(&finished.result, page())?;
    let (logs, others): (Vec<&PathBuf>, Vec<_>) = finished
        .written
        .iter()
        .partition(|path| path.extension().is_some_and(|ending| ending == "hlog"));
    for (index, path) in others.into_iter().enumerate() {
        let beside = match (index, logs.len() as u64) {
            (1.., _) | (_, 0) => String::new(),
            (0, count) => format!(", and {} beside it (*.hlog)", units::things(count, "histogram")),
        };
        terminal::note(&format!("wrote {}{beside}", path.display()));
    }
    Ok(())
}

/// Returns the function that formats a result. With `--quiet` it shows only the answer and the
/// rows.
fn page() -> fn(&RunResult, usize, Paint) -> String {
    if terminal::is_quiet() { report::brief } else { report::table }
}

/// Returns the function that prints the finished part of a run that cannot stop in time.
pub fn show_kept(format: Format) -> fn(&RunResult) {
    // An error of the output would follow the user's interrupt, so it is dropped.
    match format {
        Format::Table => |result| drop(Format::Table.print(result, page())),
        Format::Json => |result| drop(Format::Json.print(result, page())),
    }
}
