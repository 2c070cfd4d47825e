//! The parts on the conditions of the figures: warnings, the machine, the device, the stores.

use std::collections::BTreeMap;

use result::{Device, Environment, StoreFacts, Tool};
use serde::Serialize;
use serde_json::Value;

use super::{
    data::{Report, Source},
    figure::Figure,
    markup::{self, Section, esc, unknown},
};
use crate::{
    facts, units,
    warnings::{Warning, grouped},
};

/// Number of values of a fact that are shown where results differ; further values are folded away.
const SHOWN_VALUE_COUNT: usize = 3;

/// Heads of the tables of facts.
const HEADS: [&str; 2] = ["Fact", "Value"];
/// Facts that are shown first: their names, and their paths in [`Facts`].
const FIRST: [(&str, &str); 18] = [
    ("Processor", "/environment/cpu/model"),
    ("CPUs allowed", "/environment/cpu/allowed_count"),
    ("Governor", "/environment/cpu/governor"),
    ("Turbo", "/environment/cpu/is_turbo_on"),
    ("SMT", "/environment/cpu/is_smt_on"),
    ("Memory", "/environment/memory/total_bytes"),
    ("Kernel", "/environment/host/kernel"),
    ("System", "/environment/host/os"),
    ("Virtual machine", "/environment/host/virtualisation"),
    ("File system", "/environment/data_dir/file_system"),
    ("Disk", "/environment/data_dir/model"),
    ("Device’s ceiling, reads a second", "/device/ceiling_iops"),
    ("… found by", "/device/method"),
    ("One read alone", "/device/depth1_p50_ns"),
    ("Stolen time", "/environment/steal_ns"),
    ("Compiler", "/environment/build/rustc"),
    ("revm", "/tool/revm"),
    ("Commit", "/tool/commit"),
];

/// The virtual machine's name, or `no` where the processor reports no hypervisor. A product's name
/// alone is no sign: the firmware of a real machine has one too.
fn virtual_machine(of: &Value) -> Option<&str> {
    let word = |key: &str| of[key].as_str();
    match of["has_hypervisor"].as_bool()? {
        true => word("product").or(word("hypervisor")).or(Some("yes")),
        false => Some("no"),
    }
}

/// The parts of a result whose facts are conditions of its figures. All of them are shown.
#[derive(Serialize)]
struct Facts<'a> {
    tool: &'a Tool,
    environment: Option<&'a Environment>,
    device: Option<&'a Device>,
    stores: Option<&'a [StoreFacts]>,
    choices: Option<&'a [String]>,
    /// Reason that no row is whole.
    not_whole: Option<&'a str>,
}

/// The [`Facts`] of a result as its JSON has them, so that none is forgotten.
fn facts_of(source: &Source<'_>) -> Value {
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
            _ => units::joined(results.iter().map(|of| report.sources[*of].label.as_str()), ", "),
        };
        let others = if *has_others { "with other numbers in the others" } else { "" };
        let beside = [of.as_str(), others].into_iter().filter(|words| !words.is_empty());
        let beside = units::any_joined(beside, "; ");
        let beside = beside.map(|words| format!(" <small>({words})</small>")).unwrap_or_default();
        format!("<li>{}{beside}</li>\n", esc(text))
    });
    let body = match items.collect::<String>().as_str() {
        "" => "<p>None.</p>".to_owned(),
        items => format!("<ul class=\"warnings\">{items}</ul>"),
    };
    let lede = "Reasons to doubt these figures, each with its remedy.";
    Section::new("warnings", "Warnings", lede, body, Vec::new())
}

/// The machine and the stores.
pub(super) fn environment(report: &Report<'_>) -> Section {
    let facts: Vec<Value> = report.sources.iter().map(facts_of).collect();
    let line = |name: &str, at: &str| [esc(name), values_of(report, &facts, at)];
    let first = FIRST.iter().map(|(name, at)| line(name, at));
    let mut body = markup::table("The machine", &HEADS, first);
    let full = all_paths(&facts).into_iter().map(|(at, name)| line(&name, &at));
    let full = markup::table("Every fact", &HEADS, full);
    body.push_str(&markup::fold("Every fact of machine, device and stores", &full));
    let lede = "Its state when the run began. Unknown facts are not guessed.";
    Section::new("environment", "The machine", lede, body, Vec::new())
}

/// The different values of a fact. Where results differ, their labels stand beside the values.
fn values_of(report: &Report<'_>, facts: &[Value], at: &str) -> String {
    let each = facts.iter().zip(&report.sources);
    let each = each.map(|(facts, source)| (value(source.index, facts, at), source.label.as_str()));
    let distinct = facts::grouped(each, |(a, _), (b, _)| bare(a) == bare(b));
    if let [group] = distinct.as_slice() {
        return group[0].0.clone();
    }
    let each = distinct.iter().map(|group| {
        let labels = units::joined(group.iter().map(|(_, label)| *label), ", ");
        format!("{} <small>({labels})</small>", group[0].0)
    });
    let each: Vec<String> = each.collect();
    let (shown, folded) = each.split_at(each.len().min(SHOWN_VALUE_COUNT));
    let more = match folded.len() {
        0 => String::new(),
        count => markup::fold(&format!("{count} more values"), &folded.join("; ")),
    };
    shown.join("; ") + &more
}

/// A value without the attributes that name its place in a result.
fn bare(text: &str) -> String {
    let start = text.find(" data-result=").unwrap_or(text.len());
    let end = text.find('>').filter(|end| *end > start).unwrap_or(text.len());
    format!("{}{}", &text[..start], &text[end..])
}

/// The text of a fact in the result at `result`.
fn value(result: usize, facts: &Value, at: &str) -> String {
    match facts.pointer(at) {
        None | Some(Value::Null) => unknown(),
        Some(of @ Value::Object(_)) => virtual_machine(of).map_or_else(unknown, esc),
        Some(Value::Bool(fact)) => if *fact { "yes" } else { "no" }.to_owned(),
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
                // A JSON pointer writes `~` and `/` as `~0` and `~1`.
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
    use result::{Shown, Stored, environment::Virtualisation, example};

    use super::*;

    #[test]
    fn facts_that_are_shown_first_stand_in_a_result() {
        let results: [Shown; 1] = [Stored::new("r.json".into(), example::typical()).into()];
        let facts = facts_of(&Report::new(&results).sources[0]);
        for (name, at) in FIRST {
            assert!(facts.pointer(at).is_some(), "{name}: {at}");
        }
    }

    #[test]
    fn a_machine_is_virtual_where_the_doctor_says_so_and_its_name_alone_is_no_sign() {
        let of = |has_hypervisor: Option<bool>, product: Option<&str>| {
            let of = Virtualisation {
                has_hypervisor,
                product: product.map(str::to_owned),
                hypervisor: None,
                container: None,
            };
            virtual_machine(&serde_json::to_value(of).unwrap()).map(str::to_owned)
        };
        assert_eq!(of(Some(true), Some("QEMU")).as_deref(), Some("QEMU"));
        assert_eq!(of(Some(true), None).as_deref(), Some("yes"));
        assert_eq!(of(Some(false), Some("Dell Inc. R640")).as_deref(), Some("no"));
        assert_eq!(of(None, Some("Dell Inc. R640")), None);
    }
}
