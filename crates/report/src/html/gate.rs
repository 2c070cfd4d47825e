//! What a gate found, figure by figure: how much longer the new build takes, with the bounds that
//! decided, and what changed against a stored result.

use serde_json::Value;

use super::{
    data::{Report, Source},
    markup::{self, Section, esc, number},
};
use crate::units;

/// The part on gates; `None` where no result is one's.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let is_gate = |source: &&Source<'_>| source.stored.json["gate"].is_object();
    let sources: Vec<&Source<'_>> = report.sources.iter().filter(is_gate).collect();
    if sources.is_empty() {
        return None;
    }
    let body: Vec<String> = sources.iter().map(|source| of_source(report, source)).collect();
    Some(Section {
        id: "gate",
        title: "The gate",
        lede:
            "How much longer a sample takes than before. A <em>regression</em> is sure where the \
               lower bound lies above what counts as no change, a <em>pass</em> where the upper \
               bound lies below it."
                .to_owned(),
        body: body.concat(),
        results: sources.iter().map(|source| source.index).collect(),
    })
}

fn of_source(report: &Report<'_>, source: &Source<'_>) -> String {
    let gate = &source.stored.json["gate"];
    let mut rows = Vec::new();
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let attempts = all(&gate["attempts"]);
    if let Some((last, attempt)) = attempts.iter().enumerate().next_back() {
        for (at, cell) in all(&attempt["cells"]).iter().enumerate() {
            for (which, figure) in all(&cell["figures"]).iter().enumerate() {
                let below = format!("/gate/attempts/{last}/cells/{at}/figures/{which}");
                let look = all(&figure["looks"]).len().saturating_sub(1);
                let variant = format!("{} {}", word(&cell["variant"]), word(&figure["metric"]));
                rows.push(row(source, &variant, figure, &format!("{below}/looks/{look}")));
            }
        }
    }
    for (key, what) in [("ratios", "against its reference"), ("times", "time")] {
        for (at, shift) in all(&gate["baseline"][key]).iter().enumerate() {
            let variant = format!("{}, {what}", word(&shift["variant"]));
            rows.push(row(source, &variant, shift, &format!("/gate/baseline/{key}/{at}")));
        }
    }
    let changes: Vec<String> = attempts
        .iter()
        .flat_map(|attempt| all(&attempt["cells"]))
        .flat_map(|cell| all(&cell["counter_changes"]))
        .chain(all(&gate["baseline"]["counter_changes"]))
        .map(|change| format!("<li><code>{}</code></li>", word(&change)))
        .collect();
    let changes = match changes.concat() {
        items if items.is_empty() => String::new(),
        items => format!("<p>Counters that changed:</p><ul>{items}</ul>"),
    };
    let label = match report.sources.len() {
        1 => String::new(),
        _ => format!("<p><b>{}</b></p>", source.label),
    };
    let delta = number(source.figure("/gate/delta").as_ref(), percent);
    let heads = ["Figure", "Verdict", "Change", "Lower bound", "Upper bound"];
    format!(
        "{label}<p>No change is up to {delta}.</p>{}{changes}",
        markup::table("Figures of the gate", &heads, &rows)
    )
}

/// Text of a value, escaped.
fn word(value: &Value) -> String {
    esc(value.as_str().unwrap_or_default())
}

fn row(source: &Source<'_>, name: &str, judged: &Value, at: &str) -> Vec<String> {
    let figure = |key: &str| number(source.figure(&format!("{at}/{key}")).as_ref(), percent);
    vec![
        name.to_owned(),
        word(&judged["verdict"]),
        figure("change"),
        figure("lower"),
        figure("upper"),
    ]
}

fn percent(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{} %", units::percent(share))
}
