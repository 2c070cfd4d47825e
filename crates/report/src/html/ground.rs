//! The ground that the figures stand on: warnings, the machine, the stores.

use std::collections::BTreeMap;

use result::{Device, Environment, StoreFacts, Tool, environment::Virtualisation};
use serde::Serialize;
use serde_json::Value;

use super::{
    data::{Report, Source},
    figure::{Figure, figure},
    markup::{self, Section, esc, unknown},
};
use crate::{
    units,
    warnings::{Warning, grouped},
};

/// Values of a fact that stand open where results differ; the others are folded away.
const SHOWN_VALUE_COUNT: usize = 3;

/// A fact that is shown first: its name, and its markup; `None` where it is not known.
type First = (&'static str, fn(&Source<'_>) -> Option<String>);

const FIRST: [First; 18] = [
    ("Processor", |s| word(s.environment()?.cpu.model.as_deref())),
    ("CPUs allowed", |s| count(figure!(s.environment()?, cpu.allowed_count))),
    ("Governor", |s| word(s.environment()?.cpu.governor.as_deref())),
    ("Turbo", |s| answer(s.environment()?.cpu.is_turbo_on)),
    ("SMT", |s| answer(s.environment()?.cpu.is_smt_on)),
    ("Memory", |s| bytes(figure!(s.environment()?, memory.total_bytes))),
    ("Kernel", |s| word(s.environment()?.host.kernel.as_deref())),
    ("System", |s| word(s.environment()?.host.os.as_deref())),
    ("Virtual machine", |s| virtual_machine(&s.environment()?.host.virtualisation)),
    ("File system", |s| word(s.environment()?.data_dir.file_system.as_deref())),
    ("Disk", |s| word(s.environment()?.data_dir.model.as_deref())),
    ("Device’s ceiling, reads a second", |s| {
        Some(number(&figure!(s.run()?, device?.ceiling_iops)?, units::number))
    }),
    ("… found by", |s| word(s.run()?.device.as_ref()?.method.as_deref())),
    ("One read alone", |s| {
        Some(number(&figure!(s.run()?, device?.depth1_p50_ns)?, units::time_ns))
    }),
    ("Stolen time", |s| {
        let stolen = s.environment()?.figure("steal_ns", |of| of.steal.stolen_ns())?;
        Some(number(&stolen, units::time_ns))
    }),
    ("Compiler", |s| word(s.environment()?.build.rustc.as_deref())),
    ("revm", |s| word(Some(&s.shown.tool().revm))),
    ("Commit", |s| word(s.shown.tool().program.commit.as_deref())),
];

/// The same answer as that of `stress doctor`, with the machine's name: firmware has one of real
/// machines too.
fn virtual_machine(of: &Virtualisation) -> Option<String> {
    match of.has_hypervisor? {
        true => word(of.product.as_deref().or(of.hypervisor.as_deref()).or(Some("yes"))),
        false => answer(Some(false)),
    }
}

fn word(text: Option<&str>) -> Option<String> {
    text.map(esc)
}

fn answer(fact: Option<bool>) -> Option<String> {
    word(Some(if fact? { "yes" } else { "no" }))
}

fn count(figure: Option<Figure>) -> Option<String> {
    Some(number(&figure?, |value| value.to_string()))
}

fn bytes(figure: Option<Figure>) -> Option<String> {
    Some(number(&figure?, |value| units::bytes(value as u64)))
}

fn number(figure: &Figure, text: impl Fn(f64) -> String) -> String {
    markup::number(Some(figure), text)
}

/// The parts of a result that are facts of the ground, every one of which is shown.
#[derive(Serialize)]
struct Facts<'a> {
    tool: &'a Tool,
    environment: Option<&'a Environment>,
    device: Option<&'a Device>,
    stores: Option<&'a [StoreFacts]>,
    choices: Option<&'a [String]>,
    /// Why no row is whole.
    not_whole: Option<&'a str>,
}

/// The same as a result writes them, so that all of them are listed.
fn facts(source: &Source<'_>) -> Value {
    let run = source.shown.run();
    let facts = Facts {
        tool: source.shown.tool(),
        environment: source.environment().map(|part| part.value),
        device: run.and_then(|run| run.device.as_ref()),
        stores: run.map(|run| run.stores.as_slice()),
        choices: run.map(|run| run.choices.as_slice()),
        not_whole: run.and_then(|run| run.not_whole.as_deref()),
    };
    serde_json::to_value(facts).unwrap_or_default()
}

/// Reasons to doubt the figures.
pub(super) fn warnings(report: &Report<'_>) -> Section {
    let all = grouped(report.sources.iter().map(|source| source.shown.warnings()));
    let items = all.iter().map(|Warning { text, results, has_others }| {
        let of = match results.len() {
            _ if report.sources.len() == 1 => String::new(),
            count if count == report.sources.len() => "all results".to_owned(),
            _ => {
                let labels = results.iter().map(|result| report.sources[*result].label.as_str());
                labels.collect::<Vec<_>>().join(", ")
            }
        };
        let others = if *has_others { "with other numbers in the others" } else { "" };
        let beside: Vec<&str> =
            [of.as_str(), others].into_iter().filter(|words| !words.is_empty()).collect();
        match beside.is_empty() {
            true => format!("<li>{}</li>\n", esc(text)),
            false => format!("<li>{} <small>({})</small></li>\n", esc(text), beside.join("; ")),
        }
    });
    let body = match items.collect::<String>().as_str() {
        "" => "<p>None.</p>".to_owned(),
        items => format!("<ul class=\"warnings\">{items}</ul>"),
    };
    Section {
        id: "warnings",
        title: "Warnings",
        lede: "Reasons to doubt these figures, each with its remedy.".to_owned(),
        body,
        results: Vec::new(),
    }
}

