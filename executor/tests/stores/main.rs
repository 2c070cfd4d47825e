//! The stores on disk: what they hold, that samples leave it alone, and what they make of damage.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod flat;
mod mdbx;
mod mdbx_forms;
mod places;
mod rocksdb;
mod state;
