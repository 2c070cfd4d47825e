//! The gate as a user sees it. Builds are the same, slower, do other work, read twice, crash, hang
//! or send nonsense. Stored results are damaged or of other work. Files come from `calibrate`.
//! Decisions by times are tested without a clock (`src/gate/`): here only laws that hold on any
//! machine at any load.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::machine::{self, STRESS};

mod baselines;
mod deadline;

/// A workload of a few milliseconds a sample, in memory, on one thread.
pub(crate) const WORK: [&str; 12] = [
    "--scenario",
    "sload-storm",
    "--gas",
    "4M",
    "--slots",
    "20k",
    "--store",
    "memory",
    "--design",
    "sequential",
    "--set",
    "state.accounts=100",
];

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A program of these lines of shell.
    fn program(&self, name: &str, lines: &str) -> String {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = machine::program();
        command.args(args).env("STRESS_DATA_DIR", self.path("data")).env("COLUMNS", "80");
        command.env("XDG_STATE_HOME", self.path("state"));
        machine::output(&mut command)
    }

    /// Runs `stress gate` on the small work, and gives its exit code and result.
    fn gate(&self, more: &[&str]) -> (i32, Value) {
        self.gate_of(&WORK, more)
    }

    fn gate_of(&self, work: &[&str], more: &[&str]) -> (i32, Value) {
        // Slots are of builds.
        let slot: &[&str] =
            if more.contains(&"--baseline") { &[] } else { &["--slot-time", "1ms"] };
        let args = [&["gate", "--format", "json"], slot, work, more].concat();
        let output = self.run(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        let json = serde_json::from_slice(&output.stdout);
        (output.status.code().unwrap(), json.unwrap_or_else(|e| panic!("{e}: {error}")))
    }

    /// Runs `stress gate` on the small work, and gives its result. With any verdict, the exit code
    /// is the one that goes with it, and the result says so too.
    fn consistent(&self, more: &[&str]) -> Value {
        self.consistent_of(&WORK, more)
    }

    fn consistent_of(&self, work: &[&str], more: &[&str]) -> Value {
        let (code, result) = self.gate_of(work, more);
        let gate = &result["gate"];
        assert_eq!(gate["exit_code"].as_i64(), Some(i64::from(code)), "{gate:#}");
        let expected = match gate["verdict"].as_str().unwrap() {
            "inconclusive" if leaves_something_out(&result) => 7,
            "pass" | "inconclusive" => 0,
            "not judged" => 7,
            "regression" | "claim fails" | "work changed" => 1,
            "untrusted" => 5,
            other => panic!("{other}: {gate:#}"),
        };
        assert_eq!(code, expected, "{gate:#}");
        assert!(!gate["reason"].as_str().unwrap().is_empty());
        result
    }

    /// Runs `stress gate`, which must end with this code and one error with these words.
    fn refused(&self, more: &[&str], code: i32, words: &[&str]) {
        let args: Vec<_> = ["gate"].iter().chain(&WORK).chain(more).copied().collect();
        self.refused_as(&args, code, words);
    }

    fn refused_as(&self, args: &[&str], code: i32, words: &[&str]) {
        let output = self.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        assert_eq!(error.matches("error:").count(), 1, "one error: {error}");
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
    }
}

