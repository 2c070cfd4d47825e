//! A client does not outlive the program, however that ends, and the directory of a run that was killed
//! goes with the next one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{dir, fake::written, genesis_hash};
use crate::{
    interrupted::{BEGIN_LIMIT, POLL_INTERVAL, UnderWay, json},
    tool::stress,
};

/// A run whose client hangs at its third block.
struct Hanging {
    run: UnderWay,
    client_pid: String,
}

/// Waits until `is_so`.
fn wait_until(words: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < BEGIN_LIMIT, "{words}");
        thread::sleep(POLL_INTERVAL);
    }
}

fn is_alive(pid: &str) -> bool {
    // A process that nobody waits for has no memory any more.
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("VmRSS")
}

impl Hanging {
    /// `stubborn`: the shell's words before the client begins the third time. Before that it makes its
    /// database, and puts it in order.
    fn start(stubborn: &str) -> Self {
        Self::started((!stubborn.is_empty()).then(|| {
            let third = "echo >> \"$0.count\"\n[ $(wc -l < \"$0.count\") -lt 3 ]";
            format!("{third} || {stubborn}\nexec \"$PROGRAM\" \"$@\"")
        }))
    }

    /// `wrapper`: lines of a script that starts the client, `$PROGRAM`.
    fn started(wrapper: Option<String>) -> Self {
        let own = tempfile::tempdir().unwrap();
        let export = own.path().join("out");
        fs::create_dir(&export).unwrap();
        for file in fs::read_dir(dir().join("out")).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), export.join(file.file_name())).unwrap();
        }
        let marker = own.path().join("client.pid");
        let words = format!(", \"genesis={}\", \"hangs\", {marker:?}", genesis_hash());
        let file = written(own.path(), "fake", "", &words, "");
        if let Some(lines) = wrapper {
            let program = std::env::current_exe().unwrap();
            let script = own.path().join("client.sh");
            fs::write(&script, format!("#!/bin/sh\nPROGRAM={program:?}\n{lines}\n")).unwrap();
            assert!(Command::new("chmod").arg("+x").arg(&script).status().unwrap().success());
            let text = fs::read_to_string(&file).unwrap();
            let text = text.replace(program.to_str().unwrap(), script.to_str().unwrap());
            fs::write(&file, text).unwrap();
        }
        let args =
            ["client", "out", "--client", "./fake.toml", "--cache", "warm", "--out", "results"];
        let run = UnderWay::start(&args, own);
        wait_until("the client hangs", || {
            fs::read_to_string(&marker).is_ok_and(|pid| !pid.is_empty())
        });
        let client_pid = fs::read_to_string(&marker).unwrap();
        assert!(is_alive(&client_pid));
        Self { run, client_pid }
    }

    fn signal(&self, signal: &str) {
        let pid = self.run.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    fn scratch(&self) -> Vec<PathBuf> {
        scratch(self.run.dir.path())
    }

    fn assert_dead(&self) {
        wait_until("the client lives on", || !is_alive(&self.client_pid));
    }

    /// One sample had finished, after one that does not count.
    fn assert_kept(&self) {
        let result = json(&self.run.dir.path().join("results/result.json"));
        let samples = result["clients"][0]["samples"].as_array().unwrap();
        assert_eq!((samples.len(), &result["interrupted"]), (2, &true.into()), "{result:#}");
    }
}

fn scratch(dir: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_string_lossy().contains(".stress-client-")).collect()
}

#[test]
fn an_interrupt_stops_the_client_and_keeps_the_samples_that_are_finished() {
    let mut hanging = Hanging::start("");
    assert_eq!(hanging.scratch().len(), 1);
    hanging.run.ends_at("INT");
    hanging.assert_dead();
    assert!(hanging.scratch().is_empty(), "{:?}", hanging.scratch());
    hanging.assert_kept();
    assert!(hanging.run.said("stdout").contains("client"), "{}", hanging.run.said("stdout"));
}

#[test]
fn a_client_that_ignores_the_request_to_stop_is_killed() {
    let mut hanging = Hanging::start("trap '' TERM INT");
    hanging.run.ends_at("TERM");
    hanging.assert_dead();
    assert!(hanging.scratch().is_empty(), "{:?}", hanging.scratch());
    hanging.assert_kept();
}

#[test]
fn a_second_interrupt_ends_all_at_once() {
    let mut hanging = Hanging::start("trap '' TERM INT");
    hanging.signal("INT");
    // Two within half a second are one.
    thread::sleep(Duration::from_secs(1));
    hanging.signal("TERM");
    let status = hanging.run.child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{}", hanging.run.said("stderr"));
    hanging.assert_dead();
    assert_eq!(hanging.scratch().len(), 1, "it ends in order only where it waits for the client");
}

#[test]
fn a_run_that_is_killed_takes_its_client_along_and_the_next_run_removes_its_directory() {
    let mut hanging = Hanging::start("");
    hanging.signal("KILL");
    hanging.run.child.wait().unwrap();
    hanging.assert_dead();
    hanging.assert_kept();
    assert_eq!(hanging.scratch().len(), 1, "nobody was left to remove it");
    // A run that fails at once removes it all the same.
    let start = "name = \"none\"\nprogram = \"/nonexistent\"\nstart = [\"{port}\", \"{jwt}\"]\n";
    fs::write(hanging.run.dir.path().join("none.toml"), start).unwrap();
    let output = stress(&["client", "out", "--client", "./none.toml"], hanging.run.dir.path());
    assert_eq!(output.status.code(), Some(6));
    assert!(hanging.scratch().is_empty(), "{:?}", hanging.scratch());
}

#[test]
fn a_client_of_a_wrapper_without_exec_is_told_and_ended_by_the_next_run() {
    let mut hanging = Hanging::started(Some("\"$PROGRAM\" \"$@\"; exit $?".to_owned()));
    let dir = hanging.run.dir.path().to_owned();
    let result = json(&dir.join("results/result.json"));
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("client.sh") && warnings.contains("end with exec"), "{warnings}");
    hanging.signal("KILL");
    hanging.run.child.wait().unwrap();
    assert!(is_alive(&hanging.client_pid), "no signal reaches a child of the wrapper");
    let start = "name = \"none\"\nprogram = \"/nonexistent\"\nstart = [\"{port}\", \"{jwt}\"]\n";
    fs::write(dir.join("none.toml"), start).unwrap();
    let output = stress(&["client", "out", "--client", "./none.toml"], &dir);
    assert_eq!(output.status.code(), Some(6));
    hanging.assert_dead();
    assert!(hanging.scratch().is_empty(), "{:?}", hanging.scratch());
}

#[test]
fn an_interrupt_stops_a_client_of_a_wrapper_without_exec() {
    let mut hanging = Hanging::started(Some("\"$PROGRAM\" \"$@\"; exit $?".to_owned()));
    hanging.run.ends_at("INT");
    hanging.assert_dead();
    assert!(hanging.scratch().is_empty(), "{:?}", hanging.scratch());
}
