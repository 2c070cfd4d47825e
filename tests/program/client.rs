//! `stress client` as a user meets it: samples of a client by its Engine API, and one clear error for
//! each answer that is none. The faults are a fake's; the client that is tried is go-ethereum.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a fake client says that it is ready, and why it ends"
)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use tempfile::TempDir;

use self::fake::{Call, Calls, Reply, serve, status, valid, written};
use crate::{
    found::geth,
    machine,
    tool::{printed, stress, text},
};

mod calibrated;
mod chains;
mod ended;
mod fake;
mod filled;
mod gated;
mod grown;

const SIBLINGS: usize = 9;

/// An export that all tests share, and the hash of its genesis.
fn export() -> &'static (TempDir, String) {
    static EXPORT: OnceLock<(TempDir, String)> = OnceLock::new();
    EXPORT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let small = ["--gas", "3M", "--slots", "2k", "--set", "state.accounts=500", "--seed", "7"];
        let count = SIBLINGS.to_string();
        let args = ["export", "--scenario", "sstore-storm", "--siblings", &count, "--out", "out"];
        printed(&[&args[..], &small].concat(), dir.path());
        fs::write(dir.path().join("jwt.hex"), "07".repeat(32)).unwrap();
        let manifest = fs::read(dir.path().join("out/export.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let hash = manifest["genesis_hash"].as_str().unwrap().to_owned();
        (dir, hash)
    })
}

fn dir() -> &'static Path {
    export().0.path()
}

fn genesis_hash() -> &'static str {
    &export().1
}

/// Attaches to the client at `url`.
fn attached(url: &str, more: &[&str]) -> Output {
    let args = ["client", "out", "--url", url, "--jwt", "jwt.hex"];
    stress(&[&args[..], more].concat(), dir())
}

fn payloads(calls: &Calls) -> Vec<String> {
    let calls = calls.lock().unwrap();
    let new = calls.iter().filter(|call| call.method.starts_with("engine_newPayload"));
    new.map(|call| call.hash.clone()).collect()
}

#[test]
fn a_client_that_runs_is_sampled_by_every_sibling_once() {
    let (url, calls) = serve(|call| valid(call, genesis_hash()));
    let output = attached(&url, &["--format", "json", "--out", "attached", "--deadline", "60s"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let client = &result["clients"][0];
    assert_eq!(
        (&client["client"], &client["version"]),
        (&"attached".into(), &"Fake v1 c0ffee00".into())
    );
    let samples = client["samples"].as_array().unwrap();
    assert_eq!((samples.len(), &client["warm_up_sample_count"]), (SIBLINGS, &1.into()));
    assert!(client["ms_per_batch"]["ci95"].is_array(), "eight samples have an interval");
    assert!(samples.iter().all(|sample| sample["wall_ns"].as_u64() > Some(0)));
    assert_eq!((&result["agree"], &result["interrupted"]), (&true.into(), &false.into()));
    assert_eq!(result["expects"]["claims"][0]["verdict"], "holds");
    assert_eq!(client["cache"]["proved"], Value::Null, "it keeps what it read");
    let mut sent = payloads(&calls);
    assert_eq!(sent.len(), SIBLINGS);
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), SIBLINGS, "each block has a hash of its own");
    for call in calls.lock().unwrap().iter() {
        let token = call.authorization.strip_prefix("Bearer ").unwrap_or_default();
        assert_eq!(token.split('.').count(), 3, "{}: {token}", call.method);
    }
    // The same file is read by the other verbs.
    let page = printed(&["report", "attached"], dir());
    assert!(page.contains("client `attached`"), "{page}");
    let csv = printed(&["report", "attached", "--format", "csv"], dir());
    assert_eq!(csv.lines().count(), 2, "{csv}");
    printed(&["report", "attached", "--out", "attached.html"], dir());
    let html = fs::read_to_string(dir().join("attached.html")).unwrap();
    assert!(html.contains("Clients on the same block") && html.contains("Every block is valid"));
    let compared = printed(&["compare", "attached", "attached"], dir());
    assert!(compared.contains("client attached"), "{compared}");
}

/// A fault of a client, the exit code, words of the one error, and payloads that were sent.
type Fault = (fn(&Call) -> Reply, i32, &'static [&'static str], usize);

fn at(method: &str, call: &Call, reply: Reply) -> Reply {
    if call.method.starts_with(method) { reply } else { valid(call, genesis_hash()) }
}

