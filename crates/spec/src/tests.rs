//! The scenario format's laws; `wrong.rs` holds one test for each way of being wrong.

mod answers;
mod between;
mod compaction;
mod databases;
mod docs;
mod durations;
mod good;
mod kinds;
mod names;
mod overridden;
mod panics;
mod redis;
mod schema;
mod several;
mod sharding;
mod tries;
mod whole;
mod wrong;

use crate::{Override, RunSpec, Scenario, ScenarioError};

/// The least a scenario can be.
const MINIMAL_SCENARIO: &str = r#"schema = 1
name = "least"
[state]
slots = "2M"
[block]
gas = "64M"
[[load]]
kind = "sload-storm"
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("my.toml", text, &[])
}

fn parsed(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The least scenario with one line in place of another.
fn with(line: &str, instead: &str) -> Result<Scenario, ScenarioError> {
    assert!(MINIMAL_SCENARIO.contains(line), "{line}");
    parse(&MINIMAL_SCENARIO.replace(line, instead))
}

/// The least scenario with these keys of its run.
fn with_run(keys: &str) -> String {
    format!("{MINIMAL_SCENARIO}[run]\n{keys}\n")
}

/// The run with these keys, which is the same when it is written and read again.
fn run(keys: &str) -> RunSpec {
    let scenario = parsed(&with_run(keys));
    assert_eq!(parsed(&scenario.to_toml()), scenario, "{keys}");
    scenario.run
}

fn given(key: &str, value: &str) -> Override {
    Override { key: key.into(), value: value.into(), origin: format!("--set {key}={value}") }
}

/// An error with each remedy in one line.
fn unfolded(error: &str) -> String {
    let unindented =
        |line: &str| line.strip_prefix("          ").map(|rest| rest.trim().to_owned());
    error.lines().fold(String::new(), |text, line| match (unindented(line), text.is_empty()) {
        (Some(rest), _) => format!("{text} {rest}"),
        (None, true) => line.to_owned(),
        (None, false) => format!("{text}\n{line}"),
    })
}

/// The error's text, which must have every one of the parts.
#[track_caller]
fn assert_error(result: Result<Scenario, ScenarioError>, parts: &[&str]) {
    let error = unfolded(&result.expect_err("the scenario is wrong").to_string());
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in:\n{error}");
    }
    assert!(error.starts_with("error: "), "{error}");
    assert!(error.contains("= help: "), "{error}");
}
