//! Results as users see them: the page of each verb in the terminal, HTML, Markdown, CSV, metrics,
//! and the files of `--out`. Nothing here prints to the terminal or decides an exit code. Medians
//! and intervals come from the `result` crate. A result whose designs disagree shows no figure.

mod answer;
mod axes;
mod calibrated;
mod calibration_table;
mod cells;
mod certainty;
mod checks;
mod columns;
pub mod compare;
pub mod compare_loads;
mod comparison;
mod conflict_picture;
mod cut;
mod databases;
mod depth;
mod describe;
mod error;
mod facts;
pub mod formats;
mod gate;
mod head;
mod history;
mod history_table;
pub mod html;
mod io;
mod limit;
mod list;
mod load_comparison;
mod metrics;
mod one_sided;
mod out;
mod page;
mod ratio;
mod scenario_table;
mod send;
mod set_keys;
mod simulation;
mod split;
mod sustained;
mod sweep;
mod sweep_found;
mod table;
pub mod units;
mod warnings;
mod whole_file;

#[cfg(test)]
mod tests;

pub use result::json;

pub use answer::conclusion;
pub use calibrated::{Calibrated, UnfinishedWorkload};
pub use calibration_table::calibration_table;
pub use checks::checks;
pub use comparison::comparison;
pub use conflict_picture::conflict_picture;
pub use describe::describe;
pub use error::Error;
pub use facts::{SCATTERED_BLOCKS_PER_KEY, best, most_duties, row_name};
pub use gate::{calibration, gate};
pub use history::sorted_by_time;
pub use history_table::history_table;
pub use io::io_table;
pub use limit::{limit_answer, limit_markdown, limit_table, limit_text};
pub use list::{ListLine, list_page};
pub use load_comparison::load_comparison;
pub use metrics::{metrics_of_failure, metrics_of_gate, metrics_of_run};
pub use one_sided::one_sided;
pub use out::{JsonFile, RunDirectory, replace, write_new};
pub use page::wrap;
pub use scenario_table::{ScenarioRow, scenario_table};
pub use send::send_table;
pub use set_keys::with_set_keys;
pub use simulation::simulation;
pub use sweep::sweep_table;
pub use table::{brief, table};
pub use whole_file::{Existing, WholeFile, has_standard_output};

/// Style of a page. The caller chooses [`Paint::Ansi`] for a terminal, unless the variable
/// `NO_COLOR` forbids it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Text only.
    Plain,
    /// ANSI colours and bold text. The text says the same without them.
    Ansi,
}
