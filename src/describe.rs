//! The contents of a workload, before anything is measured: `seen` lets the reference run over it,
//! `figures` makes figures of its keys, `shards` partitions its transactions, `kinds` describes every shipped
//! scenario.

mod figures;
pub mod kinds;
mod seen;
mod shards;

pub use figures::Figures;
pub use seen::{Asked, of_scenario, of_workload, seen};
