//! Phase breakdown: how long each phase of a sample went on, as a table of bars.

use super::{
    chart,
    data::{Report, Row},
    figure::Figure,
    look,
    markup::{Section, esc, source_of, unknown},
    settings::OF_VARIANT,
};
use result::PhasesNs;
use variant::{Design, Phase};

use crate::units;

/// Above this many rows only the best of each design is shown.
const SHOWN_ROW_COUNT: usize = 24;

/// The part on phases; `None` without one.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let groups = report.groups(&report.rows, &OF_VARIANT);
    let rows: Vec<&Row<'_>> = match report.rows.len() {
        0..=SHOWN_ROW_COUNT => groups.into_iter().flatten().collect(),
        _ => groups.iter().flat_map(|group| Report::best_of_designs(group)).collect(),
    };
    let phases = Phase::ALL.iter().copied().filter(|phase| {
        rows.iter().any(|row| time(row, *phase).is_some_and(|figure| figure.value > 0.0))
    });
    let phases: Vec<Phase> = phases.collect();
    if phases.is_empty() {
        return None;
    }
    let mut body = String::from(
        "<figure><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Phases by variant\">\
         <table class=\"phases\"><caption class=\"sr\">Phases by variant</caption><thead><tr>\
         <th scope=\"col\">Variant</th><th scope=\"col\">Wall</th>",
    );
    for phase in &phases {
        body.push_str(&format!("<th scope=\"col\">{}</th>", heading(*phase)));
    }
    body.push_str("</tr></thead><tbody>\n");
    for row in &rows {
        let wall = row.median("wall_ns", |sample| Some(sample.wall_ns));
        let design = row.cell.design;
        body.push_str(&format!(
            "<tr><th scope=\"row\" title=\"{}\">{}{} <b>{}</b> {}</th><td>{}</td>",
            esc(row.variant()),
            report.prefix(row),
            chart::sample(design),
            esc(design.name()),
            esc(&row.threads()),
            bar(wall.as_ref(), None, design)
        ));
        for phase in &phases {
            let phase = time(row, *phase);
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
            "How long each phase of a sample, which is all blocks, went on: medians, and the bar is the share of the \
             wall time. Phases overlap, so shares may add up to more than the whole; what a phase \
             of a parallel design covers is the time from its first thread to its last.{some}"
        ),
        body,
        results,
    })
}

/// How the page names a phase: as it is called, in words.
fn heading(phase: Phase) -> String {
    match phase {
        // Blocks and steps have an order too.
        Phase::Order => "order keys".to_owned(),
        named => named.name().replace('-', " "),
    }
}

/// How long a phase of a row's samples went on.
fn time(row: &Row<'_>, phase: Phase) -> Option<Figure> {
    let path = format!("phases_ns/{}", PhasesNs::key(phase));
    row.median(&path, |sample| Some(sample.phases_ns[phase]))
}

fn words(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { units::time_ns(ns) }
}

/// A time over a bar of its share.
fn bar(figure: Option<&Figure>, whole: Option<&Figure>, design: Design) -> String {
    let Some(figure) = figure else { return unknown() };
    let text = format!("<data{}>{}</data>", source_of(figure), words(figure.value));
    let share = whole.filter(|whole| whole.value > 0.0).map(|whole| figure.value / whole.value);
    match share.filter(|share| share.is_finite()) {
        Some(share) => format!(
            "{text}<svg class=\"bar\" width=\"100%\" height=\"5\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"100%\" height=\"5\"/>\
             <rect class=\"{}\" width=\"{:.2}%\" height=\"5\"/></svg>",
            look::class(design),
            share.clamp(0.0, 1.0) * 100.0
        ),
        None => text,
    }
}
