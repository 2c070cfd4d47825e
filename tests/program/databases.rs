//! A run on several databases as a user sees it. Each is the one that `--seed` makes alone, and all
//! are verified. Results are pooled, and combinations without a meaning are refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path, process::Output, sync::atomic::AtomicBool};

use executor::{
    state::{DataDir, NoProgress, StateSpec},
    store::rocksdb::RocksFormat,
};
use serde_json::Value;
use spec::Override;

use crate::{
    machine::{self, STRESS},
    page,
};

/// A workload of some milliseconds.
const WORK: [&str; 11] = [
    "--scenario",
    "sload-storm",
    "--gas",
    "2M",
    "--slots",
    "20k",
    "--set",
    "state.accounts=100",
    "--threads",
    "2",
    "--whole=none",
];

fn stress(args: &[&str], dir: &Path) -> Output {
    let mut command = machine::program();
    command.args(args).current_dir(dir).env("STRESS_DATA_DIR", dir.join("data"));
    machine::output(command.env("COLUMNS", "100"))
}

/// Standard output of a call that ends with this code.
fn ends(args: &[&str], dir: &Path, code: i32) -> String {
    let output = stress(args, dir);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(!error.contains("panicked"), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

fn work<'a>(more: &[&'a str]) -> Vec<&'a str> {
    WORK.iter().copied().chain(more.iter().copied()).collect()
}

fn result(more: &[&str], dir: &Path) -> Value {
    let args = [&work(more)[..], &["--format", "json"]].concat();
    serde_json::from_str(&ends(&args, dir, 0)).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => values[middle - 1] / 2.0 + values[middle] / 2.0,
    }
}

const MEMORY: [&str; 4] = ["--store", "memory", "--seed", "5"];

#[test]
fn each_database_is_the_one_that_its_seed_makes_alone_and_figures_are_over_them() {
    let dir = tempfile::tempdir().unwrap();
    let samples = ["--samples", "3"];
    let all = result(&[&MEMORY[..], &samples, &["--databases", "3"]].concat(), dir.path());
    assert_eq!((&all["agree"], &all["interrupted"]), (&true.into(), &false.into()));
    let databases = list(&all["databases"]);
    assert_eq!((databases.len(), &databases[0]["workload"]["seed"]), (3, &5.into()));
    for (place, database) in databases.iter().enumerate() {
        let seed = database["workload"]["seed"].to_string();
        let alone =
            result(&[&["--store", "memory", "--seed", &seed][..], &samples].concat(), dir.path());
        assert_eq!(list(&alone["databases"]).len(), 0);
        for (key, value) in alone["workload"].as_object().unwrap() {
            assert_eq!(value, &database["workload"][key], "{key} of {seed}");
        }
        for (cell, other) in list(&all["cells"]).iter().zip(list(&alone["cells"])) {
            let of = &list(&cell["databases"]["each"])[place];
            assert_eq!(
                (&of["seed"], &cell["variant"]),
                (&database["workload"]["seed"], &other["variant"])
            );
            assert!(other["databases"].is_null() && other["counters"].is_object());
            assert_eq!((&of["counters"], &of["sample_count"]), (&other["counters"], &3.into()));
        }
    }
    let digests: Vec<_> = databases.iter().map(|of| of["workload"]["digest"].to_string()).collect();
    assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    for cell in list(&all["cells"]) {
        let samples = list(&cell["samples"]);
        assert!(samples.len() == 9 && samples.iter().all(|sample| sample["agree"] == true));
        let times = samples.chunks(3).map(|own| {
            median(own.iter().map(|sample| sample["wall_ns"].as_f64().unwrap() / 1e6).collect())
        });
        let (times, estimate) = (times.collect::<Vec<_>>(), &cell["ms_per_batch"]);
        let each = list(&cell["databases"]["each"]);
        let told: Vec<_> =
            each.iter().map(|of| of["ms_per_batch"]["median"].as_f64().unwrap()).collect();
        assert_eq!(told, times);
        assert_eq!(estimate["median"].as_f64(), Some(median(times.clone())));
        assert!(estimate["ci95"].is_null() && cell["counters"].is_null(), "{estimate}");
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(cell["databases"]["ms_per_batch_range"][0].as_f64(), Some(least));
        assert!(cell["databases"]["time_spread"]["within"].is_number());
    }
    let ratio = &all["cells"][1]["databases"];
    assert_eq!(ratio["time_ratio_over"], all["cells"][0]["variant"]);
    assert!(ratio["time_ratio"]["median"].as_f64().unwrap() > 0.0);
}

#[test]
fn one_database_is_what_generate_makes_of_the_scenarios_own_seed() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let file = ["generate", "sload-storm", "--gas", "2M", "--slots", "20k", "--seed", "5"];
    ends(&[&file[..], &["--set", "state.accounts=100", "--out", "w"]].concat(), at, 0);
    let run = ["--store", "memory", "--samples", "1", "--format", "json"];
    let of = |what: &[&str]| {
        let all: Value = serde_json::from_str(&ends(&[what, &run[..]].concat(), at, 0)).unwrap();
        let counters = list(&all["cells"]).iter().map(|cell| cell["counters"].clone());
        let digest = all["workload"]["digest"].clone();
        (digest, all["databases"].clone(), counters.collect::<Vec<_>>())
    };
    let expected = of(&["--workload", "w", "--threads", "2", "--whole=none"]);
    assert!(expected.0.is_string() && !expected.2.is_empty(), "{expected:?}");
    assert_eq!(of(&work(&["--seed", "5"])), expected);
    assert_eq!(of(&work(&["--seed", "5", "--databases", "1"])), expected);
}