#[test]
fn a_build_against_itself_does_the_same_and_every_slot_is_kept() {
    let place = Place::new();
    let result = place.consistent(&["--against", STRESS]);
    assert_eq!(result["schema"], "stress.gate/2");
    let hashes = [0, 1].map(|build| result["binaries"][build]["binary_hash"].as_str().unwrap());
    assert_eq!((hashes[0], hashes[0].len()), (hashes[1], 64));
    assert_eq!(result["tool"]["binary_hash"], hashes[0]);
    let cell = &result["gate"]["attempts"][0]["cells"][0];
    assert_eq!(cell["variant"], "memory/none/sequential+on-demand@1");
    assert_eq!(cell["counter_changes"].as_array().unwrap().len(), 0);
    assert_eq!(
        (&cell["decided_by"], &cell["figures"][0]["metric"]),
        (&"all".into(), &"wall".into())
    );
    let octets = cell["octets"].as_array().unwrap();
    assert!((6..=12).contains(&octets.len()));
    // Where there are CPUs to choose from, all three processes take the same one, in turn.
    let cpus = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu_count = cpus.count();
    let cpus_of = |octet: &Value| octet["cpus"].as_array().map(Vec::len);
    assert!(octets.iter().all(|octet| cpus_of(octet) == (cpu_count > 1).then_some(1)));
    assert!(cpu_count == 1 || octets[0]["cpus"] != octets[1]["cpus"]);
    for octet in octets {
        let passes = octet["passes"].as_array().unwrap();
        assert_eq!(passes.len() as u64, cell["passes_per_octet"].as_u64().unwrap());
        for pass in passes {
            let order = pass["order"].as_str().unwrap();
            let pair: String = order.chars().filter(|letter| *letter != 'N').collect();
            assert!(["ABBABAAB", "BAABABBA"].contains(&pair.as_str()), "{order}");
            assert_eq!(pass["wall_ns"].as_array().unwrap().len(), 12);
        }
    }
}

#[test]
fn a_build_with_slow_reads_is_never_passed_and_the_result_says_that_it_was_slowed() {
    let place = Place::new();
    let slow = place.program("slow", &format!("STRESS_SLOW_READ_NS=20000 exec {STRESS} \"$@\""));
    let result = place.consistent(&["--against", STRESS, "--program", &slow]);
    assert_ne!(result["gate"]["verdict"], "pass", "{:#}", result["gate"]);
    assert_eq!(result["binaries"][1]["slow_read_ns"], 20_000);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("worse on purpose"), "{warnings}");
    // No machine is so fast that B does not spend the delay of each read, nor one so slow that A
    // seems to.
    let cell = &result["gate"]["attempts"][0]["cells"][0];
    let sample_count = cell["samples_per_slot"].as_u64().unwrap();
    let least = cell["counters"]["store_reads"].as_u64().unwrap() * 19_000 * sample_count;
    for pass in cell["octets"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|octet| octet["passes"].as_array().unwrap())
    {
        let slots =
            pass["order"].as_str().unwrap().chars().zip(pass["wall_ns"].as_array().unwrap());
        let mut of_new =
            slots.filter(|(letter, _)| *letter == 'B').map(|(_, ns)| ns.as_u64().unwrap());
        assert!(of_new.all(|ns| ns >= least), "{least}: {pass}");
    }
}

/// Reads each block of a file a second time, below everything that counts in the program.
const READ_TWICE: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
ssize_t pread64(int fd, void *to, size_t count, off_t at) {
    syscall(SYS_pread64, fd, to, count, at);
    return syscall(SYS_pread64, fd, to, count, at);
}
ssize_t pread(int fd, void *to, size_t count, off_t at) { return pread64(fd, to, count, at); }
"#;

