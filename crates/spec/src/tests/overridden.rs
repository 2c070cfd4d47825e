//! Values from outside take the file's place, and errors about them name where they came from.

use super::{MINIMAL_SCENARIO, assert_error, given, parsed};
use variant::{Design, FilterKind};

use crate::*;

fn overridden(keys: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<Override> = keys.iter().map(|(key, value)| given(key, value)).collect();
    let text =
        format!("{MINIMAL_SCENARIO}[[expect]]\nmetric = \"mgas_per_s(sequential)\"\nmin = 1\n");
    Scenario::parse("my.toml", &text, &overrides)
}

fn accepted(keys: &[(&str, &str)]) -> Scenario {
    overridden(keys).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_override_replaces_or_adds_its_key() {
    let scenario = accepted(&[
        ("block.gas", "2.2G"),
        ("state.present", "0.5"),
        ("load.keys", "weyl"),
        ("load[0].contracts", "1k"),
        ("run.threads", "1, 8,16"),
        ("run.designs", "batched-io"),
        ("run.budget", "5m"),
        ("run.rocksdb.block", "8KiB"),
        ("run.rocksdb.filter", "none"),
        ("seed", "9"),
        ("fork", "osaka"),
    ]);
    assert_eq!(scenario.block.target, BlockTarget::Gas(2_200_000_000));
    assert_eq!(scenario.state.present_share, 0.5);
    let storm = SloadStorm {
        keys: KeyOrder::Weyl,
        contract_count: 1_000,
        overlap: Overlap::Nothing,
        order: SlotOrder::Index,
        calldata_share: 0.0,
        calldata_byte: CalldataByte::Random,
    };
    assert_eq!(scenario.loads[0].kind, LoadKind::SloadStorm(storm));
    assert_eq!(scenario.run.thread_counts, [1, 8, 16]);
    assert_eq!(scenario.run.designs, [Design::BatchedIo]);
    let rocksdb = &scenario.run.rocksdb;
    assert_eq!((rocksdb.block_bytes, rocksdb.filter), (8_192, FilterKind::Nothing));
    assert_eq!((scenario.seed, scenario.run.budget.as_secs()), (9, 300));
    let work = ["block.gas", "state.present", "load[0].keys", "load[0].contracts", "seed", "fork"];
    assert_eq!(scenario.overridden, work);
}

#[test]
fn an_override_removes_the_alternative_of_its_key() {
    let sized = accepted(&[("state.size", "76MiB")]);
    assert_eq!(sized.state.slot_count, 1 << 20);
    assert_eq!(accepted(&[("block.transactions", "4")]).block.target, BlockTarget::Transactions(4));
    assert_eq!(accepted(&[("block.limit", "60M")]).block.target, BlockTarget::Limit(60_000_000));
}

#[test]
fn expectations_are_skipped_when_the_work_is_overridden_and_only_then() {
    let scenario = accepted(&[("block.gas", "1M")]);
    assert_eq!(scenario.skipped_expects(), Some(["block.gas".to_owned()].as_slice()));
    assert_eq!(accepted(&[("run.threads", "4"), ("name", "x")]).skipped_expects(), None);
    let resolved = scenario.to_toml();
    let again = parsed(&resolved);
    assert_eq!(again.expects, []);
    assert!(resolved.contains("# metric = "), "{resolved}");
    assert_eq!(again.work_identity(), scenario.work_identity());
}

#[test]
fn an_error_about_an_override_names_its_origin() {
    let gas =
        Override { key: "block.gas".into(), value: "640MB".into(), origin: "--gas 640MB".into() };
    let error =
        Scenario::parse("my.toml", MINIMAL_SCENARIO, &[gas]).expect_err("bytes").to_string();
    let expected = "error: block.gas: 640MB is bytes; gas wants 640M\n  \
                    --> --gas 640MB\n   = help: write --gas 640M";
    assert_eq!(error, expected);
    assert_error(
        overridden(&[("run.threads", "8,0")]),
        &[
            "run.threads: 0 is below 1",
            "--> --set run.threads=8,0",
            "write --set run.threads=8,16;",
        ],
    );
    assert_error(
        overridden(&[("load.keys", "chase"), ("state.present", "0.5")]),
        &["an absent slot ends the chain", "--> --set state.present=0.5", "state.present=1"],
    );
    assert_error(
        overridden(&[("run.rocksdb.block", "8k")]),
        &["run.rocksdb.block: 8k is a count", "write --set run.rocksdb.block=8KiB"],
    );
    assert_error(overridden(&[("seed", "")]), &["\"\" is no seed", "--> --set seed="]);
}

#[test]
fn a_wrong_list_is_answered_in_the_words_of_the_option_and_of_the_file() {
    let threads =
        Override { key: "run.threads".into(), value: "0,4".into(), origin: "--threads 0,4".into() };
    let error = Scenario::parse("my.toml", MINIMAL_SCENARIO, &[threads]).expect_err("none");
    let expected = "error: run.threads: 0 is below 1, the fewest threads that can run\n  --> --threads 0,4\n   \
                    = help: write --threads 8,16; counts from 1 to 1,024 are allowed";
    assert_eq!(error.to_string(), expected);
    let in_file = format!("{MINIMAL_SCENARIO}[run]\nthreads = [0, 4]\n");
    assert_error(
        Scenario::parse("my.toml", &in_file, &[]),
        &["write threads = [8, 16]; counts from 1 to 1,024 are allowed"],
    );
}

#[test]
fn a_count_that_is_none_is_answered_with_counts_that_its_key_has() {
    let threads = overridden(&[("run.threads", "two")]);
    assert!(threads.as_ref().is_err_and(|error| !error.to_string().contains("640M")));
    assert_error(
        threads,
        &[
            "run.threads: two is not a count; threads wants a number",
            "write --set run.threads=8,16; counts from 1 to 1,024 are allowed",
        ],
    );
    for (key, example) in [
        ("run.samples", "8"),
        ("run.databases", "1"),
        ("state.accounts", "100k"),
        ("block.tx_gas", "100k"),
        ("block.gas", "640M"),
    ] {
        assert_error(overridden(&[(key, "few")]), &[&format!("write a count such as {example}")]);
        accepted(&[(key, example)]);
    }
}

#[test]
fn a_range_is_answered_with_its_numbers() {
    for (range, numbers) in [
        ("1-4", "1,2,3,4"),
        ("1..4", "1,2,3,4"),
        ("1..=4", "1,2,3,4"),
        ("3:2", "2,3"),
        ("1-64", "1,2,4,8,16,32,64"),
        ("1k-2k", "1000"),
    ] {
        assert_error(
            overridden(&[("run.threads", range)]),
            &[
                &format!("run.threads: {range} is a range; a list has each number"),
                &format!("write --set run.threads={numbers}"),
            ],
        );
        accepted(&[("run.threads", numbers)]);
    }
    assert_error(overridden(&[("run.threads", "1-4,8")]), &["write 1, 2, 3, 4 in its place"]);
    let in_file = |threads: &str| format!("{MINIMAL_SCENARIO}[run]\nthreads = {threads}\n");
    assert_error(
        Scenario::parse("my.toml", &in_file("[\"1-4\", 8]"), &[]),
        &["1-4 is a range", "write 1, 2, 3, 4 in its place"],
    );
    for (key, range) in
        [("run.threads", "2000-4000"), ("run.samples", "1-4"), ("block.gas", "1M-4M")]
    {
        assert_error(
            overridden(&[(key, range)]),
            &[&format!("{range} is a range, and a count is")],
        );
    }
    assert_error(overridden(&[("run.samples", "-1")]), &["-1 is not a count"]);
}

#[test]
fn several_values_of_a_key_that_has_one_are_answered_with_a_sweep() {
    let sweep = "`stress sweep SCENARIO run.root=none,after --out DIR`";
    assert_error(
        overridden(&[("run.root", "none,after")]),
        &["run.root: none,after are several values; root has one", sweep],
    );
    let in_file =
        |run: &str| Scenario::parse("my.toml", &format!("{MINIMAL_SCENARIO}[run]\n{run}\n"), &[]);
    assert_error(
        in_file("root = [\"none\", \"after\"]"),
        &["run.root: [\"none\", \"after\"] is a list; root has one value", sweep],
    );
    assert_error(in_file("samples = [3]"), &["write one value, without brackets"]);
    // A key of expectations is none of a cell.
    let expect = format!(
        "{MINIMAL_SCENARIO}[[expect]]\nmetric = \"mgas_per_s(sequential)\"\nmin = [1, 2]\n"
    );
    assert_error(
        Scenario::parse("my.toml", &expect, &[]),
        &["expect[0].min: [1, 2] is a list; min has one value", "write one value"],
    );
}

#[test]
fn an_unknown_override_is_answered_with_the_key_that_was_meant() {
    let meant = |key: &str, path: &str| {
        assert_error(
            overridden(&[(key, "1")]),
            &[&format!("error: {key}: no such key"), &format!("did you mean {path}?")],
        );
    };
    meant("state.slot", "state.slots");
    meant("gas", "block.gas");
    meant("blocks.gas", "block.gas");
    meant("load[0].key", "load.keys");
    meant("run.io-thread", "run.io_threads");
    meant("run.rocksdb.blok", "run.rocksdb.block");
    meant("filter", "run.rocksdb.filter");
    assert_error(overridden(&[("expect.min", "1")]), &["expect.min: no such key"]);
    assert_error(
        overridden(&[("zzzzzzzzz", "1")]),
        &["keys are name, description, fork and seed, and those of state, block, load, run, "],
    );
    assert_error(overridden(&[("block.zzzzzzzzz", "1")]), &["keys of block are gas, "]);
}

#[test]
fn a_remedy_that_lists_many_names_fits_80_columns() {
    for (key, value) in [("run.zzzzzzzzz", "1"), ("load.zzzzzzzzz", "1"), ("run.designs", "zzzzz")]
    {
        let error = overridden(&[(key, value)]).expect_err(key).to_string();
        let lines: Vec<_> = error.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{error}");
        assert!(lines.len() > 3, "several lines: {error}");
        assert!(lines[3..].iter().all(|line| line.starts_with("           ")), "{error}");
    }
}

#[test]
fn an_override_that_has_no_one_place_is_rejected() {
    assert_error(overridden(&[("load[3].keys", "weyl")]), &["load[3] does not exist; there are 1"]);
    let two =
        format!("{MINIMAL_SCENARIO}share = 0.5\n[[load]]\nkind = \"sload-storm\"\nshare = 0.5\n");
    assert_error(
        Scenario::parse("my.toml", &two, &[given("load.keys", "weyl")]),
        &["load.keys: names none of the 2 loads", "load[0].keys"],
    );
    assert_error(
        overridden(&[("block.gas", "1M"), ("block.gas", "2M")]),
        &["block.gas: given twice, by --set block.gas=1M too"],
    );
    assert_error(
        overridden(&[("block.gas", "1M"), ("block.limit", "1M")]),
        &["block.limit: contradicts --set block.gas=1M", "exactly one of limit and gas"],
    );
    assert_error(
        overridden(&[("state.slots", "1M"), ("state.size", "1GiB")]),
        &["state.size: contradicts --set state.slots=1M", "keep one"],
    );
}
