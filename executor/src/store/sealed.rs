//! Small files that end in the BLAKE3 hash of the bytes before: a damaged one is noticed when it
//! is read.

use std::{fs, io, path::Path};

/// Writes `bytes` and their hash.
pub(super) fn write(path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    let seal = blake3::hash(&bytes);
    bytes.extend(seal.as_bytes());
    fs::write(path, bytes)
}

/// The bytes that [`write()`] was given.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] where the hash is another one.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = fs::read(path)?;
    let at = bytes.len().checked_sub(blake3::OUT_LEN).ok_or_else(|| damaged(path))?;
    let seal = bytes.split_off(at);
    if seal == *blake3::hash(&bytes).as_bytes() { Ok(bytes) } else { Err(damaged(path)) }
}

/// That the file at `path` differs from the written bytes.
pub(super) fn damaged(path: &Path) -> io::Error {
    let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
    io::Error::new(io::ErrorKind::InvalidData, format!("file {name} is damaged"))
}
