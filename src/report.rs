//! What a user gets of a result: the table in the terminal, the finding in one line, the JSON,
//! and the files of `--out`. Text only: nothing here prints, computes a statistic or decides an
//! exit code, and nothing shows a figure of a run whose designs disagree.

use serde::Serialize;

mod cells;
mod checks;
mod comparison;
mod conclude;
mod databases;
mod describe;
mod facts;
mod gate;
mod head;
mod io;
mod json_out;
mod kinds;
mod out;
mod page;
mod picture;
mod profile;
mod sweep;
mod table;
pub mod units;

#[cfg(test)]
pub mod example;
#[cfg(test)]
mod tests;

pub use checks::checks;
pub use comparison::comparison;
pub use conclude::conclude;
pub use describe::describe;
pub use facts::best;
pub use gate::{calibration, gate};
pub use io::io_table;
pub use json_out::JsonOut;
pub use kinds::{KindRow, kinds};
pub use out::{HistogramLog, LogKind, Out, readable, replace, searchable, write_new};
pub use picture::picture;
pub use sweep::sweep_table;
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
