//! Which package may know which: the arrows of `docs/architecture.md`, read from the manifests.

use std::collections::{BTreeMap, BTreeSet};

use toml::Table;

use crate::sources::{Package, packages, texts};

/// Has no code: any package may depend on it.
const FEATURES: &str = "features";

/// The packages of the workspace that each may depend on, tests left out.
const ARROWS: [(&str, &[&str]); 15] = [
    (
        "stress",
        &[
            "report",
            "result",
            "variant",
            "spec",
            "workload",
            "generator",
            "executor",
            "send",
            "partition",
            "shard",
        ],
    ),
    ("send", &["workload", "variant"]),
    ("report", &["result", "variant"]),
    ("result", &["variant"]),
    ("generator", &["spec", "workload", "evm", "variant", "trie"]),
    ("spec", &["variant", "workload"]),
    ("executor", &["workload", "evm", "variant", "trie", "partition"]),
    ("evm", &["workload"]),
    ("trie", &["workload"]),
    ("partition", &["variant"]),
    ("shard", &["executor", "evm", "workload"]),
    ("random-blocks", &["generator", "evm", "workload"]),
    ("features", &[]),
    ("workload", &[]),
    ("variant", &[]),
];

fn tables<'a>(manifest: &'a Table, kinds: &[&str]) -> Vec<&'a Table> {
    let mut all: Vec<&Table> =
        kinds.iter().filter_map(|kind| manifest.get(*kind)?.as_table()).collect();
    for target in
        manifest.get("target").and_then(|targets| targets.as_table()).into_iter().flatten()
    {
        all.extend(kinds.iter().filter_map(|kind| target.1.get(*kind)?.as_table()));
    }
    all
}

/// Breaches of the arrows, as sentences.
fn wrong_arrows(manifests: &BTreeMap<&str, &Table>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests {
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| from == name) else {
            wrong.push(format!("{name} has no line in ARROWS"));
            continue;
        };
        for dependency in tables(manifest, &["dependencies"]).into_iter().flat_map(Table::keys) {
            if manifests.contains_key(dependency.as_str())
                && !allowed.contains(&dependency.as_str())
                && dependency != FEATURES
            {
                wrong.push(format!("{name} must not depend on {dependency}"));
            }
        }
    }
    wrong
}

#[test]
fn packages_depend_on_each_other_by_the_allowed_arrows_alone() {
    let packages = packages();
    let manifests = packages.iter().map(|package| (package.name(), &package.manifest)).collect();
    assert_eq!(wrong_arrows(&manifests), [""; 0]);
}

#[test]
fn an_arrow_against_the_order_is_found() {
    let workload: Table = "[dependencies]\nevm.workspace = true\n".parse().expect("TOML");
    let evm: Table =
        "[dependencies]\nworkload = {}\n[dev-dependencies]\nvariant = {}".parse().expect("TOML");
    let variant: Table = "[target.'cfg(unix)'.dependencies]\nevm = {}\n".parse().expect("TOML");
    let manifests = BTreeMap::from([("workload", &workload), ("evm", &evm), ("variant", &variant)]);
    let expected = ["variant must not depend on evm", "workload must not depend on evm"];
    assert_eq!(wrong_arrows(&manifests), expected);
    let unknown = Table::new();
    let wrong = wrong_arrows(&BTreeMap::from([("new", &unknown)]));
    assert_eq!(wrong, ["new has no line in ARROWS"]);
}

/// The names in the sources of a package: words, comments and strings included.
fn words(package: &Package, folders: &[&str]) -> BTreeSet<String> {
    let all = folders.iter().map(|folder| texts(&package.at(folder), "rs"));
    let build = texts(&package.folder, "rs")
        .into_iter()
        .filter(|(path, _)| *path == package.at("build.rs"));
    let code = all.chain([build.collect()]).flat_map(BTreeMap::into_values);
    let mut words = BTreeSet::new();
    for text in code {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let found = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.extend(found.map(str::to_owned));
        }
    }
    words
}

/// Dependencies that only generated code names: of the messages in `crates/shard/proto/shard.proto`.
const GENERATED: [&str; 2] = ["prost", "tonic-prost"];

#[test]
fn every_dependency_that_a_manifest_declares_is_named_in_the_code() {
    let mut unnamed = Vec::new();
    for package in packages().into_iter().filter(|package| package.name() != FEATURES) {
        let code = words(&package, &["src"]);
        let tests = words(&package, &["src", "tests", "benches", "examples"]);
        let parts: [(&[&str], _); 2] =
            [(&["dependencies", "build-dependencies"], &code), (&["dev-dependencies"], &tests)];
        for (kinds, words) in parts {
            for name in tables(&package.manifest, kinds).into_iter().flat_map(Table::keys) {
                let word = name.replace('-', "_");
                if !words.contains(&word) && !GENERATED.contains(&name.as_str()) && name != FEATURES
                {
                    unnamed.push(format!("{} declares {name}", package.name()));
                }
            }
        }
    }
    assert!(unnamed.is_empty(), "and no code there names it: {unnamed:#?}");
}

#[test]
fn every_shared_dependency_is_used_by_a_package() {
    let packages = packages();
    let program = packages.iter().find(|package| package.folder.is_empty()).expect("the program");
    let shared = program.manifest["workspace"]["dependencies"].as_table().expect("a table");
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let own = include_str!("Cargo.toml").parse::<Table>().expect("TOML");
    let all = packages.iter().map(|package| &package.manifest).chain([&own]);
    let used: BTreeSet<&String> =
        all.flat_map(|manifest| tables(manifest, &kinds)).flat_map(Table::keys).collect();
    let unused: Vec<_> = shared.keys().filter(|name| !used.contains(name)).collect();
    assert!(unused.is_empty(), "[workspace.dependencies] has {unused:?}, which no package uses");
}

/// The program knows only the optimisation of its own package, and warns of times by it.
#[test]
fn the_fast_setting_compiles_every_package_as_it_compiles_the_program() {
    let text = include_str!("../../.cargo/dev-fast.toml");
    let setting: Table = text.parse().expect("TOML");
    let of = setting["profile"]["release"]["package"].as_table().expect("a table");
    let names: BTreeSet<_> = of.keys().map(String::as_str).collect();
    let packages = packages();
    assert_eq!(names, packages.iter().map(Package::name).collect());
    assert!(of.values().all(|package| package == &of["stress"]), "{of:?}");
    assert_ne!(of["stress"]["opt-level"].as_integer(), Some(3));
}

#[test]
fn the_measured_profile_tells_the_program_its_own_settings() {
    let text = include_str!("../../.cargo/measured.toml");
    let measured: Table = text.parse().expect("TOML");
    let (release, told) = (&measured["profile"]["release"], &measured["env"]);
    assert_eq!(release["lto"], told["STRESS_LTO"]);
    let units = release["codegen-units"].as_integer().map(|count| count.to_string());
    assert_eq!(units.as_deref(), told["STRESS_CODEGEN_UNITS"].as_str());
}
