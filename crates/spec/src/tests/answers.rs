//! A plain yes or no where a key has names: the error has the key, the value as it was given, all names,
//! and the one that is meant.

use serde_json::Value;

use super::{MINIMAL_SCENARIO, assert_error, given};
use crate::{Scenario, json_schema};

/// The keys of the table at `path` and below it that take names, each with its names.
fn named_keys(path: &str, table: &Value) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (key, of) in table["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        found.extend(named_keys(&path, of));
        let either = of["anyOf"].as_array().into_iter().flatten();
        let mut all = [of, &of["items"]].into_iter().chain(either);
        if let Some(names) = all.find_map(|of| of["enum"].as_array()) {
            let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
            found.push((path, names.collect()));
        }
    }
    found
}

fn refused(key: &str, value: &str, parts: &[&str]) {
    assert_error(Scenario::parse("my.toml", MINIMAL_SCENARIO, &[given(key, value)]), parts);
}

#[test]
fn a_plain_no_is_answered_with_key_value_and_names_by_every_key_of_names() {
    let schema: Value = serde_json::from_str(&json_schema()).expect("JSON");
    let keys = named_keys("run", &schema["properties"]["run"]);
    assert!(keys.len() > 20, "{keys:?}");
    for (key, names) in &keys {
        let [rule, origin] = [format!("{key}: \"no\" is no "), format!("--> --set {key}=no")];
        let names = names.iter().map(String::as_str);
        let parts: Vec<&str> = [rule.as_str(), origin.as_str()].into_iter().chain(names).collect();
        refused(key, "no", &parts);
    }
}

#[test]
fn a_plain_yes_or_no_is_told_the_name_that_is_meant() {
    for (key, value, meant) in [
        ("run.checksums", "no", "skip"),
        ("run.checksums", "off", "skip"),
        ("run.checksums", "yes", "verify"),
        ("run.rocksdb.compaction", "false", "off"),
        ("run.rocksdb.compaction", "true", "on"),
        ("run.rocksdb.filter", "off", "none"),
        ("run.root", "no", "none"),
    ] {
        refused(key, value, &[&format!("did you mean {meant}? (one of ")]);
    }
    // Of several names none is plainly the one.
    refused("run.rocksdb.filter", "yes", &["use bloom, ribbon or none"]);
    refused("run.commit", "no", &["\"no\" is no commit mode", "use logged, synced or unlogged"]);
    refused("run.checksums", "skp", &["skp is no checksum mode", "did you mean skip?"]);
}
