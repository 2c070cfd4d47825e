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
        let mut args = vec!["import", "alloc.json", "env.json", "txs.json"];
        args.extend(["--fork", self.fork, "-o", "block.workload", "--force"]);
        args.extend(more);
        self.stress(&args)
    }

    /// Imports with the result, and expects this exit code, these words and no file.
    fn refused(&self, code: i32, words: &[&str]) {
        let output = self.import(&["result.json"]);
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
    let output = import.import(&["result.json"]);
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
    import.refused(2, &["alloc.json", "(truncated?): EOF", "line"]);
    let import = Import { fork: "london", ..Import::new() };
    import.refused(
        2,
        &["--fork london", "paris, shanghai, cancun, prague, osaka, bpo1, bpo2, amsterdam"],
    );
    let import = Import::new();
    fs::write(import.path("env.json"), [0xff, 0xfe, 0]).unwrap();
    import.refused(2, &["env.json", "UTF-16"]);
    fs::write(import.path("env.json"), b"{\"currentNumber\": \"0x1\xc3\x28\"}").unwrap();
    import.refused(2, &["env.json", "no text in UTF-8"]);
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
fn a_result_over_more_accounts_is_compared_without_its_state_root() {
    let import = Import::new();
    import.change("result.json", |result| result["stateRoot"] = result["txRoot"].clone());
    import.refused(3, &["state root", "more accounts", "take stateRoot out"]);
    import
        .change("result.json", |result| drop(result.as_object_mut().unwrap().remove("stateRoot")));
    let output = import.import(&["result.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("receipts root") && !said.contains("state root"), "{said}");
}

#[test]
fn files_that_are_no_whole_set_and_words_of_earlier_versions_are_told_what_to_write() {
    let import = Import::new();
    import.stress(&["generate", "sload-storm", "--gas", "1M", "--slots", "1k", "-o", "a.workload"]);
    fs::create_dir(import.path("empty")).unwrap();
    for (args, words) in [
        (
            &["env.json", "txs.json"][..],
            &["env.json, txs.json: no whole set", "missing: alloc"][..],
        ),
        (&["env.json", "result.json"], &["missing: alloc (accounts by address), txs"]),
        (&["alloc.json", "env.json", "txs.json", "env.json"], &["too much: env.json"]),
        (&["alloc.json", "env.json", "txs.json"], &["--fork FORK is missing", "bpo2"]),
        (
            &["alloc.json", "env.json", "txs.json", "--case", "1"],
            &["--case chooses", "leave it out"],
        ),
        (&["a.workload"], &["a.workload: this seems to be a workload file", "--workload FILE"]),
        (&["empty", "env.json"], &["empty: give a directory alone"]),
        (&["t8n", "env.json"], &["t8n: the content of files", "stress import FILE…"]),
        (&["blockchain-test", "env.json"], &["stress import FILE…", "--case"]),
        (&["t8n", "--alloc", "alloc.json"], &["tip: ", "stress import alloc.json env.json"]),
    ] {
        let output = import.stress(&[&["import"], args, &["-o", "b.workload"]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert_eq!(error.matches("error:").count(), 1, "{args:?}: {error}");
        for word in words {
            assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
        }
    }
}

#[test]
fn a_folder_of_t8n_files_or_one_file_with_all_of_them_is_the_same_block() {
    let import = Import::new();
    assert_eq!(import.import(&["result.json"]).status.code(), Some(0));
    let of_files = fs::read(import.path("block.workload")).unwrap();
    let json = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(import.path(name)).unwrap()).unwrap()
    };
    let whole =
        json!({"alloc": json("alloc.json"), "env": json("env.json"), "txs": json("txs.json")});
    let output = json!({"result": json("result.json"), "body": "0x"});
    fs::create_dir(import.path("one")).unwrap();
    fs::write(import.path("one/in.json"), whole.to_string()).unwrap();
    fs::write(import.path("one/out.json"), output.to_string()).unwrap();
    fs::remove_file(import.path("block.workload")).unwrap();
    for files in [&["."][..], &["one/in.json", "one/out.json"]] {
        let args = [&["import"], files, &["--fork", "bpo2", "-o", "again.workload", "--force"]];
        let output = import.stress(&args.concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("state root"), "{}", text(&output.stdout));
        assert_eq!(fs::read(import.path("again.workload")).unwrap(), of_files);
    }
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
fn the_cases_of_a_file_are_listed_and_chosen_by_number_name_or_a_part_of_it() {
    let import = Import::new();
    let test = json!({"network": "London"});
    fs::write(import.path("tests.json"), json!({"ab": test, "abc": test}).to_string()).unwrap();
    let refused = |args: &[&str], words: &[&str]| {
        let output =
            import.stress(&[&["import", "tests.json"], args, &["-o", "a.workload"]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
        text(&output.stdout)
    };
    let list = refused(&[], &["tests.json has 2 tests", "choose one by --case"]);
    assert_eq!(list, "1  -  cannot be read  ab\n2  -  cannot be read  abc\n");
    refused(&["--case", "3"], &["--case 3", "cases 1 to 2"]);
    refused(&["--case", "x"], &["--case x: no such test", "ab, abc"]);
    refused(&["--case", "b"], &["--case b: this is in 2 names", "ab, abc"]);
    refused(&["--case", "ab"], &["ab.network is \"London\"", "osaka"]);
    refused(&["--case", "bc"], &["abc.network is \"London\""]);
    refused(&["--case", "2"], &["abc.network is \"London\""]);
}

#[test]
fn a_blockchain_test_of_another_client_becomes_a_workload() {
    let Some(vectors) = std::env::var_os("STRESS_VECTORS").map(PathBuf::from) else { return };
    let import = Import::new();
    let file = fs::canonicalize(vectors.join("eip7928/combined.json")).unwrap();
    let args = ["import", file.to_str().unwrap(), "-o", "a.workload"];
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
    let args = ["import", folder.to_str().unwrap(), "-o", "all"];
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
    let output = import.stress(&["import", "empty", "-o", "none"]);
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
        let args = ["import", "combined.json", "-o", "a.workload", "--force"];
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
        import.stress(&["import", "chain/blockchain_test.json", "-o", "a.workload"])
    };
    let output = invalid("BlockException.INVALID_STATE_ROOT");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("1 block refused as it must be; no workload"));
    fs::remove_file(import.path("chain/blockchain_test_engine.json")).unwrap();
    let output = import.stress(&["import", "chain", "-o", "all"]);
    let said = text(&output.stdout);
    assert!(said.contains("0 tests imported to all; 1 test without a valid block"), "{said}");
    let output = invalid("BlockException.INVALID_GAS_USED");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("state root is"));
    assert!(!import.path("a.workload").exists(), "nothing is written");
}

#[test]
fn an_exported_directory_is_read_back_whole_or_as_a_range_from_calls_rlp_or_tests() {
    let import = Import::new();
    let args = ["export", "--scenario", "transfers", "--gas", "1M", "--set", "state.accounts=50"];
    let more = ["--blocks", "3", "--format", "engine,rlp,eest", "--siblings", "2", "-o", "chain"];
    let output = import.stress(&[&args[..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = |files: &[&str], wanted: &str| {
        let output = import.stress(&[&["import", "-o", "a.workload", "--force"], files].concat());
        assert_eq!(output.status.code(), Some(0), "{files:?}: {}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains(wanted) && said.contains("state root"), "{files:?}: {said}");
        said.split("digest ").nth(1).unwrap()[..16].to_owned()
    };
    let digest = read(&["chain"], "blocks 1 to 3 on amsterdam");
    let calls = fs::read_to_string(import.path("chain/payloads.txt")).unwrap();
    let array = format!("[{}]", calls.trim().replace('\n', ","));
    fs::write(import.path("calls.json"), array).unwrap();
    for files in [
        &["chain/genesis.json", "chain/chain-with-lists.rlp"][..],
        &["chain/chain.rlp", "chain/genesis.json"],
        &["calls.json", "chain/genesis.json"],
        &["chain/blockchain_test.json"],
        &["chain/blockchain_test_engine.json"],
    ] {
        assert_eq!(read(files, "blocks 1 to 3"), digest, "{files:?}");
    }
    let range = ["--blocks", "2..2"];
    let of_calls = read(&[&["chain"], &range[..]].concat(), "block 2 on amsterdam");
    let of_rlp = [&["chain/genesis.json", "chain/chain.rlp"], &range[..]].concat();
    assert_eq!(read(&of_rlp, "block 2 on amsterdam"), of_calls);
    let run = ["--workload", "a.workload", "--store", "memory", "--samples", "1"];
    assert_eq!(import.stress(&run).status.code(), Some(0));
    let output = import.stress(&["import", "chain", "--blocks", "4..", "-o", "b.workload"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("payloads.txt") && error.contains("block 3"), "{error}");
}
