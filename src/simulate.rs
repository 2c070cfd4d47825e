//! Predicted times on shards of execution: `costs` measures, `batch` makes plain work of a workload, `predict`
//! simulates it by the model of `crates/partition/`, `check` compares with the rows of a result.

mod batch;
mod check;
mod costs;
mod predict;

pub use check::checked;
pub use costs::{MEASURED_STORE, measure};
pub use predict::{Predictions, assumptions};
