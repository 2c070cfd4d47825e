//! Settings of a store of flat files, its name and its errors.

use std::io;

use variant::Durability;

use crate::error::StoreError;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "flat";

/// Settings of reads and commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlatSettings {
    /// Reads in flight in each reader's ring, at least 1.
    pub depth: usize,
    /// Keys per call for a reader with a ring. At the end of a call its ring runs empty. So a call
    /// should have many times as many keys as the ring is deep.
    pub keys_per_call: usize,
    /// The end of a commit. Synced: the log is on the device. Logged: the kernel has the log.
    /// Unlogged: there is no log.
    pub durability: Durability,
}

impl Default for FlatSettings {
    fn default() -> Self {
        Self { depth: 256, keys_per_call: 4096, durability: Durability::default() }
    }
}

/// Makes the error of a file operation, for `map_err`.
pub(super) fn failed_io(action: impl Into<String>) -> impl FnOnce(io::Error) -> StoreError {
    let action = action.into();
    move |error| StoreError::failed(NAME, action, error)
}

/// Makes the error of a read that failed, or found damage.
pub(super) fn failed(error: io::Error, what: impl FnOnce() -> String) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            StoreError::damaged(NAME, what(), error)
        }
        _ => StoreError::failed(NAME, format!("read {}", what()), error),
    }
}
