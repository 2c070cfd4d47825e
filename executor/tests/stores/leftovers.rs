//! Leftovers in a data directory: this program removes its own, and leaves foreign ones.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{ffi::OsString, fs, path::Path};

use executor::state::{DataDir, StateError};
use workload::Layout;

use crate::{
    common::{FORMAT, genesis, open, spec},
    state::{Listener, verify},
};

/// Makes a directory with the mark of this program.
pub(crate) fn marked(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::write(path.join(".stress"), "").unwrap();
}

#[test]
fn what_is_of_others_stays_is_named_and_ends_no_run() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let name = open(data.path(), &genesis, Layout::Hashed).unwrap().name().to_owned();
    let at = |left: &str| data.path().join(left);
    let pid = std::process::id();
    let other = "flat-0123456789abcdef";
    let files = [
        format!("{name}.building-9.lock"),
        format!("{name}.building-{pid}"),
        format!("{other}.building-9"),
        format!("samples/{name}.0"),
        format!("samples/{name}.verify.notes"),
    ];
    let dirs = [format!("{name}.building-8"), format!("samples/{name}.1"), other.to_owned()];
    for dir in &dirs {
        fs::create_dir(at(dir)).unwrap();
        fs::write(at(dir).join("notes"), "mine").unwrap();
    }
    files.iter().for_each(|file| fs::write(at(file), "mine").unwrap());
    std::os::unix::fs::symlink(other, at(&format!("{name}.building-7"))).unwrap();
    let dir = DataDir::open(data.path()).unwrap();
    let listener = Listener::default();
    let state = dir.open_or_build(&spec(&genesis, Layout::Hashed), &listener, &listener.cancel);
    let state = state.unwrap();
    let notes = listener.notes.lock().unwrap().join("\n");
    for left in [&files[0], &files[1], &files[3], &dirs[0], &dirs[1]] {
        assert!(notes.contains(&format!("{left} has no mark of stress")), "{left}: {notes}");
    }
    let sample = state.new_sample_dir().unwrap();
    assert_eq!(sample.path().file_name().unwrap().to_str().unwrap(), format!("{name}.2"));
    drop((sample, state));
    verify(data.path(), &name).unwrap();
    // Neither a foreign directory named like a half-built state nor one named like a state can be
    // removed.
    for name in [&dirs[0], other] {
        assert!(matches!(dir.remove(name), Err(StateError::Foreign { .. })), "{name}");
    }
    assert!(matches!(dir.open_complete(other, &[&FORMAT]), Err(StateError::Foreign { .. })));
    assert!(!at(&format!("{other}.lock")).exists(), "a lock would prove that it is ours");
    dir.remove(&name).unwrap();
    open(data.path(), &genesis, Layout::Hashed).unwrap();
    for file in files.iter().cloned().chain(dirs.iter().map(|dir| format!("{dir}/notes"))) {
        assert_eq!(fs::read_to_string(at(&file)).unwrap(), "mine", "{file}");
    }
    assert!(at(&format!("{name}.building-7")).is_symlink());
}

#[test]
fn a_half_built_state_is_not_verified_and_leaves_no_lock() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let name = open(data.path(), &genesis, Layout::Hashed).unwrap().name().to_owned();
    let half = format!("{name}.building-9");
    marked(&data.path().join(&half));
    let error = verify(data.path(), &half).unwrap_err();
    assert!(matches!(error, StateError::HalfBuilt { .. }), "{error}");
    let lock = data.path().join(format!("{half}.lock"));
    assert!(!lock.exists());
    // A lock that an earlier version left is removed with the half-built state.
    fs::write(&lock, r#"{"pid":9,"purpose":"verifying","since_unix_s":1}"#).unwrap();
    open(data.path(), &genesis, Layout::Hashed).unwrap();
    let mut expected = [name.clone(), format!("{name}.lock"), "samples".to_owned()];
    expected.sort_unstable();
    let entries = fs::read_dir(data.path()).unwrap();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    found.sort_unstable();
    assert_eq!(found, expected.map(OsString::from));
}
