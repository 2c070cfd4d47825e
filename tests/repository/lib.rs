//! The repository itself: files stay small and name their subject, modules and packages know each
//! other one way only, docs and comments name nothing that is not there, and dependencies have one set of features.

#![cfg(test)]

mod book;
mod code;
mod cycles;
mod features;
mod functions;
mod gitlab;
mod manifests;
mod modules;
mod paths;
mod references;
mod scripts;
mod sources;
mod workflows;

use std::fs;

use modules::Modules;
use sources::{packages, root, texts};

const LINES_MAX: usize = 500;

#[test]
fn every_rust_file_is_short_and_begins_by_saying_what_it_owns() {
    let all = texts("", "rs");
    assert!(all.len() > 100);
    for (path, text) in all {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{path} has {lines} lines");
        assert!(text.starts_with("//!"), "{path} does not say what it owns");
    }
}

#[test]
fn every_function_is_short_and_is_called_with_few_values_that_tell_what_they_are() {
    let mut found = String::new();
    let folders = packages().iter().map(|package| package.at("src")).collect::<Vec<_>>();
    let folders =
        folders.iter().map(String::as_str).chain(["tests/repository", "benches", "examples"]);
    for (path, text) in folders.flat_map(|folder| texts(folder, "rs")) {
        // A module of tests in a file of its own.
        if !path.ends_with("/tests.rs") && !path.contains("/tests/") {
            let breaches = functions::breaches(&path, &text);
            found.extend(breaches.iter().map(|breach| format!("{path}, {breach}\n")));
        }
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn the_modules_of_every_crate_know_each_other_one_way_only() {
    let mut found = String::new();
    for package in packages() {
        let sources = texts(&package.at("src"), "rs");
        for root in ["src/lib.rs", "src/main.rs"].map(|path| package.at(path)) {
            if sources.contains_key(&root) {
                let modules = Modules::read(&sources, &root);
                let cycles = cycles::cycles(&modules);
                found.extend(cycles.iter().map(|cycle| format!("{}, {cycle}", package.name())));
            }
        }
    }
    assert!(found.is_empty(), "modules in cycles:\n{found}");
}

/// The fuzz targets are a workspace of their own, which no other test builds. A dependency that
/// their lock does not know would stop them from being built as they are.
#[test]
fn the_lock_of_the_fuzz_targets_knows_every_dependency_of_their_crates() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect(path);
    let lock = read("fuzz/Cargo.lock");
    let mut count = 0;
    for path in ["crates/workload", "crates/evm", "crates/spec", "crates/trie", "generator"] {
        let name = path.rsplit('/').next().expect("a name");
        let of_lock = lock
            .split("[[package]]")
            .find(|package| package.lines().any(|line| line == format!("name = \"{name}\"")));
        let of_lock = of_lock.unwrap_or_else(|| panic!("{name} is not in fuzz/Cargo.lock"));
        let manifest = read(&format!("{path}/Cargo.toml"));
        let own = manifest.split("[dependencies]").nth(1).expect("dependencies");
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
