//! Where clients' databases are kept for as long as a run lasts. A run that was killed leaves its
//! directory behind; the next one removes it. A directory has a living owner while its lock is
//! held.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::leftover;

const PREFIX: &str = ".stress-client-";
/// A directory has this file once its owner holds its lock.
const OWNED: &str = "owned";

/// A directory that is removed on drop.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
    /// Open, and so locked, as long as this process lives: children do not inherit it.
    _lock: File,
}

impl Scratch {
    /// A new directory beside `path`. Removes those that no living process owns.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn beside(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        let parent = path.parent().unwrap_or(Path::new("/"));
        remove_leftovers(parent);
        let cannot = || format!("{}: no directory for the clients' databases", parent.display());
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let dir = dir.with_context(cannot)?;
        let lock = File::open(dir.path()).with_context(cannot)?;
        flock(&lock, FlockOperation::LockExclusive).with_context(cannot)?;
        File::create(dir.path().join(OWNED)).with_context(cannot)?;
        Ok(Self { dir, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes the directories of runs that were killed, after the clients that still use them have ended. A
/// directory that cannot be removed stays: it is in nobody's way.
fn remove_leftovers(parent: &Path) {
    for dir in leftovers(parent).unwrap_or_default() {
        let Ok(lock) = File::open(&dir) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            leftover::end_all(&dir);
            drop(fs::remove_dir_all(&dir));
        }
    }
}

/// Directories that had an owner. One that is being made has none yet, and its lock is free.
fn leftovers(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_one && entry.path().join(OWNED).exists() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_an_owner_is_removed_and_one_with_an_owner_stays() {
        let parent = tempfile::tempdir().unwrap();
        let beside = parent.path().join("export");
        let living = Scratch::beside(&beside).unwrap();
        let dead = parent.path().join(".stress-client-dead");
        fs::create_dir_all(dead.join("geth")).unwrap();
        fs::write(dead.join(OWNED), "").unwrap();
        let begun = parent.path().join(".stress-client-begun");
        fs::create_dir(&begun).unwrap();
        let other = Scratch::beside(&beside).unwrap();
        assert!(!dead.exists());
        assert!(living.path().exists() && other.path().exists() && begun.exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
