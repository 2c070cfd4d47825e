//! The program as a user meets it: its output and exit codes. Wrong input gets one clear error and
//! never a panic.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    sync::atomic::AtomicBool,
};

use executor::{
    state::{DataDir, NoProgress, StateSpec},
    store::rocksdb::RocksFormat,
};
use workload::file;

use crate::machine;

const SMALL: [&str; 9] = [
    "--scenario",
    "sload-storm",
    "--gas",
    "2M",
    "--slots",
    "20k",
    "--samples",
    "1",
    "--whole=none",
];

fn stress(args: &[&str], data_dir: &Path) -> Output {
    let mut command = machine::program();
    command.args(args).env("STRESS_DATA_DIR", data_dir).env("COLUMNS", "80");
    machine::output(&mut command)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs, expects this exit code and these words on standard error, and no panic.
fn refused(args: &[&str], data_dir: &Path, code: i32, words: &[&str]) {
    let output = stress(args, data_dir);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(!error.contains("panicked"), "{args:?}: {error}");
    assert_eq!(error.matches("error:").count(), 1, "{args:?}: one error: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
    }
}

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The small run's arguments with `more`.
fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn wrong_numbers_and_names_are_usage_errors_that_name_the_remedy() {
    let dir = dir();
    let run = |more: &[&'static str], words: &[&str]| {
        let args: Vec<_> = ["--scenario", "sload-storm"].iter().chain(more).copied().collect();
        refused(&args, dir.path(), 2, words);
    };
    run(&["--gas", "0"], &["--gas 0"]);
    run(&["--gas", "1k"], &["--gas 1k"]);
    run(&["--gas", "640MB"], &["640MB is bytes; gas wants 640M"]);
    run(&["--threads", "0"], &["--threads 0"]);
    run(&["--io-threads", "x"], &["--io-threads x"]);
    run(&["--set", "state.present=2"], &["--set state.present=2"]);
    run(&["--store", "lmdb"], &["lmdb", "rocksdb, mdbx, flat, redis or memory"]);
    run(&["--design", "prewarmed"], &["did you mean prewarm?"]);
    run(&["--set", "state.slotz=1M"], &["state.slots"]);
    run(&["--set", "slots"], &["--set slots"]);
    run(&["--slots", "10k", "--gas", "64M", "--store", "memory"], &["state.slots"]);
    refused(&["--scenario", "sload-strom"], dir.path(), 2, &["sload-storm"]);
    refused(&[], dir.path(), 2, &["--scenario sload-storm"]);
}

#[test]
fn a_wrong_scenario_file_is_shown_with_its_line() {
    let dir = dir();
    let path = dir.path().join("my.toml");
    let shown = text(&stress(&["show", "sload-storm"], dir.path()).stdout);
    for (from, to, words) in [
        ("fork = \"amsterdam\"", "fork = \"amsterdm\"", "amsterdam"),
        ("gas = ", "gass = ", "did you mean"),
        ("schema = 1", "schema = 2", "schema"),
        ("share = 1.0", "share = 0.5", "must be 1"),
        ("[state]", "[state", "my.toml:"),
    ] {
        assert!(shown.contains(from), "{from} is in {shown}");
        fs::write(&path, shown.replacen(from, to, 1)).unwrap();
        refused(&["validate", path.to_str().unwrap()], dir.path(), 2, &["my.toml:", words]);
    }
}

#[test]
fn what_show_prints_validates_and_list_names_come_first() {
    let dir = dir();
    let list = text(&stress(&["list"], dir.path()).stdout);
    assert!(list.lines().count() >= 4);
    for line in list.lines() {
        let name = line.split_whitespace().next().unwrap();
        let shown = stress(&["show", name], dir.path());
        assert_eq!(shown.status.code(), Some(0));
        let path = dir.path().join("shown.toml");
        fs::write(&path, &shown.stdout).unwrap();
        let validated = stress(&["validate", path.to_str().unwrap()], dir.path());
        assert_eq!(validated.status.code(), Some(0), "{}", text(&validated.stderr));
    }
}

#[test]
fn a_run_prints_a_table_or_json_and_writes_what_it_is_told_to() {
    let dir = dir();
    let out = dir.path().join("out");
    let args = small(&["--store", "memory,rocksdb", "--out", out.to_str().unwrap()]);
    let table = stress(&args, dir.path());
    assert_eq!(table.status.code(), Some(0), "{}", text(&table.stderr));
    let table = text(&table.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    for word in ["sequential", "parallel-io", "batched-io", "fastest"] {
        assert!(table.contains(word), "{word} is in {table}");
    }
    let written: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("result.json")).unwrap()).unwrap();
    assert_eq!(written["schema"], "stress.result/3");
    assert_eq!(written["agree"], true);
    let args = small(&["--store", "memory", "--format", "json"]);
    let json = stress(&args, dir.path());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["workload"]["digest"], written["workload"]["digest"]);
    assert_eq!(json["cells"][0]["samples"].as_array().unwrap().len(), 1);
}

