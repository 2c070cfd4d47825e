//! Finds, checks and makes the directory of state databases, for all verbs.

use std::{
    fs,
    io::ErrorKind::NotFound,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use executor::state::{self, DataDir};

use crate::terminal::{self, Code, Failure, WithExitCode};

/// The environment variable for `--data-dir`.
const VARIABLE: &str = "STRESS_DATA_DIR";

/// Checks the value of `--data-dir`. A missing directory is made when it is first needed. Missing
/// parents are made only if the environment names the directory: elsewhere a missing parent is a
/// mistyped path.
///
/// # Errors
/// The path is a file, or its parent directory does not exist.
pub fn check_data_dir(path: PathBuf) -> Result<PathBuf, String> {
    let is_of_environment = std::env::var_os(VARIABLE).is_some_and(|value| *value == *path);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    for at in [Some(&*path), parent].into_iter().flatten() {
        if fs::metadata(at).is_ok_and(|facts| !facts.is_dir()) {
            return Err(format!("{} is a file; name a directory", at.display()));
        }
    }
    // A directory that cannot be examined counts as there: opening it later gives the reason.
    let is_there =
        |at: &Path| fs::metadata(at).map_or_else(|error| error.kind() != NotFound, |_| true);
    match parent {
        Some(parent) if !is_there(&path) && !is_there(parent) && !is_of_environment => {
            Err(format!(
                "there is no directory {}; correct the path, or make it: mkdir -p '{}'",
                parent.display(),
                path.display()
            ))
        }
        _ => Ok(path),
    }
}

/// Returns the path of the data directory, which may not exist: the requested path, or one in the
/// user's cache.
pub fn data_path(asked: Option<&Path>) -> Option<PathBuf> {
    asked.map(Path::to_path_buf).or_else(state::default_data_dir)
}

/// Returns the path of the data directory, as [`data_path`] does, or an error without a path.
///
/// # Errors
/// There is no default path.
pub fn known_data_path(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = data_path(asked).ok_or_else(|| {
        anyhow!("neither XDG_CACHE_HOME nor HOME is set: name a directory with --data-dir")
    });
    path.with_exit_code(Code::Usage)
}

/// Opens the data directory at the requested or default path, and makes it if it does not exist.
///
/// # Errors
/// There is no default path, or the directory cannot be made.
pub fn data_dir(asked: Option<&Path>) -> Result<DataDir, Failure> {
    let path = known_data_path(asked)?;
    let is_new = !path.exists();
    let dir = DataDir::open(&path).with_exit_code(Code::Io)?;
    if is_new {
        terminal::note(&format!("made the directory for state databases: {}", path.display()));
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_directory_that_is_not_there_is_refused_and_a_new_one_in_its_place_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let below = |name: &str| dir.path().join(name).display().to_string();
        for name in ["", "new", "new/"] {
            let path = below(name);
            assert_eq!(check_data_dir(path.clone().into()), Ok(PathBuf::from(path)));
        }
        assert_eq!(check_data_dir("relative".into()), Ok(PathBuf::from("relative")));
        let error = check_data_dir(below("mistyped/new").into()).expect_err("no parent");
        for words in [&below("mistyped"), "there is no directory", "mkdir -p"] {
            assert!(error.contains(words), "{words}: {error}");
        }
        fs::write(dir.path().join("file"), "").expect("a file");
        for name in ["file", "file/below"] {
            let error = check_data_dir(below(name).into()).expect_err("a file");
            assert!(error.contains("file is a file; name a directory"), "{error}");
        }
        assert!(!dir.path().join("mistyped").exists() && !dir.path().join("new").exists());
    }
}
