//! Predicts times on shards of execution. `costs` measures, `batch` turns a workload into numbered
//! work, `predict` runs the model of `crates/partition/`, and `check` compares with a result.

mod batch;
mod check;
mod costs;
mod predict;

pub use check::checked;
pub use costs::{MEASURED_STORE, measure};
pub use predict::{Predictions, assumptions};
