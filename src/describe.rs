//! The contents of a workload, before anything is measured: `seen` lets the reference run over it,
//! `figures` makes figures of its keys, `kinds` does so for every shipped scenario.

mod figures;
pub mod kinds;
mod seen;

pub use figures::Figures;
pub use seen::{of_scenario, of_workload};
