//! Profiles: where the CPU's time went, function by function, and where the flame graph lies.

use serde_json::Value;

use super::{
    data::{Report, Source},
    markup::{self, Section, esc, number},
};
use crate::units;

/// The part on profiles; `None` where no result has one.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let has_one =
        |source: &&Source<'_>| source.is_sound && source.stored.json["profile"].is_object();
    let sources: Vec<&Source<'_>> = report.sources.iter().filter(has_one).collect();
    if sources.is_empty() {
        return None;
    }
    Some(Section {
        id: "profile",
        title: "Where the CPU’s time goes",
        lede: "Functions by the share of the stacks that were seen in extra samples, which count \
               for no other figure. <em>Self</em>: the function itself was running. <em>With \
               callees</em>: it, or what it called. Inlined functions count for those that they \
               are inlined into; waiting takes no CPU and is not seen."
            .to_owned(),
        body: sources.iter().map(|source| of_source(report, source)).collect(),
        results: sources.iter().map(|source| source.index).collect(),
    })
}

fn of_source(report: &Report<'_>, source: &Source<'_>) -> String {
    let profile = &source.stored.json["profile"];
    let text = |key: &str| profile[key].as_str().map(esc);
    let count = |key: &str| {
        let figure = source.figure(&format!("/profile/{key}"));
        number(figure.as_ref(), |count| units::count(count as u64))
    };
    let label = match report.sources.len() {
        1 => String::new(),
        _ => format!("{}: ", source.label),
    };
    let graph = text("flame_graph").map_or_else(String::new, |file| {
        format!(" Flame graph: <code>{file}</code>, beside the result.")
    });
    let caption = format!(
        "<p class=\"lede\">{label}<code>{}</code>, {} stacks in {} samples.{graph}</p>",
        text("variant").unwrap_or_default(),
        count("stack_count"),
        count("sample_count")
    );
    let frames = profile["frames"].as_array().map_or(&[][..], Vec::as_slice);
    let percent = |share: f64| format!("{} %", units::percent(share));
    let row = |(place, frame): (usize, &Value)| {
        let share = |key: &str| {
            let figure = source.figure(&format!("/profile/frames/{place}/{key}"));
            number(figure.as_ref(), percent)
        };
        let name = frame["name"].as_str().unwrap_or_default();
        vec![format!("<code>{}</code>", esc(name)), share("self_share"), share("total_share")]
    };
    let rows: Vec<_> = frames.iter().enumerate().map(row).collect();
    let heads = ["Function", "Self", "With callees"];
    format!("{caption}{}", markup::table("Functions by share of the CPU’s time", &heads, &rows))
}
