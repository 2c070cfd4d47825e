//! Clients whose state blocks have grown: all of these blocks are sent before the database has its name, and
//! samples begin above them.

use std::{fs, path::Path, sync::OnceLock};

use serde_json::Value;
use tempfile::TempDir;

use super::fake::written;
use crate::{
    found::geth,
    tool::{printed, stress, text},
};

/// An export of a grown state, `out`, and the number of its blocks.
fn grown() -> &'static (TempDir, usize) {
    static EXPORT: OnceLock<(TempDir, usize)> = OnceLock::new();
    EXPORT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let small = ["--gas", "3M", "--slots", "2k", "--set", "state.accounts=500"];
        let args = ["export", "--scenario", "sload-storm", "--grow", "--siblings", "4"];
        printed(&[&args[..], &small, &["--out", "out"]].concat(), dir.path());
        let manifest = fs::read(dir.path().join("out/export.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let block_count = manifest["grown"]["block_count"].as_u64().unwrap();
        (dir, block_count as usize)
    })
}

fn known(kept: &Path, name: &str) -> usize {
    fs::read_to_string(kept.join(name).join("known")).unwrap_or_default().lines().count()
}

#[test]
fn blocks_that_grow_the_state_are_sent_once_and_count_for_no_sample() {
    let (dir, block_count) = grown();
    let own = tempfile::tempdir().unwrap();
    let kept = own.path().join("kept");
    let file = written(own.path(), "fake", "", "", "");
    let args = ["client", "out", "--client", &file, "--client-data", kept.to_str().unwrap()];
    let args = [&args[..], &["--cache", "warm", "--samples", "1", "--format", "json"]].concat();
    let output = stress(&args, dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["clients"][0]["samples"].as_array().unwrap().len(), 2);
    assert_eq!(known(&kept, "fake"), block_count + 2);
    printed(&args, dir.path());
    assert_eq!(known(&kept, "fake"), block_count + 4, "the database that is kept has them");
}

#[test]
fn a_client_that_refuses_a_block_that_grows_its_state_leaves_no_database() {
    let (dir, block_count) = grown();
    let own = tempfile::tempdir().unwrap();
    let kept = own.path().join("kept");
    let file = written(own.path(), "fake", "", ", \"dies\"", "");
    let args = ["client", "out", "--client", &file, "--client-data", kept.to_str().unwrap()];
    let output = stress(&args, dir.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    assert!(error.contains(&format!("block 1 of {block_count} that grow the state")), "{error}");
    assert!(error.contains("fake: out of memory"), "{error}");
    assert!(!kept.join("fake").exists());
    // Calls that were cut off are known before anything is started.
    let cut = own.path().join("cut");
    fs::create_dir(&cut).unwrap();
    for entry in fs::read_dir(dir.path().join("out")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), cut.join(entry.file_name())).unwrap();
    }
    let calls = fs::read_to_string(cut.join("grow.txt")).unwrap();
    let first = calls.lines().next().unwrap();
    fs::write(cut.join("grow.txt"), first).unwrap();
    let output = stress(&["client", cut.to_str().unwrap(), "--client", &file], own.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("grow.txt: 1 calls for") && error.contains("export again"), "{error}");
}

#[test]
fn geth_grows_its_state_and_finds_the_block_valid_beside_our_designs() {
    let Some(geth) = geth() else { return };
    let (dir, _) = grown();
    let args = ["client", "out", "--client", "geth", "--program", geth.to_str().unwrap()];
    let ours = ["--design", "sequential", "--store", "memory", "--threads", "1"];
    let more = ["--samples", "1", "--format", "json"];
    let output = stress(&[&args[..], &ours, &more].concat(), dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["agree"], true);
    assert_eq!(result["clients"][0]["samples"].as_array().unwrap().len(), 1);
    let of_workload = result["workload"]["gas"].as_u64().unwrap();
    assert!(of_workload > 0 && result["cells"].as_array().unwrap().len() == 1, "{result}");
}
