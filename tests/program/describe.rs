//! `stress describe`, `stress generate new` and `stress show schema` as a user meets them: output, files and
//! refusals.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use serde_json::Value;

use crate::tool::{printed, stress, text};

/// Runs, expects this exit code and these words in one error, and no panic.
fn refused(args: &[&str], dir: &Path, code: i32, words: &[&str]) {
    let output = stress(args, dir);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(!error.contains("panicked"), "{args:?}: {error}");
    assert_eq!(error.matches("error:").count(), 1, "{args:?}: one error: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
    }
}

const SMALL: [&str; 5] = ["--gas", "3M", "--slots", "20k", "--json"];

fn described(args: &[&str], dir: &Path) -> Value {
    let args: Vec<_> = ["describe"].iter().chain(args).chain(&SMALL).copied().collect();
    serde_json::from_str(&printed(&args, dir)).unwrap()
}

#[test]
fn a_description_has_the_work_of_a_run_and_its_conflicts() {
    let dir = tempfile::tempdir().unwrap();
    let one_slot = described(&["one-slot", "--threads", "3,1"], dir.path());
    assert_eq!(one_slot["schema"], "stress.describe/1");
    let tx_count = one_slot["all"]["tx_count"].as_u64().unwrap();
    assert!(tx_count > 50);
    let conflicts = &one_slot["conflicts"];
    assert_eq!(conflicts["component_count"], 1);
    assert_eq!(conflicts["longest_chain_tx_count"], tx_count);
    assert_eq!(conflicts["hottest"]["writer_count"], tx_count);
    assert_eq!(conflicts["ideal"][0]["threads"], 3);
    assert_eq!(conflicts["ideal"][0]["speedup"], 1.0);
    assert_eq!(one_slot["loads"][0]["kind"], "one-slot");
    assert_eq!(one_slot["loads"][0]["gas_share"], 1.0);

    let storm = described(&["sload-storm", "--set", "block.tx_gas=500k"], dir.path());
    let tx_count = storm["all"]["tx_count"].as_u64().unwrap();
    assert_eq!(storm["conflicts"]["component_count"], tx_count);
    assert!(storm["conflicts"]["hottest"].is_null());
    let reads = storm["all"]["reads_per_tx"]["max"].as_u64().unwrap();
    assert!((200..250).contains(&reads), "{reads}");
    assert!(storm["workload"]["list_slot_count"].as_u64().unwrap() > 1_000);
}

#[test]
fn a_load_is_described_by_the_name_that_its_scenario_gives() {
    let dir = tempfile::tempdir().unwrap();
    let loads = "[[load]]\nkind = \"transfers\"\nname = \"payments\"\nshare = 0.5\n\
                 [[load]]\nkind = \"erc20\"\nshare = 0.5\n";
    let head = "schema = 1\nname = \"two\"\n[state]\nslots = 20_000\n[block]\ngas = \"3M\"\n";
    fs::write(dir.path().join("two.toml"), format!("{head}{loads}")).unwrap();
    let two = described(&["two.toml"], dir.path());
    assert_eq!(
        (&two["loads"][0]["name"], &two["loads"][0]["kind"]),
        (&Value::from("payments"), &Value::from("transfers"),)
    );
    assert!(two["loads"][1]["name"].is_null());
    let page = printed(&["describe", "two.toml"], dir.path());
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let present = "100 % of the slots that transactions ask for exist in the state";
    assert!(words.contains(present), "{page}");
    assert!(page.contains("payments (transfers)") && page.contains("  erc20 "), "{page}");
}

#[test]
fn a_workload_file_is_described_as_its_scenario_but_for_its_loads() {
    let dir = tempfile::tempdir().unwrap();
    let generate = ["generate", "erc20", "--gas", "3M", "--out", "x.workload"];
    printed(&generate, dir.path());
    let args = ["describe", "--workload", "x.workload", "--json"];
    let file: Value = serde_json::from_str(&printed(&args, dir.path())).unwrap();
    let args = ["describe", "erc20", "--gas", "3M", "--json"];
    let scenario: Value = serde_json::from_str(&printed(&args, dir.path())).unwrap();
    for key in ["all", "conflicts", "list_bytes_per_mgas"] {
        assert_eq!(file[key], scenario[key], "{key}");
    }
    assert_eq!(file["workload"]["digest"], scenario["workload"]["digest"]);
    assert_eq!(file["loads"].as_array().unwrap().len(), 0);

    refused(&["describe", "--workload", "x.workload", "--gas", "3M"], dir.path(), 2, &["--gas 3M"]);
    refused(&["describe", "--workload", "no.workload"], dir.path(), 2, &["no.workload"]);
    let bytes = fs::read(dir.path().join("x.workload")).unwrap();
    fs::write(dir.path().join("half.workload"), &bytes[..bytes.len() / 2]).unwrap();
    refused(
        &["describe", "--workload", "half.workload"],
        dir.path(),
        6,
        &["half.workload: ", "bytes"],
    );
}

