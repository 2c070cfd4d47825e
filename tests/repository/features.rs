//! One set of features: building or testing a package alone compiles no dependency that a build of the program and
//! of all tests has not compiled. Read from cargo's graph of units, without a build.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    process::Command,
};

use yaml_rust2::{Yaml, YamlLoader};

use crate::sources::{packages, root};

/// The units of cargo commands.
#[derive(Default)]
struct Units {
    /// Each with all that it is built of.
    built: HashSet<u64>,
    /// Features of each unit by its package, target and purpose.
    features: HashMap<String, BTreeSet<String>>,
}

/// The graph of units of a cargo command.
fn graph(command: &[&str]) -> Yaml {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(command).args(["--release", "--locked", "-Zunstable-options", "--unit-graph"]);
    // The graph is no stable output, and the version of cargo is pinned.
    let output = cargo.env("RUSTC_BOOTSTRAP", "1").current_dir(root()).output().expect("cargo");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {command:?}: {error}");
    parsed(&String::from_utf8(output.stdout).expect("UTF-8"))
}

/// A text of JSON, which is YAML too.
fn parsed(json: &str) -> Yaml {
    YamlLoader::load_from_str(json).expect("JSON").swap_remove(0)
}

fn text<'a>(value: &'a Yaml, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value:?}"))
}

fn array<'a>(value: &'a Yaml, key: &str) -> &'a [Yaml] {
    value[key].as_vec().unwrap_or_else(|| panic!("no {key} in {value:?}"))
}

/// The identity of unit `index`: its package, target and features, and those of its dependencies.
fn identity(units: &[Yaml], index: usize, known: &mut HashMap<usize, u64>) -> u64 {
    if let Some(identity) = known.get(&index) {
        return *identity;
    }
    let unit = &units[index];
    let mut hasher = DefaultHasher::new();
    for part in ["pkg_id", "target", "features", "mode", "profile", "platform"] {
        unit[part].hash(&mut hasher);
    }
    let dependencies = array(unit, "dependencies").iter().map(|dependency| {
        let index = dependency["index"].as_i64().expect("an index");
        identity(units, usize::try_from(index).expect("an index"), known)
    });
    let mut dependencies: Vec<u64> = dependencies.collect();
    dependencies.sort_unstable();
    dependencies.hash(&mut hasher);
    let identity = hasher.finish();
    known.insert(index, identity);
    identity
}

/// The third-party units of a graph with their identity.
fn third_party(graph: &Yaml) -> Vec<(u64, &Yaml)> {
    let units = array(graph, "units");
    let mut known = HashMap::new();
    let third =
        units.iter().enumerate().filter(|(_, unit)| !text(unit, "pkg_id").starts_with("path"));
    third.map(|(index, unit)| (identity(units, index, &mut known), unit)).collect()
}

/// Package, target and purpose of a unit.
fn name(unit: &Yaml) -> String {
    let package = text(unit, "pkg_id").rsplit('#').next().unwrap_or_default();
    let kind = array(&unit["target"], "kind")[0].as_str().unwrap_or_default();
    format!("{package} ({kind}, {})", text(unit, "mode"))
}

fn features(unit: &Yaml) -> String {
    let all = array(unit, "features").iter().filter_map(Yaml::as_str);
    all.collect::<Vec<_>>().join(" ")
}

impl Units {
    fn add(&mut self, graph: &Yaml) {
        for (identity, unit) in third_party(graph) {
            self.built.insert(identity);
            self.features.entry(name(unit)).or_default().insert(features(unit));
        }
    }

    /// Units of `graph` that are not built yet, as sentences; first of all those with other features.
    fn missing(&self, graph: &Yaml) -> Vec<String> {
        let missing = third_party(graph).into_iter().filter(|(id, _)| !self.built.contains(id));
        let (mut other, mut above) = (Vec::new(), Vec::new());
        for (_, unit) in missing {
            let (name, features) = (name(unit), features(unit));
            match self.features.get(&name) {
                Some(built) if built.contains(&features) => {
                    above.push(format!("{name} depends on one of these"));
                }
                built => other
                    .push(format!("{name} has the features {features:?}, and elsewhere {built:?}")),
            }
        }
        other.extend(above);
        other
    }
}

#[test]
fn a_package_alone_compiles_no_dependency_that_the_workspace_has_not_compiled() {
    let mut whole = Units::default();
    whole.add(&graph(&["build"]));
    whole.add(&graph(&["test", "--workspace", "--no-run"]));
    assert!(whole.built.len() > 300, "{}", whole.built.len());
    let packages = packages();
    let names = packages.iter().map(crate::sources::Package::name).chain(["repository"]);
    for package in names {
        for command in [&["build", "-p", package][..], &["test", "-p", package, "--no-run"]] {
            let missing = whole.missing(&graph(command));
            assert!(
                missing.is_empty(),
                "cargo {} compiles dependencies again; remedy: state their features in \
                 crates/features/Cargo.toml:\n{}",
                command.join(" "),
                missing.join("\n")
            );
        }
    }
}

#[test]
fn a_unit_with_other_features_is_found_and_so_is_one_that_depends_on_it() {
    let graph = |features: &str| -> Yaml {
        let text = format!(
            r#"{{"units": [
                {{"pkg_id": "registry#a@1.0.0", "target": {{"kind": ["lib"]}}, "mode": "build",
                  "features": [{features}], "dependencies": []}},
                {{"pkg_id": "registry#b@1.0.0", "target": {{"kind": ["lib"]}}, "mode": "build",
                  "features": [], "dependencies": [{{"index": 0}}]}},
                {{"pkg_id": "path+file:///x#own@0.1.0", "target": {{"kind": ["lib"]}},
                  "mode": "build", "features": [{features}], "dependencies": [{{"index": 1}}]}}
            ]}}"#
        );
        parsed(&text)
    };
    let mut whole = Units::default();
    whole.add(&graph(r#""std""#));
    assert_eq!(whole.missing(&graph(r#""std""#)), [""; 0]);
    let missing = whole.missing(&graph(""));
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].starts_with("a@1.0.0") && missing[1].starts_with("b@1.0.0"), "{missing:?}");
}
