//! Names of the entries of a data directory. Makes, recognises and removes directories that have
//! the mark of `stress`, an empty file `.stress`: half-built states, samples, scratch directories.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use super::error::StateError;

/// Separator between a state's name and a process id, in the name of a directory that this process
/// builds or removes.
pub(super) const BUILDING: &str = ".building-";

/// Ending of the names of lock files.
pub(super) const LOCK: &str = ".lock";

/// Name of the file that marks a directory which `stress` made and may remove with all contents.
pub(super) const MARK: &str = ".stress";

/// Returns the name of a complete state for its own name, or for the name of a half-built state.
pub(super) fn base_name(name: &str) -> &str {
    name.split_once(BUILDING).map_or(name, |(base, _)| base)
}

/// Returns whether `name` is `<store>-<16 hex digits>`, with or without the ending of a half-built
/// state. Other entries of a data directory are ignored.
pub(super) fn is_state_name(name: &str) -> bool {
    let hash = base_name(name).rsplit_once('-').map_or("", |(_, hash)| hash);
    !name.contains('/') && hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Makes a directory with the mark. Returns false if the name is taken.
pub(crate) fn make_marked(path: &Path) -> Result<bool, StateError> {
    match fs::create_dir(path) {
        Ok(()) => mark(path).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(StateError::io("make", path)(error)),
    }
}

/// Marks a directory that `stress` made.
pub(super) fn mark(path: &Path) -> Result<(), StateError> {
    let mark = path.join(MARK);
    File::create(&mark).map(drop).map_err(StateError::io("make", mark))
}

/// Returns whether `path` is a directory with the mark, which may be removed. A symbolic link does
/// not count.
pub(crate) fn is_marked(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
        && fs::symlink_metadata(path.join(MARK)).is_ok_and(|metadata| metadata.is_file())
}

/// Removes a marked directory with all contents. The mark is removed last, so that a later call can
/// finish an interrupted removal. Succeeds if the directory does not exist.
pub(crate) fn remove_marked(path: &Path) -> Result<(), StateError> {
    match remove_mark_last(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => Ok(()),
        other => other.map_err(StateError::io("remove", path)),
    }
}

fn remove_mark_last(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false if entry.file_name() == MARK => {}
            false => fs::remove_file(entry.path())?,
        }
    }
    // The mark may be missing, if the device was too full for it.
    let unmarked = fs::remove_file(path.join(MARK));
    if unmarked.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
        return unmarked;
    }
    fs::remove_dir(path)
}
