//! The lock of a state: an exclusive lock on a file beside the state's directory, so that only one
//! process uses the state. The file names the process that holds the lock, and records the time of
//! the last run. The kernel releases the lock when the process ends, so a dead process never blocks
//! others.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::error::StateError;

/// Number of attempts to take a lock. One attempt may fail on a free lock: `DataDir::list` holds a
/// shared lock for a moment, to find out whether the lock is held.
const ATTEMPTS: u32 = 4;
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(15);
/// Beginning of the text in every lock file. An interrupted write keeps it.
const TEXT_PREFIX: &str = r#"{"pid":"#;
/// Maximal number of bytes that are read from a lock file.
const TEXT_BYTES_MAX: u64 = 4_096;

/// Purpose for which a process holds a lock.
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

    /// Returns whether the holder uses the state for a run.
    const fn is_use(self) -> bool {
        matches!(self, Self::Building | Self::Measuring)
    }
}

/// The text in a lock file.
#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    purpose: Purpose,
    since_unix_s: u64,
    /// Time of the last run that opened the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used_unix_s: Option<u64>,
}

impl Holder {
    /// Reads the text of the lock file at `path`; `None` if there is no lock file, or its text is
    /// damaged.
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_str(&open(path, &mut OpenOptions::new()).ok()?.1).ok()
    }
}

/// The lock of a state, held until drop.
#[derive(Debug)]
pub(super) struct StateLock {
    file: File,
    path: PathBuf,
}

impl StateLock {
    /// Takes the lock at `path` for state `name`. Fails with the holder if another process holds
    /// it.
    pub(super) fn acquire(path: &Path, name: &str, purpose: Purpose) -> Result<Self, StateError> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                thread::sleep(PAUSE);
            }
            if let Some(file) = try_exclusive(path)? {
                let lock = Self { file, path: path.to_path_buf() };
                let written = lock.set_purpose(purpose);
                // A removal goes on if the purpose cannot be written, since the device may be full.
                if purpose != Purpose::Removing {
                    written?;
                }
                return Ok(lock);
            }
        }
        Err(StateError::InUse { name: name.to_owned(), holder: describe_holder(path) })
    }

    /// Writes the present purpose of the lock into the file. Only a run counts as a use of the
    /// state. Other purposes keep the recorded time of the last use.
    pub(super) fn set_purpose(&self, purpose: Purpose) -> Result<(), StateError> {
        let now_unix_s = unix_now_s();
        let used_unix_s = match purpose.is_use() {
            true => Some(now_unix_s),
            false => last_used_unix_s(&self.path),
        };
        let (pid, since_unix_s) = (std::process::id(), now_unix_s);
        let holder = Holder { pid, purpose, since_unix_s, used_unix_s };
        let text = serde_json::to_vec(&holder).unwrap_or_default();
        let mut file = &self.file;
        // The file is truncated last, so that a full device does not destroy the earlier text.
        file.rewind()
            .and_then(|()| file.write_all(&text))
            .and_then(|()| file.set_len(text.len() as u64))
            .map_err(StateError::io("write the lock", &self.path))
    }

    /// Removes the lock file and releases the lock.
    pub(super) fn remove(self) -> Result<(), StateError> {
        fs::remove_file(&self.path).map_err(StateError::io("remove the lock", &self.path))
    }
}

/// Returns the time, in seconds since 1970, of the last run that opened the state of the lock at
/// `path`. `None` if no time is recorded.
pub(super) fn last_used_unix_s(path: &Path) -> Option<u64> {
    let Holder { purpose, since_unix_s, used_unix_s, .. } = Holder::read(path)?;
    // An older build has recorded only when it took the lock.
    used_unix_s.or(purpose.is_use().then_some(since_unix_s))
}

/// Returns whether the file at `path` is a lock file that `stress` wrote.
pub(super) fn is_lock(path: &Path) -> bool {
    open(path, &mut OpenOptions::new()).is_ok_and(|(_, text)| !text.is_empty())
}

/// Opens a lock file. Creates it if it does not exist. Follows no symbolic link, and does not block
/// if `path` is a pipe.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn lock_file(path: &Path) -> io::Result<File> {
    open_file(path, OpenOptions::new().write(true).create(true).truncate(false))
}

fn open_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let options = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Returns whether `path` still names `file`. Between opening and locking, the earlier holder may
/// have removed the file. A lock on a removed file protects nothing.
pub fn is_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
        _ => false,
    }
}