#[test]
fn a_generated_workload_runs_and_a_changed_one_is_refused() {
    let dir = dir();
    let path = dir.path().join("storm.workload");
    let name = path.to_str().unwrap();
    let generate = ["generate", "sload-storm", "--gas", "2M", "--slots", "20k", "--out", name];
    assert_eq!(stress(&generate, dir.path()).status.code(), Some(0));
    let run = ["--workload", name, "--store", "memory", "--samples", "1"];
    let output = stress(&run, dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    refused(&["--workload", name, "--gas", "3M"], dir.path(), 2, &["--gas 3M", "fixed"]);
    refused(&["--workload", "no/such/file"], dir.path(), 2, &["no/such/file"]);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    refused(&run, dir.path(), 6, &["bytes"]);
    fs::write(&path, b"something else").unwrap();
    refused(&run, dir.path(), 6, &["no workload file"]);

    fs::write(&path, &bytes).unwrap();
    let mut workload = file::read(&path).unwrap();
    workload.batches[0].expected.transactions[0].gas_used += 1;
    fs::write(&path, file::encode(&workload).unwrap()).unwrap();
    refused(&run, dir.path(), 3, &[]);
}

fn table_file(data: &Path) -> PathBuf {
    let states = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let state = states.filter(|path| path.is_dir()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rocksdb-"))
    });
    let files = fs::read_dir(state.unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|e| e == "sst"));
    tables.max_by_key(|path| path.metadata().unwrap().len()).unwrap()
}

#[test]
fn a_damaged_state_is_refused_or_found_and_can_be_removed() {
    let dir = dir();
    let args = small(&["--design", "batched-io"]);
    assert_eq!(stress(&args, dir.path()).status.code(), Some(0));
    let list = text(&stress(&["state", "list"], dir.path()).stdout);
    let name = list.split_whitespace().next().unwrap().to_owned();
    let verified = stress(&["state", "verify", &name], dir.path());
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
    let manifest = dir.path().join(&name).join("manifest.json");
    let whole = fs::read_to_string(&manifest).unwrap();
    let mut earlier: serde_json::Value = serde_json::from_str(&whole).unwrap();
    for file in earlier["files"].as_array_mut().unwrap() {
        file.as_object_mut().unwrap().remove("hash").unwrap();
    }
    fs::write(&manifest, earlier.to_string()).unwrap();
    let rows_alone = stress(&["state", "verify", &name, "--quiet"], dir.path());
    let said = text(&rows_alone.stdout);
    assert_eq!(rows_alone.status.code(), Some(7), "{said}{}", text(&rows_alone.stderr));
    assert!(said.contains("filters and indices not compared") && !said.contains("fine"), "{said}");
    fs::write(&manifest, whole).unwrap();

    let table = table_file(dir.path());
    let bytes = fs::read(&table).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 3] ^= 1;
    fs::write(&table, &flipped).unwrap();
    refused(&["state", "verify", &name], dir.path(), 6, &[&name]);
    fs::write(&table, &bytes[..bytes.len() - 1]).unwrap();
    refused(&args, dir.path(), 6, &[&name, "stress state rm"]);
    assert_eq!(stress(&["state", "rm", &name], dir.path()).status.code(), Some(0));
    refused(&["state", "rm", &name], dir.path(), 2, &[&name]);
    assert_eq!(stress(&args, dir.path()).status.code(), Some(0));
}

