//! The scripts that a user meets first, run in folders of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::sources::root;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stress-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn done(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A program that says which words it got.
const PROGRAM: &str = "echo \"released: $*\"";

/// A repository with `scripts/run` alone, its commit tagged, and a release of this program.
/// `scripts/setup` is missing: whoever would build fails.
fn released(folder: &Path, program: &str) -> PathBuf {
    let (clone, release) = (folder.join("clone"), folder.join("releases/v9.9.9"));
    for path in [&clone.join("scripts"), &release] {
        fs::create_dir_all(path).expect("a folder");
    }
    fs::copy(root().join("scripts/run"), clone.join("scripts/run")).expect("a copy");
    fs::write(clone.join(".gitignore"), "/target\n").expect("a file");
    for words in [
        &["init", "-q"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all"],
        &["tag", "v9.9.9"],
    ] {
        done(Command::new("git").arg("-C").arg(&clone).args(words));
    }
    fs::write(release.join("stress"), format!("#!/bin/sh\n{program}\n")).expect("a file");
    let script = "chmod +x stress && tar -czf stress-x86_64-linux.tar.gz stress && \
                  sha256sum stress-x86_64-linux.tar.gz > SHA256SUMS";
    done(Command::new("sh").args(["-c", script]).current_dir(&release));
    clone
}

/// Runs the clone's script. Returns its exit status and its output.
fn run(clone: &Path, prebuilt: &str) -> Output {
    let releases = clone.parent().expect("a folder").join("releases");
    let mut command = Command::new(clone.join("scripts/run"));
    command.args(["list", "--quiet"]).env_remove("CARGO_TARGET_DIR");
    command.env("STRESS_RELEASES", format!("file://{}", releases.display()));
    command.env("STRESS_PREBUILT", prebuilt).output().expect("it starts")
}

#[test]
fn the_binary_released_for_a_commit_is_run_in_place_of_a_build() {
    let folder = Folder::new("released");
    let clone = released(&folder.0, PROGRAM);
    for _ in 0..2 {
        let output = run(&clone, "");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text, "released: list --quiet\n", "{output:?}");
    }
    assert!(!run(&clone, "never").status.success(), "the user wants a build");
    fs::write(clone.join("changed"), "").expect("a file");
    assert!(!run(&clone, "").status.success(), "a changed tree is not what was released");
}

#[test]
fn a_released_binary_with_another_checksum_is_not_run() {
    let folder = Folder::new("checksum");
    let clone = released(&folder.0, PROGRAM);
    let sums = folder.0.join("releases/v9.9.9/SHA256SUMS");
    let text = fs::read_to_string(&sums).expect("sums");
    let wrong =
        text.replace(&text[..8], if text.starts_with("00000000") { "1" } else { "00000000" });
    for sums_of in [wrong.as_str(), ""] {
        fs::write(&sums, sums_of).expect("a file");
        let output = run(&clone, "");
        assert!(!output.status.success(), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("released"), "{output:?}");
    }
}

#[test]
fn a_released_binary_that_does_not_run_here_gives_way_to_a_build() {
    let folder = Folder::new("older");
    let clone = released(&folder.0, "[ \"$1\" != --version ] && echo released");
    for _ in 0..2 {
        let output = run(&clone, "");
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("does not run on this machine; building"), "{said}");
    }
}

#[test]
fn what_is_missing_is_listed_without_a_compiler_beside_the_one_that_is_there() {
    let setup = root().join("scripts/setup");
    let text = fs::read_to_string(&setup).expect("the script");
    assert!(text.contains("--no-install-recommends"), "no packages that nobody needs");
    done(Command::new(&setup).args(["run", "--list"]));
    // This machine may have libclang: so the function that names its packages is run alone.
    let folder = Folder::new("setup");
    let stub = folder.0.join("apt-cache");
    let path = format!("{}:{}", folder.0.display(), std::env::var("PATH").expect("a path"));
    let script = "set -euo pipefail; eval \"$(sed -n '/^libclang()/,/^}/p' \"$0\")\"; libclang";
    for (says, packages) in [
        ("echo '  Depends: libclang-14-dev'", "libclang1-14\nlibclang-common-14-dev\n"),
        ("exit 100", "libclang-dev\n"),
    ] {
        fs::write(&stub, format!("#!/bin/sh\n{says}\n")).expect("a file");
        done(Command::new("chmod").arg("+x").arg(&stub));
        let mut command = Command::new("bash");
        let output = done(command.args(["-c", script]).arg(&setup).env("PATH", &path));
        assert_eq!(String::from_utf8_lossy(&output.stdout), packages, "{says}");
    }
}

/// `scripts/run` hands its arguments to the program, whose help is tested with the program.
#[test]
fn scripts_say_their_usage_and_do_nothing_else() {
    let mut scripts: Vec<PathBuf> = fs::read_dir(root().join("scripts"))
        .expect("the folder")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.file_name().is_some_and(|name| name != "run"))
        .collect();
    scripts.sort();
    assert!(scripts.len() > 5, "{scripts:?}");
    let elsewhere = Folder::new("usage");
    for script in scripts {
        let mut command = Command::new(&script);
        let output = done(command.arg("--help").current_dir(&elsewhere.0));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let name = script.file_name().expect("a name").to_string_lossy();
        assert!(said.contains("usage:") && said.contains(&format!("scripts/{name}")), "{said}");
        assert!(!said.contains("set -e"), "comments only: {said}");
    }
    assert_eq!(fs::read_dir(&elsewhere.0).expect("the folder").count(), 0);
}