#[test]
fn a_build_that_reads_each_block_twice_below_its_store_is_caught_by_counters_on_a_cold_disk() {
    let place = Place::new();
    let (source, library) = (place.path("twice.c"), place.path("twice.so"));
    fs::write(&source, READ_TWICE).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
    let built =
        cc.status().unwrap_or_else(|error| panic!("a C compiler built the stores: {error}"));
    assert!(built.success());
    let lines = format!("LD_PRELOAD={} exec {STRESS} \"$@\"", library.display());
    let twice = place.program("twice", &lines);
    let work = WORK.map(|word| if word == "memory" { "rocksdb" } else { word });
    let gate = |candidate: &str, more: &[&str]| {
        let args = [&["--against", STRESS, "--program", candidate], more].concat();
        place.consistent_of(&work, &args)
    };
    let known = |result: &Value, metric: &str| {
        let figures =
            result["gate"]["attempts"][0]["cells"][0]["figures"].as_array().unwrap().clone();
        figures.into_iter().find(|figure| figure["metric"] == metric)
    };
    let of = |result: &Value, metric: &str| known(result, metric).unwrap();
    let change = |figure: &Value| figure["looks"][0]["change"].as_f64().unwrap();
    let result = gate(&twice, &[]);
    assert_eq!(result["gate"]["verdict"], "regression", "{:#}", result["gate"]["reason"]);
    let requests = of(&result, "requests");
    assert_eq!(requests["verdict"], "regression");
    assert!((0.8..1.2).contains(&change(&requests)), "{requests:#}");
    // A kernel that counts no bytes of devices leaves them out.
    if let Some(bytes) = known(&result, "bytes") {
        assert!((0.8..1.2).contains(&change(&bytes)), "{bytes:#}");
    }
    // The store has asked for no block more.
    assert_eq!(change(&of(&result, "blocks")), 0.0);
    // Without the times, which may take all octets.
    let result = gate(STRESS, &["--metric", "blocks,requests"]);
    for metric in ["blocks", "requests"] {
        assert_eq!(of(&result, metric)["verdict"], "pass", "{:#}", of(&result, metric));
    }
}

#[test]
fn allocations_of_one_build_are_counted_and_are_alike() {
    let place = Place::new();
    let result = place.consistent(&["--against", STRESS, "--metric", "allocations"]);
    let cell = &result["gate"]["attempts"][0]["cells"][0];
    let figure = &cell["figures"][0];
    assert_eq!((&figure["metric"], &figure["verdict"]), (&"allocations".into(), &"pass".into()));
    assert!(figure["base"].as_u64().unwrap() > 0, "{figure:#}");
    let slots = cell["octets"][0]["passes"][0]["allocations"].as_array().unwrap();
    assert!(slots.iter().all(|count| count.as_u64().unwrap() > 0), "{slots:?}");
}

#[test]
fn instructions_are_judged_or_the_machine_has_no_counter_and_the_error_says_so() {
    let place = Place::new();
    let args = ["--against", STRESS, "--metric", "instructions"];
    let output = place
        .run(&[&["gate", "--format", "json", "--slot-time", "1ms"], &WORK[..], &args].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(2) {
        assert!(error.contains("--metric instructions"), "{error}");
        return;
    }
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figure = &result["gate"]["attempts"][0]["cells"][0]["figures"][0];
    assert!(figure["base"].as_u64().unwrap() > 1_000_000, "{figure:#}");
}

#[test]
fn one_key_read_twice_is_caught_exactly_and_before_anything_is_timed() {
    let place = Place::new();
    let twice = place.program("twice", &format!("STRESS_READ_ONE_TWICE=1 exec {STRESS} \"$@\""));
    let designs = ["--design", "sequential,parallel-io,batched-io", "--threads", "2"];
    let args: Vec<_> =
        ["--against", STRESS, "--program", &twice].iter().chain(&designs).copied().collect();
    // The later option wins over the work's own.
    let work: Vec<_> = WORK.iter().filter(|w| !["--design", "sequential"].contains(w)).collect();
    let all: Vec<_> =
        ["gate", "--format", "json"].iter().chain(work).chain(&args).copied().collect();
    let output = place.run(&all);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &result["gate"]["exit_code"]), (Some(1), &Value::from(1)));
    assert_eq!(result["gate"]["verdict"], "work changed");
    let cells = result["gate"]["attempts"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3);
    for cell in cells {
        let reads = cell["counters"]["store_reads"].as_u64().unwrap();
        let expected = format!("store_reads: {reads} → {}", reads + 1);
        assert_eq!(cell["counter_changes"][0], expected.as_str());
        assert_eq!(cell["octets"].as_array().unwrap().len(), 0);
    }
}

