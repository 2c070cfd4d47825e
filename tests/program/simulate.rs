//! `stress shard simulate` as a user meets it: predictions by settings, their comparison with a result,
//! and refusals. No time is asserted, only how predictions of one call relate.

use std::path::Path;

use serde_json::Value;

use crate::tool::{printed, stress, text};

const WORK: [&str; 5] =
    ["erc20", "--gas=2M", "--set=state.accounts=200", "--set=load[0].holders=200", "--samples=1"];

fn simulated(more: &[&str], dir: &Path) -> Value {
    let args = [&["shard", "simulate"], &WORK[..], &["--format=json"], more].concat();
    serde_json::from_str(&printed(&args, dir)).unwrap()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} in {value}"))
}

#[test]
fn predictions_have_a_row_of_each_model_for_each_setting() {
    let dir = tempfile::tempdir().unwrap();
    let ways = [
        "--shards=1,2",
        "--threads=1,4",
        "--set=run.shard_delay_us=0,5000",
        // The time of a partition is measured, and the same setting may have two.
        "--set=run.partition=before",
    ];
    let found = simulated(&ways, dir.path());
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2 * 2);
    let row = |threads: u64, shards: u64, delay_ns: u64, has_list: bool| {
        let is_it = |row: &&Value| {
            (number(row, "thread_count"), number(row, "shard_count")) == (threads, shards)
                && number(&row["sharding"], "delay_ns") == delay_ns
                && row["has_list"] == has_list
        };
        rows.iter().find(is_it).unwrap()
    };
    for has_list in [true, false] {
        for (threads, shards) in [(1, 1), (1, 2), (4, 1), (4, 2)] {
            let (near, far) =
                (row(threads, shards, 0, has_list), row(threads, shards, 5_000_000, has_list));
            // The part, the values that come first, and the results.
            assert!(number(far, "time_ns") >= number(near, "time_ns"), "{near} {far}");
            assert!(number(far, "time_ns") >= 20_000_000, "{far}");
            assert!(near["bound_share"].as_f64().unwrap() <= 1.001, "{near}");
        }
        let (one, two) = (row(1, 1, 0, has_list), row(1, 2, 0, has_list));
        let rate = |row: &Value| row["tx_per_s"].as_f64().unwrap();
        let speedup = two["speedup"].as_f64().unwrap();
        assert!((speedup - rate(two) / rate(one)).abs() < 1e-9, "{two}");
    }
    assert_eq!(number(row(1, 2, 0, true), "shard_message_count"), 0);
    assert_eq!(number(row(1, 1, 0, false), "shard_message_count"), 0);
    assert_eq!(found["coordinator_core_count"], 1);
    assert!(found["assumptions"].as_array().unwrap().len() >= 5, "{found}");
    for cost in ["steps_ns", "alone_steps_ns", "result_ns", "shard_result_ns"] {
        assert!(number(&found["costs"], cost) > 0, "{cost} in {found}");
    }
}

#[test]
fn a_time_of_transactions_that_is_given_takes_the_place_of_measured_ones() {
    let dir = tempfile::tempdir().unwrap();
    let given = ["--shards=1", "--threads=1", "--tx-time=10.5ms", "--one-host=3"];
    let found = simulated(&given, dir.path());
    assert_eq!(number(&found["costs"], "given_tx_ns"), 10_500_000);
    assert_eq!(found["costs"]["tx_ns"]["mean"], 1.05e7);
    assert_eq!(found["host_core_count"], 3);
    let tx_count = number(&found["workload"], "tx_count");
    for row in found["rows"].as_array().unwrap() {
        assert!(number(row, "time_ns") >= tx_count * 10_500_000, "{row}");
        assert!(row["bound_share"].as_f64().unwrap() > 0.5, "{row}");
    }
}

#[test]
fn a_result_of_the_same_workload_is_predicted_row_by_row_and_another_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = ["--design=batched-io", "--store=memory", "--whole=none", "--out=out"];
    let ways = ["--shards=1,2", "--threads=1", "--set=run.shard_delay_us=0,1000"];
    printed(&[&WORK[..], &run, &ways].concat(), dir.path());
    let found = simulated(&["--shards=2", "--threads=1", "--check=out"], dir.path());
    let checks = found["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 4);
    for check in checks {
        let (measured, predicted) = (number(check, "measured_ns"), number(check, "predicted_ns"));
        let error = predicted as f64 / measured as f64 - 1.0;
        assert!((check["error"].as_f64().unwrap() - error).abs() < 1e-6, "{check}");
        let name = check["variant"].as_str().unwrap();
        assert_eq!(check["is_source"], name.ends_with("@1+1shards"), "{check}");
        // Each shard asks for each key once, in the model as in the run.
        let keys = ["measured_key_count", "predicted_key_count"].map(|key| number(check, key));
        assert_eq!(keys[0], keys[1], "{check}");
    }
    let page =
        [&["shard", "simulate"], &WORK[..], &["--shards=2", "--threads=1", "--check=out"]].concat();
    let page = printed(&page, dir.path());
    assert!(page.contains("@1+1shards*") && page.contains("mean error of 3 rows"), "{page}");

    let other =
        ["shard", "simulate", "erc20", "--gas=1M", "--samples=1", "--shards=1", "--check=out"];
    let output = stress(&other, dir.path());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("its workload is"), "{}", text(&output.stderr));
}

#[test]
fn wrong_arguments_are_one_error_with_what_to_give() {
    let dir = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["shard", "simulate"][..], "name a scenario"),
        (&["shard", "simulate", "erc20", "--one-host=0"], "there must be a core"),
        (&["shard", "simulate", "erc20", "--tx-time=soon"], "--tx-time: soon is not a quantity"),
        (&["shard", "simulate", "erc20", "--tx-time=1us7"], "us7 is no unit of time; ns, us, ms"),
        (&["shard", "simulate", "erc20", "--shards=65"], "64"),
    ] {
        let output = stress(args, dir.path());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{args:?}: {}", text(&output.stderr));
    }
}
