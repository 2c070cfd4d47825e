//! One process per state: an exclusive lock on a file beside it, which names its holder. The
//! kernel drops the lock with the process, so a dead one never blocks.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::error::StateError;

/// `list` locks for a moment to see who is there: try again before giving up.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(15);

/// Purpose of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Purpose {
    Building,
    Measuring,
    Verifying,
    Removing,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Measuring => "measuring",
            Self::Verifying => "verifying",
            Self::Removing => "removing",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    purpose: Purpose,
    since_unix_s: u64,
}

/// The lock of one state, held until dropped.
#[derive(Debug)]
pub(super) struct StateLock {
    file: File,
    path: PathBuf,
}

impl StateLock {
    /// Takes the lock at `path` for state `name`, or says who has it.
    pub(super) fn acquire(path: &Path, name: &str, purpose: Purpose) -> Result<Self, StateError> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                thread::sleep(PAUSE);
            }
            if let Some(file) = try_exclusive(path)? {
                let lock = Self { file, path: path.to_path_buf() };
                lock.set_purpose(purpose)?;
                return Ok(lock);
            }
        }
        Err(StateError::InUse { name: name.to_owned(), holder: describe_holder(path) })
    }

    /// Writes the lock's present purpose into the file.
    pub(super) fn set_purpose(&self, purpose: Purpose) -> Result<(), StateError> {
        let holder = Holder { pid: std::process::id(), purpose, since_unix_s: unix_now_s() };
        let text = serde_json::to_vec(&holder).unwrap_or_default();
        let mut file = &self.file;
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(&text))
            .map_err(StateError::io("write the lock", &self.path))
    }

    /// Removes the file and lets go.
    pub(super) fn remove(self) -> Result<(), StateError> {
        std::fs::remove_file(&self.path).map_err(StateError::io("remove the lock", &self.path))
    }
}

/// The holder of the lock at `path`, if there is one now.
pub(super) fn current_holder(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(describe_holder(path)),
        _ => None,
    }
}

/// `None` while another has it.
fn try_exclusive(path: &Path) -> Result<Option<File>, StateError> {
    let open = StateError::io("open the lock", path);
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(open)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(source)) => {
            return Err(StateError::Io { action: "lock", path: path.to_path_buf(), source });
        }
    }
    // Between opening and locking, the holder before may have removed the file: a lock on a
    // file without a name locks nothing.
    let same = match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
        _ => false,
    };
    Ok(same.then_some(file))
}

fn describe_holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    let holder = read.ok().and_then(|_| serde_json::from_str::<Holder>(&text).ok());
    holder.map_or_else(
        || "another process".to_owned(),
        |holder| {
            let seconds = unix_now_s().saturating_sub(holder.since_unix_s);
            format!("process {} ({} for {seconds} s)", holder.pid, holder.purpose.name())
        },
    )
}

/// Now, in seconds since 1970.
pub(super) fn unix_now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_and_names_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let first = StateLock::acquire(&path, "a", Purpose::Building).unwrap();
        let refused = StateLock::acquire(&path, "a", Purpose::Measuring).unwrap_err().to_string();
        let pid = std::process::id();
        assert!(refused.contains(&format!("process {pid} (building")), "{refused}");
        assert!(current_holder(&path).is_some());
        drop(first);
        assert!(current_holder(&path).is_none());
        StateLock::acquire(&path, "a", Purpose::Measuring).unwrap().remove().unwrap();
        assert!(!path.exists());
    }
}