/// Whether times of a stored result, or a claim, were not judged.
fn leaves_something_out(result: &Value) -> bool {
    let times = result["gate"]["baseline"]["times"].as_array();
    let all = times.into_iter().chain(result["expects"]["claims"].as_array());
    all.flatten().any(|part| part["verdict"] == "not judged")
}

#[test]
fn a_setting_of_one_build_is_judged_and_named_and_does_not_change_the_work() {
    let place = Place::new();
    let result = place.consistent(&["--b-set", "run.trie=cut"]);
    assert_eq!(result["gate"]["mode"], "against");
    let settings = [0, 1].map(|build| &result["binaries"][build]["settings"]);
    assert_eq!(settings, [&json!([]), &json!(["run.trie=cut"])]);
    let effective = [0, 1].map(|build| &result["binaries"][build]["effective_settings"]);
    let of_a = json!([{ "key": "run.trie", "value": "none", "is_default": true }]);
    let of_b = json!([{ "key": "run.trie", "value": "cut", "is_default": false }]);
    assert_eq!(effective, [&of_a, &of_b]);
    let hashes = [0, 1].map(|build| &result["binaries"][build]["binary_hash"]);
    assert_eq!(hashes[0], hashes[1], "both are this program");
    let words = ["--a-set state.slots=9k", "only keys of run", "--set is for both"];
    place.refused(&["--a-set", "state.slots=9k"], 2, &words);
    let words = ["--b-set trie=cut", "did you mean run.trie=cut?"];
    place.refused(&["--b-set", "trie=cut"], 2, &words);
    // One in order run over memory reads nothing by any method.
    let words =
        ["--b-set run.checksums=skip: that changes nothing for memory/none/sequential", "one run"];
    place.refused(&["--b-set", "run.checksums=skip"], 2, &words);
    place.refused(&["--b-set", "run.read=get"], 2, &["--b-set run.read=get: ", "one run"]);
    let both = ["--a-set", "run.trie=cut", "--b-set", "run.trie=cut"];
    let words =
        ["--a-set run.trie=cut --b-set run.trie=cut: run.trie is cut in A and B", "one run"];
    place.refused(&both, 2, &words);
    let words = ["run.trie is none in A too (its default)", "run.trie can also be cut, "];
    place.refused(&["--b-set", "run.trie=none"], 2, &words);
    let designs = "run.designs=batched-io";
    place.refused(&["--b-set", designs], 2, &["--b-set run.designs=batched-io", "variants"]);
    let words = ["--b-set run.nonsense=1", "no such key", "keys of run are "];
    place.refused(&["--b-set", "run.nonsense=1"], 2, &words);
    place.refused(&["--b-set", "nonsense"], 2, &["--b-set nonsense: a key and a value"]);
    let words = ["--b-set", "cannot be used with", "--baseline"];
    place.refused(&["--baseline", "x", "--b-set", "run.read=get"], 2, &words);
}

