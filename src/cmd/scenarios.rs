//! `stress list`, `stress show`, `stress validate`: scenarios as texts.

use std::path::Path;

use spec::{Override, Scenario, shipped};

use crate::{
    cli::ShowArgs,
    exit::{Code, Failure, OrExit},
    terminal,
};

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
    terminal::out(&load(&args.scenario, &overrides)?.to_toml());
    Ok(Code::Fine)
}

/// Checks a scenario file.
pub fn validate(file: &Path) -> Result<Code, Failure> {
    // A path that looks like a name is a path here.
    let path = if file.components().count() == 1 { Path::new(".").join(file) } else { file.into() };
    let scenario = load(&path.to_string_lossy(), &[])?;
    terminal::out(&format!("{}: fine ({})\n", file.display(), scenario.name));
    Ok(Code::Fine)
}

/// The scenario of this name or path.
pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Scenario, Failure> {
    spec::load(name_or_path, overrides).or_exit(Code::Usage)
}
