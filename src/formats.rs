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

/// Both ends of an interval at `estimate/ci95`, where there is one.
fn ends(estimate: &Value) -> Option<[f64; 2]> {
    Some([estimate["ci95"][0].as_f64()?, estimate["ci95"][1].as_f64()?])
}

/// Number of samples of a cell.
fn sample_count(cell: &Value) -> usize {
    cell["samples"].as_array().map_or(0, Vec::len)
}

#[cfg(test)]
mod tests;
