//! The settings of a store of flat files, its name and its errors.

use std::io;

use variant::Durability;

use crate::error::StoreError;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "flat";

/// How a state is read and committed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlatSettings {
    /// Reads in flight in each reader's ring, at least 1.
    pub depth: usize,
    /// Keys that a reader with a ring wants in a call. At the end of a call its ring runs empty,
    /// so a call should be many times as long as the ring is deep.
    pub keys_per_call: usize,
    /// The end of a commit: synced, until the log is on the device; logged, until it is with
    /// the kernel; unlogged, there is none.
    pub durability: Durability,
}

impl Default for FlatSettings {
    fn default() -> Self {
        Self { depth: 256, keys_per_call: 4096, durability: Durability::default() }
    }
}

/// For `map_err` on a file operation.
pub(super) fn failed_io(action: impl Into<String>) -> impl FnOnce(io::Error) -> StoreError {
    let action = action.into();
    move |error| StoreError::failed(NAME, action, error)
}

/// A read that failed, or found damage.
pub(super) fn failed(error: io::Error, what: impl FnOnce() -> String) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            StoreError::damaged(NAME, what(), error)
        }
        _ => StoreError::failed(NAME, format!("read {}", what()), error),
    }
}
