//! A gate's finding, figure by figure: how much longer the new build takes, with the bounds that
//! decided, and the changes against a stored result.

use result::gate::{Attempt, Binary, Compared, GateResult, Shift};

use super::{
    data::{Report, Source},
    figure::{Figure, Part, figure, part},
    markup::{self, Section, esc, number},
};
use crate::units;

/// The part on gates; `None` where no result is one's.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let gates = report.sources.iter();
    let gates = gates.filter_map(|source| Some((source.index, source_html(report, source)?)));
    let (results, body): (Vec<usize>, Vec<String>) = gates.unzip();
    if results.is_empty() {
        return None;
    }
    Some(Section {
        id: "gate",
        title: "The gate",
        lede:
            "How much longer a sample takes than before. A <em>regression</em> is sure where the \
               lower bound lies above the allowed change, a <em>pass</em> where the upper bound \
               lies below it."
                .to_owned(),
        body: body.concat(),
        results,
    })
}

fn source_html(report: &Report<'_>, source: &Source<'_>) -> Option<String> {
    let result = source.gate()?;
    let mut rows = judged(&result);
    if let Some(compared) = part!(result, gate.baseline?) {
        rows.extend(shifts(&compared, figure!(result, gate.delta).as_ref()));
    }
    let attempts = result.gate.attempts.iter().flat_map(|attempt: &Attempt| &attempt.cells);
    let of_attempts = attempts.flat_map(|cell| &cell.counter_changes);
    let of_baseline = result.gate.baseline.iter().flat_map(|compared| &compared.counter_changes);
    let changes = listed("Counters that changed", of_attempts.chain(of_baseline));
    let only = result.gate.baseline.iter().flat_map(|compared| &compared.only_in_one);
    let only = listed("Variants that only one side has, not compared", only);
    let label = match report.sources.len() {
        1 => String::new(),
        _ => format!("<p><b>{}</b></p>", source.label),
    };
    let delta = number(figure!(result, gate.delta), percent);
    let heads = ["Figure", "Verdict", "Change", "Lower bound", "Upper bound", "Allowed"];
    Some(format!(
        "{label}{}<p>A change of up to {delta} counts as none, or up to the floor of a figure where that \
         is more.</p>{}{changes}{only}",
        sides(&result),
        markup::table("Figures of the gate", &heads, &rows)
    ))
}

/// A and B: their builds and settings, or the stored results and the settings that differ.
fn sides(result: &GateResult) -> String {
    let compared = result.gate.baseline.as_ref();
    let settings = compared.into_iter().flat_map(|compared| &compared.setting_changes);
    let settings = listed("Settings that differ", settings);
    let rows: Vec<_> = match compared {
        Some(compared) => stored(compared),
        None => result.binaries.iter().map(build).collect(),
    };
    if rows.is_empty() {
        return settings;
    }
    let heads = match compared {
        Some(_) => vec!["", "Results", "Processes"],
        None => vec!["", "Build", "Program", "Settings that differ"],
    };
    format!("{}{settings}", markup::table("A and B", &heads, &rows))
}

fn build(binary: &Binary) -> Vec<String> {
    let program = match &binary.client {
        Some(client) => client.clone(),
        None => format!("stress {}", binary.program.name()),
    };
    let settings = match binary.settings_in_words().join(", ").as_str() {
        "" => "none".to_owned(),
        settings => format!("<code>{}</code>", esc(settings)),
    };
    let path = format!("<code>{}</code>", esc(&binary.path));
    vec![binary.arm.to_string(), path, esc(&program), settings]
}

fn stored(compared: &Compared) -> Vec<Vec<String>> {
    let [base, new] = compared.process_counts.map(|count| count.to_string());
    let path = format!("<code>{}</code>", esc(&compared.path));
    let judged = "judged against them".to_owned();
    vec![vec!["A".to_owned(), path, base], vec!["B".to_owned(), judged, new]]
}

/// A titled list; nothing where it is empty.
fn listed<'a>(title: &str, all: impl Iterator<Item = &'a String>) -> String {
    match all.map(|item| format!("<li><code>{}</code></li>", esc(item))).collect::<String>() {
        items if items.is_empty() => String::new(),
        items => format!("<p>{title}:</p><ul>{items}</ul>"),
    }
}

/// The figures of the last try, by the last look.
fn judged(result: &Part<'_, GateResult>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let Some((last, attempt)) = result.gate.attempts.iter().enumerate().next_back() else {
        return rows;
    };
    for (at, cell) in attempt.cells.iter().enumerate() {
        for (which, judged) in cell.figures.iter().enumerate() {
            let look = judged.looks.len().saturating_sub(1);
            let look = part!(result, gate.attempts[last].cells[at].figures[which].looks[look]);
            let bounds = look.map_or([None, None, None], |look| {
                [figure!(look, change), figure!(look, lower), figure!(look, upper)]
            });
            let name = format!("{} {}", esc(&cell.variant), judged.metric);
            let allowed = part!(result, gate.attempts[last].cells[at].figures[which])
                .and_then(|judged| figure!(judged, delta));
            rows.push(row(&name, judged.verdict.name(), &bounds, allowed.as_ref()));
        }
    }
    rows
}

/// How each variant changed from the stored result.
fn shifts(compared: &Part<'_, Compared>, allowed: Option<&Figure>) -> Vec<Vec<String>> {
    let ratios = (0..compared.ratios.len())
        .map(|index| ("against its reference", part!(compared, ratios[index])));
    let times = (0..compared.times.len()).map(|index| ("time", part!(compared, times[index])));
    let counts = (0..compared.counts.len())
        .map(|index| (compared.counts[index].metric.name(), part!(compared, counts[index].shift)));
    let all = ratios.chain(times).chain(counts).filter_map(|(what, shift)| Some((what, shift?)));
    let rows = all.map(|(what, shift): (&str, Part<'_, Shift>)| {
        let bounds = [figure!(shift, change), figure!(shift, lower), figure!(shift, upper)];
        row(&format!("{}, {what}", esc(&shift.variant)), shift.verdict.name(), &bounds, allowed)
    });
    rows.collect()
}

fn row(
    name: &str,
    verdict: &str,
    bounds: &[Option<Figure>; 3],
    allowed: Option<&Figure>,
) -> Vec<String> {
    let bounds = bounds.iter().map(|bound| number(bound.as_ref(), percent));
    let mut texts: Vec<String> =
        [name.to_owned(), esc(verdict)].into_iter().chain(bounds).collect();
    texts.push(markup::percent(allowed));
    texts
}

fn percent(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{} %", units::percent(share))
}
