//! Settings of a store of flat files, its name and its errors.

use std::io;

use variant::Durability;

use crate::error::StoreError;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "flat";

/// Settings of reads and commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlatSettings {
    /// Number of reads in flight in each reader's ring, at least 1.
    pub depth: usize,
    /// Number of keys in a call of a reader with a ring. The ring runs empty at the end of each
    /// call, so this should be many times `depth`.
    pub keys_per_call: usize,
    /// Durability of a batch at the end of its commit. `Synced`: the batch's log is on the device.
    /// `Logged`: the kernel has the log. `Unlogged`: no log is written.
    pub durability: Durability,
}

impl Default for FlatSettings {
    fn default() -> Self {
        Self { depth: 256, keys_per_call: 4096, durability: Durability::default() }
    }
}

/// Returns a function for `map_err` that makes the error of a file operation.
pub(super) fn failed_io(action: impl Into<String>) -> impl FnOnce(io::Error) -> StoreError {
    move |error| StoreError::failed(NAME, action, error)
}

/// Converts the error of a read of `what`: a failed read, or a damaged file.
pub(super) fn failed(error: io::Error, what: impl FnOnce() -> String) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            StoreError::damaged(NAME, what(), error)
        }
        _ => StoreError::failed(NAME, format!("read {}", what()), error),
    }
}
