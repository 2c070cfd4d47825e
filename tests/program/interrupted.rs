//! Ctrl-C and SIGTERM: in the middle of any work the program ends soon and keeps finished samples.
//! A limit here is far above the time of that end, and far below the time of the work.

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    gate::WORK,
    machine::{self, STRESS},
};

/// Most time that the end may take.
const LIMIT: Duration = Duration::from_secs(20);
/// Most time until something is under way.
pub(crate) const BEGIN_LIMIT: Duration = Duration::from_secs(120);
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Has a run write a byte when a sample begins: its log has no line of some samples.
pub(crate) const COUNTED: [&str; 2] = ["--prepare", "printf p >> begun"];

/// A program under way, whose standard output and error go to files.
pub(crate) struct UnderWay {
    pub(crate) child: Child,
    pub(crate) dir: tempfile::TempDir,
    _share: machine::Shared,
}

impl UnderWay {
    pub(crate) fn start(args: &[&str], dir: tempfile::TempDir) -> Self {
        let file = |name: &str| fs::File::create(dir.path().join(name)).unwrap();
        let share = machine::shared();
        let mut command = machine::program();
        command.args(args).current_dir(dir.path()).env("STRESS_DATA_DIR", dir.path());
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        Self { child: command.spawn().unwrap(), dir, _share: share }
    }

