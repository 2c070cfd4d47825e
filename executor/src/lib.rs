//! Executes workloads: stores of flat state, ways to read them, engines, and what one sample
//! measures. Knows no scenario, no TOML and no terminal; what a batch must come to is told by
//! the workload.

pub mod bitset;
mod call;
pub mod check;
mod crew;
pub mod device;
pub mod engine;
mod feasible;
pub mod handover;
mod join;
pub mod latency;
mod prefetch;
pub mod prestate;
pub mod process;
pub mod raw;
pub mod recover;
pub mod sample;
pub mod schedule;
pub mod single_flight;
pub mod span;
pub mod state;
pub mod store;
pub mod trace;
mod verify;
pub mod view;
