//! `stress export` as a user sees it: a directory that is whole or absent, and one clear error for
//! a workload that cannot be exported.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::tool::{printed, stress, text};

const SMALL: [&str; 8] =
    ["--gas", "3M", "--slots", "2k", "--set", "state.accounts=500", "--seed", "7"];

/// Runs, expects this exit code and these words in one error, and nothing left in the folder.
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let args = [&["export"], args, &["--out", "out"]].concat();
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
    let form = ["--format", "engine,rlp,eest,rows", "--siblings", "3", "--out", "out/storm"];
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
    let digest = |said: &str| said.split("digest ").nth(1).unwrap()[..16].to_owned();
    let mut digests = Vec::new();
    for name in ["blockchain_test.json", "blockchain_test_engine.json"] {
        let test = out.join(name);
        let import = ["import", test.to_str().unwrap(), "--out", "back.workload", "--force"];
        let said = printed(&import, dir.path());
        for what in ["state root", "receipts root", "list hash"] {
            assert!(said.contains(what), "{what} is in {said}");
        }
        digests.push(digest(&said));
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_workload_file_and_its_scenario_export_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = [&["sload-storm"][..], &SMALL].concat();
    printed(&[&["generate", "--out", "a.workload"], &scenario[..]].concat(), dir.path());
    printed(&["export", "a.workload", "--out", "a"], dir.path());
    let by_name = [&["export", "--scenario"], &scenario[..], &["--out", "b"]].concat();
    printed(&by_name, dir.path());
    for file in ["genesis.json", "payloads.txt", "export.json"] {
        let read = |name: &str| fs::read(dir.path().join(name).join(file)).unwrap();
        assert!(read("a") == read("b"), "{file}");
    }
}

#[test]
fn a_state_that_is_too_large_for_json_goes_into_rows() {
    let large = ["--scenario", "sload-storm", "--gas", "3M", "--slots", "1200k"];
    refused(&large, 2, &["1250000", "add rows to --format"]);
    refused(&[&large[..], &["--format", "eest,rows"]].concat(), 2, &["add rows to --format"]);
    let dir = tempfile::tempdir().unwrap();
    let args = [&["export"], &large[..], &["--format", "rows,engine", "--out", "out"]].concat();
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
    refused(&["no.workload"], 2, &["no.workload"]);
    refused(&["no.workload", "--gas", "3M"], 2, &["--gas 3M", "fixed"]);
    refused(&[&storm[..], &["--siblings", "0"]].concat(), 2, &["--siblings", "1..=10000"]);
    refused(
        &[&storm[..], &["--format", "parquet"]].concat(),
        2,
        &["parquet", "engine, rlp, eest, rows, benchmarkoor"],
    );
    let chain = ["--chain-id", "18446744073709551615"];
    refused(&[&storm[..], &SMALL, &chain].concat(), 2, &["chain id", "EIP-155"]);
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    let args = [&["export"], &storm[..], &SMALL, &["--out", "out"]].concat();
    let output = stress(&args, dir.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--out out: exists"), "{}", text(&output.stderr));
}

#[test]
fn a_state_is_grown_by_calls_that_lie_beside_those_of_the_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let form = ["--grow", "--format", "engine,rlp", "--siblings", "2", "--out", "out"];
    let args = [&["export", "--scenario", "sload-storm"][..], &SMALL, &form].concat();
    let said = printed(&args, dir.path());
    assert!(said.contains(" slots (grow.txt), state root 0x"), "{said}");
    let read = |name: &str| fs::read(dir.path().join("out").join(name)).unwrap();
    let manifest: Value = serde_json::from_slice(&read("export.json")).unwrap();
    let grown = &manifest["grown"];
    assert_eq!((&grown["slot_count"], &manifest["slot_count"]), (&2_000.into(), &0.into()));
    let block_count = grown["block_count"].as_u64().unwrap();
    let calls = String::from_utf8(read("grow.txt")).unwrap();
    assert_eq!(calls.lines().count() as u64, 2 * block_count);
    assert!(calls.lines().all(|line| !line.contains("engine_newPayloadV5")), "Osaka's blocks");
    assert!(calls.lines().last().unwrap().contains(grown["hash"].as_str().unwrap()));
    let payloads = String::from_utf8(read("payloads.txt")).unwrap();
    assert!(payloads.contains(&format!("\"parentHash\":{}", grown["hash"])), "they go on there");
    assert_eq!(manifest["blocks"][0]["number"], block_count + 1);
    // Both files of RLP begin with the blocks that grow the state.
    let (plain, with_lists) = (read("chain.rlp"), read("chain-with-lists.rlp"));
    let common = plain.iter().zip(&with_lists).take_while(|(a, b)| a == b).count();
    assert!(common > 2_000 * 64, "keys and values of all slots: {common}");
    for (form, word) in [("eest", "--format eest"), ("engine,rows", "--format rows")] {
        let args = ["--scenario", "sload-storm", "--grow", "--format", form];
        refused(&[&args[..], &SMALL].concat(), 2, &[word, "leave out", "benchmarkoor"]);
    }
    let transfers = ["--scenario", "transfers", "--grow", "--quick"];
    refused(&transfers, 2, &["no contract has slots", "leave --grow out"]);
}

