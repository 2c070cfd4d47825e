//! Nodes of others that tests start, and the line that names a missing one. The line passes a
//! test's captured output, so a skipped test is visible also where all pass.

use std::{
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
};

/// The pinned anvil, which `contracts/run install` brings on Linux.
const PINNED_ANVIL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/contracts/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
);

/// Says which test is skipped.
pub(crate) fn skipped(reason: &str) {
    drop(writeln!(std::io::stderr(), "SKIPPED: {reason}"));
}

/// go-ethereum; `None`, said aloud, where there is none.
pub(crate) fn geth() -> Option<PathBuf> {
    let given = std::env::var_os("STRESS_GETH").map(PathBuf::from);
    let found = given.or_else(|| on_path("geth"));
    if found.is_none() {
        skipped("there is no geth on PATH, and STRESS_GETH names none");
    }
    found
}

/// anvil, the pinned one where it is installed; `None`, said aloud, where there is none.
pub(crate) fn anvil() -> Option<PathBuf> {
    let pinned = Some(PathBuf::from(PINNED_ANVIL)).filter(|path| path.is_file());
    let found = pinned.or_else(|| on_path("anvil"));
    if found.is_none() {
        skipped("there is no anvil on PATH, nor in contracts/node_modules (contracts/run install)");
    }
    found
}

fn on_path(name: &str) -> Option<PathBuf> {
    in_folders(&std::env::var_os("PATH").unwrap_or_default(), name)
}

/// The first file of this name in the folders of a search path.
fn in_folders(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|at| at.is_file())
}

#[test]
fn a_program_is_the_first_file_of_its_name_on_a_search_path() {
    let dir = tempfile::tempdir().unwrap();
    let folders = ["none", "folder", "first", "second"].map(|name| dir.path().join(name));
    std::fs::create_dir_all(folders[1].join("anvil")).unwrap();
    for folder in &folders[2..] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("anvil"), "").unwrap();
    }
    let path = std::env::join_paths(folders.iter().map(Path::new)).unwrap();
    assert_eq!(in_folders(&path, "anvil"), Some(folders[2].join("anvil")));
    assert_eq!(in_folders(&path, "geth"), None);
}
