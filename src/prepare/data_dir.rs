//! Where state databases are kept.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use executor::state::{self, DataDir};

use crate::exit::{Code, Failure, OrExit};

/// Where the data directory is or will be: where it was asked for, or in the user's cache.
pub fn data_path(asked: Option<&Path>) -> Option<PathBuf> {
    asked.map(Path::to_path_buf).or_else(state::default_data_dir)
}

/// The same where it is needed.
///
/// # Errors
/// There is no default.
pub fn known_data_path(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = data_path(asked).ok_or_else(|| {
        anyhow!("neither XDG_CACHE_HOME nor HOME is set: name a directory with --data-dir")
    });
    path.or_exit(Code::Usage)
}

/// The data directory that was asked for, or the default one; made where it does not exist.
///
/// # Errors
/// There is no default, or the directory cannot be made.
pub fn data_dir(asked: Option<&Path>) -> Result<DataDir, Failure> {
    DataDir::open(&known_data_path(asked)?).or_exit(Code::Io)
}