#[test]
fn a_build_that_crashes_hangs_or_talks_nonsense_is_one_clear_error() {
    let place = Place::new();
    let missing = place.path("missing");
    place.refused(
        &["--against", missing.to_str().unwrap()],
        2,
        &["--against", "missing: no such file"],
    );
    let crash = place.program("crash", "echo 'out of luck' >&2; exit 9");
    let words = ["ended instead of answering `hello`", "exit status: 9", "out of luck"];
    place.refused(&["--against", &crash], 6, &words);
    let nonsense = place.program("nonsense", "echo hello, dear; cat > /dev/null");
    let words = ["is no message of worker protocol 1", "hello, dear"];
    place.refused(&["--against", &nonsense], 6, &words);
    let endless = place.program("endless", "yes | tr -d '\\n'");
    place.refused(&["--against", &endless], 6, &["more than 1048576 bytes"]);
    let hello = r#"{"kind":"hello","protocol":1,"program":"0","commit":null,"generator":1}"#;
    let dies = place.program("dies", &format!("echo '{hello}'; read line; kill -9 $$"));
    let words = ["ended instead of answering `load`", "signal: 9"];
    place.refused(&["--against", &dies], 6, &words);
    let other = place.program("other", r#"echo '{"kind":"hello","protocol":9,"mood":1}'"#);
    place.refused(&["--against", &other], 2, &["speaks worker protocol 9, and this stress 1"]);
    let elsewhere = r#"{"kind":"loaded","digest":"0x1","variants":[]}"#;
    let lies =
        place.program("lies", &format!("echo '{hello}'; read l; echo '{elsewhere}'; read l"));
    place.refused(&["--against", &lies], 3, &["it would do other work"]);
}

#[test]
fn builds_of_two_profiles_are_refused_with_both_names() {
    let place = Place::new();
    let other = r#"s/"build_profile":"[^"]*"/"build_profile":"odd profile"/"#;
    let other = place.program("other", &format!("{STRESS} \"$@\" | sed -u '{other}'"));
    place.refused(&["--against", &other], 2, &["A is built with: odd profile", "opt-level 3"]);
}

#[test]
fn a_worker_that_the_user_stopped_is_no_fault_of_its_build() {
    let place = Place::new();
    let hello = r#"{"kind":"hello","protocol":1,"program":"0","commit":null,"generator":1}"#;
    let stopped = r#"{"kind":"error","error":"interrupted","message":"memory/x: cancelled"}"#;
    let stopped =
        place.program("stopped", &format!("echo '{hello}'; read l; echo '{stopped}'; read l"));
    let (code, result) = place.gate(&["--against", &stopped]);
    assert_eq!((code, &result["gate"]["exit_code"]), (130, &Value::from(130)));
    let reason = "interrupted after 0 octets; the first figures come after 6";
    assert_eq!(result["gate"]["reason"], reason, "{:#}", result["gate"]);
}

#[test]
fn a_build_that_hangs_is_stopped_and_nothing_of_it_is_left() {
    let place = Place::new();
    let pid = place.path("pid");
    let hangs = place.program("hangs", &format!("echo $$ > {}; exec sleep 1000", pid.display()));
    place.refused(&["--against", &hangs, "--timeout", "3s"], 6, &["did not answer `hello`"]);
    let pid = fs::read_to_string(pid).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} is still there");
}

#[test]
fn what_was_known_when_a_build_fails_is_kept_and_one_that_is_replaced_is_refused() {
    let place = Place::new();
    let starts = place.path("starts");
    let starts = starts.display();
    let dies =
        format!("echo >> {starts}; [ $(wc -l < {starts}) -lt 4 ] || exit 9; exec {STRESS} \"$@\"");
    let changes = format!("echo '#' >> \"$0\"; exec {STRESS} \"$@\"");
    for (name, body, words) in
        [("dies", dies, "exit status: 9"), ("changes", changes, "was replaced while")]
    {
        let program = place.program(name, &body);
        let (code, result) = place.gate(&["--against", STRESS, "--program", &program]);
        let gate = &result["gate"];
        assert_eq!((code, gate["verdict"].as_str()), (6, Some("error")), "{gate:#}");
        assert!(gate["reason"].as_str().unwrap().contains(words), "{gate:#}");
        assert_eq!(gate["attempts"].as_array().unwrap().len(), 1, "{gate:#}");
        assert_eq!(result["binaries"][1]["path"], program);
        assert!(result["workload"]["digest"].as_str().unwrap().starts_with("0x"));
    }
}

