//! Describes a workload (`stress describe`; `stress simulate` takes the touched keys). `reference`
//! runs the reference over the workload, `figures` computes figures from the touched keys, and
//! `shards` partitions the transactions. `table` describes and measures every shipped scenario.

mod figures;
mod reference;
mod shards;
pub mod table;

pub use figures::Figures;
pub use reference::{Requested, of_scenario, of_workload, touched_keys};
