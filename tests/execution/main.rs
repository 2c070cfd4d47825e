//! Executions in this process: every variant against the reference, wrong lists, failing stores,
//! and the facts that a sample reports. They are one binary, since linking the stores takes
//! longest.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreement;
mod background;
mod block_stm;
mod common;
mod duties;
mod exchanged;
mod fixtures;
mod forks;
#[path = "../hostile/lists.rs"]
mod hostile;
mod list_hash;
mod lists;
mod prefetch;
mod random_blocks;
mod received;
mod recovery;
mod redis;
mod roots;
mod sharded;
mod sustained;
mod trace;
mod wrong_lists;
