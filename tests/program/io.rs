//! `stress doctor io` as a user meets it: output, files, refusals, and the points that Ctrl-C keeps.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::machine;

fn command(args: &[&str], data_dir: &Path) -> Command {
    let mut command = machine::program();
    command.args(["doctor", "io"]).args(args).env("STRESS_DATA_DIR", data_dir).env("COLUMNS", "80");
    command
}

fn stress(args: &[&str], data_dir: &Path) -> Output {
    machine::output(&mut command(args, data_dir))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(args: &[&str], data_dir: &Path) -> Value {
    let args: Vec<_> = args.iter().copied().chain(["--format", "json"]).collect();
    let output = stress(&args, data_dir);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A small state, and points that are over at once.
const SMALL: [&str; 6] = ["--slots", "50k", "--budget", "200ms", "--depth", "1,8"];

fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn wrong_options_are_usage_errors_that_name_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], words: &[&str]| {
        let output = stress(args, dir.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(!error.contains("panicked"), "{args:?}: {error}");
        for word in words {
            assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
        }
    };
    refused(&["--depth", "0"], &["--depth 0", "--depth 1,16,64"]);
    refused(&["--depth", "4,4"], &["--depth 4,4", "each once"]);
    refused(&["--depth", "2000"], &["from 1 to 1024", "threads"]);
    refused(&["--depth", "1,x"], &["--depth 1,x"]);
    refused(&["--depth", "4", "--threads", "4"], &["give one of them"]);
    refused(&["--threads", "0"], &["--threads 0"]);
    refused(&["--read", "scan"], &["--read scan", "get or multi-get"]);
    refused(&["--store", "postgres"], &["--store postgres", "rocksdb"]);
    refused(&["--set", "state.present=some"], &["--set state.present=some"]);
    refused(&["--set", "state.present=2"], &["--set state.present=2"]);
    refused(&["--slots", "0"], &["--slots 0"]);
    refused(&["--slots", "10GB"], &["--slots 10GB"]);
    refused(&["--set", "state.layout=sorted"], &["--set state.layout=sorted", "hashed or plain"]);
    refused(&["--budget", "10ms"], &["--budget 10ms", "5 points share it"]);
    refused(&["--budget", "soon"], &["--budget: soon"]);
    refused(&["--set", "run.rocksdb.block=8k"], &["8k is a count", "8KiB"]);
    refused(&["--set", "block.gas=1M"], &["raw reads have no such key", "state.present"]);
    refused(&["--set", "block"], &["--set block", "a key and a value"]);
    let multi_get = small(&["--store", "memory", "--read", "multi-get"]);
    refused(&multi_get, &["memory", "no multi-get"]);
}

#[test]
fn a_table_and_a_file_show_each_depth_beside_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let args = small(&["--store", "rocksdb,memory", "--out", out.to_str().unwrap()]);
    let output = stress(&args, dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    for word in ["rocksdb", "memory", "depth", "found", "p50"] {
        assert!(table.contains(word), "{word} is not in {table}");
    }
    let written: Value = serde_json::from_slice(&fs::read(out.join("io.json")).unwrap()).unwrap();
    assert_eq!(written["schema"], "stress.io/2");
    let stores = written["stores"].as_array().unwrap();
    assert_eq!(stores.len(), 2);
    for store in stores {
        let points = store["points"].as_array().unwrap();
        let depths: Vec<_> = points.iter().map(|point| point["depth"].as_u64().unwrap()).collect();
        assert_eq!(depths, [1, 8]);
        assert!(points.iter().all(|point| point["gets"].as_u64().unwrap() > 0));
    }
    assert_eq!(stores[1]["device"], Value::Null);
    assert_eq!(stores[1]["points"][0]["cache"]["proved"], Value::Null);
    assert_eq!(written["interrupted"], false);
}

#[test]
fn present_keys_cost_a_block_at_most_and_absent_ones_hardly_any() {
    let dir = tempfile::tempdir().unwrap();
    let point = |share| {
        let present = format!("state.present={share}");
        let more = ["--set", &present, "--set", "state.layout=plain"];
        let result = json(&small(&more), dir.path());
        assert_eq!(result["state"]["key_layout"], "plain");
        result["stores"][0]["points"][1].clone()
    };
    let (present, half, absent) = (point("1"), point("0.5"), point("0"));
    let blocks = |point: &Value| point["blocks_per_get"].as_f64().unwrap();
    // A small state's blocks are soon in the cache, so a key costs a block at most.
    let share =
        |point: &Value| point["present_gets"].as_f64().unwrap() / point["gets"].as_f64().unwrap();
    for point in [&present, &half, &absent] {
        assert!(blocks(point) <= share(point) * 1.05 + 0.05, "{point}");
    }
    assert!(blocks(&present) > 0.0 && blocks(&half) > 0.0, "{present} {half}");
    assert_eq!(present["present_gets"], present["gets"]);
    assert_eq!(absent["present_gets"], 0);
    assert_eq!(present["absent_latency_ns"]["count"], 0);
    assert_eq!(half["present_latency_ns"]["count"], half["present_gets"]);
}

#[test]
fn many_keys_in_a_call_are_read_through_io_uring_where_the_store_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let args = small(&["--read", "multi-get", "--threads", "1"]);
    let output = stress(&args, dir.path());
    if output.status.code() == Some(2) {
        // The kernel, or a sandbox, refuses io_uring: the program says so and measures nothing.
        assert!(text(&output.stderr).contains("multi-get"), "{}", text(&output.stderr));
        return;
    }
    let result = json(&args, dir.path());
    let store = &result["stores"][0];
    let point = &store["points"][1];
    assert_eq!((point["keys_per_call"].as_u64(), point["threads"].as_u64()), (Some(8), Some(1)));
    assert_eq!(point["latency_of_calls"], true);
    if store["facts"]["multi_get_io_uring"] == true {
        assert!(point["read_syscalls_per_get"].as_f64().unwrap() < 0.5, "{point}");
    }
}