#[test]
fn bytes_of_calldata_and_list_are_counted_and_more_than_a_block_may_have_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = |name: &str| {
        let facts = described(&[name], dir.path());
        let number = |value: &Value| value.as_f64().unwrap();
        let calldata = number(&facts["calldata_bytes"]);
        let list = number(&facts["workload"]["bal"]["batched_io_bytes"]);
        let wire = number(&facts["wire_bytes_per_mgas"]);
        let mgas = number(&facts["all"]["gas"]) / 1e6;
        assert!((wire * mgas - calldata - list).abs() < 1.0, "{name}");
        assert_eq!(number(&facts["block_calldata_bytes_max"]), calldata, "{name}: one block");
        (calldata, wire)
    };
    let (calldata, with) = bytes("sload-storm-calldata");
    let (_, without) = bytes("sload-storm-weyl");
    assert!(calldata > 40_000.0 && with > 1.6 * without, "{calldata} {with} {without}");

    let args = ["describe", "sload-storm-calldata", "--slots", "300k", "--gas"];
    let page = |gas: &str| printed(&[&args[..], &[gas]].concat(), dir.path());
    assert!(page("560M").contains("EIP-7934"));
    assert!(!page("500M").contains("EIP-7934"));
}

#[test]
fn the_page_is_not_wider_than_asked_and_the_picture_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    let text = "schema = 1\nname = \"mixed\"\n[state]\naccounts = 500\nslots = 20_000\n[block]\n\
        gas = \"6M\"\ntx_gas = \"300k\"\norder = \"phases\"\n[[load]]\nkind = \"transfers\"\n\
        share = 0.4\n[[load]]\nkind = \"one-slot\"\nshare = 0.3\n[[load]]\n\
        kind = \"sload-storm\"\nshare = 0.3\n";
    fs::write(dir.path().join("mixed.toml"), text).unwrap();
    let page = printed(&["describe", "mixed.toml", "--out", "mixed.svg"], dir.path());
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    for word in ["transfers", "one-slot", "sload-storm", "hottest", "ideal", "chain", "graph"] {
        assert!(page.contains(word), "{word} is not in {page}");
    }
    let picture = fs::read_to_string(dir.path().join("mixed.svg")).unwrap();
    for part in ["<title", "<desc", "role=\"img\"", "prefers-color-scheme:dark", "</svg>"] {
        assert!(picture.contains(part), "{part} is not in {picture}");
    }
    assert_eq!(picture.matches("http").count(), 1, "the name space, and nothing from elsewhere");
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
}

#[test]
fn partitions_over_shards_are_compared_and_written_for_other_partitioners() {
    let dir = tempfile::tempdir().unwrap();
    let sharded = ["--shards", "2,3", "--out", "x.hgr"];
    let facts =
        described(&[&["dapps", "--set", "load.outside=4"][..], &sharded].concat(), dir.path());
    let tx_count = facts["all"]["tx_count"].as_u64().unwrap();
    assert_eq!(facts["shards"].as_array().unwrap().len(), 2);
    for (index, count) in [2, 3].into_iter().enumerate() {
        let of_count = &facts["shards"][index];
        assert_eq!(of_count["shard_count"], count);
        let partitions = of_count["partitions"].as_array().unwrap();
        let names: Vec<_> =
            partitions.iter().map(|of| of["partitioner"].as_str().unwrap()).collect();
        assert_eq!(names, ["round-robin", "by-sender", "by-component", "fanout"]);
        let figure = |at: usize, key: &str| partitions[at][key].as_f64().unwrap();
        assert_eq!(figure(2, "conflict_fanout"), 1.0);
        assert_eq!(partitions[2]["in_block_order"]["cross_shard_value_count"], 0);
        assert!(figure(3, "fanout") <= figure(0, "fanout"));
        // Each of the shards reads the contract's row at least.
        let reads = |of: &Value| of["in_block_order"]["state_read_count"].as_u64().unwrap();
        assert!(partitions.iter().all(|of| reads(of) > count));
    }
    let hypergraph = fs::read_to_string(dir.path().join("x.hgr")).unwrap();
    let head: Vec<u64> =
        hypergraph.lines().next().unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
    assert_eq!(head[1..], [tx_count, 10]);
    assert_eq!(hypergraph.lines().count() as u64, 1 + head[0] + head[1]);

    let page = ["describe", "dapps", "--gas", "3M", "--slots", "20k", "--shards", "4"];
    let page = printed(&page, dir.path());
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    for word in ["4 shards of execution", "round-robin", "by-component", "hops", "% over"] {
        assert!(page.contains(word), "{word} is not in {page}");
    }
}

