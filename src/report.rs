//! What a user gets of a result: the table in the terminal, the finding in one line, the JSON,
//! and the files of `--out`. Text only: nothing here prints, computes a statistic or decides an
//! exit code, and nothing shows a figure of a run whose designs disagree.

use serde::Serialize;

mod cells;
mod checks;
mod comparison;
mod conclude;
mod facts;
mod head;
mod io;
mod json_out;
mod out;
mod page;
mod profile;
mod table;
pub mod units;

#[cfg(test)]
pub mod example;
#[cfg(test)]
mod tests;

pub use checks::checks;
pub use comparison::comparison;
pub use conclude::conclude;
pub use facts::best;
pub use io::io_table;
pub use json_out::JsonOut;
pub use out::{HistogramLog, LogKind, Out, readable};
pub use table::table;

/// Whether the terminal shows colours; the caller knows (a terminal, no `NO_COLOR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Text only.
    Plain,
    /// ANSI colours and weights; they carry nothing that the text does not say.
    Ansi,
}

/// A result, or a comparison, as JSON, indented, with a newline at its end. What is not a finite
/// number is `null`.
///
/// # Panics
/// In no case: what is reported has text keys only.
pub fn json(reported: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(reported);
    let mut text = text.unwrap_or_else(|e| panic!("what is reported has text keys only: {e}"));
    text.push('\n');
    text
}
