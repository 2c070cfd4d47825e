//! Errors of writing files and of comparing results. Each message names the file, the option that
//! named it, the fault and the remedy; it is made where the fault is found.

use std::{fmt::Display, io, path::Path};

/// A file that cannot be written, or results that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A result that cannot be read or written.
    #[error(transparent)]
    Result(#[from] result::Error),
    /// A file in an option that the user has to name anew, in words.
    #[error("{0}")]
    Usage(String),
    /// Any other fault, in words.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Makes the error where there is no result at all.
    pub(crate) fn no_result() -> Self {
        Self::Other("nothing to compare".to_owned())
    }

    /// Makes the error of the result at `path` that has this fault.
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

    /// Makes the error of a file at `path` that `option` has to name anew.
    pub(crate) fn usage(path: &Path, option: &str, fault: impl Display) -> Self {
        Self::Usage(format!("{option} {}: {fault}", path.display()))
    }
}
