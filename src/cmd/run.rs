//! A run: without a subcommand, `stress` runs what its arguments name and prints the result.

use crate::{
    args::{Format, RunArgs},
    exit::{Code, Failure, OrExit},
    terminal,
};

/// Runs what the arguments ask for, and prints the result.
pub fn run(args: &RunArgs) -> Result<Code, Failure> {
    let finished = args.input(std::env::args().collect())?.run()?;
    terminal::out(&match args.format {
        Format::Table => report::table(&finished.result, terminal::width(), terminal::paint()),
        Format::Json => report::json(&finished.result).or_exit(Code::Io)?,
    });
    for path in &finished.written {
        terminal::note(&format!("wrote {}", path.display()));
    }
    finished.code(args.strictness())
}
