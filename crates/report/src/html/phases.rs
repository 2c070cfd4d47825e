//! Phase breakdown: how long each phase of a sample went on, as a table of bars.

use super::{
    chart,
    data::{Figure, OF_VARIANT, Report, Row},
    markup::{Section, esc, source_of, unknown},
};
use crate::units;

/// Phases by key and name, in the order in which they begin.
const PHASES: [(&str, &str); 9] = [
    ("decode", "decode"),
    ("schedule", "schedule"),
    ("warm_up", "warm up"),
    ("order", "order keys"),
    ("prefetch", "prefetch"),
    ("execute", "execute"),
    ("verify", "verify"),
    ("validate", "validate"),
    ("commit", "commit"),
];
/// Above this many rows only the best of each design is shown.
const SHOWN_ROW_COUNT: usize = 24;

/// The part on phases; `None` without one.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let groups = report.groups(&report.rows, &OF_VARIANT);
    let rows: Vec<&Row<'_>> = match report.rows.len() {
        0..=SHOWN_ROW_COUNT => groups.into_iter().flatten().collect(),
        _ => groups.iter().flat_map(|group| Report::best_of_designs(group)).collect(),
    };
    let of = |row: &Row<'_>, key: &str| row.median(&format!("phases_ns/{key}"));
    let any = |key: &str| rows.iter().any(|row| of(row, key).is_some_and(|f| f.value > 0.0));
    let phases: Vec<_> = PHASES.into_iter().filter(|(key, _)| any(key)).collect();
    if phases.is_empty() {
        return None;
    }
    let mut body = String::from(
        "<figure><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Phases by variant\">\
         <table class=\"phases\"><caption class=\"sr\">Phases by variant</caption><thead><tr>\
         <th scope=\"col\">Variant</th><th scope=\"col\">Wall</th>",
    );
    for (_, name) in &phases {
        body.push_str(&format!("<th scope=\"col\">{name}</th>"));
    }
    body.push_str("</tr></thead><tbody>\n");
    for row in &rows {
        let wall = row.median("wall_ns");
        let design = row.text("design");
        body.push_str(&format!(
            "<tr><th scope=\"row\" title=\"{}\">{}{} <b>{}</b> {}</th><td>{}</td>",
            esc(row.variant()),
            report.prefix(row),
            chart::sample(design),
            esc(design),
            esc(&row.threads()),
            bar(wall.as_ref(), None, design)
        ));
        for (key, _) in &phases {
            let phase = of(row, key);
            body.push_str(&format!("<td>{}</td>", bar(phase.as_ref(), wall.as_ref(), design)));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div></figure>\n");
    let some = if rows.len() < report.rows.len() {
        " Shown is the fastest variant of each design."
    } else {
        ""
    };
    let results = report.results_of(rows.iter().copied());
    Some(Section {
        id: "phases",
        title: "Where the time goes",
        lede: format!(
            "How long each phase of a sample went on: medians, and the bar is the share of the \
             wall time. Phases overlap, so shares may add up to more than the whole; what a phase \
             of a parallel design covers is the time from its first thread to its last.{some}"
        ),
        body,
        results,
    })
}

fn time(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { units::time_ns(ns) }
}

/// A time over a bar of its share.
fn bar(figure: Option<&Figure>, whole: Option<&Figure>, design: &str) -> String {
    let Some(figure) = figure else { return unknown() };
    let text = format!("<data{}>{}</data>", source_of(figure), time(figure.value));
    let share = whole.filter(|whole| whole.value > 0.0).map(|whole| figure.value / whole.value);
    match share.filter(|share| share.is_finite()) {
        Some(share) => format!(
            "{text}<svg class=\"bar\" width=\"100%\" height=\"5\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"100%\" height=\"5\"/>\
             <rect class=\"{}\" width=\"{:.2}%\" height=\"5\"/></svg>",
            chart::class(design),
            share.clamp(0.0, 1.0) * 100.0
        ),
        None => text,
    }
}
