//! The minimal scenario: how options are read that mean the same as a scenario's keys, where there
//! is no scenario.

use spec::{Expect, Override, RunSpec, Scenario, ScenarioError};

/// A scenario with nothing in it that could be left out.
const MINIMAL_SCENARIO: &str = "schema = 1\nname = \"workload-file\"\ndescription = \"\"\n\
    [state]\nslots = 20_000\n[block]\ngas = \"1M\"\n\
    [[load]]\nkind = \"sload-storm\"\nkeys = \"keccak\"\n";

/// How a workload file is run where no scenario says so.
///
/// # Errors
/// An option that is not valid.
pub fn default_run(how: &[Override]) -> Result<RunSpec, ScenarioError> {
    Ok(scenario("a workload file", how)?.run)
}

/// The same by keys and values, as the worker protocol has them.
///
/// # Errors
/// One is not valid.
pub fn run_of_words(words: &[(String, String)]) -> Result<RunSpec, ScenarioError> {
    let overrides = words.iter().map(|(key, value)| Override {
        key: key.clone(),
        value: value.clone(),
        origin: format!("{key} = {value}"),
    });
    default_run(&overrides.collect::<Vec<_>>())
}

/// The minimal scenario with overrides: for options that mean the same as its keys.
///
/// # Errors
/// An option that is not valid.
pub fn scenario(source_name: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
    Scenario::parse(source_name, MINIMAL_SCENARIO, overrides)
}

/// Claims from the lines of their `[[expect]]`.
///
/// # Errors
/// One that is not valid.
pub fn expects(texts: &[String]) -> Result<Vec<Expect>, ScenarioError> {
    let claims: String = texts.iter().map(|text| format!("[[expect]]\n{text}\n")).collect();
    Ok(Scenario::parse("the claims", &format!("{MINIMAL_SCENARIO}{claims}"), &[])?.expects)
}
