//! Options of RocksDB without a key of their own, as a user gives them.

use serde_json::Value;

use crate::tool::{printed, stress, text};

/// Work on a small state in RocksDB.
const WORK: [&str; 7] = [
    "--scenario=sload-storm",
    "--slots=20k",
    "--gas=1M",
    "--set=state.accounts=100",
    "--store=rocksdb",
    "--design=batched-io",
    "--samples=1",
];

#[test]
fn options_are_in_the_result_and_the_state_is_the_same_one() {
    let dir = tempfile::tempdir().unwrap();
    let of = |more: &[&str]| -> Value {
        let args = [&WORK[..], more, &["--format", "json"]].concat();
        serde_json::from_str(&printed(&args, dir.path())).unwrap()
    };
    let plain = of(&[]);
    let options = "max_file_opening_threads=3;compression_opts={level=1;strategy=0}";
    let set = of(&["--set", &format!("run.rocksdb.options={options}")]);
    let facts = |result: &Value| result["stores"][0]["facts"].clone();
    assert_eq!(facts(&plain)["options"], "none");
    assert_eq!(facts(&set)["options"], options);
    assert_eq!(facts(&set)["state"], facts(&plain)["state"]);
    assert_eq!(set["cells"][0]["counters"], plain["cells"][0]["counters"]);
    assert_eq!(set["agree"], true);
}

#[test]
fn an_unknown_option_and_one_with_a_key_are_one_error_each_before_anything_is_built() {
    let dir = tempfile::tempdir().unwrap();
    for (options, words) in [
        ("no_such_option=1", &["run.rocksdb.options", "no_such_option"][..]),
        ("max_background_jobs=many", &["run.rocksdb.options", "max_background_jobs"]),
        (
            "block_based_table_factory={block_size=1}",
            &["is not set here", "block, filter and index"],
        ),
        ("max_open_files=9", &["max_open_files is not set here", "open_files"]),
        ("max_background_jobs", &["has no value"]),
    ] {
        let set = format!("run.rocksdb.options={options}");
        for verb in [&["validate", "sload-storm"][..], &WORK] {
            let output = stress(&[verb, &["--set", &set]].concat(), dir.path());
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{options}: {error}");
            assert_eq!(error.matches("error:").count(), 1, "{error}");
            let flat = error.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.iter().all(|word| flat.contains(word)), "{words:?}: {flat}");
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "no state was built");
}

#[test]
fn keys_of_the_run_go_with_a_workload_file_and_keys_of_its_work_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = "storm.workload";
    let generate = [&["generate", "sload-storm", "--out", file], &WORK[1..4]].concat();
    printed(&generate, dir.path());
    let of_file = [&["--workload", file], &WORK[4..]].concat();
    let set = ["--set", "run.rocksdb.access=buffered", "--format", "json"];
    let result = printed(&[&of_file[..], &set].concat(), dir.path());
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["stores"][0]["facts"]["reads"], "buffered", "{result:#}");
    for verb in [&[][..], &["describe"]] {
        let args = [verb, &["--workload", file, "--set", "block.gas=2M"]].concat();
        let output = stress(&args, dir.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains("--set block.gas=2M: the work of a workload file is fixed"),
            "{error}"
        );
    }
}
