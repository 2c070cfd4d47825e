//! Executors that are not this project's: workers in other languages. `examples/go-worker` is
//! go-ethereum behind the worker protocol; it is built here where Go and its modules are to be had.

#![expect(clippy::print_stderr, reason = "a test says its measured figures")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::{Value, json};

use crate::{
    go,
    machine::{self, STRESS},
    tool::{printed, text},
};

const VARIANT: &str = "go-ethereum/in-order@1";

/// The worker in Go, built once; `None`, said aloud, where it cannot be.
fn worker() -> Option<&'static Path> {
    static WORKER: OnceLock<Option<PathBuf>> = OnceLock::new();
    WORKER.get_or_init(|| go::built("examples/go-worker")).as_deref()
}

/// A program of these lines of shell.
fn program(dir: &Path, name: &str, lines: &str) -> String {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs `stress gate` on a small storm; gives its exit code, its result and its standard error.
fn gate(dir: &Path, more: &[&str]) -> (i32, Value, String) {
    let args = ["gate", "--format", "json", "--slot-time", "1ms", "--gas", "4M", "--slots", "20k"];
    let mut command = machine::program();
    command.args(args).args(more).env("STRESS_DATA_DIR", dir).env("XDG_STATE_HOME", dir);
    let output = machine::output(&mut command);
    let error = text(&output.stderr);
    let result = serde_json::from_slice(&output.stdout);
    (output.status.code().unwrap(), result.unwrap_or_else(|e| panic!("{e}: {error}")), error)
}

#[test]
fn go_ethereum_is_gated_against_its_own_copy_on_transfers_and_storms() {
    let Some(worker) = worker() else { return };
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("go-worker-copy");
    fs::copy(worker, &copy).unwrap();
    let [worker, copy] = [worker, copy.as_path()].map(|path| path.to_str().unwrap());
    for scenario in ["transfers", "sload-storm"] {
        let args = ["--against", worker, "--program", copy, "--scenario", scenario];
        let more = ["--set", "state.accounts=2k"];
        let (code, result, error) = gate(dir.path(), &[&args[..], &more].concat());
        let judged = &result["gate"];
        let codes: &[i32] = match judged["verdict"].as_str().unwrap() {
            "pass" | "inconclusive" => &[0],
            "untrusted" => &[5],
            // One program: two starts of it differ by the machine's load alone.
            "regression" => &[1],
            other => panic!("{other}: {judged:#}: {error}"),
        };
        assert!(codes.contains(&code), "{judged:#}: {error}");
        let cell = &judged["attempts"][0]["cells"][0];
        assert_eq!(cell["variant"], VARIANT);
        assert_eq!(cell["counter_changes"], json!([]));
        assert_eq!(cell["counters"]["gas"], result["workload"]["gas"]);
        let octets = cell["octets"].as_array().unwrap();
        assert!(octets.len() >= 6, "{} octets", octets.len());
        for side in [0, 1] {
            let binary = &result["binaries"][side];
            assert_eq!(binary["client"], "go-ethereum v1.17.8");
            assert_eq!(binary["binary_hash"].as_str().unwrap().len(), 64);
        }
        tell(scenario, judged, cell);
    }
}

fn tell(scenario: &str, judged: &Value, cell: &Value) {
    let figure = &cell["figures"][0];
    eprintln!(
        "{scenario}: {} ({}), base {} ns",
        judged["verdict"], judged["reason"], figure["base"]
    );
}

/// A worker with a workload loaded, driven without a gate: nothing here is timed.
struct Driven {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Driven {
    fn start(worker: &Path) -> Self {
        let mut command = Command::new(worker);
        command.arg("--worker").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut driven = Self { child, answers };
        assert_eq!(driven.answer()["reads"], "json");
        driven
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.child.stdin.as_ref().unwrap(), "{request}").unwrap();
        self.answer()
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn go_ethereum_reaches_the_expected_outcome_of_every_shipped_scenario() {
    let Some(worker) = worker() else { return };
    let _shared = machine::shared();
    let dir = tempfile::tempdir().unwrap();
    let list = printed(&["list"], dir.path());
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    let mut works: Vec<Vec<&str>> = names.map(|name| vec![name]).collect();
    works.extend(["osaka", "bpo2"].map(|fork| vec!["erc20", "--fork", fork]));
    works.push(vec!["sstore-storm", "--fork", "osaka"]);
    works.push(vec!["erc20", "--blocks", "4", "--batch", "2"]);
    let mut driven = Driven::start(worker);
    let mut without = Vec::new();
    for work in works {
        let small = ["--gas", "10M", "--slots", "200k", "--force", "-o", "a.workload"];
        let few: &[&str] = if work[0] == "sustained-writes" { &["--blocks", "2"] } else { &[] };
        printed(&[&["generate"], &work[..], few, &small].concat(), dir.path());
        let json = printed(&["show", "a.workload", "--json"], dir.path());
        let path = dir.path().join("a.json");
        fs::write(&path, &json).unwrap();
        let load = json!({"kind": "load", "protocol": 1, "workload": "", "data_dir": null,
            "workload_json": path, "run": []});
        let loaded = driven.ask(&load);
        if loaded["kind"] == "error" && loaded["message"].to_string().contains("authorizations") {
            without.push(work[0]);
            continue;
        }
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(loaded["digest"], json["digest"], "{work:?}: {loaded}");
        // Each begins at the same state: the second is as the first.
        let [first, second] = [0, 1].map(|_| {
            let sample = driven.ask(&json!({"kind": "sample", "variant": VARIANT}));
            assert_eq!(sample["kind"], "sample", "{work:?}: {sample}");
            sample["counters"].clone()
        });
        assert_eq!(first, second, "{work:?}");
        let batches = json["batches"].as_array().unwrap().iter();
        let txs = batches.flat_map(|batch| batch["expected"]["transactions"].as_array().unwrap());
        let gas: u64 = txs.map(|tx| tx["gas_used"].as_u64().unwrap()).sum();
        assert_eq!(first["gas"].as_u64(), Some(gas), "{work:?}");
    }
    without.sort_unstable();
    without.dedup();
    assert_eq!(without, ["delegate", "mainnet-like"], "those with authorizations");
    assert_eq!(driven.ask(&json!({"kind": "exit"})), json!({"kind": "bye"}));
}

#[test]
fn a_worker_in_go_that_answers_wrongly_is_caught_and_one_is_told_what_it_cannot_do() {
    let Some(worker) = worker() else { return };
    let dir = tempfile::tempdir().unwrap();
    let worker = worker.to_str().unwrap();
    let scenario = ["--scenario", "sload-storm", "--set", "state.accounts=200"];
    for (field, edit) in [
        ("gas", r#"s/"gas":[0-9]*/"gas":21000/"#),
        ("receipts", r#"s/"receipts":"0x../"receipts":"0xzz/"#),
        ("net_changes", r#"s/"net_changes":"0x../"net_changes":"0xzz/"#),
    ] {
        let lines = format!("{worker} \"$@\" | sed -u '{edit}'");
        let wrong = program(dir.path(), field, &lines);
        let args = [&["--against", worker, "--program", &wrong], &scenario[..]].concat();
        let (code, result, error) = gate(dir.path(), &args);
        let reason = result["gate"]["reason"].as_str().unwrap();
        assert_eq!((code, &result["gate"]["verdict"]), (3, &"error".into()), "{field}: {error}");
        assert!(reason.contains("is wrong") && reason.contains(&format!("{field}: ")), "{reason}");
    }
    let refused = |more: &[&str], words: &str| {
        let (code, result, _) = gate(dir.path(), &[&scenario[..], more].concat());
        let reason = result["gate"]["reason"].as_str().unwrap();
        assert!(code == 2 && reason.contains(words), "{code}: {reason}");
    };
    let pair = ["--against", worker, "--program", worker];
    let with = |more: &[&'static str]| [&pair[..], more].concat();
    refused(&with(&["--design", "sequential"]), "run.designs: this worker has no settings");
    refused(&with(&["--deadline", "3s"]), "leave it out");
    refused(&["--against", STRESS, "--program", worker], "names a variant alike");
}

/// An executor that reads the JSON form and answers each sample with these counters.
fn liar(dir: &Path, counters: &str) -> String {
    let sample = format!(
        r#"{{"kind":"sample","variant":"mine@1","wall_ns":5000000,"counters":{counters}}}"#
    );
    let lines = format!(
        r#"echo '{{"kind":"hello","protocol":1,"program":"0","executor":"mine 1","reads":"json"}}'
read -r load
file=$(printf '%s' "$load" | grep -o '"workload_json":"[^"]*"' | cut -d'"' -f4)
digest=$(grep -o '"digest":"[^"]*"' "$file" | head -n 1 | cut -d'"' -f4)
echo "{{\"kind\":\"loaded\",\"digest\":\"$digest\",\"variants\":[\"mine@1\"]}}"
while read -r request; do
  case "$request" in *exit*) echo '{{"kind":"bye"}}'; exit ;; *) echo '{sample}' ;; esac
done"#
    );
    program(dir, "liar", &lines)
}

#[test]
fn an_executor_in_any_language_reads_the_json_and_is_caught_where_it_invents_an_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let counters = r#"{"gas":1,"receipts":"0x1","net_changes":"0x2","list_bytes":0,"unique_keys":0,"store_reads":null}"#;
    let liar = liar(dir.path(), counters);
    let args = ["--against", &liar, "--program", &liar, "--scenario", "transfers"];
    let (code, result, error) =
        gate(dir.path(), &[&args[..], &["--set", "state.accounts=2k"]].concat());
    let reason = result["gate"]["reason"].as_str().unwrap();
    assert_eq!(code, 3, "{error}");
    assert!(reason.contains("liar: its sample of mine@1 is wrong"), "{reason}");
    for field in ["gas: ", "receipts: ", "net_changes: "] {
        assert!(reason.contains(field), "{field} is not in {reason}");
    }
    assert_eq!(result["binaries"][0]["client"], "mine 1");
}
