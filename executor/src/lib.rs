//! Executes workloads and measures the executions. Has the stores of flat state (`store`), the
//! engines (`engine`), the state root (`root`), and a sample with its checks (`sample`). This crate
//! knows no scenario, no TOML and no terminal.

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
