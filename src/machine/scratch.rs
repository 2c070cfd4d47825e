//! Scratch directories, which are removed when this process does not need them any more. A killed
//! process leaves its directory behind, and the next process with the same purpose removes it. A
//! directory has a living owner while its lock is held.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::{
    fs::{FlockOperation, flock},
    process::geteuid,
};
use tempfile::TempDir;

/// Name of a file that a directory gets once its owner holds the lock.
pub const OWNED: &str = "owned";

/// A directory that is removed on drop.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
    /// The open file holds the lock as long as this process lives. Children do not inherit it.
    _lock: File,
}

impl Scratch {
    /// Makes a new directory in `parent`, whose name begins with `prefix`. Removes this user's
    /// directories of that prefix without a living owner, and calls `before` with each of them
    /// first.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn below(parent: &Path, prefix: &str, before: fn(&Path)) -> Result<Self> {
        remove_leftovers(parent, prefix, before);
        let cannot = || format!("cannot make a directory in {}", parent.display());
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(parent);
        let dir = dir.with_context(cannot)?;
        let lock = File::open(dir.path()).with_context(cannot)?;
        flock(&lock, FlockOperation::LockExclusive).with_context(cannot)?;
        File::create(dir.path().join(OWNED)).with_context(cannot)?;
        Ok(Self { dir, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes the directories of killed processes. A directory that cannot be removed stays, and does
/// no harm.
fn remove_leftovers(parent: &Path, prefix: &str, before: fn(&Path)) {
    for dir in leftovers(parent, prefix).unwrap_or_default() {
        let Ok(lock) = File::open(&dir) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            before(&dir);
            drop(fs::remove_dir_all(&dir));
        }
    }
}

/// Returns the directories of this user that had an owner. A directory that is just being made has
/// no owner yet, and its lock is free.
///
/// # Errors
/// The parent cannot be listed.
pub fn leftovers(parent: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        let is_named = entry.file_name().to_string_lossy().starts_with(prefix);
        let is_own = is_named
            && fs::symlink_metadata(entry.path())
                .is_ok_and(|m| m.is_dir() && m.uid() == geteuid().as_raw());
        if is_own && fs::symlink_metadata(entry.path().join(OWNED)).is_ok_and(|m| m.is_file()) {
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
        let make = || Scratch::below(parent.path(), ".stress-test-", |_| ()).unwrap();
        let living = make();
        let dead = parent.path().join(".stress-test-dead");
        fs::create_dir_all(dead.join("geth")).unwrap();
        fs::write(dead.join(OWNED), "").unwrap();
        let begun = parent.path().join(".stress-test-begun");
        fs::create_dir(&begun).unwrap();
        let of_others = parent.path().join("of-others");
        fs::create_dir(&of_others).unwrap();
        fs::write(of_others.join(OWNED), "").unwrap();
        let link = parent.path().join(".stress-test-link");
        std::os::unix::fs::symlink("of-others", &link).unwrap();
        let other = make();
        assert!(!dead.exists());
        assert!(living.path().exists() && other.path().exists() && begun.exists());
        assert!(link.is_symlink() && of_others.join(OWNED).exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
