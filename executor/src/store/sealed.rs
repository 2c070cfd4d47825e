//! Small files that end in the BLAKE3 hash of their content, so that a read detects damage. The
//! stores `flat` and `mdbx` keep their indices in such files.

use std::{fs, io, path::Path};

/// Writes a file with `bytes` and their hash.
pub(super) fn write(path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    let seal = blake3::hash(&bytes);
    bytes.extend(seal.as_bytes());
    fs::write(path, bytes)
}

/// Reads the bytes that [`write()`] wrote.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if the hash differs.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = fs::read(path)?;
    let at = bytes.len().checked_sub(blake3::OUT_LEN).ok_or_else(|| damaged(path))?;
    let seal = bytes.split_off(at);
    if seal == *blake3::hash(&bytes).as_bytes() { Ok(bytes) } else { Err(damaged(path)) }
}

/// Makes the error of a damaged file at `path`.
pub(super) fn damaged(path: &Path) -> io::Error {
    let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
    io::Error::new(io::ErrorKind::InvalidData, format!("file {name} is damaged"))
}
