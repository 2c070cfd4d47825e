//! Commands of a user around the samples: one before each, one after the last. The last one runs
//! for any end of the run, and failures have clear errors.

use std::{fs, path::Path, process::Output, thread, time::Instant};

use serde_json::Value;

use crate::{
    gate::WORK,
    interrupted::{BEGIN_LIMIT, COUNTED, POLL_INTERVAL, UnderWay, json},
    tool::{RUN, stress, text},
};

/// Two designs, three samples each.
const HOW: [&str; 9] = [
    "--design",
    "sequential,batched-io",
    "--threads",
    "2",
    "--samples",
    "3",
    "--format",
    "json",
    "--whole=none",
];

fn run(dir: &Path, more: &[&str]) -> Output {
    stress(&[&RUN[..], &HOW, more].concat(), dir)
}

fn log(dir: &Path) -> String {
    fs::read_to_string(dir.join("log")).unwrap_or_default()
}

#[test]
fn a_command_runs_before_each_sample_and_one_after_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let prepare = "echo noise; printf p >> log";
    let output = run(dir, &["--prepare", prepare, "--cleanup", "printf c >> log"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(log(dir), "ppppppc");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["prepare"], prepare);
    assert_eq!(result["cleanup"], "printf c >> log");
    // A sample that is traced is prepared like the others.
    let trace = ["--prepare", "printf t >> log", "--trace", "trace.json"];
    let output = run(dir, &trace);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(log(dir), format!("ppppppc{}", "t".repeat(7)));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["cleanup"], Value::Null);
}

#[test]
fn a_command_that_fails_ends_the_run_and_what_was_finished_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let second = "test ! -e first && touch first || { echo the disk is gone >&2; exit 3; }";
    let fails = ["--prepare", second, "--cleanup", "printf c >> log", "--out", "out"];
    let output = run(dir, &fails);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    let errors = error.lines().filter(|line| line.starts_with("error:"));
    assert_eq!(errors.count(), 1, "{error}");
    for words in ["--prepare `test", "exit status: 3", "standard error: the disk is gone"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(log(dir), "c");
    let result = json(&dir.join("out/result.json"));
    assert_eq!(result["interrupted"], true);
    let cells = result["cells"].as_array().unwrap();
    let samples = cells.iter().map(|cell| cell["samples"].as_array().unwrap().len());
    assert_eq!(samples.sum::<usize>(), 1);

    // All samples are there when the last command fails.
    let output = run(dir, &["--cleanup", "kill -9 $$", "--out", "whole"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    assert!(error.contains("--cleanup `kill -9 $$` failed: signal: 9"), "{error}");
    assert!(error.contains("nothing on standard error"), "{error}");
    let result = json(&dir.join("whole/result.json"));
    assert_eq!(result["interrupted"], false);
    assert!(result["warnings"].to_string().contains("--cleanup `kill"), "{result:#}");
    // The end of a long error output is shown.
    let much = "i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1";
    let output = run(dir, &["--prepare", much]);
    let error = text(&output.stderr);
    assert!(error.contains("standard error ends with:") && error.contains("line 1999"), "{error}");
    assert!(!error.contains("line 1000\n") && error.len() < 4_000, "{error}");
}

#[test]
fn the_last_command_runs_after_an_interrupt_and_one_before_a_sample_is_stopped() {
    let more = ["--budget", "10m", "--cleanup", "printf c >> log"];
    let words = [&WORK[..], &COUNTED, &more].concat();
    let mut run = UnderWay::start(&words, tempfile::tempdir().unwrap());
    run.wait_for_sample(3);
    run.ends_at("TERM");
    assert_eq!(log(run.dir.path()), "c");

    let more = ["--prepare", "echo $$ > pid; sleep 600", "--cleanup", "printf c >> log"];
    let mut run = UnderWay::start(&[&WORK[..], &more].concat(), tempfile::tempdir().unwrap());
    let path = run.dir.path().join("pid");
    let begun = Instant::now();
    let pid = loop {
        match fs::read_to_string(&path) {
            Ok(pid) if pid.ends_with('\n') => break pid,
            _ => thread::sleep(POLL_INTERVAL),
        }
        assert!(begun.elapsed() < BEGIN_LIMIT, "{}", run.said("stderr"));
    };
    run.ends_at("INT");
    assert_eq!(log(run.dir.path()), "c");
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} is still there");
}

#[test]
fn a_run_that_begins_no_sample_runs_no_command_and_other_verbs_refuse_them() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let hooks = ["--prepare", "printf p >> log", "--cleanup", "printf c >> log"];
    let output = run(dir, &[&hooks[..], &["--set", "state.slotz=1"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    for verb in
        [&["gate", "--against", "x"][..], &["gate", "--baseline", "x"], &["gate", "calibrate"]]
    {
        for option in [&hooks[..2], &hooks[2..]] {
            let output = stress(&[verb, &["sload-storm"], option].concat(), dir);
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{verb:?} {option:?}: {error}");
            assert!(error.contains(option[0]), "{error}");
        }
    }
    assert_eq!(log(dir), "");
}
