//! The files for CI of others and of ours: GitHub's are linted by actionlint, a Go program, where Go is
//! there.

use std::process::Command;

use crate::sources::root;

/// The linter as a Go module; its checksum is in Go's own database.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7";

/// Runs the linter on a text. Returns its complaints; `None` where there is no Go, which is said aloud.
#[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
fn complaints(path: &str) -> Option<String> {
    let go = ["go", "/usr/local/go/bin/go"].into_iter().find(|go| {
        Command::new(go).arg("version").output().is_ok_and(|output| output.status.success())
    });
    let Some(go) = go else {
        eprintln!("skipped: there is no Go on PATH: workflows of GitHub are not linted");
        return None;
    };
    // Shell steps have a test of their own; the linter's checks of them need other programs.
    let options = ["-no-color", "-oneline", "-shellcheck=", "-pyflakes="];
    let mut command = Command::new(go);
    command.args(["run", ACTIONLINT]).args(options).arg(path).env("GOFLAGS", "-mod=mod");
    let output = command.current_dir(std::env::temp_dir()).output().expect("Go starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.code() {
        Some(0 | 1) if text(&output.stderr).is_empty() || !output.stdout.is_empty() => {
            Some(text(&output.stdout))
        }
        // Without a network there is no module.
        _ => {
            eprintln!("skipped: actionlint cannot be had:\n{}", text(&output.stderr));
            None
        }
    }
}

#[test]
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
