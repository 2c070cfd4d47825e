//! Predicts times on shards of execution. `costs` measures costs on this machine, `batch` turns a
//! workload into steps with numbered keys, and `predict` runs the model of `crates/partition/`.
//! `check` compares predictions with a result. The verb `stress simulate` calls them.

mod batch;
mod check;
mod costs;
mod predict;

pub use check::checked;
pub use costs::{MEASURED_STORE, measure};
pub use predict::{Predictions, assumptions};
