//! The lock of a cell, so that one process runs it: an exclusive lock on a file that names the
//! holder. `dir` takes it for each cell, and `stress limit` for its directory. The kernel releases
//! the lock if its process dies. On a file system without locks, several processes may run a cell,
//! and the first result stays.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Seek, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use executor::state::{is_named, lock_file};

/// Beginning of the text in a lock file. The process id follows.
const SIGNED: &str = "process ";

/// The lock of a cell. Drop removes its file and releases it.
#[derive(Debug)]
pub struct CellLock {
    file: File,
    path: PathBuf,
    is_exclusive: bool,
}

impl CellLock {
    /// Takes the lock at `path`; `None` while another process has it.
    ///
    /// # Errors
    /// The file cannot be made or written, or is no lock file.
    pub fn try_take(path: &Path) -> Result<Option<Self>> {
        let file =
            lock_file(path).with_context(|| format!("cannot open the lock {}", path.display()))?;
        let is_exclusive = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(_)) => false,
        };
        if is_exclusive && !is_named(&file, path) {
            return Ok(None);
        }
        let text = io::read_to_string(&file).ok();
        if text.is_none_or(|text| !text.is_empty() && !text.starts_with(SIGNED)) {
            bail!("{} is no lock of stress: move it away", path.display());
        }
        let lock = Self { file, path: path.to_owned(), is_exclusive };
        lock.sign().with_context(|| format!("cannot write the lock {}", path.display()))?;
        Ok(Some(lock))
    }

    /// Whether the lock excludes other processes: not on a file system without locks.
    pub const fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    fn sign(&self) -> io::Result<()> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "{SIGNED}{} on {}", std::process::id(), host.trim())
    }
}

impl Drop for CellLock {
    fn drop(&mut self) {
        // Removed before the lock is released: a process that opened this file finds it without a
        // name, and tries again.
        drop(fs::remove_file(&self.path));
    }
}

/// Returns the holder of the lock at `path`; `None` if the lock is free.
pub fn holder(path: &Path) -> Option<String> {
    // A file of another kind is no lock, and opening a pipe would block.
    fs::symlink_metadata(path).ok().filter(|facts| facts.is_file())?;
    let file = File::open(path).ok()?;
    let Err(TryLockError::WouldBlock) = file.try_lock_shared() else { return None };
    let text = io::read_to_string(file).ok().filter(|text| !text.is_empty());
    Some(text.unwrap_or_else(|| "another process".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_and_the_holder_is_named_until_it_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cell.lock");
        let first = CellLock::try_take(&path).unwrap().expect("free");
        assert!(first.is_exclusive());
        assert!(CellLock::try_take(&path).unwrap().is_none());
        let pid = std::process::id();
        assert!(holder(&path).unwrap().contains(&format!("process {pid} on ")));
        drop(first);
        assert!(!path.exists() && holder(&path).is_none());
        assert!(CellLock::try_take(&path).unwrap().is_some());
        // A file of somebody else is neither written nor removed.
        fs::write(&path, "my notes").unwrap();
        let error = CellLock::try_take(&path).unwrap_err().to_string();
        assert!(error.contains("is no lock of stress"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "my notes");
    }
}