#[test]
fn another_shape_is_another_state_and_stands_in_the_facts() {
    let dir = tempfile::tempdir().unwrap();
    let fresh = json(&small(&[]), dir.path());
    let aged = json(&small(&["--set", "run.rocksdb.aged=0.25"]), dir.path());
    let fact = |result: &Value, name: &str| result["stores"][0]["facts"][name].clone();
    assert_ne!(fact(&fresh, "state"), fact(&aged, "state"));
    assert_eq!((fact(&fresh, "aged_ppm"), fact(&aged, "aged_ppm")), (0.into(), 250_000.into()));
    assert_eq!(fact(&fresh, "multi_get_io_uring"), Value::Null);
    assert_eq!(fact(&fresh, "block_bytes"), 4_096);
    let mut list = machine::program();
    let list = list.args(["state", "list"]).env("STRESS_DATA_DIR", dir.path()).output().unwrap();
    let list = text(&list.stdout);
    assert_eq!(list.lines().filter(|line| line.contains("aged 0.25")).count(), 1, "{list}");
    assert_eq!(list.lines().count(), 2, "{list}");
}

#[test]
fn an_interruption_keeps_the_points_that_are_finished() {
    let _shared = machine::shared();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let args = ["--slots", "50k", "--depth", "1,2,3,4,5,6,7,8,9,10,11,12", "--budget", "4s"];
    let args: Vec<_> = args.into_iter().chain(["--out", out.to_str().unwrap()]).collect();
    let child = command(&args, dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let start = Instant::now();
    while !out.join("io.json").exists() && start.elapsed() < Duration::from_secs(120) {
        thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("INTERRUPTED"), "{}", text(&output.stdout));
    let written: Value = serde_json::from_slice(&fs::read(out.join("io.json")).unwrap()).unwrap();
    assert_eq!(written["interrupted"], true);
    assert!(!written["stores"][0]["points"].as_array().unwrap().is_empty());
}