/// The machine and the stores.
pub(super) fn environment(report: &Report<'_>) -> Section {
    let mut rows = Vec::new();
    for (name, text) in FIRST {
        let texts = report.sources.iter().map(|source| text(source).unwrap_or_else(unknown));
        rows.push((name.to_owned(), texts.collect()));
    }
    let mut body = by_result(report, "The machine", &rows);
    let facts: Vec<Value> = report.sources.iter().map(facts).collect();
    let full: Vec<(String, Vec<String>)> = all_paths(&facts)
        .iter()
        .map(|(at, name)| {
            let texts = facts.iter().enumerate().map(|(result, facts)| value(result, facts, at));
            (name.clone(), texts.collect())
        })
        .collect();
    let full = by_result(report, "Every fact", &full);
    body.push_str(&markup::fold("Every fact of machine, device and stores", &full));
    Section {
        id: "environment",
        title: "The machine",
        lede: "Its state when the run began. Unknown facts are not guessed.".to_owned(),
        body,
        results: Vec::new(),
    }
}

/// A table of facts: each value once, with the results that have it where they differ.
fn by_result(report: &Report<'_>, title: &str, rows: &[(String, Vec<String>)]) -> String {
    let lines: Vec<Vec<String>> =
        rows.iter().map(|(name, values)| vec![esc(name), values_of(report, values)]).collect();
    markup::table(title, &["Fact", "Value"], &lines)
}

/// The values of a fact by result, each once.
fn values_of(report: &Report<'_>, values: &[String]) -> String {
    let mut distinct: Vec<(&String, Vec<&str>)> = Vec::new();
    for (value, source) in values.iter().zip(&report.sources) {
        match distinct.iter_mut().find(|(known, _)| bare(known) == bare(value)) {
            Some((_, labels)) => labels.push(&source.label),
            None => distinct.push((value, vec![&source.label])),
        }
    }
    if let [(value, _)] = distinct.as_slice() {
        return (*value).clone();
    }
    let each = distinct
        .iter()
        .map(|(value, labels)| format!("{value} <small>({})</small>", labels.join(", ")));
    let each: Vec<String> = each.collect();
    let (shown, folded) = each.split_at(each.len().min(SHOWN_VALUE_COUNT));
    let more = match folded.len() {
        0 => String::new(),
        count => markup::fold(&format!("{count} more values"), &folded.join("; ")),
    };
    shown.join("; ") + &more
}

/// A value without the attributes that say where it stands.
fn bare(text: &str) -> String {
    let start = text.find(" data-result=").unwrap_or(text.len());
    let end = text.find('>').filter(|end| *end > start).unwrap_or(text.len());
    format!("{}{}", &text[..start], &text[end..])
}

/// A fact of the result at `result`.
fn value(result: usize, facts: &Value, at: &str) -> String {
    match facts.pointer(at) {
        None | Some(Value::Null | Value::Object(_)) => unknown(),
        Some(Value::Bool(fact)) => answer(Some(*fact)).unwrap_or_else(unknown),
        Some(Value::String(text)) => esc(text),
        Some(Value::Array(all)) => {
            let texts: Vec<_> = all.iter().map(ToString::to_string).collect();
            esc(&texts.join(" "))
        }
        Some(Value::Number(found)) => {
            let figure = Figure::new(result, at.to_owned(), found);
            markup::number(figure, |value| match at.rsplit('_').next() {
                Some("bytes") => units::bytes(value as u64),
                Some("ns") => units::time_ns(value),
                Some("iops") => units::number(value),
                _ => value.to_string(),
            })
        }
    }
}

/// Paths of all leaves of the facts, with the names that they are shown by.
fn all_paths(facts: &[Value]) -> BTreeMap<String, String> {
    let mut paths = BTreeMap::new();
    for facts in facts {
        leaves(facts, "", &mut paths);
    }
    paths
}

fn leaves(value: &Value, at: &str, paths: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                // Of a pointer: `~` and `/` are written as `~0` and `~1`.
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(value, &format!("{at}/{key}"), paths);
            }
        }
        Value::Array(all) if all.iter().any(Value::is_object) => {
            for (index, value) in all.iter().enumerate() {
                leaves(value, &format!("{at}/{index}"), paths);
            }
        }
        _ => {
            paths.insert(at.to_owned(), at.trim_start_matches('/').replace('/', " · "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_virtual_where_the_doctor_says_so_and_its_name_alone_is_no_sign() {
        let of = |has_hypervisor: Option<bool>, product: Option<&str>| {
            virtual_machine(&Virtualisation {
                has_hypervisor,
                product: product.map(str::to_owned),
                hypervisor: None,
                container: None,
            })
        };
        assert_eq!(of(Some(true), Some("QEMU")).as_deref(), Some("QEMU"));
        assert_eq!(of(Some(true), None).as_deref(), Some("yes"));
        assert_eq!(of(Some(false), Some("Dell Inc. R640")).as_deref(), Some("no"));
        assert_eq!(of(None, Some("Dell Inc. R640")), None);
    }
}
