//! Errors of writing files and of comparing results. Each message names the file, the option that
//! named it, the fault and the remedy.

use std::{io, path::PathBuf};

/// Why a file cannot be written, or results cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A result that cannot be read or written.
    #[error(transparent)]
    Result(#[from] result::Error),
    /// A directory of `--out` that cannot be written to.
    #[error("cannot write to {}, named by --out: {cause}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A directory in which every name is taken.
    #[error("no free name for a result in {}", dir.display())]
    NoFreeName {
        /// The directory.
        dir: PathBuf,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A file named by an option that cannot be written.
    #[error("cannot write {}, named by {option}: {cause}", path.display())]
    Named {
        /// The file.
        path: PathBuf,
        /// The option.
        option: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// A directory in place of a file in an option.
    #[error(
        "cannot write {}, named by {option}: it is a directory: name a file in it",
        path.display()
    )]
    IsDirectory {
        /// The directory.
        path: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// A file that is there already, in an option.
    #[error("{option} {}: this file is there already; name another, or add --force to replace it", path.display())]
    IsThere {
        /// The file.
        path: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// A file that another option names, too.
    #[error("{option} {}: {other} names this file, too; name another", path.display())]
    IsNamedTwice {
        /// The file.
        path: PathBuf,
        /// The option.
        option: &'static str,
        /// The other option.
        other: &'static str,
    },
    /// A file that a standard stream goes to, in an option.
    #[error("{option} {}: {stream} goes to this file; name another", path.display())]
    IsStandardStream {
        /// The file.
        path: PathBuf,
        /// The option.
        option: &'static str,
        /// The stream.
        stream: &'static str,
    },
    /// A block device or a socket in place of a file in an option.
    #[error(
        "cannot write {}, named by {option}: it is a block device or a socket: name a file, a pipe or a character \
         device",
        path.display()
    )]
    IsNoFile {
        /// It.
        path: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// A file in a directory that is not there, in an option.
    #[error(
        "cannot write {}, named by {option}: there is no directory {}: create it (mkdir -p), or name \
         a file elsewhere",
        path.display(),
        dir.display()
    )]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// The directory.
        dir: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// Histograms of a cell that cannot be written.
    #[error("cannot write histograms of {variant}: {reason}")]
    Histograms {
        /// The cell's variant.
        variant: String,
        /// The message of the histogram writer.
        reason: String,
    },
    /// No result at all.
    #[error("nothing to compare")]
    NoResult,
    /// A result whose designs disagree.
    #[error("{}: its designs disagree: no figure of it can be compared", path.display())]
    Disagrees {
        /// Its file.
        path: PathBuf,
    },
    /// A result without a figure.
    #[error("{}: it has no sample: run it again", path.display())]
    NoSample {
        /// Its file.
        path: PathBuf,
    },
    /// Results of different work.
    #[error(
        "{} and {} did different work ({differences}): only times of the same work can be compared; \
         run both on one workload file (`stress generate`)",
        a.display(),
        b.display()
    )]
    OtherWork {
        /// The first.
        a: PathBuf,
        /// The other one.
        b: PathBuf,
        /// The differing facts, with both values.
        differences: String,
    },
    /// A load that the user ended.
    #[error("{}: the load was interrupted, and has no figure of all of it: send it again", path.display())]
    InterruptedLoad {
        /// Its file.
        path: PathBuf,
    },
    /// Loads of different work or pace.
    #[error(
        "{} and {} are different loads ({differences}): only equal ones can be compared; send both with the same \
         scenario, --seed, --accounts, --transactions, --fork and pace",
        a.display(),
        b.display()
    )]
    OtherLoad {
        /// The first.
        a: PathBuf,
        /// The other one.
        b: PathBuf,
        /// The differing facts, with both values.
        differences: String,
    },
    /// Results over different databases.
    #[error(
        "{} ran on {on_a}, {} on {on_b}: a figure over databases is comparable only over the same \
         ones; run both with one --databases and one --seed",
        a.display(),
        b.display()
    )]
    OtherDatabases {
        /// The first.
        a: PathBuf,
        /// Its databases.
        on_a: String,
        /// The other one.
        b: PathBuf,
        /// Its databases.
        on_b: String,
    },
}

impl Error {
    /// Makes the error for a `path` that cannot be written.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |cause| Self::File { path, cause }
    }

    /// Makes the error for a `path`, named by `option`, that cannot be written.
    pub(crate) fn named(
        path: impl Into<PathBuf>,
        option: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Named { path, option, cause }
    }
}
