//! Workload files as others read them: `stress show` prints the file's contents, key by key, and
//! nothing else.

use std::{fs, path::Path};

use serde_json::Value;
use workload::{file, json::WorkloadJson};

use crate::tool::{printed, stress, text};

/// Writes a small workload file, and gives its name.
fn generate(dir: &Path) -> &'static str {
    let args = ["generate", "sload-storm", "--gas", "2M", "--slots", "5k", "-o", "a.workload"];
    printed(&[&args[..], &["--set", "state.accounts=100"]].concat(), dir);
    "a.workload"
}

#[test]
fn show_prints_a_workload_file_as_the_json_of_what_the_files_reader_gives() {
    let dir = tempfile::tempdir().unwrap();
    let name = generate(dir.path());
    let shown = printed(&["show", "--workload", name, "--json"], dir.path());
    let workload = file::read(&dir.path().join(name)).unwrap();
    let expected = serde_json::to_string(&WorkloadJson::new(&workload)).unwrap();
    assert_eq!(shown, expected + "\n");
    assert_eq!(printed(&["show", name, "--json"], dir.path()), shown, "a word names it, too");
    let json: Value = serde_json::from_str(&shown).unwrap();
    let described = printed(&["describe", name, "--json"], dir.path());
    let described: Value = serde_json::from_str(&described).unwrap();
    assert_eq!(json["digest"], described["workload"]["digest"]);
    // Without --json, the keys of the scenario that decide the work.
    let keys = printed(&["show", name], dir.path());
    assert!(keys == workload.work && keys.contains("fork = \"amsterdam\""), "{keys}");
}

#[test]
fn what_cannot_be_shown_is_one_error_that_says_what_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let name = generate(dir.path());
    let refused = |args: &[&str], code: i32, words: &str| {
        let output = stress(&[&["show"], args].concat(), dir.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert_eq!(error.matches("error:").count(), 1, "{args:?}: {error}");
        assert!(error.contains(words) && output.stdout.is_empty(), "{args:?}: {error}");
    };
    refused(&["sload-storm", "--json"], 2, "stress generate");
    refused(&[name, "--gas", "3M"], 2, "--gas 3M: a workload file is shown as it is");
    refused(&[name, "--design", "full"], 2, "--design full");
    refused(&[name, "--quick"], 2, "--quick");
    refused(&[name, "sload-storm"], 2, "name one scenario or one workload file");
    refused(&["missing.workload", "--json"], 2, "missing.workload");
    let path = dir.path().join(name);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    refused(&[name, "--json"], 6, &format!("{name}: the file is damaged"));
}
