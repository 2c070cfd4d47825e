//! Requests of a cold run on disks: keys and blocks that nobody has read, and a share of the device
//! that is one.

use std::{collections::HashSet, path::Path};

use serde_json::Value;

use crate::machine;

fn run(more: &[&str], data_dir: &Path) -> Value {
    let mut command = machine::program();
    let work = ["--scenario", "sload-storm", "--gas", "2M", "--slots", "300k", "--samples", "2"];
    command.args(work).args(["--format", "json", "--design", "parallel-io,batched-io"]);
    command.args(["--threads", "2", "--io-threads", "2", "--whole=none"]).args(more);
    let output = machine::output(command.env("STRESS_DATA_DIR", data_dir));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    // A device that a test measured is never taken for one that was measured in earnest.
    let marked =
        |device: &Value| device["reason"].as_str().is_some_and(|r| r.contains("no ceiling"));
    assert!(result["device"].is_null() || marked(&result["device"]), "{}", result["device"]);
    result
}

#[test]
fn a_time_of_the_device_that_is_no_number_is_refused() {
    let mut command = machine::program();
    let output = command.arg("list").env("STRESS_DEVICE_MS", "short").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("STRESS_DEVICE_MS=short: give 1 to 1000 milliseconds"), "{error}");
}

/// A figure of all samples of all cells.
fn of_samples(result: &Value, key: &str) -> Vec<Value> {
    let cells = result["cells"].as_array().unwrap().iter();
    cells.flat_map(|cell| cell["samples"].as_array().unwrap()).map(|s| s[key].clone()).collect()
}

#[test]
fn each_cold_sample_on_a_disk_has_keys_of_its_own_which_a_seed_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let seeded = ["--store", "flat", "--set", "run.draw_seed=7"];
    let (first, again) = (run(&seeded, dir.path()), run(&seeded, dir.path()));
    let other = run(&["--store", "flat"], dir.path());
    assert_eq!((&first["draw_seed"], &first["agree"]), (&Value::from(7), &Value::from(true)));
    assert_ne!(first["draw_seed"], other["draw_seed"]);
    let seeds = |of: &Value| of_samples(of, "seed");
    assert_eq!(seeds(&first), seeds(&again));
    let both: Vec<u64> =
        [seeds(&first), seeds(&other)].concat().iter().map(|s| s.as_u64().unwrap()).collect();
    assert_eq!(both.iter().collect::<HashSet<_>>().len(), 8, "{both:?}");
    // The workload that is told of is the scenario's all the same.
    assert_eq!(first["workload"]["digest"], other["workload"]["digest"]);
    assert!(first["cells"][0]["counters"].is_null());
    // 900 keys of 300,000: some samples may meet by chance.
    for share in of_samples(&other, "asked_before_share") {
        assert!(share.as_f64().unwrap() < 0.9, "{share}");
    }
}

#[test]
fn the_same_keys_are_an_option_and_the_default_of_warm_runs_and_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    for more in [["--store", "flat", "--keys", "same"], ["--store", "flat", "--cache", "warm"]] {
        let result = run(&more, dir.path());
        let seeds: Vec<_> = of_samples(&result, "seed");
        assert!(seeds.iter().all(|seed| *seed == result["workload"]["seed"]), "{seeds:?}");
        let shares = of_samples(&result, "asked_before_share");
        assert_eq!(shares.iter().filter(|share| share.as_f64() == Some(1.0)).count(), 3);
        assert!(!result["cells"][0]["counters"].is_null());
    }
    let memory = run(&["--store", "memory"], dir.path());
    assert!(of_samples(&memory, "seed").iter().all(|seed| *seed == memory["workload"]["seed"]));
    let fresh = run(&["--store", "memory", "--keys", "fresh"], dir.path());
    let seeds = of_samples(&fresh, "seed");
    assert!(seeds.iter().all(|seed| *seed != fresh["workload"]["seed"]), "{seeds:?}");
}

#[test]
fn blocks_of_a_sample_on_every_store_are_read_again_and_its_depth_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    assert_blocks_are_read_again(&run(&["--store", "rocksdb,mdbx,flat"], dir.path()));
    let form = ["--store", "mdbx", "--set", "run.mdbx.storage=dupsort"];
    let result = run(&form, dir.path());
    assert_blocks_are_read_again(&result);
    assert_eq!(result["stores"][0]["facts"]["slots"], "dupsort");
    let root = ["--set", "run.trie=cut", "--set", "run.root=after"];
    let result = run(&[&["--store", "rocksdb,mdbx,flat"], &root[..]].concat(), dir.path());
    assert_blocks_are_read_again(&result);
    for cell in result["cells"].as_array().unwrap().iter().filter(|cell| cell["store"] == "mdbx") {
        let proof = &cell["cache"]["reason"];
        let names_nodes = proof.as_str().unwrap().contains("with a node above a written key");
        assert!(names_nodes || result["device"]["ceiling_iops"].is_null(), "{proof}");
    }
}

fn assert_blocks_are_read_again(result: &Value) {
    if result["device"]["ceiling_iops"].is_null() {
        return;
    }
    assert!(result["device"]["ceiling_end_iops"].as_f64().is_some());
    for cell in result["cells"].as_array().unwrap() {
        let name = &cell["variant"];
        let share = cell["device_fraction"].as_f64();
        let share = share.unwrap_or_else(|| panic!("{name}: {}", cell["device_fraction_unknown"]));
        assert!(share > 0.0, "{name}: {share}");
        assert!(cell["reads_in_flight"].as_f64().unwrap() > 0.0, "{name}");
        let is_mapped = cell["store"] == "mdbx";
        // A sample whose rows lie in more blocks than it read has no rate: a ring would read others.
        let samples = cell["samples"].as_array().unwrap();
        let rates: Vec<_> =
            samples.iter().filter_map(|of| of["trace_blocks_per_s"].as_f64()).collect();
        assert!(!rates.is_empty() && rates.iter().all(|rate| *rate > 0.0), "{name}: {rates:?}");
        for sample in samples {
            assert_eq!(sample["row_pages"].as_u64().is_some(), is_mapped, "{name}");
            assert!(!is_mapped || sample["resident_row_pages"] == 0, "{name}");
        }
        assert_eq!(cell["cache"]["proved"], true, "{name}: {}", cell["cache"]["reason"]);
    }
}

#[test]
fn a_form_of_mdbx_tables_without_mdbx_is_refused_with_what_is_allowed() {
    for (args, parts) in [
        (
            &["--store", "rocksdb", "--set", "run.mdbx.storage=dupsort"],
            ["run.mdbx.storage: dupsort is a form of the mdbx store", "--store mdbx"],
        ),
        (
            &["--store", "mdbx", "--set", "run.mdbx.storage=duplicates"],
            ["duplicates is no form of the table", "rows or dupsort"],
        ),
    ] {
        let mut command = machine::program();
        let output = machine::output(command.args(["--scenario", "sload-storm"]).args(args));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