#[test]
fn what_is_shown_of_several_databases_is_what_the_result_says() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let run = [&MEMORY[..], &["--samples", "3", "--databases", "6"]].concat();
    let page_of = ends(&work(&[&run[..], &["--out", "a"]].concat()), at, 0);
    let read = || -> Value {
        serde_json::from_str(&fs::read_to_string(at.join("a/result.json")).unwrap()).unwrap()
    };
    let json = read();
    let seed = json["databases"][5]["workload"]["seed"].to_string();
    // Six databases have an interval, though each has three samples.
    assert!(json["cells"][0]["ms_per_batch"]["trimmed_ci95"].is_array());
    let words = page_of.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("6 databases, of seeds 5,") && words.contains(&seed), "{page_of}");

    ends(&["report", "a", "--out", "page.html"], at, 0);
    let elements = page::elements(&fs::read_to_string(at.join("page.html")).unwrap());
    let places = page::compared(&elements, std::slice::from_ref(&json));
    for place in [
        "/databases/5/workload/seed",
        "/cells/1/databases/each/5/ms_per_batch/median",
        "/cells/1/databases/time_spread/between_p",
        "/cells/1/samples/*/wall_ns",
    ] {
        assert!(places.contains(&(0, place.to_owned())), "{place} is not on the page");
    }
    assert!(ends(&["report", "a"], at, 0).contains(&seed));
    let table = ends(&["report", "a", "--format", "csv"], at, 0);
    assert!(table.lines().next().unwrap().contains("samples,databases"));
    assert!(table.lines().skip(1).all(|line| line.contains(",18,6,")), "{table}");

    // Compared with itself, and with a run on fewer.
    assert!(ends(&["compare", "a", "a"], at, 0).contains("1.000"));
    let fewer = [&MEMORY[..], &["--samples", "1", "--databases", "2", "--out", "b"]].concat();
    ends(&work(&fewer), at, 0);
    let output = stress(&["compare", "a", "b"], at);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("ran on databases of seeds 5,") && error.contains("--databases"),
        "{error}"
    );
    // A result as of an undisturbed machine.
    let mut quiet = json;
    quiet["warnings"] = serde_json::json!([]);
    fs::write(at.join("quiet.json"), quiet.to_string()).unwrap();
    let gate = ["gate", "--baseline", "quiet.json", "--result", "quiet.json", "--format", "json"];
    let gate: Value = serde_json::from_str(&ends(&gate, at, 7)).unwrap();
    assert_eq!(gate["gate"]["baseline"]["counter_changes"], serde_json::json!([]));
    assert!(gate["gate"]["baseline"]["counter_count"].as_u64() >= Some(6 * 3), "{gate}");
}

#[test]
fn what_makes_no_sense_is_one_error_that_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let refused = |args: &[&str], words: &[&str]| {
        let output = stress(args, at);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert_eq!(error.matches("error:").count(), 1, "{error}");
        words.iter().for_each(|word| assert!(error.contains(word), "{word:?}: {error}"));
    };
    refused(&work(&["--databases", "0"]), &["--databases 0"]);
    refused(&work(&["--databases", "65"]), &["--databases 65", "64"]);
    let one_state = ["--databases", "2", "--set", "state.seed=7"];
    refused(&work(&one_state), &["state.seed = 7", "leave state.seed out"]);
    let file = ["generate", "sload-storm", "--gas", "2M", "--slots", "20k", "--out", "w"];
    ends(&file, at, 0);
    refused(&["--workload", "w", "--databases", "2"], &["run.databases = 2", "one database"]);
    let gate = ["gate", "--against", STRESS, "--store", "memory", "--databases", "2"];
    // A gate runs execution alone, and takes no option about it.
    let work: Vec<_> = WORK.iter().copied().filter(|word| *word != "--whole=none").collect();
    refused(&[&gate[..], &work].concat(), &["run.databases = 2", "builds are compared"]);
}

#[test]
fn states_are_kept_and_a_database_that_cannot_be_opened_loses_none_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let run =
        ["--store", "rocksdb", "--design", "batched-io", "--samples", "1", "--databases", "2"];
    ends(&work(&run), at, 0);
    let states = || fs::read_dir(at.join("data")).unwrap().count();
    let before = states();
    ends(&work(&run), at, 0);
    assert_eq!(states(), before, "the same databases are used again");

    // The second database is in use by another process: this one.
    let keys = [("block.gas", "2M"), ("state.slots", "20k"), ("state.accounts", "100")];
    let overrides = keys.map(|(key, value)| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: key.to_owned(),
    });
    let scenario = spec::load("sload-storm", &overrides).unwrap().for_database(1);
    let workload = generator::generate(&scenario, |_| {}).unwrap();
    let spec = StateSpec {
        genesis: &workload.genesis,
        layout: workload.layout,
        format: &RocksFormat::default(),
        scenario: "test",
        threads: 1,
    };
    let data = DataDir::open(&at.join("data")).unwrap();
    let held = data.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    assert_eq!(states(), before, "it is the one that the run has built");
    ends(&work(&[&run[..], &["--out", "cut"]].concat()), at, 6);
    drop(held);
    let json = fs::read_to_string(at.join("cut/result.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["agree"], &json["interrupted"]), (&true.into(), &true.into()));
    assert_eq!((list(&json["databases"]).len(), list(&json["cells"]).len()), (1, 2));
    assert!(json["warnings"].to_string().contains("in use"), "{}", json["warnings"]);
}
