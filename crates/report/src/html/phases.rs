//! The parts on where the time goes. One has the duration of each phase of a sample, as a table of
//! bars. The other has the functions of a profile by their share of the CPU time.

use super::{
    chart,
    data::{Report, Row},
    figure::{Figure, Part, figure},
    mark,
    markup::{self, Section, count, esc, percent},
    settings::OF_VARIANT,
};
use result::{PhasesNs, RunResult};
use variant::{Design, Phase};

/// Above this many rows only the fastest row of each design is shown.
const SHOWN_ROW_COUNT: usize = 24;

/// The part on phases; `None` where no row has a phase.
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
    let lines = rows.iter().map(|row| {
        let wall = row.median("wall_ns", |sample| Some(sample.wall_ns));
        let design = row.cell.design;
        let name = format!(
            "<th scope=\"row\" title=\"{}\">{}{} <b>{}</b> {}</th>",
            esc(row.variant()),
            report.prefix(row),
            chart::legend_mark(design),
            esc(design.name()),
            esc(&row.threads()),
        );
        let bars =
            phases.iter().map(|phase| bar(time(row, *phase).as_ref(), wall.as_ref(), design));
        [name, bar(wall.as_ref(), None, design)].into_iter().chain(bars).collect::<Vec<_>>()
    });
    let names: Vec<String> = phases.iter().map(|phase| heading(*phase)).collect();
    let heads: Vec<&str> =
        ["Variant", "Wall"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let body = markup::table_as("phases", "Phases by variant", &heads, lines);
    let some = if rows.len() < report.rows.len() {
        " Shown is the fastest variant of each design."
    } else {
        ""
    };
    let results = report.results_of(rows.iter().copied());
    let lede = format!(
        "How long each phase of a sample, which is all blocks, went on: medians, and the bar is the share of the \
             wall time. Phases overlap, so shares may add up to more than the whole; what a phase \
             of a parallel design covers is the time from its first thread to its last.{some}"
    );
    Some(Section::new("phases", "Where the time goes", lede, body, results))
}

/// Name of a phase on the page, in words.
fn heading(phase: Phase) -> String {
    match phase {
        // The phase orders keys; blocks and steps have an order, too.
        Phase::Order => "order keys".to_owned(),
        named => named.name().replace('-', " "),
    }
}

/// Median duration of a phase over a row's samples.
fn time(row: &Row<'_>, phase: Phase) -> Option<Figure> {
    let path = format!("phases_ns/{}", PhasesNs::key(phase));
    row.median(&path, |sample| Some(sample.phases_ns[phase]))
}

/// A time, above a bar of its share of `whole`.
fn bar(figure: Option<&Figure>, whole: Option<&Figure>, design: Design) -> String {
    let text = markup::time(figure);
    let whole = whole.filter(|whole| whole.value > 0.0);
    let share = figure.zip(whole).map(|(figure, whole)| figure.value / whole.value);
    match share.filter(|share| share.is_finite()) {
        Some(share) => format!(
            "{text}<svg class=\"bar\" width=\"100%\" height=\"5\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"100%\" height=\"5\"/>\
             <rect class=\"{}\" width=\"{:.2}%\" height=\"5\"/></svg>",
            mark::class(design),
            share.clamp(0.0, 1.0) * 100.0
        ),
        None => text,
    }
}

/// The part on profiles; `None` where no result has one.
pub(super) fn profile(report: &Report<'_>) -> Option<Section> {
    let runs = report.sound_runs().into_iter();
    let profiles = runs.filter_map(|run| Some((run.result, source_html(report, &run)?)));
    let (results, body): (Vec<usize>, String) = profiles.unzip();
    if results.is_empty() {
        return None;
    }
    let lede = "Functions by the share of the stacks that were seen in extra samples, which count \
               for no other figure. <em>Self</em>: the function itself was running. <em>With \
               callees</em>: it, or what it called. Inlined functions count for those that they \
               are inlined into; waiting takes no CPU and is not seen.";
    Some(Section::new("profile", "Where the CPU’s time goes", lede, body, results))
}

/// The profile of a run; `None` where it has none.
fn source_html(report: &Report<'_>, run: &Part<'_, RunResult>) -> Option<String> {
    let profile = run.profile.as_ref()?;
    let label = report.label(run.result, ": ");
    let graph =
        format!(" Flame graph: <code>{}</code>, beside the result.", esc(&profile.flame_graph));
    let caption = format!(
        "<p class=\"lede\">{label}<code>{}</code>, {} stacks in {} samples.{graph}</p>",
        esc(&profile.variant),
        count(figure!(run, profile?.stack_count)),
        count(figure!(run, profile?.sample_count))
    );
    let rows = profile.frames.iter().enumerate().map(|(index, frame)| {
        [
            format!("<code>{}</code>", esc(&frame.name)),
            percent(figure!(run, profile?.frames[index].self_share)),
            percent(figure!(run, profile?.frames[index].total_share)),
        ]
    });
    let heads = ["Function", "Self", "With callees"];
    let table = markup::table("Functions by share of the CPU’s time", &heads, rows);
    Some(format!("{caption}{table}"))
}
