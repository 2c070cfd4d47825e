//! `stress compare`: result files side by side.

use std::path::PathBuf;

use clap::Args;

use report::compare;
use result::stored::Stored;

use crate::{
    args::Format,
    exit::{Code, Failure, OrExit},
    terminal,
};

/// Arguments of `stress compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress compare before/result.json after/result.json
  stress compare monday/ tuesday/ --format json

Only results of the same work are compared: equal workload digests. Times of
different runs hold for their minutes; no verdict is given.")]
pub struct CompareArgs {
    /// Result files, or directories that --out wrote; two or more
    #[arg(value_name = "RESULT", required = true, num_args = 2..)]
    pub results: Vec<PathBuf>,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Reads the results, refuses what cannot be compared, prints what differs.
pub fn compare(args: &CompareArgs) -> Result<Code, Failure> {
    let mut results = Vec::with_capacity(args.results.len());
    for path in &args.results {
        results.push(Stored::read(path).or_exit(Code::Io)?);
    }
    let disagrees = results.iter().any(|stored| stored.agrees() == Some(false));
    let code = if disagrees { Code::Disagree } else { Code::Usage };
    let compared = compare::compare(&results).or_exit(code)?;
    match args.format {
        Format::Table => {
            let (width, paint) = (terminal::width(), terminal::paint());
            terminal::out(&report::comparison(&compared, width, paint));
        }
        Format::Json => terminal::out(&report::json(&compared).or_exit(Code::Io)?),
    }
    Ok(Code::Fine)
}
