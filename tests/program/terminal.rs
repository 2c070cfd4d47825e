//! Progress of a run on a terminal, which `script` makes: figures of the samples so far. There are
//! none beside JSON, in a log, or for a quiet run.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    machine::{self, STRESS},
    tool::{stress, text},
};

const RUN: &str = "--scenario sload-storm --gas 1M --slots 10k --store memory --threads 1 \
    --design sequential,parallel-io --samples 3 --whole=none";

/// The output of a run on a terminal of 120 columns; `None` where there is no `script`.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn on_terminal(more: &str, dir: &Path) -> Option<String> {
    let line = format!("stty cols 120; '{STRESS}' {RUN} {more}");
    let mut command = Command::new("script");
    command.args(["-qec", line.as_str(), "/dev/null"]).current_dir(dir).stdin(Stdio::null());
    command.env("STRESS_DATA_DIR", dir).env("SHELL", "/bin/sh").env("TERM", "xterm");
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script`, which makes a terminal");
        return None;
    }
    let output = machine::output(&mut command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{line}: {text}");
    Some(text)
}

/// Which of the lines of a run a text has: samples with time left, and figures.
fn lines(text: &str) -> [bool; 2] {
    let has = |words: &str| text.contains(words);
    let begins = has("round 1, 0 of 6 samples, 0.0 s, time left not known yet");
    assert_eq!(begins, has("round 1, 1 of 6 samples"), "{text}");
    [begins, has("highest median so far: ") && has("MGas/s (n=1), memory/")]
}

#[test]
fn figures_stand_on_a_terminal_and_not_beside_json_in_a_log_or_where_it_is_to_be_quiet() {
    let dir = tempfile::tempdir().expect("a directory");
    for (more, expected) in [
        ("", [true, true]),
        ("--format json > result.json", [true, true]),
        ("--format json", [true, false]),
        ("--quiet", [false, false]),
        ("2> log", [false, false]),
    ] {
        let Some(text) = on_terminal(more, dir.path()) else { return };
        assert_eq!(lines(&text), expected, "{more}: {text}");
    }
    let log = fs::read_to_string(dir.path().join("log")).expect("a log");
    assert!(log.contains("round 1, memory/") && !log.contains("median"), "{log}");
    let json = fs::read(dir.path().join("result.json")).expect("a result");
    assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
}

#[test]
fn a_log_has_few_lines_of_samples_also_where_each_has_keys_of_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let work = ["sload-storm", "--gas", "1M", "--slots", "10k", "--set", "state.accounts=10"];
    let how = [
        "--store",
        "flat",
        "--design",
        "sequential",
        "--samples",
        "12",
        "--keys",
        "fresh",
        "--whole=none",
    ];
    let output = stress(&[&work[..], &how].concat(), dir.path());
    let log = text(&output.stderr);
    assert!(output.status.success(), "{log}");
    let rounds: Vec<&str> = log.lines().filter(|line| line.starts_with("round ")).collect();
    let of = |round| format!("round {round}, flat/none/sequential+on-demand@1: done in ");
    assert!(rounds[0].starts_with(&of(1)), "{log}");
    assert!(rounds[rounds.len() - 1].starts_with(&of(12)), "{log}");
    // One every 15 s: twelve samples of 1M gas are not each as long as that.
    assert!(rounds.len() < 12, "{log}");
    assert_eq!(log.matches("round ").count(), rounds.len(), "{log}");
}
