//! State databases as a user keeps house: which of them go by age, by size or all together, and
//! which always stay.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::tool::{printed, stress, text};

const RUN: [&str; 14] = [
    "sload-storm",
    "--gas",
    "1M",
    "--slots",
    "10k",
    "--design",
    "sequential",
    "--threads",
    "1",
    "--samples",
    "1",
    "--quiet",
    "--whole=none",
    "--store",
];

/// A directory of two states: their names, that of the flat store first.
fn two_states() -> (tempfile::TempDir, [String; 2]) {
    let dir = tempfile::tempdir().unwrap();
    printed(&[&RUN[..], &["rocksdb,flat"]].concat(), dir.path());
    let list = printed(&["state", "list"], dir.path());
    let names: Vec<_> =
        list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    let names: [String; 2] = names.try_into().unwrap();
    assert!(names[0].starts_with("flat-") && names[1].starts_with("rocksdb-"), "{list}");
    assert!(list.lines().all(|line| line.contains("  used  20")), "{list}");
    (dir, names)
}

fn lock(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.lock"))
}

/// Lets the last use of a state be long ago.
fn age(dir: &Path, name: &str) {
    let holder = r#"{"pid":1,"purpose":"verifying","since_unix_s":2000,"used_unix_s":1000}"#;
    fs::write(lock(dir, name), holder).unwrap();
}

fn names(dir: &Path) -> Vec<String> {
    let list = printed(&["state", "list"], dir);
    list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn only_states_without_a_use_for_so_long_go_and_a_dry_run_removes_none() {
    let (dir, [flat, rocksdb]) = two_states();
    let dir = dir.path();
    assert_eq!(printed(&["state", "rm", "--older-than", "1d"], dir), "", "both are new");
    let listed = stress(&["state", "list"], dir);
    assert!(text(&listed.stderr).starts_with("2 states, "), "{}", text(&listed.stderr));
    // One without a record is as old as its creation: never as if it had never been used.
    fs::remove_file(lock(dir, &rocksdb)).unwrap();
    age(dir, &flat);
    let old = ["state", "rm", "--older-than", "30d"];
    let output = stress(&[&old[..], &["--dry-run"]].concat(), dir);
    assert_eq!(output.status.code(), Some(0));
    let listed = text(&output.stdout);
    assert!(listed.starts_with(&format!("would remove {flat}  ")), "{listed}");
    assert!(listed.contains("used  1970-01-01 00:16 UTC") && listed.lines().count() == 1);
    let told = text(&output.stderr);
    assert!(told.starts_with("would remove 1 state and free "), "{told}");
    assert_eq!(names(dir), [flat.clone(), rocksdb.clone()]);
    let removed = printed(&old, dir);
    assert!(removed.starts_with(&format!("removed {flat}  ")), "{removed}");
    assert_eq!(names(dir), [rocksdb.as_str()]);
    let listed = stress(&["state", "list"], dir);
    assert!(text(&listed.stderr).starts_with("1 state, "), "{}", text(&listed.stderr));
    assert!(!lock(dir, &flat).exists(), "its lock goes with it");
    // A run is a use.
    age(dir, &rocksdb);
    printed(&[&RUN[..], &["rocksdb"]].concat(), dir);
    assert_eq!(printed(&old, dir), "");
}

#[test]
fn the_least_recently_used_goes_first_and_all_are_all_but_those_in_use_and_of_others() {
    let (dir, [flat, rocksdb]) = two_states();
    let dir = dir.path();
    let of_others = dir.join("photos-0123456789abcdef");
    fs::create_dir(&of_others).unwrap();
    let half_built = format!("{rocksdb}.building-1");
    let leave_half_built = || {
        fs::create_dir(dir.join(&half_built)).unwrap();
        // The mark of a directory that the program may remove.
        fs::write(dir.join(&half_built).join(".stress"), "").unwrap();
    };
    leave_half_built();
    age(dir, &flat);
    // The half-built one is empty, and goes first. The first state that goes makes room enough.
    let states = fs::read_dir(dir.join(&rocksdb)).unwrap();
    let bytes: u64 = states.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    let kept = printed(&["state", "rm", "--keep", &format!("{bytes}B")], dir);
    let lines: Vec<_> = kept.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(lines, [half_built.as_str(), &flat], "{kept}");
    leave_half_built();
    // Another process uses it.
    let held = fs::File::open(lock(dir, &rocksdb)).unwrap();
    held.lock().unwrap();
    let output = stress(&["state", "rm", "--all"], dir);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    for words in [&rocksdb, &half_built, "in use by", "maybe of another program"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(text(&output.stderr).contains("removed 0 states, 0 B freed"), "{told}");
    let output = stress(&["state", "rm", "--keep", "1k"], dir);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("more than --keep 1k: states in use stay"));
    drop(held);
    let told = printed(&["state", "rm", "--all"], dir);
    assert_eq!(told.lines().filter(|line| line.starts_with("removed ")).count(), 2, "{told}");
    assert!(of_others.is_dir());
    assert_eq!(names(dir), ["photos-0123456789abcdef"]);
    let left = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let locks = left.filter(|name| name.to_string_lossy().ends_with(".lock"));
    assert_eq!(locks.count(), 0, "no lock is left");
}

#[test]
fn what_is_to_be_removed_is_named_in_one_way_and_wrong_ones_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], code: i32, words: &str| {
        let output = stress(&[&["state", "rm"], args].concat(), dir.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(words) && error.matches("error:").count() == 1, "{error}");
    };
    refused(&[], 2, "--older-than");
    refused(&["--dry-run"], 2, "--keep");
    refused(&["--all", "--keep", "1G"], 2, "cannot be used with");
    refused(&["flat-0123456789abcdef", "--all"], 2, "cannot be used with");
    refused(&["--older-than", "30"], 2, "--older-than 30: a number and s, m, h, d or w");
    refused(&["--keep", "20"], 2, "--keep 20: a number and k, M, G or T");
    for more in [&[][..], &["--dry-run"]] {
        refused(&[&["flat-0123456789abcdef"], more].concat(), 2, "no state flat-0123456789abcdef");
        refused(&[&["samples"], more].concat(), 2, "no state samples");
    }
}

