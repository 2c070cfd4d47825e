//! The repository itself: files stay small and say what they own, and the docs name no path
//! that is not there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

const LINES_MAX: usize = 500;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(dir: &Path, extension: &str, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "node_modules" && !name.starts_with('.') {
            files(&path, extension, out);
        } else if path.extension().is_some_and(|found| found == extension) {
            out.push(path);
        }
    }
}

/// The folders of all packages of the workspace.
fn packages() -> Vec<PathBuf> {
    let members = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let named = ["", "generator", "executor"].map(|name| root().join(name));
    members.chain(named).collect()
}

#[test]
fn every_rust_file_is_short_and_begins_by_saying_what_it_owns() {
    let mut all = Vec::new();
    files(root(), "rs", &mut all);
    assert!(all.len() > 100);
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", path.display());
        assert!(text.starts_with("//!"), "{} does not say what it owns", path.display());
    }
}

#[test]
fn every_path_that_the_docs_name_is_there() {
    let mut pages = vec![root().join("README.md"), root().join("CHANGELOG.md")];
    let crates: Vec<_> = packages().into_iter().flat_map(|at| [at.join("src"), at]).collect();
    files(&root().join("docs"), "md", &mut pages);
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = word.ends_with(".rs") || word.starts_with("docs/");
            if is_path && word.contains('/') && !word.contains([' ', '*', '<', '{']) {
                // A code map names files from their crate's sources on.
                let is_there = crates.iter().any(|from| from.join(word).exists());
                assert!(is_there, "{} names {word}", page.display());
            }
        }
    }
}

/// The fuzz targets are a workspace of their own, which no other test builds. What their lock does
/// not know would stop them from being built as they are.
#[test]
fn the_lock_of_the_fuzz_targets_knows_every_dependency_of_their_crates() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let lock = read("fuzz/Cargo.lock");
    let mut count = 0;
    for path in ["crates/workload", "crates/evm", "crates/spec", "generator"] {
        let name = path.rsplit('/').next().unwrap();
        let of_lock = lock
            .split("[[package]]")
            .find(|package| package.lines().any(|line| line == format!("name = \"{name}\"")));
        let of_lock = of_lock.unwrap_or_else(|| panic!("{name} is not in fuzz/Cargo.lock"));
        let manifest = read(&format!("{path}/Cargo.toml"));
        let own = manifest.split("[dependencies]").nth(1).unwrap();
        let own = own.lines().take_while(|line| !line.starts_with('['));
        for dependency in own.filter_map(|line| line.split(['.', ' ', '=']).next()) {
            if dependency.is_empty() || dependency.starts_with('#') {
                continue;
            }
            count += 1;
            // A lock says the version too where there are several.
            let is_there = of_lock.contains(&format!(" \"{dependency}\","))
                || of_lock.contains(&format!(" \"{dependency} "));
            assert!(is_there, "{dependency} of {name}: run `cargo metadata` in fuzz/");
        }
    }
    assert!(count > 10, "{count}");
}