#[test]
fn a_data_directory_that_is_in_use_is_an_io_error_and_a_file_in_its_place_is_refused() {
    let dir = dir();
    let path = dir.path().join("storm.workload");
    let generate = [
        "generate",
        "sload-storm",
        "--gas",
        "2M",
        "--slots",
        "20k",
        "--out",
        path.to_str().unwrap(),
    ];
    assert_eq!(stress(&generate, dir.path()).status.code(), Some(0));
    let workload = file::read(&path).unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    let spec = StateSpec {
        genesis: &workload.genesis,
        layout: workload.layout,
        format: &RocksFormat::default(),
        scenario: "test",
        threads: 1,
    };
    let held = data.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    let args = small(&["--design", "batched-io"]);
    refused(&args, dir.path(), 6, &["in use", &std::process::id().to_string()]);
    drop(held);
    assert_eq!(stress(&args, dir.path()).status.code(), Some(0));

    refused(&args, &path.join("below-a-file"), 2, &["--data-dir", "is a file"]);
    let out = path.join("below-a-file");
    let args = small(&["--store", "memory", "--out", out.to_str().unwrap()]);
    refused(&args, dir.path(), 6, &["--out"]);
}

#[test]
fn a_claim_that_fails_ends_the_run_with_1_and_one_that_cannot_be_judged_with_4_if_strict() {
    let dir = dir();
    let file = dir.path().join("claims.toml");
    let run = |claim: &str, more: &[&str], code: i32, words: &str| {
        let text = format!(
            "schema = 1\nname = \"claims\"\n[state]\nslots = 20_000\naccounts = 10\n[block]\n\
             gas = \"1M\"\n[[load]]\nkind = \"sload-storm\"\n[run]\nstores = [\"memory\"]\n\
             samples = 1\nthreads = [2]\n[[expect]]\n{claim}\n"
        );
        fs::write(&file, text).unwrap();
        let args: Vec<_> =
            ["--scenario", file.to_str().unwrap()].iter().chain(more).copied().collect();
        let output = stress(&args, dir.path());
        let page = text_of(&output);
        assert_eq!(output.status.code(), Some(code), "{claim}: {page}");
        assert!(page.contains(words), "{claim}: {page}");
    };
    let size = "metric = \"bal_bytes(batched-io)\"\n";
    run(&format!("{size}max = 1e6"), &["--strict"], 0, "1 of 1 hold");
    run(&format!("{size}max = 100"), &[], 1, "FAILS: bal_bytes(batched-io) is ");
    run(&format!("{size}max = 100"), &["--design", "sequential"], 1, "FAILS");
    // Nothing would judge it, and the run would pass.
    let absent = "metric = \"mgas_per_s(full)\"\nmin = 0";
    run(absent, &[], 2, "the claim on mgas_per_s(full) ([[expect]]) cannot be judged");
    run(absent, &["--design", "full"], 0, "inconclusive: mgas_per_s(full) on memory");
    run(absent, &["--gas", "2M"], 0, "skipped: the work was overridden");
    // The work is another one: the claim was not made for it.
    run(&format!("{size}max = 100"), &["--gas", "2M"], 0, "skipped: the work was overridden");
    let rate = "metric = \"mgas_per_s(batched-io)\"\nmin = 0";
    run(rate, &[], 0, "inconclusive: mgas_per_s(batched-io) on memory");
    run(rate, &["--strict"], 4, "--samples 6");
    run(rate, &["--strict", "--samples", "6"], 0, "1 of 1 hold");
    // The claim is on whole blocks, and there are none.
    run(rate, &["--whole=none"], 7, "execution(mgas_per_s(batched-io)) claims execution alone");
    run(rate, &["--whole=none", "--accept-not-judged"], 0, "not judged: mgas_per_s(batched-io)");
    let alone = rate.replace("mgas_per_s(batched-io)", "execution(mgas_per_s(batched-io))");
    run(&alone, &["--whole=none", "--strict", "--samples", "6"], 0, "1 of 1 hold");
    // Another kind of run is none that the claim is on.
    let warm = format!("{size}max = 100\nwhen = {{ cache = \"cold\" }}");
    run(&warm, &["--cache", "warm", "--strict"], 0, "skipped: bal_bytes(batched-io)");
}

