//! Executes workloads: stores of flat state, ways to read them, engines, and what one sample
//! measures. Knows no scenario, no TOML and no terminal; what a batch must come to is told by
//! the workload.

pub mod device;
pub mod engine;
mod error;
pub mod latency;
mod lock;
mod pool;
pub mod process;
pub mod raw;
pub mod recover;
pub mod sample;
pub mod schedule;
mod single_flight;
pub mod span;
pub mod state;
pub mod store;
pub mod trace;
mod try_map;