/// Opens the lock file at `path`, and reads its text.
///
/// # Errors
/// [`StateError::Foreign`] if `path` is not a regular file, or its text is not that of a lock.
fn open(path: &Path, options: &mut OpenOptions) -> Result<(File, String), StateError> {
    let file = open_file(path, options).map_err(|error| match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => StateError::Foreign { path: path.to_path_buf() },
        _ => StateError::io("open the lock", path)(error),
    })?;
    let mut text = String::new();
    let is_text = (&file).take(TEXT_BYTES_MAX).read_to_string(&mut text).is_ok();
    // An empty file is a lock file whose text was not written.
    match is_text && (text.is_empty() || text.starts_with(TEXT_PREFIX)) {
        true => Ok((file, text)),
        false => Err(StateError::Foreign { path: path.to_path_buf() }),
    }
}

/// Returns a description of the process that holds the lock at `path` now; `None` if the lock is
/// free.
pub(super) fn current_holder(path: &Path) -> Option<String> {
    let (file, _) = open(path, &mut OpenOptions::new()).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(describe_holder(path)),
        _ => None,
    }
}

/// Tries to take the lock once; `None` if another process holds it.
fn try_exclusive(path: &Path) -> Result<Option<File>, StateError> {
    let (file, _) = open(path, OpenOptions::new().write(true).create(true).truncate(false))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(source)) => {
            return Err(StateError::Io { action: "lock", path: path.to_path_buf(), source });
        }
    }
    Ok(is_named(&file, path).then_some(file))
}

fn describe_holder(path: &Path) -> String {
    Holder::read(path).map_or_else(
        || "another process".to_owned(),
        |holder| {
            let seconds = unix_now_s().saturating_sub(holder.since_unix_s);
            format!("process {} ({} for {seconds} s)", holder.pid, holder.purpose.name())
        },
    )
}

/// Returns the current time, in seconds since 1970.
pub(super) fn unix_now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_lock_that_is_a_link_is_refused_and_its_target_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("notes"), dir.path().join("lock"));
        fs::write(&target, "mine").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(lock_file(&link).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        fs::remove_file(&link).unwrap();
        lock_file(&link).unwrap().try_lock().unwrap();
    }

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
        // A child process of another test inherits the lock's file, and holds it until it runs its
        // program.
        let is_free = || {
            thread::sleep(PAUSE);
            current_holder(&path).is_none()
        };
        assert!((0..100).any(|_| is_free()));
        StateLock::acquire(&path, "a", Purpose::Measuring).unwrap().remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_lock_of_this_program_is_neither_taken_nor_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let refused = |what: &str| {
            let taken = StateLock::acquire(&path, "a", Purpose::Measuring);
            assert!(matches!(taken, Err(StateError::Foreign { .. })), "{what}: {taken:?}");
            assert!(!is_lock(&path) && current_holder(&path).is_none(), "{what}");
            assert_eq!(last_used_unix_s(&path), None, "{what}");
        };
        let of_others = dir.path().join("of-others");
        for text in ["my notes", "{}"] {
            fs::write(&path, text).unwrap();
            refused(text);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
        fs::write(&of_others, "").unwrap();
        for target in ["of-others", "nothing"] {
            std::os::unix::fs::symlink(target, &path).unwrap();
            refused("a link");
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(fs::read_to_string(&of_others).unwrap(), "");
        assert!(!dir.path().join("nothing").exists());
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused("a pipe");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        refused("a directory");
        fs::remove_dir(&path).unwrap();
        // A text that was cut off is ours.
        for text in ["", r#"{"pid":12"#] {
            fs::write(&path, text).unwrap();
            drop(StateLock::acquire(&path, "a", Purpose::Measuring).unwrap());
            assert!(is_lock(&path));
        }
    }

    #[test]
    fn only_runs_are_a_use_and_others_leave_its_record() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let acquire = |purpose| drop(StateLock::acquire(&path, "a", purpose).unwrap());
        assert_eq!(last_used_unix_s(&path), None, "there is no lock");
        acquire(Purpose::Verifying);
        assert_eq!(last_used_unix_s(&path), None, "nothing has opened it to measure");
        let long_ago = |purpose: &str| {
            let text = format!(r#"{{"pid":123456789,"purpose":"{purpose}","since_unix_s":77}}"#);
            fs::write(&path, text).unwrap();
        };
        // Text of a lock by a build without this record.
        long_ago("verifying");
        assert_eq!(last_used_unix_s(&path), None);
        long_ago("measuring");
        for purpose in [Purpose::Verifying, Purpose::Removing] {
            acquire(purpose);
            assert_eq!(last_used_unix_s(&path), Some(77), "{}", purpose.name());
        }
        for purpose in [Purpose::Building, Purpose::Measuring] {
            long_ago("removing");
            acquire(purpose);
            assert!(last_used_unix_s(&path) > Some(1_600_000_000), "{}", purpose.name());
        }
        // A longer earlier text is truncated.
        assert!(serde_json::from_slice::<Holder>(&fs::read(&path).unwrap()).is_ok());
    }
}
