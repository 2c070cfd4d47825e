//! Results as text for other tools: a summary for a pull request, a table, benchmark figures.
//!
//! Nothing is shown of a result whose designs disagree but that.

mod benchmark;
mod csv;
mod markdown;

pub use benchmark::{Better, benchmark};
pub use csv::csv;
pub use markdown::markdown;

use serde_json::Value;

use crate::units;

/// Both ends of an interval at `estimate/ci95`, where there is one.
fn ends(estimate: &Value) -> Option<[f64; 2]> {
    Some([estimate["ci95"][0].as_f64()?, estimate["ci95"][1].as_f64()?])
}

/// Number of samples of a cell.
fn sample_count(cell: &Value) -> usize {
    cell["samples"].as_array().map_or(0, Vec::len)
}

/// `48 samples`, or `48 samples of 6 databases`.
fn sample_words(cell: &Value) -> String {
    let samples = units::things(sample_count(cell) as u64, "sample");
    match cell["databases"]["each"].as_array() {
        Some(each) => format!("{samples} of {}", units::things(each.len() as u64, "database")),
        None => samples,
    }
}

#[cfg(test)]
mod tests;