#[test]
fn the_last_block_and_its_siblings_are_tests_of_benchmarkoor() {
    let dir = tempfile::tempdir().unwrap();
    let form = ["--format", "engine,benchmarkoor", "--grow", "--siblings", "2", "--blocks", "2"];
    let args = ["export", "--scenario", "sload-storm", "--out", "out", "--gas", "3M"];
    let small = ["--slots", "4k", "--set", "state.accounts=500"];
    printed(&[&args[..], &small, &form].concat(), dir.path());
    let out = dir.path().join("out");
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let lines = |name: &str| -> Vec<Value> {
        read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let manifest: Value = serde_json::from_str(&read("export.json")).unwrap();
    let siblings = manifest["blocks"][1]["sibling_hashes"].as_array().unwrap();
    let mut heads = Vec::new();
    for place in 1..=2 {
        let test = lines(&format!("benchmarkoor/testing/sload-storm/sibling-{place:05}.txt"));
        let methods: Vec<_> = test.iter().map(|call| call["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["engine_newPayloadV5", "engine_forkchoiceUpdatedV4"]);
        assert_eq!(test[0]["params"][0]["blockHash"], test[1]["params"][0]["headBlockHash"]);
        assert_eq!(test[0]["params"][0]["parentHash"], manifest["blocks"][0]["hash"]);
        heads.push(test[1]["params"][0]["headBlockHash"].clone());
    }
    assert_eq!(&heads, siblings);
    let before = lines("benchmarkoor/pre-run/blocks.txt");
    assert_eq!(before.len(), 2, "the first block comes before all tests");
    assert_eq!(before[1]["params"][0]["headBlockHash"], manifest["blocks"][0]["hash"]);
    let config = read("benchmarkoor.yaml");
    for line in ["- grow.txt", "- benchmarkoor/pre-run/blocks.txt", "geth: ./genesis.json"] {
        assert!(config.contains(line), "{line:?} is not in {config}");
    }
    let files = manifest["files"].as_array().unwrap();
    assert!(files.iter().all(|file| out.join(file.as_str().unwrap()).is_file()), "{files:?}");
}

#[test]
fn an_imported_workload_is_refused_since_nobody_can_sign_it() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/t8n");
    let file = |name: &str| fixtures.join(name).display().to_string();
    let dir = tempfile::tempdir().unwrap();
    let (alloc, env, txs) = (file("alloc.json"), file("env.json"), file("txs.json"));
    let import = ["import", &alloc, &env, &txs, "--fork", "bpo2", "-o", "block.workload"];
    printed(&import, dir.path());
    let output = stress(&["export", "block.workload", "--out", "out"], dir.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("block 1, transaction 0") && error.contains("imported"), "{error}");
    assert!(!dir.path().join("out").exists());
}
