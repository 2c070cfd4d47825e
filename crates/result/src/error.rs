//! Errors of writing and reading results. Each message names the file, the fault and the remedy.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{run::RunSchema, send::SendSchema};

/// Why a result cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A figure that JSON has no number for: a program that computes one has a fault.
    #[error(
        "cannot write {key} = {value}: a result holds finite numbers, and null where a figure is not \
         known; this is a fault of stress: please report it with the command line"
    )]
    NotFinite {
        /// Its key: `cells[3].ms_per_batch.median`.
        key: String,
        /// The figure.
        value: f64,
    },
    /// A value that JSON cannot hold, such as a map with keys other than strings.
    #[error("cannot write a result as JSON: {0}")]
    NoJson(serde_json::Error),
    /// A file or directory that cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A result that is not there.
    #[error(
        "cannot read {}: there is no such file or directory; give a result file, or a directory \
         that --out of a run, of `stress sweep` or of `stress gate` wrote",
        path.display()
    )]
    NoSuchResult {
        /// The path.
        path: PathBuf,
    },
    /// A file larger than any result.
    #[error("{} has {bytes} bytes; a result has at most {most}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// A file of another kind, such as a scenario.
    #[error(
        "{} is not a result: it is not JSON; a scenario is run by `stress FILE --out DIR`, which \
         writes its result into DIR",
        path.display()
    )]
    NotJson {
        /// The file.
        path: PathBuf,
    },
    /// A file that is truncated or is not JSON.
    #[error(
        "{} is not valid JSON (truncated?): {cause}; run `stress --out DIR` again",
        path.display()
    )]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// The parser's error, with its position.
        cause: serde_json::Error,
    },
    /// The result of another version.
    #[error(
        "{} has the schema {found}, and this stress reads {}; use the stress that wrote it, or run \
         again",
        path.display(),
        RunSchema::READ.join(", ")
    )]
    OtherSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: String,
    },
    /// The result of a load on a live node, which has no cells.
    #[error(
        "{} is of a load on a live node (stress send), which has no designs to judge or to lay beside a run's; \
         give loads alone: stress report shows them, stress compare BEFORE/ AFTER/ compares them with an \
         interval (docs/send.md)",
        path.display()
    )]
    OfALoad {
        /// The file.
        path: PathBuf,
    },
    /// A load of another version.
    #[error(
        "{} has the schema {found}, and this stress reads {}; use the stress that wrote it, or send the load again",
        path.display(),
        SendSchema::READ.join(", ")
    )]
    OtherLoadSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: String,
    },
    /// JSON without a schema.
    #[error(
        "{} is no result of stress: it has no `schema`; wanted is {}",
        path.display(),
        RunSchema::NAME
    )]
    NoSchema {
        /// The file.
        path: PathBuf,
    },
    /// A file of the right schema with a missing key or an unknown name.
    #[error(
        "{} is damaged, or of a stress whose results this one does not know; run again: {cause}",
        path.display()
    )]
    Damaged {
        /// The file; in the results of a sweep also the cell.
        path: PathBuf,
        /// The key and its fault.
        cause: serde_json::Error,
    },
    /// A directory without a result.
    #[error(
        "{} holds no result of stress ({}), nor do directories below it; give a result file, or a \
         directory that --out of a run, of `stress sweep` or of `stress gate` wrote",
        dir.display(),
        RunSchema::NAME
    )]
    NoResult {
        /// The directory.
        dir: PathBuf,
    },
    /// The joined results of a sweep in which no cell was run.
    #[error("{} is of a sweep without a result", path.display())]
    EmptySweep {
        /// The file.
        path: PathBuf,
    },
    /// A file that is not a calibration.
    #[error("{} is no calibration; run `stress gate calibrate` again: {cause}", path.display())]
    NoCalibration {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        cause: serde_json::Error,
    },
    /// The calibration of another version.
    #[error(
        "{} has the schema {found}, and this stress reads {wanted}; run `stress gate calibrate` again",
        path.display()
    )]
    OtherCalibration {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: String,
        /// The schema of this version.
        wanted: &'static str,
    },
    /// Axes that make too many cells.
    #[error(
        "the axes make {} cells; a sweep has at most {most}: give fewer values, or sweep in \
         parts",
        counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
    )]
    TooManyCells {
        /// Number of values of each axis.
        counts: Vec<u64>,
        /// Maximal number of cells of a sweep.
        most: u64,
    },
}

impl Error {
    /// Refuses the path of a result that is not there.
    pub(crate) fn unless_there(path: &Path) -> Result<(), Self> {
        match path.try_exists() {
            Ok(false) => Err(Self::NoSuchResult { path: path.to_owned() }),
            // Whoever opens it gets the system's error.
            Ok(true) | Err(_) => Ok(()),
        }
    }

    /// Makes the error for a `path` that cannot be read.
    pub(crate) fn unreadable(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |cause| Self::Unreadable { path, cause }
    }
}
