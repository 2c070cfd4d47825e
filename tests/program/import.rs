//! `stress import` as a user sees it. A block becomes a workload file that runs. A fault of its
//! files gets one clear error, an exit code and no workload file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::machine;

/// A folder with the files of the committed block, to be changed at will.
struct Import {
    dir: TempDir,
    fork: &'static str,
}

impl Import {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/t8n");
        for name in ["alloc.json", "env.json", "txs.json", "txs.rlp", "result.json"] {
            fs::copy(from.join(name), dir.path().join(name)).unwrap();
        }
        Self { dir, fork: "BPO2" }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap();
        change(&mut value);
        fs::write(self.path(name), value.to_string()).unwrap();
    }

    fn stress(&self, args: &[&str]) -> Output {
        let mut command = machine::program();
        command.current_dir(self.dir.path()).args(args);
        machine::output(command.env("STRESS_DATA_DIR", self.path("data")).env("COLUMNS", "80"))
    }

    fn import(&self, more: &[&str]) -> Output {
        let mut args = vec!["import", "t8n", "--alloc", "alloc.json", "--env", "env.json"];
        args.extend(["--txs", "txs.json", "--fork", self.fork, "-o", "block.workload", "--force"]);
        args.extend(more);
        self.stress(&args)
    }

    /// Imports with the result, and expects this exit code, these words and no file.
    fn refused(&self, code: i32, words: &[&str]) {
        let output = self.import(&["--result", "result.json"]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(!error.contains("panicked"), "{error}");
        assert_eq!(error.matches("error:").count(), 1, "one error: {error}");
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
        assert!(!self.path("block.workload").exists(), "nothing is written");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn an_imported_block_is_compared_written_and_runs_on_every_store() {
    let import = Import::new();
    let output = import.import(&["--result", "result.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for word in ["block 24476005 on bpo2", "7 transactions", "receipts root", "state root"] {
        assert!(said.contains(word), "{word} is in {said}");
    }
    let run = ["--workload", "block.workload", "--store", "memory,rocksdb", "--samples", "1"];
    let run = import.stress(&[&run[..], &["--format", "json"]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let result: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!((&result["agree"], &result["workload"]["fork"]), (&json!(true), &json!("bpo2")));
    // A block that pays no gas at all would agree too.
    assert!(result["workload"]["gas"].as_u64().unwrap() > 7 * 21_000);
}

#[test]
fn without_a_result_nothing_is_compared_and_that_is_said() {
    let import = Import::new();
    let output = import.import(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (said, noted) = (text(&output.stdout), text(&output.stderr));
    assert!(!said.contains("equal"), "{said}");
    assert!(said.contains("not compared"), "{said}{noted}");
    assert!(text(&import.import(&["--quiet"]).stdout).contains("not compared"));
}

#[test]
fn rlp_transactions_make_the_same_workload() {
    let import = Import::new();
    assert_eq!(import.import(&[]).status.code(), Some(0));
    let from_json = fs::read(import.path("block.workload")).unwrap();
    fs::copy(import.path("txs.rlp"), import.path("txs.json")).unwrap();
    assert_eq!(import.import(&[]).status.code(), Some(0));
    assert_eq!(fs::read(import.path("block.workload")).unwrap(), from_json);
}

#[test]
fn files_that_are_wrong_are_usage_errors_that_name_file_and_key() {
    let wrong = |name: &str, change: fn(&mut Value), words: &[&str]| {
        let import = Import::new();
        import.change(name, change);
        import.refused(2, &[&[name], words].concat());
    };
    wrong(
        "env.json",
        |env| drop(env.as_object_mut().unwrap().remove("currentCoinbase")),
        &["currentCoinbase is missing"],
    );
    wrong(
        "txs.json",
        |txs| txs[1]["type"] = json!("0x7e"),
        &["[1].type is \"0x7e\"", "0x0 to 0x4"],
    );
    wrong("txs.json", |txs| txs[0]["r"] = json!("0x5"), &["[0]"]);
    let import = Import::new();
    let alloc = fs::read(import.path("alloc.json")).unwrap();
    fs::write(import.path("alloc.json"), &alloc[..alloc.len() / 2]).unwrap();
    import.refused(2, &["alloc.json", "EOF", "line"]);
    let import = Import { fork: "london", ..Import::new() };
    import.refused(
        2,
        &["--fork london", "paris, shanghai, cancun, prague, osaka, bpo1, bpo2, amsterdam"],
    );
    let import = Import::new();
    fs::write(import.path("env.json"), [0xff, 0xfe, 0]).unwrap();
    import.refused(2, &["env.json", "no text"]);
}

#[test]
fn an_unknown_sender_is_named_with_its_transaction() {
    let import = Import::new();
    let sender = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";
    import.change("alloc.json", |alloc| drop(alloc.as_object_mut().unwrap().remove(sender)));
    import.refused(2, &["transaction 2", "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF", "not in"]);
}

#[test]
fn a_block_that_comes_to_something_else_is_a_disagreement() {
    let import = Import::new();
    import.change("result.json", |result| result["gasUsed"] = json!("0x5"));
    import.refused(3, &["block 24476005", "gas used is 5 in the file"]);
    let import = Import { fork: "osaka", ..Import::new() };
    // The blob fee of that fork is more than the transaction offers.
    import.refused(2, &["transaction 3"]);
    let import = Import { fork: "bpo1", ..Import::new() };
    import.refused(3, &["block 24476005"]);
}

#[test]
fn a_result_over_more_accounts_is_compared_but_for_its_state_root() {
    let import = Import::new();
    import.change("result.json", |result| result["stateRoot"] = result["txRoot"].clone());
    import.refused(3, &["state root", "--partial-alloc"]);
    let output = import.import(&["--result", "result.json", "--partial-alloc"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("receipts root") && !said.contains("state root"), "{said}");
    assert_eq!(import.import(&["--partial-alloc"]).status.code(), Some(2));
}

#[test]
fn a_file_that_is_not_there_or_cannot_be_written_is_named() {
    let import = Import::new();
    fs::remove_file(import.path("txs.json")).unwrap();
    import.refused(2, &["cannot open txs.json"]);
    let import = Import::new();
    fs::create_dir(import.path("block.workload")).unwrap();
    let output = import.import(&[]);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
}

#[test]
fn a_blockchain_test_file_without_a_test_of_that_name_lists_those_it_has() {
    let import = Import::new();
    fs::write(import.path("tests.json"), "{}").unwrap();
    let refused = |args: &[&str], words: &[&str]| {
        let output =
            import.stress(&[&["import", "blockchain-test"], args, &["-o", "a.workload"]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
    };
    refused(&["tests.json"], &["tests.json", "0 tests"]);
    refused(&["tests.json", "--test", "a"], &["--test a", "no such test"]);
    refused(&["env.json"], &["env.json", "an object"]);
    let test = json!({"network": "London"});
    fs::write(import.path("tests.json"), json!({"a": test, "b": test}).to_string()).unwrap();
    refused(&["tests.json"], &["2 tests", "choose one by --test", "a, b"]);
    refused(&["tests.json", "--test", "b"], &["b.network is \"London\"", "osaka"]);
}

#[test]
fn a_blockchain_test_of_another_client_becomes_a_workload() {
    let Some(vectors) = std::env::var_os("STRESS_VECTORS").map(PathBuf::from) else { return };
    let import = Import::new();
    let file = fs::canonicalize(vectors.join("eip7928/combined.json")).unwrap();
    let args = ["import", "blockchain-test", file.to_str().unwrap(), "-o", "a.workload"];
    let output = import.stress(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("block 1 on amsterdam") && said.contains("list hash"), "{said}");
    let run = ["--workload", "a.workload", "--store", "memory", "--samples", "1"];
    assert_eq!(import.stress(&run).status.code(), Some(0));
}

#[test]
fn a_folder_of_tests_becomes_a_folder_of_workloads_and_what_fails_is_named() {
    let Some(vectors) = std::env::var_os("STRESS_VECTORS").map(PathBuf::from) else { return };
    let import = Import::new();
    let folder = fs::canonicalize(vectors.join("eip7928")).unwrap();
    let args = ["import", "blockchain-test", folder.to_str().unwrap(), "-o", "all"];
    let output = import.stress(&args);
    // One file there has wrong lists and no test.
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("not imported: ") && error.contains("invalid-of-combined.json"));
    assert_eq!(error.matches("error:").count(), 1, "{error}");
    let said = text(&output.stdout);
    assert!(said.contains("28 tests imported to all"), "{said}");
    assert_eq!(fs::read_dir(import.path("all")).unwrap().count(), 28);
    let run = ["--workload", "all/combined.workload", "--store", "memory", "--samples", "1"];
    assert_eq!(import.stress(&run).status.code(), Some(0));
    fs::create_dir(import.path("empty")).unwrap();
    let output = import.stress(&["import", "blockchain-test", "empty", "-o", "none"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("empty: no test in any .json file"));
}

#[test]
fn a_wrong_list_in_a_file_is_a_disagreement() {
    let Some(vectors) = std::env::var_os("STRESS_VECTORS").map(PathBuf::from) else { return };
    let import = Import::new();
    fs::copy(vectors.join("eip7928/combined.json"), import.path("combined.json")).unwrap();
    let lists = fs::read(vectors.join("eip7928/invalid-of-combined.json")).unwrap();
    let lists: Value = serde_json::from_slice(&lists).unwrap();
    let mut refused_count = 0;
    for entry in lists["variants"].as_array().unwrap() {
        import.change("combined.json", |tests| {
            tests["combined"]["_info"]["balRlp"] = entry["blockAccessList"].clone();
        });
        let args = ["import", "blockchain-test", "combined.json", "-o", "a.workload", "--force"];
        let output = import.stress(&args);
        let is_right = entry["valid"].as_bool().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(if is_right { 0 } else { 3 }), "{error}");
        assert_eq!(error.contains("block 1: list is "), !is_right, "{error}");
        refused_count += usize::from(!is_right);
    }
    assert_eq!(refused_count, 29);
}

#[test]
fn a_test_whose_only_block_must_be_refused_has_no_workload_and_is_right() {
    let import = Import::new();
    let args = ["export", "--scenario", "transfers", "--gas", "1M", "--set", "state.accounts=50"];
    let output = import.stress(&[&args[..], &["--format", "eest", "--out", "chain"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let invalid = |exception: &str| {
        import.change("chain/blockchain_test.json", |file| {
            let test = file.as_object_mut().unwrap().values_mut().next().unwrap();
            test["lastblockhash"] = test["genesisBlockHeader"]["hash"].clone();
            test["postStateHash"] = test["genesisBlockHeader"]["stateRoot"].clone();
            let block = test["blocks"][0].as_object_mut().unwrap();
            block.remove("rlp");
            block["blockHeader"]["stateRoot"] = json!(format!("{:#066x}", 1));
            block.insert("expectException".to_owned(), json!(exception));
        });
        import.stress(&[
            "import",
            "blockchain-test",
            "chain/blockchain_test.json",
            "-o",
            "a.workload",
        ])
    };
    let output = invalid("BlockException.INVALID_STATE_ROOT");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("1 block refused as it must be; no workload"));
    let output = import.stress(&["import", "blockchain-test", "chain", "-o", "all"]);
    let said = text(&output.stdout);
    assert!(said.contains("0 tests imported to all; 1 test without a valid block"), "{said}");
    let output = invalid("BlockException.INVALID_GAS_USED");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("state root is"));
    assert!(!import.path("a.workload").exists(), "nothing is written");
}
