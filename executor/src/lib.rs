//! Executes workloads: stores of flat state, ways to read them, engines, and the measurements of a
//! sample. This crate knows no scenario, no TOML and no terminal. The workload gives the expected
//! result of each batch.

mod background;
pub mod device;
mod disagreement;
pub mod engine;
mod error;
mod fiber;
pub mod latency;
mod leaves;
mod lock;
pub mod place;
mod pool;
pub mod process;
pub mod raw;
mod read_counters;
pub mod received;
pub mod recover;
pub mod replay;
pub mod root;
pub mod sample;
pub mod schedule;
pub mod shards;
mod single_flight;
pub mod span;
pub mod state;
pub mod store;
pub mod trace;
pub mod tries;
mod try_map;
