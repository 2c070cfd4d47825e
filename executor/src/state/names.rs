//! Names in a data directory, and the removal of entries.

use std::{fs, io, path::Path};

use super::error::StateError;

/// Between a state's name and the builder's process id.
pub(super) const BUILDING: &str = ".building-";

/// `<store>-<16 hex digits>`, with or without the mark of a half-built state: nothing else in a
/// data directory is ever looked into or removed.
pub(super) fn is_state_name(name: &str) -> bool {
    let base = name.split_once(BUILDING).map_or(name, |(base, _)| base);
    let is_hex = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
    !name.contains('/') && base.rsplit_once('-').is_some_and(|(_, hash)| is_hex(hash))
}

/// Removes a directory and all in it; fine when there is none.
pub(super) fn remove_dir(path: &Path) -> Result<(), StateError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(StateError::io("remove", path)),
    }
}