#[test]
fn wrong_arguments_of_describe_are_errors_that_name_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let args: Vec<_> = ["describe"].iter().chain(args).copied().collect();
        refused(&args, dir.path(), code, words);
    };
    refused(&[], 2, &["NAME|FILE"]);
    refused(&["one-slotz"], 2, &["did you mean one-slot?"]);
    refused(&["one-slot", "--gas", "1k"], 2, &["--gas 1k"]);
    refused(&["one-slot", "--threads", "0"], 2, &["--threads"]);
    refused(&["one-slot", "--set", "load.tx_gas=1M"], 2, &["--set load.tx_gas=1M", "sload-storm"]);
    refused(&["one-slot", "--table"], 2, &["--table"]);
    refused(&["one-slot", "--shards", "0"], 2, &["--shards 0", "0 is below 1"]);
    refused(&["one-slot", "--shards", "65"], 2, &["--shards 65", "65 is above 64"]);
    refused(&["one-slot", "--shards", "2,3,2"], 2, &["--shards 2,3,2", "2 is listed twice"]);
    refused(&["one-slot", "--out", "x.hgr"], 2, &["--shards"]);
    refused(&["one-slot", "--gas", "1M", "--out", "no/such/dir.svg"], 6, &["no/such/dir.svg"]);
}

#[test]
fn a_new_scenario_is_valid_runs_at_once_and_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let said = printed(&["generate", "new", "mine", "erc20"], dir.path());
    assert!(said.contains("mine.toml"), "{said}");
    let path = dir.path().join("mine.toml");
    let written = fs::read_to_string(&path).unwrap();
    printed(&["validate", "mine.toml"], dir.path());
    let args = ["--scenario", "mine.toml", "--gas", "1M", "--samples", "1"];
    let page = printed(&args, dir.path());
    assert!(page.contains("memory"), "{page}");

    printed(&["generate", "new", "day", "transfers", "erc20", "amm"], dir.path());
    printed(&["validate", "day.toml"], dir.path());
    let day = fs::read_to_string(dir.path().join("day.toml")).unwrap();
    assert_eq!(day.lines().filter(|line| *line == "[[load]]").count(), 3, "{day}");
    assert!(day.contains("#   stress day.toml "), "{day}");

    refused(
        &["generate", "new", "mine"],
        dir.path(),
        2,
        &["mine.toml", "there already", "--force"],
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), written, "it is as it was");
    refused(&["generate", "new", "my storm"], dir.path(), 2, &["my storm is no name", "my-storm"]);
    for (given, words) in [
        (
            "../t2/own",
            &["`stress generate new own`, which makes own.toml in ", "(for ../t2 change to"][..],
        ),
        (
            "own.toml",
            &["own.toml: this is a path", "`stress generate new own`, which makes own.toml in "],
        ),
        ("../My Own", &["../My Own is no name", "write NAME my-own"]),
    ] {
        refused(&["generate", "new", given], dir.path(), 2, words);
    }
    assert!(!dir.path().join("own.toml").exists());
    refused(&["generate", "new", "other", "sload"], dir.path(), 2, &["did you mean sload-storm?"]);
    refused(&["generate", "new", "other", "erc21"], dir.path(), 2, &["did you mean erc20?"]);
    assert!(!dir.path().join("other.toml").exists());
}

#[test]
fn the_schema_is_json_and_knows_every_kind_that_can_be_new() {
    let dir = tempfile::tempdir().unwrap();
    let schema: Value = serde_json::from_str(&printed(&["show", "schema"], dir.path())).unwrap();
    let loads = schema["properties"]["load"]["items"]["oneOf"].as_array().unwrap();
    for load in loads {
        let kind = load["properties"]["kind"]["const"].as_str().unwrap();
        printed(&["generate", "new", &format!("of-{kind}"), kind], dir.path());
    }
}