#[test]
fn a_gate_that_fails_leaves_a_result_that_says_so_for_whoever_looks_for_one() {
    let place = Place::new();
    let crash = place.program("crash", "echo 'out of luck' >&2; exit 9");
    let nonsense = place.program("nonsense", "echo hello, dear; cat > /dev/null");
    let hangs = place.program("hangs", "exec sleep 1000");
    let other = place.program("other", r#"echo '{"kind":"hello","protocol":9,"mood":1}'"#);
    fs::write(place.path("cut.json"), "{\"schema\": \"stress.res").unwrap();
    let cut = place.path("cut.json");
    let cases: [(&[&str], i64, &str); 5] = [
        (&["--against", &crash], 6, "out of luck"),
        (&["--against", &nonsense], 6, "hello, dear"),
        (&["--against", &hangs, "--timeout", "500ms"], 6, "did not answer"),
        (&["--against", &other], 2, "speaks worker protocol 9"),
        (&["--baseline", cut.to_str().unwrap(), "--result", "x"], 6, "not valid JSON (truncated?)"),
    ];
    for (number, (args, code, words)) in cases.into_iter().enumerate() {
        let out = place.path(&format!("out-{number}"));
        let more = [args, &["--out", out.to_str().unwrap()]].concat();
        // A stored result has its work already.
        let work: &[&str] = if args.contains(&"--result") { &[] } else { &WORK };
        let args = [&["gate", "--format", "json"][..], work, &more].concat();
        let output = place.run(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code().map(i64::from), Some(code), "{error}");
        assert_eq!(error.matches("error:").count(), 1, "one error: {error}");
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        let gate = &printed["gate"];
        assert_eq!(
            (&printed["schema"], &gate["verdict"]),
            (&"stress.gate/2".into(), &"error".into())
        );
        assert_eq!(gate["exit_code"].as_i64(), Some(code));
        let reason = gate["reason"].as_str().unwrap();
        assert!(reason.contains(words) && !reason.contains('\n'), "{reason}");
        let files: Vec<_> = fs::read_dir(&out).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let kept: Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
        assert_eq!(kept, printed);
        let report = place.run(&["report", files[0].to_str().unwrap()]);
        let summary = String::from_utf8(report.stdout).unwrap();
        assert!(report.status.success() && summary.contains("gate: error"), "{summary}");
    }
}

#[test]
fn a_gate_is_asked_for_one_thing() {
    let place = Place::new();
    place.refused(&[], 2, &["--against BINARY", "--baseline RESULT"]);
    place.refused(&["--against", STRESS, "--delta", "0%"], 2, &["--delta 0%", "as in 3%"]);
    place.refused(&["--against", STRESS, "--metric", "luck"], 2, &["there are wall, cpu, blocks"]);
    let words = ["--samples is only for a gate with --baseline", "--slot-time", "--timeout"];
    place.refused(&["--against", STRESS, "--samples", "3"], 2, &words);
    let words = ["--keys is only for a gate with --baseline: leave it out"];
    place.refused(&["--against", STRESS, "--keys", "same"], 2, &words);
    place.refused(&["--against", STRESS, "--slot-time", "fast"], 2, &["--slot-time fast"]);
    let missing = place.path("no.json");
    let words = ["there is no such file", "stress gate calibrate"];
    let args = ["--against", STRESS, "--calibration", missing.to_str().unwrap()];
    place.refused(&args, 2, &words);
}

#[test]
fn calibrating_writes_what_the_gate_reads() {
    let place = Place::new();
    let args: Vec<_> =
        ["gate", "calibrate", "--slot-time", "1ms"].iter().chain(&WORK).copied().collect();
    let output = place.run(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = place.path("state").join("stress").join("calibration.json");
    let mut learned: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(learned["schema"], "stress.calibration/1");
    assert!(learned["cells"][0]["smallest_delta"].as_f64().unwrap() >= 0.0);
    // A machine that decides nothing below 50 %.
    learned["cells"][0]["smallest_delta"] = Value::from(0.5);
    fs::write(&path, learned.to_string()).unwrap();
    let (_, result) = place.gate(&["--against", STRESS, "--delta", "4%"]);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("--delta is 4.0 %") && warnings.contains("50.0 %"), "{warnings}");
    assert_eq!(result["gate"]["delta"], 0.04);
}
