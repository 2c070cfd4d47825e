//! Reads durations and gas of command-line options that are no keys of a scenario, such as
//! `--deadline`. Their errors name the option. `src/cli/` calls it.

use std::time::Duration;

use crate::{
    error::ScenarioError,
    fault::{Origin, Remedy, Violation, shown},
    quantity,
};

/// The longest duration of an option, and the longest budget. A longer one is a mistake in the
/// unit.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Reads a duration as in scenarios, in whole milliseconds from 1ms to 24h: `200ms`, `1.5s`, `10m`.
/// Errors name `option`.
///
/// # Errors
/// The text is no such duration.
pub fn duration(option: &str, text: &str) -> Result<Duration, ScenarioError> {
    let read = quantity::duration(text).and_then(|time| within("1ms", time, text));
    read.map_err(option_error(option, text))
}

/// Reads a duration in whole nanoseconds from 1ns to 24h: `800ns`, `250us`, `1.6ms`, and the forms
/// of [`duration`]. Errors name `option`.
///
/// # Errors
/// The text is no such duration.
pub fn fine_duration(option: &str, text: &str) -> Result<Duration, ScenarioError> {
    let read = quantity::fine_duration(text).and_then(|time| within("1ns", time, text));
    read.map_err(option_error(option, text))
}

/// Reads gas as in scenarios, 1 or more: `200M`, `1.5G`. Errors name `option`.
///
/// # Errors
/// The text is no count of gas, or it is 0.
pub fn gas(option: &str, text: &str) -> Result<u64, ScenarioError> {
    let read = quantity::count(text, "gas", "200M").and_then(|gas| match gas {
        0 => Err(Violation::new("0 gas is no block".to_owned(), Remedy::text("200M"))),
        gas => Ok(gas),
    });
    read.map_err(option_error(option, text))
}

/// Refuses a duration of 0 or above the maximum. `least` is the shortest duration, for the error.
fn within(least: &str, time: Duration, text: &str) -> Result<Duration, Violation> {
    if !time.is_zero() && time <= DURATION_MAX {
        return Ok(time);
    }
    let rule = format!("{} is out of range; a duration is from {least} to 24h", shown(text));
    let remedy =
        if time.is_zero() { "write a longer duration" } else { "write a shorter duration" };
    Err(Violation::new(rule, Remedy::advice(remedy)))
}

/// Makes the error of `option`, to which the user gave `text`.
fn option_error(option: &str, text: &str) -> impl FnOnce(Violation) -> ScenarioError {
    let origin = Origin::Outside { origin: format!("{option} {text}"), value: text.to_owned() };
    move |violation| ScenarioError::new(vec![violation.at(option, &origin)], 1, "the options", "")
}
