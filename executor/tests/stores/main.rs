//! The stores on disk: what they hold, that samples leave it alone, and what they make of damage.

mod common;
mod flat;
mod mdbx;
mod rocksdb;
mod state;
