//! The files for CI of GitHub: linted by actionlint, a Go program, where Go is there.

use std::{io::Write as _, process::Command};

use crate::sources::root;

/// The linter as a Go module; its checksum is in Go's own database.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7";

/// A test says past the harness that it is skipped: the harness keeps the output of passing tests.
fn skip(why: &str) {
    drop(writeln!(std::io::stderr(), "skipped: {why}"));
}

/// `go run`, of the installed version of Go, for five minutes at most where `timeout` is there.
fn go_run(go: &str) -> Command {
    let has_timeout = Command::new("timeout").arg("--version").output();
    let mut command = if has_timeout.is_ok_and(|output| output.status.success()) {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", "300", go]);
        command
    } else {
        Command::new(go)
    };
    command.arg("run").env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    command
}

/// Runs the linter on a file. Returns its complaints; `None` where it cannot be had, which is said
/// aloud.
fn complaints(path: &str) -> Option<String> {
    let go = ["go", "/usr/local/go/bin/go"].into_iter().find(|go| {
        let mut command = Command::new(go);
        let output = command.arg("version").env("GOTOOLCHAIN", "local").output();
        output.is_ok_and(|output| output.status.success())
    });
    let Some(go) = go else {
        skip("there is no Go on PATH: workflows of GitHub are not linted");
        return None;
    };
    // Shell steps have a test of their own; the linter's checks of them need other programs.
    let options = ["-no-color", "-oneline", "-shellcheck=", "-pyflakes="];
    let mut command = go_run(go);
    command.arg(ACTIONLINT).args(options).arg(path);
    let output = command.current_dir(std::env::temp_dir()).output().expect("Go starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.code() {
        // Go names its downloads on standard error.
        Some(0) => Some(text(&output.stdout)),
        Some(1) if !output.stdout.is_empty() => Some(text(&output.stdout)),
        // Without a network there is no module.
        _ => {
            skip(&format!("actionlint cannot be had:\n{}", text(&output.stderr)));
            None
        }
    }
}

#[test]
#[ignore = "only scripts/test --all runs it"]
fn workflows_of_github_have_nothing_that_the_linter_complains_of() {
    let folder = root().join(".github/workflows");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("there are workflows") {
        let path = entry.expect("is listed").path();
        if path.extension().is_some_and(|ending| ending == "yml") {
            count += 1;
            if let Some(found) = complaints(&path.display().to_string()) {
                assert!(found.is_empty(), "{found}");
            }
        }
    }
    assert!(count > 0, "there is a workflow");
}

#[test]
#[ignore = "only scripts/test --all runs it"]
fn a_workflow_with_a_key_misspelled_or_a_job_that_is_not_there_is_found() {
    let dir = std::env::temp_dir().join(format!("stress-workflow-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join("wrong.yml");
    let text = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    needs: [b]\n    stepz: []\n";
    std::fs::write(&path, text).expect("a file");
    let found = complaints(&path.display().to_string());
    std::fs::remove_dir_all(&dir).expect("the folder goes");
    let Some(found) = found else { return };
    for words in ["stepz", "\"b\""] {
        assert!(found.contains(words), "{words}: {found}");
    }
}
