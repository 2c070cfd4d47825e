//! The error of stores. It lies below both the stores and the states that they are built in.

/// A store that failed.
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
        /// Whose row.
        what: String,
        /// The fault.
        reason: String,
    },
    /// After a sample the state was not as before it.
    #[error("{store}: {what} is not back at its start: {reason}")]
    NotRestored {
        /// The store's name.
        store: &'static str,
        /// Which key.
        what: String,
        /// The value found.
        reason: String,
    },
}

impl StoreError {
    /// That an engine has no thread to execute with.
    pub(crate) fn no_thread(engine: &'static str, error: &std::io::Error) -> Self {
        let action = "start a thread to execute with".to_owned();
        Self::Failed { store: engine, action, reason: error.to_string() }
    }
}
