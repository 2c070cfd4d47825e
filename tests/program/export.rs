//! `stress export` as a user meets it: a directory that is whole or not there, and one clear error for
//! what cannot be exported.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::tool::{printed, stress, text};

const SMALL: [&str; 8] =
    ["--gas", "3M", "--slots", "2k", "--set", "state.accounts=500", "--seed", "7"];

/// Runs, expects this exit code and these words in one error, and nothing left in the folder.
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let args = [&["export"], args, &["--output", "out"]].concat();
    let output = stress(&args, dir.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(!error.contains("panicked"), "{args:?}: {error}");
    assert_eq!(error.matches("error:").count(), 1, "{args:?}: one error: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
    }
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert!(left.is_empty(), "{args:?} leaves {left:?}");
}

#[test]
fn all_forms_are_written_and_the_test_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let form = ["--form", "engine,rlp,eest,rows", "--siblings", "3", "--output", "out/storm"];
    let args = [&["export", "--scenario", "sstore-storm"][..], &SMALL, &form].concat();
    let said = printed(&args, dir.path());
    let out = dir.path().join("out/storm");
    let manifest: Value =
        serde_json::from_slice(&fs::read(out.join("export.json")).unwrap()).unwrap();
    assert_eq!(manifest["schema"], "stress-export/1");
    assert!(said.contains(manifest["genesis_hash"].as_str().unwrap()), "{said}");
    for file in manifest["files"].as_array().unwrap() {
        let path = out.join(file.as_str().unwrap());
        assert!(fs::metadata(&path).unwrap().len() > 0, "{}", path.display());
    }
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let named = manifest["files"].as_array().unwrap().len();
    assert_eq!(names.len(), named + 1, "and export.json, which names them: {names:?}");
    let calls = fs::read_to_string(out.join("payloads.txt")).unwrap();
    assert_eq!(calls.lines().count(), 6);
    assert_eq!(manifest["blocks"][0]["sibling_hashes"].as_array().unwrap().len(), 3);
    let beside: Vec<_> = fs::read_dir(dir.path().join("out")).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing is left beside it: {beside:?}");
    let test = out.join("blockchain_test.json");
    let import = ["import", "blockchain-test", test.to_str().unwrap(), "--output", "back.workload"];
    let said = printed(&import, dir.path());
    for what in ["state root", "receipts root", "list hash"] {
        assert!(said.contains(what), "{what} is in {said}");
    }
}

#[test]
fn a_workload_file_and_its_scenario_export_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = [&["sload-storm"][..], &SMALL].concat();
    printed(&[&["generate", "--output", "a.workload"], &scenario[..]].concat(), dir.path());
    printed(&["export", "a.workload", "--output", "a"], dir.path());
    let by_name = [&["export", "--scenario"], &scenario[..], &["--output", "b"]].concat();
    printed(&by_name, dir.path());
    for file in ["genesis.json", "payloads.txt", "export.json"] {
        let read = |name: &str| fs::read(dir.path().join(name).join(file)).unwrap();
        assert!(read("a") == read("b"), "{file}");
    }
}

#[test]
fn a_state_that_is_too_large_for_json_goes_into_rows() {
    let large = ["--scenario", "sload-storm", "--gas", "3M", "--slots", "1200k"];
    refused(&large, 2, &["1250000", "add rows to --form"]);
    refused(&[&large[..], &["--form", "eest,rows"]].concat(), 2, &["add rows to --form"]);
    let dir = tempfile::tempdir().unwrap();
    let args = [&["export"], &large[..], &["--form", "rows,engine", "--output", "out"]].concat();
    printed(&args, dir.path());
    let genesis = fs::read(dir.path().join("out/genesis-without-alloc.json")).unwrap();
    let genesis: Value = serde_json::from_slice(&genesis).unwrap();
    assert_eq!(genesis["alloc"], json!({}));
    let slots = fs::metadata(dir.path().join("out/slots.rows")).unwrap().len();
    assert_eq!(slots, 96 * 1_200_000);
    assert!(!dir.path().join("out/genesis.json").exists());
}

#[test]
fn what_cannot_be_exported_is_one_error_and_leaves_nothing() {
    let storm = ["--scenario", "sload-storm"];
    refused(&[], 2, &["WORKLOAD"]);
    refused(&["no.workload"], 6, &["no.workload"]);
    refused(&["no.workload", "--gas", "3M"], 2, &["--gas 3M", "fixed"]);
    refused(&[&storm[..], &["--siblings", "0"]].concat(), 2, &["--siblings", "1..=10000"]);
    refused(
        &[&storm[..], &["--form", "parquet"]].concat(),
        2,
        &["parquet", "engine, rlp, eest, rows"],
    );
    let chain = ["--chain-id", "18446744073709551615"];
    refused(&[&storm[..], &SMALL, &chain].concat(), 2, &["chain id", "EIP-155"]);
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    let args = [&["export"], &storm[..], &SMALL, &["--output", "out"]].concat();
    let output = stress(&args, dir.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--output out: exists"), "{}", text(&output.stderr));
}

#[test]
fn an_imported_workload_is_refused_since_nobody_can_sign_it() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/t8n");
    let file = |name: &str| fixtures.join(name).display().to_string();
    let dir = tempfile::tempdir().unwrap();
    let (alloc, env, txs) = (file("alloc.json"), file("env.json"), file("txs.json"));
    let import = ["import", "t8n", "--alloc", &alloc, "--env", &env, "--txs", &txs];
    let import = [&import[..], &["--fork", "bpo2", "-o", "block.workload"]].concat();
    printed(&import, dir.path());
    let output = stress(&["export", "block.workload", "--output", "out"], dir.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("block 1, transaction 0") && error.contains("imported"), "{error}");
    assert!(!dir.path().join("out").exists());
}
