//! Gives the binary its origin as environment variables of the compilation: commit, compiler,
//! profile. Outside of a repository, or without git, the commit is unknown.
//!
//! Runs again when a source, the lockfile or the checked-out commit changes. This costs little: a
//! change of these compiles the binary again anyway.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Sources of the binary. If one differs from the commit, the commit is shown as dirty.
const SOURCES: [&str; 9] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo",
    "build.rs",
    "src",
    "crates",
    "generator",
    "executor",
    "contracts/artifacts",
];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-env-changed=STRESS_COMMIT");
    for source in SOURCES {
        watch_source(&root.join(source));
    }
    // A packager without a repository may give the commit.
    if let Some(commit) = env::var("STRESS_COMMIT").ok().or_else(|| commit(&root)) {
        println!("cargo::rustc-env=STRESS_COMMIT={commit}");
    }
    // Libraries in place of those of the lockfile, which `scripts/build-with` names.
    println!("cargo::rerun-if-env-changed=STRESS_PATCHED");
    println!("cargo::rustc-env=STRESS_PATCHED={}", env::var("STRESS_PATCHED").unwrap_or_default());
    if let Some(version) = output(Command::new(variable("RUSTC")).arg("--version")) {
        println!("cargo::rustc-env=STRESS_RUSTC={version}");
    }
    println!("cargo::rustc-env=STRESS_PROFILE={}", profile());
    println!("cargo::rustc-env=STRESS_OPT_LEVEL={}", variable("OPT_LEVEL"));
    println!("cargo::rerun-if-env-changed=ROCKSDB_LIB_DIR");
    check_rocksdb(&root);
}

/// Fails if `ROCKSDB_LIB_DIR` is a folder of `scripts/rocksdb` with another version of RocksDB than
/// the lockfile's. The name of such a folder begins with the version.
fn check_rocksdb(root: &Path) {
    let Some(library) = env::var_os("ROCKSDB_LIB_DIR").map(PathBuf::from) else { return };
    if env::var_os("ROCKSDB_COMPILE").is_some() {
        return;
    }
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    let stanza = lock.split("name = \"librocksdb-sys\"\nversion = \"").nth(1);
    let version = stanza.and_then(|text| text.split('"').next()).unwrap_or_default();
    let is_kept = library.parent().is_some_and(|folder| folder.ends_with("stress/rocksdb"));
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    assert!(
        !is_kept || name.starts_with(&format!("{version}-")),
        "{name} is no RocksDB of librocksdb-sys {version}: run scripts/rocksdb"
    );
}

/// Makes cargo watch a source. Leaves out the tests of packages, which are no part of the binary.
fn watch_source(path: &Path) {
    let has_tests = path.ends_with("crates") || path.join("tests").is_dir();
    match path.read_dir() {
        Ok(entries) if has_tests => {
            let paths = entries.flatten().map(|entry| entry.path());
            paths.filter(|path| !path.ends_with("tests")).for_each(|path| watch_source(&path));
        }
        _ => watch(path),
    }
}

/// Makes cargo watch a path. A missing path would run this script at each build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// Returns the profile by the name of its output directory. `PROFILE` would name the profile that a
/// custom profile inherits from.
fn profile() -> String {
    let out = PathBuf::from(variable("OUT_DIR"));
    let directory = out.ancestors().nth(3).and_then(Path::file_name);
    directory.and_then(|name| name.to_str()).map_or_else(|| variable("PROFILE"), str::to_owned)
}

/// Returns the commit of the repository whose top is `root`; `None` without one. An unpacked
/// archive may lie in another repository, whose commit is not this one's.
fn commit(root: &Path) -> Option<String> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let git_dir = PathBuf::from(git(root, &["rev-parse", "--absolute-git-dir"])?);
    let common = root.join(git(root, &["rev-parse", "--git-common-dir"])?);
    // Of all branches, only the checked-out branch is watched: a commit in another work tree
    // changes nothing here. A packed branch has no file, so all branches are watched then. The
    // index is not watched, since every `git status` touches it.
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]).map(|name| common.join(name));
    let branch = branch.filter(|file| file.exists()).unwrap_or_else(|| common.join("refs/heads"));
    for path in [git_dir.join("HEAD"), branch, common.join("packed-refs")] {
        watch(&path);
    }
    let hash = git(root, &["rev-parse", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(SOURCES);
    let is_clean = git(root, &status)?.is_empty();
    Some(if is_clean { hash } else { format!("{hash}-dirty") })
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    // Without optional locks, `git status` does not write to the index.
    output(Command::new("git").arg("--no-optional-locks").arg("-C").arg(root).args(arguments))
}

/// Returns the output of a program; `None` if the program is missing or fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
