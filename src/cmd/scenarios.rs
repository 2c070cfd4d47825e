//! `stress list`, `stress show`, `stress validate`: scenarios as texts.

use std::path::{Path, PathBuf};

use clap::Args;
use spec::{Scenario, shipped};

use crate::{
    args::{HowArgs, WorkArgs},
    exit::{Code, Failure, OrExit},
    prepare::{self, Size},
    terminal,
};

/// Arguments of `stress show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    pub scenario: String,
    /// What the workload is
    #[command(flatten)]
    pub work: WorkArgs,
    /// How it is run
    #[command(flatten)]
    pub how: HowArgs,
}

/// Arguments of `stress validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// A scenario file
    pub file: PathBuf,
}

/// Prints the shipped scenarios: one line each, name first.
pub fn list() -> Result<Code, Failure> {
    let names = shipped::all().iter().map(|(name, _)| name.len());
    let width = names.max().unwrap_or(0);
    for (name, text) in shipped::all() {
        let scenario = Scenario::parse(name, text, &[]).or_exit(Code::Usage)?;
        terminal::out(&format!("{name:width$}  {}\n", scenario.description));
    }
    Ok(Code::Fine)
}

/// Prints a scenario with every key resolved.
pub fn show(args: &ShowArgs) -> Result<Code, Failure> {
    let mut overrides = args.work.overrides().or_exit(Code::Usage)?;
    overrides.extend(args.how.overrides());
    terminal::out(&prepare::scenario(&args.scenario, overrides, Size::Stated)?.to_toml());
    Ok(Code::Fine)
}

/// Checks a scenario file.
pub fn validate(args: &ValidateArgs) -> Result<Code, Failure> {
    let file = &args.file;
    // A path that looks like a name is a path here.
    let path =
        if file.components().count() == 1 { Path::new(".").join(file) } else { file.clone() };
    let scenario = prepare::scenario(&path.to_string_lossy(), Vec::new(), Size::Stated)?;
    terminal::out(&format!("{}: fine ({})\n", file.display(), scenario.name));
    Ok(Code::Fine)
}