fn text_of(output: &Output) -> String {
    let joined = text(&output.stdout) + &text(&output.stderr);
    joined.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn results_of_the_same_work_are_laid_side_by_side_and_others_are_refused() {
    let dir = dir();
    let out = |name: &str, more: &[&str]| {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        let how = ["--store", "memory", "--threads", "2", "--out", path.as_str()];
        let output = stress(&small(&[&how, more].concat()), dir.path());
        assert!(output.status.success(), "{}", text_of(&output));
        path
    };
    let (a, b) = (out("a", &[]), out("b", &[]));
    let output = stress(&["compare", &a, &b], dir.path());
    assert!(output.status.success(), "{}", text_of(&output));
    assert!(text_of(&output).contains("the same in all"), "{}", text_of(&output));
    let json = stress(&["compare", &a, &b, "--format", "json"], dir.path());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 3);

    let other = out("other", &["--seed", "9"]);
    refused(&["compare", &a, &other], dir.path(), 2, &["different work", "seed"]);
    let file = Path::new(&b).join("result.json");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    refused(&["compare", &a, &b], dir.path(), 6, &["result.json", "not valid JSON (truncated?)"]);
    fs::write(&file, whole.replace("stress.result/3", "stress.result/0")).unwrap();
    refused(&["compare", &a, &b], dir.path(), 6, &["stress.result/0"]);
    refused(&["compare", &a], dir.path(), 2, &["RESULT"]);
}

#[test]
fn the_doctor_looks_at_every_subject_and_is_strict_only_if_asked() {
    let dir = dir();
    let output = stress(&["doctor", "--format", "json"], dir.path());
    assert!(output.status.success(), "{}", text_of(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], "stress.doctor/1");
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() > 15 && report["environment"]["ground"].is_object());
    let strict = stress(&["doctor", "--strict"], dir.path());
    let words = text_of(&strict);
    assert!(words.contains("O_DIRECT") && words.contains("governor"), "{words}");
    let code = if words.contains("WARNING") { 5 } else { 0 };
    assert_eq!(strict.status.code(), Some(code), "{words}");
}

#[test]
fn a_trace_is_of_one_more_sample_and_a_wrong_name_or_place_is_refused_before_the_run() {
    let dir = dir();
    let path = dir.path().join("trace.json");
    let path = path.to_str().unwrap();
    let memory = ["--store", "memory", "--threads", "2", "--format", "json"];
    let traced: Vec<_> = memory.iter().copied().chain(["--trace", path]).collect();
    let output = stress(&small(&traced), dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(path), "it says what it wrote");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let cells = result["cells"].as_array().unwrap();
    let of_trace = &trace["otherData"]["variant"];
    let cell = cells.iter().find(|cell| cell["variant"] == *of_trace).unwrap();
    let fastest = cells.iter().map(|cell| cell["samples"][0]["wall_ns"].as_u64().unwrap()).min();
    assert_eq!(cell["samples"][0]["wall_ns"].as_u64(), fastest, "the fastest is traced");
    assert_eq!(cell["samples"].as_array().unwrap().len(), 1, "it is not counted");
    assert_eq!(trace["otherData"]["workload_digest"], result["workload"]["digest"]);

    refused(&small(&["--trace", "/nowhere/x.json"]), dir.path(), 6, &["/nowhere/x.json"]);
    let place = dir.path().to_str().unwrap();
    refused(&small(&["--trace", place]), dir.path(), 6, &["--trace", "directory"]);
}

#[test]
fn schedules_are_cells_of_their_own_and_recovered_senders_stand_apart() {
    let dir = dir();
    let schedules = "run.schedule=block-order,gas-limit,list-entries,known-cost";
    let more = ["--store", "memory", "--threads", "2", "--design", "parallel-io", "--format"];
    let more =
        [&more[..], &["json", "--set", schedules, "--set", "run.recover_senders=true"]].concat();
    let more = [&more[..], &["--set", "block.tx_gas=500k"]].concat();
    let output = stress(&small(&more), dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = result["cells"].as_array().unwrap();
    let found: Vec<_> = cells.iter().map(|cell| cell["schedule"].as_str().unwrap()).collect();
    assert_eq!(format!("run.schedule={}", found.join(",")), schedules);
    for cell in cells {
        let sample = &cell["samples"][0];
        let number = |key: &str| sample[key].as_u64().unwrap_or_else(|| panic!("{key}: {sample}"));
        assert!(number("recover_ns") > 0);
        assert!(cell["recover_ns_per_tx"].as_f64().unwrap() > 0.0);
        assert!(cell["scheduling_quality"].is_f64(), "{cell}");
        assert!(number("makespan_longest_first_ns") >= number("longest_tx_ns"));
        assert!(number("makespan_block_order_ns") <= 2 * number("makespan_longest_first_ns"));
        assert_eq!(sample["phases_ns"]["schedule"] == 0, {
            let schedule = &cell["schedule"];
            schedule == "block-order"
        });
    }
}
