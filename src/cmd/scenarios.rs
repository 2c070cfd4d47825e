//! `stress list`, `stress show`, `stress validate`: scenarios as texts.

use clap::Args;
use spec::{Scenario, shipped};

use crate::{
    args::ScenarioArgs,
    exit::{Code, Failure, OrExit},
    prepare, terminal,
};

/// Arguments of `stress show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The scenario
    #[command(flatten)]
    pub of: ScenarioArgs,
}

/// Arguments of `stress validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The scenario
    #[command(flatten)]
    pub of: ScenarioArgs,
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
    terminal::out(&args.of.load()?.to_toml());
    Ok(Code::Fine)
}

/// Checks a scenario, and warns of claims that no run of it can judge.
pub fn validate(args: &ValidateArgs) -> Result<Code, Failure> {
    let scenario = args.of.load()?;
    if let Some(words) = prepare::claim_not_run(&scenario) {
        terminal::error(&format!("warning: {words}"));
    }
    let given = args.of.words.first().or(args.of.scenario.as_ref());
    let name = given.map_or(scenario.name.as_str(), String::as_str);
    terminal::out(&format!("{name}: fine ({})\n", scenario.name));
    Ok(Code::Fine)
}
