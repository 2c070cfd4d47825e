//! Programs in Go that come with the project, built where Go and their modules are to be had.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::{found::skipped, machine, tool::text};

/// Folders of the modules in Go.
pub(crate) const MODULES: [&str; 2] = ["examples/go-worker", "tools/geth-fill"];

/// Runs `go` in a folder of the repository, for 15 minutes at most.
pub(crate) fn go(folder: &str, args: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut command = Command::new("timeout");
    command.args(["900", "go"]).args(args).current_dir(folder);
    command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "").output().unwrap()
}

/// Runs `go`, which must succeed.
pub(crate) fn passes(folder: &str, args: &[&str]) {
    let output = go(folder, args);
    let said = [text(&output.stdout), text(&output.stderr)].concat();
    assert!(output.status.success(), "{folder}: go {args:?}: {said}");
}

/// Builds the program in a folder of the repository; `None`, said aloud, where it cannot be.
pub(crate) fn built(folder: &str) -> Option<PathBuf> {
    // Nothing is timed meanwhile: it takes all CPUs.
    let _shared = machine::shared();
    if let Err(error) = Command::new("go").arg("version").output() {
        skipped(&format!("{folder}: there is no go on PATH: {error}"));
        return None;
    }
    let modules = go(folder, &["mod", "download"]);
    if !modules.status.success() {
        let said = text(&modules.stderr);
        skipped(&format!("{folder}: go is too old, or has no modules of go-ethereum: {said}"));
        return None;
    }
    let name = Path::new(folder).file_name().unwrap();
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    passes(folder, &["build", "-buildvcs=false", "-o", binary.to_str().unwrap(), "."]);
    Some(binary)
}

#[test]
#[ignore = "only scripts/test --all runs it"]
fn the_sources_in_go_pass_vet() {
    for folder in MODULES {
        if built(folder).is_some() {
            passes(folder, &["vet", "./..."]);
        }
    }
}

#[test]
fn the_sources_in_go_are_formatted() {
    for folder in MODULES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        match Command::new("gofmt").arg("-l").arg(folder).output() {
            Ok(output) => assert_eq!(text(&output.stdout), "", "gofmt -w these files"),
            Err(error) => skipped(&format!("there is no gofmt on PATH: {error}")),
        }
    }
}
