//! The ground that the figures stand on: warnings, the machine, the stores.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    data::{Report, Source},
    markup::{self, Section, esc, unknown},
};
use crate::units;

/// Facts that are shown first, by path and name.
const FIRST: [(&str, &str); 18] = [
    ("/environment/cpu/model", "Processor"),
    ("/environment/cpu/allowed_count", "CPUs allowed"),
    ("/environment/cpu/governor", "Governor"),
    ("/environment/cpu/is_turbo_on", "Turbo"),
    ("/environment/cpu/is_smt_on", "SMT"),
    ("/environment/memory/total_bytes", "Memory"),
    ("/environment/host/kernel", "Kernel"),
    ("/environment/host/os", "System"),
    ("/environment/host/virtualisation/product", "Virtual machine"),
    ("/environment/data_dir/file_system", "File system"),
    ("/environment/data_dir/device/model", "Disk"),
    ("/device/ceiling_iops", "Device’s ceiling, reads a second"),
    ("/device/method", "… found by"),
    ("/device/depth1_p50_ns", "One read alone"),
    ("/environment/steal_ns", "Stolen time"),
    ("/environment/build/rustc", "Compiler"),
    ("/tool/revm", "revm"),
    ("/tool/commit", "Commit"),
];

/// What makes the figures doubtful.
pub(super) fn warnings(report: &Report<'_>) -> Section {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for source in &report.sources {
        for text in source.texts("/warnings") {
            match all.iter_mut().find(|(known, _)| *known == text) {
                Some((_, labels)) => labels.push(&source.label),
                None => all.push((text, vec![&source.label])),
            }
        }
    }
    let item = |(text, labels): &(&str, Vec<&str>)| match labels.len() {
        _ if report.sources.len() == 1 => format!("<li>{}</li>\n", esc(text)),
        count if count == report.sources.len() => {
            format!("<li>{} <small>(all results)</small></li>\n", esc(text))
        }
        _ => format!("<li>{} <small>({})</small></li>\n", esc(text), labels.join(", ")),
    };
    let items: String = all.iter().map(item).collect();
    let body = match items.as_str() {
        "" => "<p>None.</p>".to_owned(),
        items => format!("<ul class=\"warnings\">{items}</ul>"),
    };
    Section {
        id: "warnings",
        title: "Warnings",
        lede: "What gives reason to doubt these figures, each with its remedy.".to_owned(),
        body,
        results: Vec::new(),
    }
}

/// The machine and the stores.
pub(super) fn environment(report: &Report<'_>) -> Section {
    let mut rows = Vec::new();
    for (at, name) in FIRST {
        rows.push((name.to_owned(), report.sources.iter().map(|s| value(s, at)).collect()));
    }
    let mut body = by_result(report, "The machine", &rows);
    let paths = all_paths(report);
    let full: Vec<(String, Vec<String>)> = paths
        .iter()
        .map(|(at, name)| (name.clone(), report.sources.iter().map(|s| value(s, at)).collect()))
        .collect();
    let full = by_result(report, "Every fact", &full);
    body.push_str(&markup::fold("Every fact of machine, device and stores", &full));
    Section {
        id: "environment",
        title: "The machine",
        lede: "As it was when the run began. What is not known is not guessed.".to_owned(),
        body,
        results: Vec::new(),
    }
}

/// A table of facts: one column where all results say the same, or one for each that differs.
fn by_result(report: &Report<'_>, title: &str, rows: &[(String, Vec<String>)]) -> String {
    let mut columns: Vec<(Vec<&str>, Vec<&String>)> = Vec::new();
    for (place, source) in report.sources.iter().enumerate() {
        let facts: Vec<&String> = rows.iter().map(|(_, values)| &values[place]).collect();
        match columns.iter_mut().find(|(_, known)| same(known, &facts)) {
            Some((labels, _)) => labels.push(&source.label),
            None => columns.push((vec![&source.label], facts)),
        }
    }
    let heads: Vec<String> = match columns.len() {
        1 => vec!["Fact".to_owned(), "Value".to_owned()],
        _ => {
            let labels = columns.iter().map(|(labels, _)| labels.join(", "));
            std::iter::once("Fact".to_owned()).chain(labels).collect()
        }
    };
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let lines: Vec<Vec<String>> = rows
        .iter()
        .enumerate()
        .map(|(at, (name, _))| {
            let values = columns.iter().map(|(_, facts)| facts[at].clone());
            std::iter::once(esc(name)).chain(values).collect()
        })
        .collect();
    markup::table(title, &heads, &lines)
}

/// The same text, wherever it comes from.
fn same(a: &[&String], b: &[&String]) -> bool {
    let bare = |text: &str| {
        let start = text.find(" data-result=").unwrap_or(text.len());
        let end = text.find(" data-at=").unwrap_or(text.len());
        format!("{}{}", &text[..start], &text[end..])
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bare(a) == bare(b))
}

fn value(source: &Source<'_>, at: &str) -> String {
    match source.stored.json.pointer(at) {
        None | Some(Value::Null) => unknown(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::String(text)) => esc(text),
        Some(Value::Array(all)) => {
            let texts: Vec<_> = all.iter().map(ToString::to_string).collect();
            esc(&texts.join(" "))
        }
        Some(Value::Object(_)) => unknown(),
        Some(Value::Number(_)) => {
            let text = |value: f64| match at.rsplit('_').next() {
                Some("bytes") => units::bytes(value as u64),
                Some("ns") => units::time_ns(value),
                Some("iops") => units::number(value),
                _ => value.to_string(),
            };
            markup::number(source.figure(at).as_ref(), text)
        }
    }
}

/// Paths of all leaves of the facts, with the names that they are shown by.
fn all_paths(report: &Report<'_>) -> BTreeMap<String, String> {
    let mut paths = BTreeMap::new();
    for source in &report.sources {
        for part in ["tool", "environment", "device", "stores", "choices"] {
            leaves(&source.stored.json[part], &format!("/{part}"), &mut paths);
        }
    }
    paths
}

fn leaves(value: &Value, at: &str, paths: &mut BTreeMap<String, String>) {
    // Of a pointer: `~` and `/` are written as `~0` and `~1`.
    let below = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                leaves(value, &below(key), paths);
            }
        }
        Value::Array(all) if all.iter().any(Value::is_object) => {
            for (place, value) in all.iter().enumerate() {
                leaves(value, &below(&place.to_string()), paths);
            }
        }
        _ => {
            paths.insert(at.to_owned(), at.trim_start_matches('/').replace('/', " · "));
        }
    }
}
