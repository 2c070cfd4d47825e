//! Stores on disk: their rows, their files after samples, and their reaction to damage.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod flat;
mod leftovers;
mod mdbx;
mod mdbx_forms;
mod places;
mod rocksdb;
mod state;
mod tries;