#[test]
fn what_is_no_sample_is_one_error_with_its_remedy_and_is_not_sent_again() {
    const NEW: &str = "engine_newPayload";
    const FORK: &str = "engine_forkchoice";
    let faults: [Fault; 13] = [
        (
            |call| at(NEW, call, Reply::Result(status("SYNCING"))),
            6,
            &["engine_newPayloadV5: SYNCING", "genesis.json"],
            1,
        ),
        (
            |call| at(NEW, call, Reply::Result(status("ACCEPTED"))),
            6,
            &["ACCEPTED", "fresh data directory"],
            1,
        ),
        (
            |call| at(FORK, call, Reply::Result(json!({"payloadStatus": status("SYNCING")}))),
            6,
            &["engine_forkchoiceUpdatedV4: SYNCING"],
            1,
        ),
        (
            |call| at("eth_getBlockByHash", call, Reply::Result(json!({"number": "0x1"}))),
            2,
            &["known to the client", "--siblings"],
            0,
        ),
        (
            |call| at("eth_getBlockByNumber", call, Reply::Result(json!({"hash": "0x77"}))),
            2,
            &["genesis is 0x77", "that of the export is 0x", "genesis.json"],
            0,
        ),
        (|call| at("", call, Reply::Http("401 Unauthorized", "no token")), 2, &["401", "--jwt"], 0),
        (|call| at(NEW, call, Reply::CutOff), 6, &["cut off after", "log"], 1),
        (|call| at(FORK, call, Reply::CutOff), 6, &["engine_forkchoiceUpdatedV4: cut off"], 1),
        (|call| at(NEW, call, Reply::Silence), 6, &["no answer within 2.0 s", "--timeout"], 1),
        (
            |call| at(NEW, call, Reply::Error(-38005, "Unsupported fork")),
            6,
            &["error -38005: Unsupported fork", "--fork"],
            1,
        ),
        (
            |call| at(NEW, call, Reply::Http("502 Bad Gateway", "<html>")),
            6,
            &["502", "<html>", "--url"],
            1,
        ),
        (|call| at(NEW, call, Reply::Result(status("MAYBE"))), 6, &["MAYBE"], 1),
        (|call| at(NEW, call, Reply::Result(Value::Null)), 6, &["no answer of an Engine API"], 1),
    ];
    for (fault, code, words, payload_count) in faults {
        let (url, calls) = serve(fault);
        let output = attached(&url, &["--timeout", "2s"]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {error}");
        assert!(output.stdout.is_empty(), "no figure: {}", text(&output.stdout));
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
        assert_eq!(payloads(&calls).len(), payload_count, "{error}");
    }
}

#[test]
fn nobody_who_listens_is_an_error_of_the_url() {
    let output = attached("http://127.0.0.1:9", &[]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    assert!(error.contains("nobody listens") && error.contains("--url"), "{error}");
}

#[test]
fn an_invalid_block_is_a_disagreement_with_its_reason_and_no_figure() {
    let (url, calls) =
        serve(|call| at("engine_newPayload", call, Reply::Result(status("INVALID"))));
    let output = attached(&url, &[]);
    let page = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(page.starts_with("A CLIENT DISAGREES\n"), "{page}");
    assert!(page.contains("client attached: ") && page.contains("a reason of its own"), "{page}");
    assert!(!page.contains("MGas/s"), "{page}");
    assert_eq!(payloads(&calls).len(), 1);
}

#[test]
fn samples_before_a_fault_are_kept_and_the_fault_is_told() {
    let count = AtomicUsize::new(0);
    let (url, _) = serve(move |call| {
        let is_new = call.method.starts_with("engine_newPayload");
        match is_new && count.fetch_add(1, Ordering::Relaxed) == 4 {
            true => Reply::CutOff,
            false => valid(call, genesis_hash()),
        }
    });
    let output = attached(&url, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cut off"), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["clients"][0]["samples"].as_array().unwrap().len(), 4);
    assert_eq!(result["interrupted"], true);
    assert!(result["warnings"].to_string().contains("cut off"), "{}", result["warnings"]);
}

/// A start file of the fake on the shared export, with more words for it.
fn start_file(dir: &Path, name: &str, more: &str) -> String {
    let words = format!(", \"genesis={}\"{more}", genesis_hash());
    written(dir, name, "", &words, "")
}

#[test]
fn clients_are_started_anew_for_each_cold_sample_and_take_turns() {
    let own = tempfile::tempdir().unwrap();
    let files = format!("{},{}", start_file(own.path(), "a", ""), start_file(own.path(), "b", ""));
    let clients = own.path().join("clients");
    let out = own.path().join("results");
    let args = ["client", "out", "--client", &files, "--client-data", clients.to_str().unwrap()];
    let more = ["--samples", "3", "--format", "json", "--out", out.to_str().unwrap()];
    let output = stress(&[&args[..], &more].concat(), dir());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = result["clients"].as_array().unwrap();
    assert_eq!(
        cells.iter().map(|cell| cell["client"].as_str().unwrap()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    for cell in cells {
        let samples = cell["samples"].as_array().unwrap();
        assert_eq!((samples.len(), &cell["warm_up_sample_count"]), (3, &0.into()));
        assert!(samples.iter().all(|sample| sample["blocks"][0]["own_ns"] == 1_500_000), "{cell}");
        assert!(samples.iter().all(|sample| sample["cpu_ns"].is_u64()), "{cell}");
        assert_eq!(cell["cache"]["want"], "cold");
        assert!(cell["start"].as_array().unwrap().len() > 5);
    }
    let log = fs::read_to_string(clients.join("a.stress/client.log")).unwrap();
    // Once to put the new database in order, and once for each sample.
    assert_eq!(log.matches("fake is ready").count(), 4, "{log}");
    // The databases are kept, so the blocks are known; the next run sends the others.
    let again = [&args[..], &["--samples", "7", "--cache", "warm"]].concat();
    let output = stress(&again, dir());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("known to the client"), "{}", text(&output.stderr));
}

#[test]
fn a_late_line_of_the_log_is_not_the_time_of_the_next_block() {
    let own = tempfile::tempdir().unwrap();
    let file = start_file(own.path(), "late", ", \"late\"");
    let args = ["client", "out", "--client", &file, "--cache", "warm", "--samples", "2"];
    let output = stress(&[&args[..], &["--format", "json"]].concat(), dir());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let samples = result["clients"][0]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 3);
    assert!(samples.iter().all(|sample| sample["blocks"][0]["own_ns"].is_null()), "{samples:?}");
}

#[test]
fn a_client_that_does_not_rest_is_not_sampled() {
    let own = tempfile::tempdir().unwrap();
    let words = format!(", \"busy\", \"genesis={}\"", genesis_hash());
    let file = written(own.path(), "busy", "settle_s = 1\n", &words, "");
    let output = stress(&["client", "out", "--client", &file], dir());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    assert!(error.contains("still works 1 s after its start"), "{error}");
    assert!(error.contains("settle_s") && error.contains("fake is ready"), "{error}");
}

#[test]
fn a_client_with_a_planted_delay_never_passes() {
    let own = tempfile::tempdir().unwrap();
    let (new, base) =
        (start_file(own.path(), "new", ", \"slow\""), start_file(own.path(), "old", ""));
    let gate = ["gate", "--client", &new, "--against", &base, "out", "--format", "json"];
    let more = ["--cache", "warm", "--slot-time", "1ms"];
    let mut command = machine::program();
    command.args(gate).args(more).current_dir(dir());
    let _alone = machine::alone();
    let output = command.output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    // A machine whose time others take may decide nothing; it never says that nothing changed.
    let code = match result["gate"]["verdict"].as_str() {
        Some("regression") => 1,
        Some("inconclusive") => 0,
        Some("untrusted") => 5,
        verdict => panic!("{verdict:?}: {}", result["gate"]["reason"]),
    };
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    let cell = &result["gate"]["attempts"][0]["cells"][0];
    assert_eq!(cell["variant"], "client/new");
    if code == 1 {
        let last = cell["figures"][0]["looks"].as_array().unwrap().last().unwrap();
        assert!(last["lower"].as_f64() > Some(0.0), "{cell}");
    }
    let judged = &result["binaries"][1];
    assert_eq!(judged["version"], "Fake v1 c0ffee00");
    assert_eq!(judged["client"], "new: Fake v1 c0ffee00");
    assert_eq!(judged["settings"], json!(["slow"]));
    assert_eq!(result["workload"]["scenario"], "sstore-storm");
}

#[test]
fn a_gate_of_clients_refuses_what_is_no_export() {
    for (more, word) in [
        (&["--scenario", "sload-storm"][..], "stress export"),
        (&["out", "--gas", "3M"], "--gas 3M"),
        (&["out", "--design", "batched-io"], "--design batched-io"),
        (&["none"], "export.json"),
    ] {
        let gate = ["gate", "--client", "geth", "--against", "geth"];
        let output = stress(&[&gate[..], more].concat(), dir());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {error}");
        assert!(error.contains(word), "{more:?}: {error}");
    }
}

#[test]
fn a_client_that_dies_is_told_with_the_end_of_its_log() {
    let own = tempfile::tempdir().unwrap();
    let file = start_file(own.path(), "fake", ", \"dies\"");
    let output = stress(&["client", "out", "--client", &file], dir());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    assert!(error.contains("the client died (exit code 7)"), "{error}");
    assert!(error.contains("fake: out of memory"), "{error}");
    let at_once = own.path().join("sh.toml");
    let text_of = "name = \"sh\"\nprogram = \"sh\"\nstart = [\"-c\", \"echo no memory; exit 3 # {port} {jwt}\"]\n";
    fs::write(&at_once, text_of).unwrap();
    let output = stress(&["client", "out", "--client", at_once.to_str().unwrap()], dir());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    assert!(error.contains("exit code 3") && error.contains("no memory"), "{error}");
}

#[test]
fn what_cannot_be_run_is_one_error_that_says_what_to_write() {
    let refused = |args: &[&str], words: &[&str]| {
        let output = stress(&[&["client"], args].concat(), dir());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        for word in words {
            assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
        }
    };
    let url = ["--url", "http://127.0.0.1:9", "--jwt", "jwt.hex"];
    let with = |more: &[&'static str]| [&["out"], &url[..], more].concat();
    refused(&["out"], &["--client"]);
    refused(&["out", "--url", "http://127.0.0.1:9"], &["--jwt"]);
    refused(&["none", "--client", "geth"], &["export.json", "stress export"]);
    refused(&["out", "--client", "nethermind"], &["shipped are: geth"]);
    refused(&["out", "--client", "geth,geth"], &["two start files", "name = "]);
    refused(&with(&["--cache", "cold"]), &["--client in place of --url"]);
    refused(&with(&["--samples", "9"]), &["--siblings 10", "--samples"]);
    refused(&with(&["--store", "memory"]), &["--store memory", "--design"]);
    refused(&with(&["--set", "run.root=after"]), &["--design"]);
    refused(&["out", "--url", "127.0.0.1:9", "--jwt", "jwt.hex"], &["http://HOST:PORT"]);
}

#[test]
fn geth_is_started_cold_and_stands_beside_our_designs_in_one_result() {
    let Some(geth) = geth() else { return };
    let own = tempfile::tempdir().unwrap();
    let out = own.path().join("results");
    let args = ["client", "out", "--client", "geth", "--program", geth.to_str().unwrap()];
    let ours = ["--design", "sequential,batched-io", "--store", "memory", "--threads", "1"];
    let more = ["--samples", "2", "--format", "json", "--out", out.to_str().unwrap()];
    let output = stress(&[&args[..], &ours, &more].concat(), dir());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["cells"].as_array().unwrap().len() >= 2);
    let client = &result["clients"][0];
    assert!(client["version"].as_str().unwrap().starts_with("go-ethereum"), "{client}");
    let samples = client["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 2);
    for sample in samples {
        let block = &sample["blocks"][0];
        let own = |key: &str| block[key].as_u64().unwrap();
        assert!(own("own_ns") < sample["wall_ns"].as_u64().unwrap(), "a part of ours: {sample}");
        assert!(own("own_root_ns") > 0 && own("own_root_ns") < own("own_ns"), "{sample}");
        assert!(sample["cpu_ns"].as_u64() > Some(0), "{sample}");
        assert!(sample["data_bytes"].as_u64() > Some(0), "{sample}");
    }
    assert!(client["in_order_ratio"].is_f64(), "{client}");
    // One table has both.
    let page = printed(&["report", out.to_str().unwrap()], dir());
    assert!(page.contains("client `geth`") && page.contains("batched-io"), "{page}");
    // Like is compared with like: a client computes a root.
    let cells = result["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["root"] == "after"), "{cells:?}");
}

#[test]
fn geth_runs_warm_and_is_attached_to_and_refuses_what_is_not_its_chain() {
    let Some(geth) = geth() else { return };
    let own = tempfile::tempdir().unwrap();
    let at = |name: &str| own.path().join(name).to_str().unwrap().to_owned();
    let (geth, data) = (geth.to_str().unwrap(), at("data"));
    let kept = ["--program", geth, "--client-data", &data];
    let args = [&["client", "out", "--client", "geth"], &kept[..]].concat();
    let page = printed(&[&args[..], &["--cache", "warm", "--samples", "2"]].concat(), dir());
    assert!(page.contains("geth") && page.contains("warm"), "{page}");
    // Another chain has another genesis: the database of before is not its own.
    let other = at("other");
    let small = ["--gas", "3M", "--slots", "3k", "--siblings", "3", "--out", &other];
    printed(&[&["export", "--scenario", "sload-storm"], &small[..]].concat(), own.path());
    let args = [&["client", &other, "--client", "geth"], &kept[..]].concat();
    let output = stress(&args, dir());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("genesis"), "{}", text(&output.stderr));
    // Three of the nine siblings are known: six are left, and seven are too many.
    let args = [&["client", "out", "--client", "geth"], &kept[..]].concat();
    let output = stress(&[&args[..], &["--cache", "warm", "--samples", "6"]].concat(), dir());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("known to the client"), "{}", text(&output.stderr));
    assert!(!is_running(&data), "no geth is left behind");
}

/// Whether a process has this directory in its command.
fn is_running(data: &str) -> bool {
    let mut command = Command::new("ps");
    let all = machine::output(command.args(["-eo", "args"]));
    text(&all.stdout).lines().any(|line| line.contains(data) && line.contains("--authrpc.port"))
}
