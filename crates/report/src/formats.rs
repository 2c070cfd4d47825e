//! Results as text for other tools: a Markdown summary for a pull request, a CSV table, and
//! benchmark figures.
//!
//! A result whose designs disagree has no figure in them.

mod benchmark;
mod csv;
mod loads;
mod markdown;

pub use benchmark::{Better, benchmark};
pub use csv::csv;
pub use loads::{benchmark_of_loads, csv_of_loads, markdown_of_loads};
pub use markdown::markdown;

use result::Cell;

use crate::units;

/// Number of samples of a cell: `48 samples`, or `48 samples of 6 databases`.
fn sample_words(cell: &Cell) -> String {
    let samples = units::things(cell.samples.len() as u64, "sample");
    match &cell.databases {
        Some(of) => format!("{samples} of {}", units::things(of.each.len() as u64, "database")),
        None => samples,
    }
}

#[cfg(test)]
mod tests;
