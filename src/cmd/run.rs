//! A run: without a subcommand, `stress` runs the work of its arguments and prints the result.

use std::path::PathBuf;

use result::RunResult;

use crate::{
    args::{Format, RunArgs},
    exit::{Code, Failure, OrExit},
    terminal,
};

/// Runs the work of the arguments, and prints the result.
pub fn run(args: &RunArgs) -> Result<Code, Failure> {
    let mut input = args.input(std::env::args().collect())?;
    input.show_kept = match args.format {
        Format::Table => show_table,
        // An error would come after the user's interrupt: there is nobody to tell.
        Format::Json => |result| drop(show_json(result)),
    };
    let finished = input.run()?;
    match args.format {
        Format::Table => show_table(&finished.result),
        Format::Json => show_json(&finished.result)?,
    }
    for line in written(&finished.written) {
        terminal::note(&line);
    }
    finished.code(args.strictness())
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
