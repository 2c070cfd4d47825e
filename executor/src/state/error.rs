//! Errors of a data directory and of the states in it.

use std::{io, path::PathBuf};

use workload::RowError;

use crate::error::StoreError;

/// A state that cannot be built, opened, verified or removed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The action that failed, as a phrase that follows "cannot".
        action: &'static str,
        /// File or directory of the operation.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The data directory cannot be written.
    #[error(
        "the data directory {} cannot be written: {source}; name another one with --data-dir",
        path.display()
    )]
    DataDirNotWritable {
        /// The data directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The free space is too small for a build. Nothing was written.
    #[error(
        "building {name} takes about {}, and {} has {} free; free some (`stress state list`, \
         `stress state rm NAME`), or name another place with --data-dir",
        workload::size(*need_bytes), path.display(), workload::size(*free_bytes)
    )]
    NoSpace {
        /// The state.
        name: String,
        /// Space that the state and its scratch files need, in bytes.
        need_bytes: u64,
        /// Free space of the file system, in bytes.
        free_bytes: u64,
        /// The data directory.
        path: PathBuf,
    },
    /// The device ran full while the state was built; the unfinished state has been removed.
    #[error(
        "the device of {} ran full while {name} was built ({reason}), which is removed; free some \
         space, or name another place with --data-dir",
        path.display()
    )]
    Full {
        /// The state.
        name: String,
        /// The data directory.
        path: PathBuf,
        /// The error of the store or the system.
        reason: String,
    },
    /// Another process builds, measures, verifies or removes this state.
    #[error(
        "state {name} is in use by {holder}, and two runs on it would disturb each other; wait \
         for that, or give one its own --data-dir"
    )]
    InUse {
        /// The state.
        name: String,
        /// The process that holds the lock, its purpose, and the seconds since it took the lock.
        holder: String,
    },
    /// The files of the state contradict its manifest or its recipe.
    #[error(
        "state {name} cannot be trusted: {reason}; remove it with `stress state rm {name}` and \
         run again"
    )]
    Untrusted {
        /// The state.
        name: String,
        /// The first contradiction.
        reason: String,
    },
    /// A path that `stress` needs or would remove has no mark of `stress`.
    #[error(
        "{} has no mark of stress: it is of another program, or half built by an earlier version; \
         remove it by hand, or name another --data-dir",
        path.display()
    )]
    Foreign {
        /// The path.
        path: PathBuf,
    },
    /// The state is half built: its build is under way, or was killed.
    #[error(
        "state {name} is half built, and has nothing to verify; `stress state rm {name}` removes it"
    )]
    HalfBuilt {
        /// The state.
        name: String,
    },
    /// There is no state of this name.
    #[error("no state {name} in {}; `stress state list` names those there are", path.display())]
    NotFound {
        /// The requested name.
        name: String,
        /// The data directory.
        path: PathBuf,
    },
    /// The rows of the recipe cannot be made.
    #[error("cannot make the rows of the state: {0}")]
    Rows(#[source] RowError),
    /// The user has interrupted the run. An unfinished state was removed.
    #[error("interrupted")]
    Cancelled,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StateError {
    /// Returns a function for `map_err` that makes the error of a file operation.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Makes the error that state `name` cannot be trusted.
    pub(crate) fn untrusted(name: &str, reason: impl Into<String>) -> Self {
        Self::Untrusted { name: name.to_owned(), reason: reason.into() }
    }

    /// Converts an error of a check of state `name`: an error of the store means that the state
    /// cannot be trusted.
    pub(crate) fn of_check(self, name: &str) -> Self {
        match self {
            Self::Store(error) => Self::untrusted(name, error.to_string()),
            error => error,
        }
    }

    /// Returns whether this error means that the device is full.
    pub(crate) fn is_device_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            // Libraries report `ENOSPC` only as text.
            Self::Store(error) => error.to_string().contains("No space left"),
            Self::Rows(RowError::Scratch { source, .. }) => {
                source.kind() == io::ErrorKind::StorageFull
            }
            _ => false,
        }
    }
}

impl From<RowError> for StateError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Cancelled => Self::Cancelled,
            error => Self::Rows(error),
        }
    }
}
