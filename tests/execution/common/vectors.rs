//! Test vectors with foreign blocks: their location, and their unpacking.

use std::path::{Path, PathBuf};

#[expect(clippy::print_stderr, reason = "tests that are skipped say so")]
pub(crate) fn vectors() -> Option<PathBuf> {
    let dir = std::env::var_os("STRESS_VECTORS").map(PathBuf::from);
    if dir.is_none() {
        eprintln!("STRESS_VECTORS is not set: blocks that nobody here wrote are NOT tested");
    }
    dir
}

pub(crate) fn json_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

pub(crate) fn unpack(archive: &Path) -> tempfile::TempDir {
    let unpacked = tempfile::tempdir().unwrap();
    let mut tar = std::process::Command::new("tar");
    let status = tar.arg("-xJf").arg(archive).arg("-C").arg(unpacked.path()).status();
    assert!(status.is_ok_and(|status| status.success()), "tar unpacks the vectors");
    unpacked
}