    pub(crate) fn said(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    /// Waits until its standard error has these words.
    pub(crate) fn wait_for(&mut self, words: &str) {
        let begun = Instant::now();
        while !self.said("stderr").contains(words) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", self.said("stderr"));
            assert!(begun.elapsed() < BEGIN_LIMIT, "{words}: {}", self.said("stderr"));
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until the sample of this number begins, of a run with [`COUNTED`].
    pub(crate) fn wait_for_sample(&mut self, number: u64) {
        let begun = Instant::now();
        let path = self.dir.path().join("begun");
        while fs::metadata(&path).map_or(0, |file| file.len()) < number {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", self.said("stderr"));
            assert!(begun.elapsed() < BEGIN_LIMIT, "{number}: {}", self.said("stderr"));
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Sends a signal, after which it must end by itself with 130.
    pub(crate) fn ends_at(&mut self, signal: &str) {
        self.signal(signal);
        self.ends(signal);
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    fn ends(&mut self, signal: &str) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(130), "{}", self.said("stderr"));
                return;
            }
            if begun.elapsed() > LIMIT {
                self.child.kill().unwrap();
                panic!("it goes on after {signal}: {}", self.said("stderr"));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_gate_ends_and_leaves_what_it_has() {
    // Octets of many seconds: a dozen of them take minutes.
    let gate = ["gate", "--against", STRESS, "--slot-time", "5s", "--out", "out"];
    let mut gate = UnderWay::start(&[&gate[..], &WORK].concat(), dir());
    gate.wait_for("comparing");
    gate.ends_at("INT");
    let result = json(&gate.dir.path().join("out/gate.json"));
    assert_eq!(result["gate"]["exit_code"], 130, "{result:#}");
    assert_eq!(
        result["gate"]["reason"],
        "interrupted after 0 octets; the first figures come after 6"
    );
    assert!(gate.said("stdout").contains("INTERRUPTED: interrupted after 0 octets"));
    let tries = result["gate"]["attempts"].as_array().unwrap();
    assert_eq!((tries.len(), &tries[0]["verdict"]), (1, &"inconclusive".into()), "{result:#}");
    assert!(gate.said("stderr").contains("wrote out/gate.json"), "{}", gate.said("stderr"));
}

#[test]
fn two_signals_at_once_are_one() {
    // The signals as `timeout` sends them: to the process, then to its group.
    let gate = ["gate", "--against", STRESS, "--slot-time", "5s", "--out", "out"];
    let mut gate = UnderWay::start(&[&gate[..], &WORK].concat(), dir());
    gate.wait_for("comparing");
    gate.signal("TERM");
    gate.signal("TERM");
    gate.ends("TERM");
    assert_eq!(json(&gate.dir.path().join("out/gate.json"))["gate"]["exit_code"], 130);
}

#[test]
fn a_huge_block_is_given_up() {
    let mut args = WORK;
    (args[3], args[5]) = ("300G", "140M");
    let mut run = UnderWay::start(&args, dir());
    run.wait_for("generating the block");
    run.ends_at("INT");
    assert!(run.said("stderr").contains("interrupted"), "{}", run.said("stderr"));
}

#[test]
fn a_pipe_that_nobody_writes_is_no_reason_to_stay() {
    for (args, signal) in [
        (&["./pipe.toml"][..], "TERM"),
        (&["validate", "./pipe.toml"], "INT"),
        (&["describe", "--workload", "pipe.toml.workload"], "TERM"),
        (&["report", "./pipe.toml"], "TERM"),
    ] {
        let dir = dir();
        for name in ["pipe.toml", "pipe.toml.workload"] {
            assert!(Command::new("mkfifo").arg(dir.path().join(name)).status().unwrap().success());
        }
        let mut run = UnderWay::start(args, dir);
        thread::sleep(Duration::from_millis(500));
        assert!(run.child.try_wait().unwrap().is_none(), "{args:?}: {}", run.said("stderr"));
        run.ends_at(signal);
        let said = run.said("stderr");
        assert!(said.contains("interrupted: nothing had finished"), "{args:?}: {said}");
    }
}

#[test]
fn a_run_shows_and_keeps_the_rounds_that_are_finished_and_is_not_called_done() {
    let more = ["--budget", "10m", "--out", "out", "--save-baseline", "main"];
    let mut run = UnderWay::start(&[&WORK[..], &COUNTED, &more].concat(), dir());
    // A round has two samples.
    run.wait_for_sample(5);
    run.ends_at("TERM");
    let result = json(&run.dir.path().join("out/result.json"));
    assert_eq!(result["interrupted"], true);
    assert!(result["cells"][0]["samples"].as_array().unwrap().len() >= 2, "{result:#}");
    assert!(run.said("stdout").contains("sequential"), "{}", run.said("stdout"));
    let said = run.said("stderr");
    let last = said.lines().rfind(|line| line.starts_with("round")).unwrap_or_default();
    assert!(last.contains("interrupted after"), "{said}");
    assert!(said.contains("baseline main: not saved: the run was interrupted"), "{said}");
}

#[test]
fn a_worker_that_waits_for_its_driver_ends() {
    let dir = dir();
    let _share = machine::shared();
    let mut worker = machine::program();
    worker.arg("--worker").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = worker.spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let _stdin = child.stdin.take();
    let mut worker = UnderWay { child, dir, _share };
    fs::write(worker.dir.path().join("stderr"), "").unwrap();
    worker.ends_at("TERM");
}

#[test]
fn the_end_of_the_terminal_ends_a_run_as_a_signal_does_but_where_it_is_to_be_ignored() {
    let start = |hangup: &str| {
        let dir = dir();
        let file = |name: &str| fs::File::create(dir.path().join(name)).unwrap();
        let _share = machine::shared();
        // These tests may run under `nohup`, too.
        let mut command = Command::new("env");
        command.args([hangup, STRESS]).args(WORK).args(COUNTED);
        command.args(["--budget", "10m", "--cleanup", "printf c >> log"]).stdin(Stdio::null());
        command.current_dir(dir.path()).env("STRESS_DATA_DIR", dir.path());
        command.stdout(file("stdout")).stderr(file("stderr"));
        UnderWay { child: command.spawn().unwrap(), dir, _share }
    };
    let log = |run: &UnderWay| fs::read_to_string(run.dir.path().join("log")).unwrap_or_default();
    let mut run = start("--default-signal=HUP");
    run.wait_for_sample(3);
    run.ends_at("HUP");
    assert_eq!(log(&run), "c", "{}", run.said("stderr"));
    let mut run = start("--ignore-signal=HUP");
    run.wait_for_sample(3);
    run.signal("HUP");
    run.wait_for_sample(6);
    assert_eq!(log(&run), "");
    run.ends_at("TERM");
    assert_eq!(log(&run), "c", "{}", run.said("stderr"));
}
