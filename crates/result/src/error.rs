//! Errors of writing and reading results. Each message names the file, the fault and the remedy. It
//! is made where the fault is found.

use std::{fmt::Display, io, path::Path};

/// Reason why a result cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A figure is not finite, so JSON has no number for it. This is a fault of the program that
    /// computed it.
    #[error(
        "cannot write {key} = {value}: a result holds finite numbers, and null where a figure is not \
         known; this is a fault of stress: please report it with the command line"
    )]
    NotFinite {
        /// Key of the figure: `cells[3].ms_per_batch.median`.
        key: String,
        /// The figure.
        value: f64,
    },
    /// A file or directory does not exist. The text is the whole message.
    #[error("{0}")]
    Missing(String),
    /// Any other fault. The text is the whole message.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Makes the error for a value that JSON cannot hold, such as a map with keys other than
    /// strings.
    pub(crate) fn no_json(cause: impl Display) -> Self {
        Self::Other(format!("cannot write a result as JSON: {cause}"))
    }

    /// Makes the error for the file or directory at `path`, with `fault` as the rest of the
    /// sentence.
    pub(crate) fn at(path: &Path, fault: impl Display) -> Self {
        Self::Other(format!("{} {fault}", path.display()))
    }

    /// Makes the error for a file or directory at `path` that the system cannot read.
    pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Other(format!("cannot read {}: {cause}", path.display()))
    }
}
