//! The error type of stores, of their samples and readers, and of threads that cannot begin.

use std::{fmt::Display, io};

/// Failure of a store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The store's library reported an error.
    #[error("{store}: cannot {action}: {reason}")]
    Failed {
        /// The store's name.
        store: &'static str,
        /// The attempt, in words that fit after "cannot".
        action: String,
        /// The library's error.
        reason: String,
    },
    /// A row does not fit the state's layout.
    #[error("{store}: the row of {what} is damaged: {reason}; `stress state verify` tells more")]
    Damaged {
        /// The store's name.
        store: &'static str,
        /// Name of the row.
        what: String,
        /// The fault.
        reason: String,
    },
    /// A sample did not leave the state as it found it.
    #[error("{store}: {what} is not back at its start: {reason}")]
    NotRestored {
        /// The store's name.
        store: &'static str,
        /// Name of the key, or of the whole state.
        what: String,
        /// The difference found.
        reason: String,
    },
}

impl StoreError {
    /// Makes the error of an operation that a store cannot do.
    pub(crate) fn failed(
        store: &'static str,
        action: impl Into<String>,
        reason: impl Display,
    ) -> Self {
        Self::Failed { store, action: action.into(), reason: reason.to_string() }
    }

    /// Makes the error of a damaged row.
    pub(crate) fn damaged(
        store: &'static str,
        what: impl Into<String>,
        reason: impl Display,
    ) -> Self {
        Self::Damaged { store, what: what.into(), reason: reason.to_string() }
    }

    /// Makes the error of an engine, or another user of threads, that cannot start a thread.
    pub(crate) fn no_thread(engine: &'static str, error: &io::Error) -> Self {
        Self::failed(engine, "start a thread to execute with", error)
    }
}
