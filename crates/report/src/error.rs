//! Errors of writing files and of comparing results. A message names the fault; where they are
//! known, also the file, the option that named it, and the remedy. The text is made where the fault
//! is found.

use std::{fmt::Display, io, path::Path};

/// A file that cannot be written, or results that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A result that cannot be read or written.
    #[error(transparent)]
    Result(#[from] result::Error),
    /// An option names a file that cannot be used, so the user has to name another one or add
    /// `--force`. The text is the whole message.
    #[error("{0}")]
    Usage(String),
    /// Any other fault, in words.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Makes the error for a comparison of no results.
    pub(crate) fn no_result() -> Self {
        Self::Other("nothing to compare".to_owned())
    }

    /// Makes the error for the result at `path` with this fault.
    pub(crate) fn of_result(path: &Path, fault: &str) -> Self {
        Self::Other(format!("{}: {fault}", path.display()))
    }

    /// Makes the error for a `path` that cannot be written.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Other(format!("cannot write {}: {cause}", path.display()))
    }

    /// Makes the error for a `path`, named by `option`, that cannot be written.
    pub(crate) fn named(path: &Path, option: &str, cause: impl Display) -> Self {
        Self::Other(format!("cannot write {}, named by {option}: {cause}", path.display()))
    }

    /// Makes the error for a file at `path`, in place of which `option` has to name another one.
    pub(crate) fn usage(path: &Path, option: &str, fault: impl Display) -> Self {
        Self::Usage(format!("{option} {}: {fault}", path.display()))
    }
}
