//! Reads options and claims where there is no scenario, such as for a workload file. They override
//! keys of a minimal scenario, so the rules of these keys hold for them.

use spec::{Expect, Override, RunSpec, Scenario, ScenarioError};

/// A scenario with required keys only.
const MINIMAL_SCENARIO: &str = "schema = 1\nname = \"workload-file\"\ndescription = \"\"\n\
    [state]\nslots = 20_000\n[block]\ngas = \"1M\"\n\
    [[load]]\nkind = \"sload-storm\"\nkeys = \"keccak\"\n";

/// Returns the settings of a run of a workload file: the defaults with `overrides`.
///
/// # Errors
/// An option is not valid.
pub fn default_run(overrides: &[Override]) -> Result<RunSpec, ScenarioError> {
    Ok(scenario("a workload file", overrides)?.run)
}

/// Returns the settings of a run, as [`default_run`] does, from the keys and values of the worker
/// protocol.
///
/// # Errors
/// A key or value is not valid.
pub fn run_of_pairs(pairs: &[(String, String)]) -> Result<RunSpec, ScenarioError> {
    let overrides =
        pairs.iter().map(|(key, value)| Override::new(key, value, format!("{key} = {value}")));
    default_run(&overrides.collect::<Vec<_>>())
}

/// Returns the minimal scenario with overrides, for options that have the meaning of its keys.
///
/// # Errors
/// An option is not valid.
pub fn scenario(source_name: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
    Scenario::parse(source_name, MINIMAL_SCENARIO, overrides)
}

/// Reads claims from the lines of their `[[expect]]`.
///
/// # Errors
/// A claim is not valid.
pub fn expects(texts: &[String]) -> Result<Vec<Expect>, ScenarioError> {
    let claims: String = texts.iter().map(|text| format!("[[expect]]\n{text}\n")).collect();
    Ok(Scenario::parse("the claims", &format!("{MINIMAL_SCENARIO}{claims}"), &[])?.expects)
}