/// One sample with a state root.
const ROOTED: [&str; 4] = ["--set", "run.trie=cut", "--set", "run.root=after"];

#[test]
fn a_state_with_tries_is_listed_with_its_nodes_and_verified() {
    let dir = tempfile::tempdir().unwrap();
    printed(&[&RUN[..], &["rocksdb,mdbx,flat"], &ROOTED[..]].concat(), dir.path());
    let list = printed(&["state", "list"], dir.path());
    let of_tries = list.lines().filter(|line| line.contains("  tries cut at 16 rows ("));
    assert_eq!((of_tries.count(), list.lines().count()), (3, 3), "{list}");
    let verified = |name: &String| {
        let said = printed(&["state", "verify", name], dir.path());
        let (verdict, depths) = said.split_once("\n\nStored nodes (cut at 16 rows) ").unwrap();
        let all = depths.lines().last().unwrap();
        assert!(all.trim_start().starts_with("all ") && depths.lines().all(|line| line.len() < 80));
        let (_, root) = verdict.split_once("all nodes of tries are those of the rows, ").unwrap();
        root.to_owned()
    };
    let roots: Vec<_> = names(dir.path()).iter().map(verified).collect();
    assert!(roots[0].starts_with("state root 0x") && roots.iter().all(|root| *root == roots[0]));
}

/// MDBX has no checksums: the wrong node is read, and the check of the root finds it.
#[test]
fn a_wrong_node_on_disk_is_a_disagreement() {
    let dir = tempfile::tempdir().unwrap();
    // Keys that are drawn anew write below the changed node in some runs: its hash is then replaced unread.
    let run = [&RUN[..], &["mdbx"], &ROOTED[..], &["--set", "run.keys=same"]].concat();
    printed(&run, dir.path());
    let path = dir.path().join(&names(dir.path())[0]).join("state.mdbx");
    let mut bytes = fs::read(&path).unwrap();
    // Flags and length of a key, and the key of the topmost node of the accounts.
    let top = [0, 0, 2, 0, 1, 0x11];
    let places = bytes.windows(top.len()).enumerate().filter(|(_, part)| *part == top);
    let places: Vec<_> = places.map(|(place, _)| place).collect();
    assert!(!places.is_empty());
    // Pages that were written again are there twice.
    let flip = |bytes: &mut Vec<u8>| {
        places.iter().for_each(|place| bytes[place + top.len() + 60] ^= 1);
        fs::write(&path, bytes).unwrap();
    };
    flip(&mut bytes);
    let output = stress(&run, dir.path());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    flip(&mut bytes);
    printed(&run, dir.path());
}

#[test]
fn a_mistyped_data_directory_is_refused_and_one_that_is_made_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let run: Vec<&str> = RUN.iter().copied().filter(|word| *word != "--quiet").collect();
    let at = |path: &str| stress(&[&run[..], &["flat", "--data-dir", path]].concat(), dir);
    let refused = at("mistyped/data");
    let error = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{error}");
    for words in ["--data-dir", "no directory mistyped", "mkdir -p 'mistyped/data'"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(!dir.join("mistyped").exists());
    let note = "made the directory for state databases: data\n";
    for is_made in [true, false] {
        let output = at("data");
        let log = text(&output.stderr);
        assert_eq!((output.status.code(), log.contains(note)), (Some(0), is_made), "{log}");
    }
}
