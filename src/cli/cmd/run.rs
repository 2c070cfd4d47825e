//! A run: without a subcommand, `stress` runs the work of its arguments and prints the result.

use std::path::PathBuf;

use anyhow::Context;
use report::{Existing, units};
use result::{RunResult, stored::Stored};

use crate::{
    cli::args::{Format, RunArgs, typed_words},
    figures::metrics::MetricsFile,
    gate::{
        baseline::PROCESS_COUNT_MIN,
        baselines::{self, Baselines, Saved},
    },
    machine,
    run::{Finished, SameWork, effect, plan::Machine, prepare},
    terminal::{
        self,
        exit::{self, Code, Failure, OrExit},
    },
};

/// Runs the work of the arguments, prints the result, and writes the other files that they ask for.
pub fn run(args: &RunArgs) -> Result<Code, Failure> {
    let started = machine::unix_s();
    let metrics = MetricsFile::at(args.metrics.as_deref(), args.force.existing())?;
    let mut result = None;
    let ended = ran(args, &mut result);
    metrics.write(ended, |code| match &result {
        Some(result) => report::metrics_of_run(result, code),
        None => report::metrics_of_failure("run", started, code),
    })
}

/// The same without its metrics, which are of `kept`: the result, where there is one.
fn ran(args: &RunArgs, kept: &mut Option<RunResult>) -> Result<Code, Failure> {
    let mut input = args.input(typed_words())?;
    let saving = Saving::of(args)?;
    input.same_work = saving
        .as_ref()
        .filter(|saving| saving.existing == Existing::Refuse)
        .and_then(Saving::same_work);
    input.show_kept = match args.format {
        Format::Table => show_table,
        // An error would come after the user's interrupt: there is nobody to tell.
        Format::Json => |result| drop(show_json(result)),
    };
    for note in effect::without_effect(&input.source, &input.how, &Machine::this()) {
        terminal::note(&note);
    }
    let finished = input.run()?;
    *kept = Some(finished.result.clone());
    match args.format {
        Format::Table => show_table(&finished.result),
        Format::Json => show_json(&finished.result)?,
    }
    for line in written(&finished.written) {
        terminal::note(&line);
    }
    let saved = saving.map_or(Ok(()), |saving| saving.save(&finished));
    exit::with_side_work(finished.code(args.open.codes()), saved, terminal::error)
}

/// A baseline that is saved after the run.
struct Saving<'a> {
    baselines: Baselines,
    name: &'a str,
    existing: Existing,
}

impl<'a> Saving<'a> {
    /// The one of the arguments, tried before the run; `None` where none is asked for.
    fn of(args: &'a RunArgs) -> Result<Option<Self>, Failure> {
        let Some(name) = args.save_baseline.as_deref() else { return Ok(None) };
        baselines::check_name(name).context("--save-baseline").or_exit(Code::Usage)?;
        let data_path = prepare::known_data_path(args.databases.data_dir.asked())?;
        let baselines = Baselines::below(&data_path);
        baselines.try_write().or_exit(Code::Io)?;
        Ok(Some(Self { baselines, name, existing: args.force.existing() }))
    }

    /// The work of the results that are there.
    fn same_work(&self) -> Option<SameWork> {
        let option = format!("--save-baseline {}", self.name);
        // One that cannot be read is told when it is replaced.
        let stored = Stored::read(&self.baselines.dir().join(self.name)).ok()?;
        let remedy = "save under another name, or replace all with --force";
        Some(SameWork::of(option, &stored, remedy))
    }

    /// Saves the result, unless the run ended before its plan or with a wrong result.
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
        let what = match baselines.save(name, result, *existing).or_exit(Code::Io)? {
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
        terminal::note(&format!("baseline {name}: {what}, in {}", baselines.dir().display()));
        Ok(())
    }
}

/// The files that were written: one line for a file, and one for the histograms beside the result.
pub fn written(paths: &[PathBuf]) -> Vec<String> {
    let is_log = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "hlog");
    let (logs, others): (Vec<_>, Vec<_>) = paths.iter().partition(is_log);
    let wrote = |path: &&PathBuf| format!("wrote {}", path.display());
    let mut lines: Vec<_> = others.iter().map(wrote).collect();
    if let (Some(first), false) = (lines.first_mut(), logs.is_empty()) {
        let count = report::units::things(logs.len() as u64, "histogram");
        first.push_str(&format!(", and {count} beside it (*.hlog)"));
    }
    lines
}

/// Prints the page of a result.
pub fn show_table(result: &RunResult) {
    terminal::out(&report::table(result, terminal::width(), terminal::paint()));
}

/// Prints a result as JSON.
///
/// # Errors
/// A number in it is not finite.
pub fn show_json(result: &RunResult) -> Result<(), Failure> {
    terminal::out(&report::json(result).or_exit(Code::Io)?);
    Ok(())
}
