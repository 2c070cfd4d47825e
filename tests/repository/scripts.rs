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

/// A repository with `scripts/run` alone, its commit tagged, and a release of a program that says
/// which words it got. `scripts/setup` is missing: whoever would build fails.
fn released(folder: &Path) -> PathBuf {
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
    fs::write(release.join("stress"), "#!/bin/sh\necho \"released: $*\"\n").expect("a file");
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
    let clone = released(&folder.0);
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
    let clone = released(&folder.0);
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
fn what_is_missing_is_listed_without_a_compiler_beside_the_one_that_is_there() {
    let setup = root().join("scripts/setup");
    // A search path without libclang's folders cannot be had; of a version the packages are two.
    let text = fs::read_to_string(&setup).expect("the script");
    assert!(text.contains("--no-install-recommends"), "no packages that nobody needs");
    let output = done(Command::new(setup).args(["run", "--list"]));
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    for package in ["clang", "libobjc", "libclang-cpp"] {
        assert!(!listed.lines().any(|line| line.starts_with(package)), "{package}: {listed}");
    }
}
