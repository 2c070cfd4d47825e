//! `stress compare`: result files side by side.

use report::compare;
use result::stored::Stored;

use crate::{
    cli::{CompareArgs, Format},
    exit::{Code, Failure, OrExit},
    terminal,
};

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
        Format::Json => terminal::out(&report::json(&compared)),
    }
    Ok(Code::Fine)
}
