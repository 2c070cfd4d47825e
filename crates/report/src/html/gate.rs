//! The part on gates. For each judged figure it has the change of B against A with the bounds that
//! decided, and the changes against a stored result.

use result::gate::{Attempt, Binary, Compared, GateResult, Shift};

use variant::Design;

use super::{
    data::{Report, Source},
    figure::{Figure, Part, figure, part},
    markup::{self, Column, Section, esc, number},
    rows::{PictureRow, RowPicture},
};
use crate::units;

struct Judged {
    /// Variant and metric of the figure.
    name: String,
    verdict: &'static str,
    change: Option<Figure>,
    lower: Option<Figure>,
    upper: Option<Figure>,
    allowed: Option<Figure>,
    /// Interval of the change of N, A's second process, against A.
    null: Option<[Figure; 2]>,
}

/// The part; `None` where no result is of a gate.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let gates = report.sources.iter();
    let gates = gates.filter_map(|source| Some((source.index, source_html(report, source)?)));
    let (results, body): (Vec<usize>, Vec<String>) = gates.unzip();
    if results.is_empty() {
        return None;
    }
    let lede = "How much longer a sample of B takes than one of A. A <em>regression</em> is sure where the \
               lower bound lies above the allowed change, a <em>pass</em> where the upper bound \
               lies below it. Where <em>A to itself</em> reaches beyond half of it, a pass needs \
               room for the farther end of that interval too, a regression for its middle. The bar \
               across is from bound to bound; the dashed line is the \
               allowed change.";
    Some(Section::new("gate", "The gate", lede, body.concat(), results))
}

fn source_html(report: &Report<'_>, source: &Source<'_>) -> Option<String> {
    let result = source.gate()?;
    let mut all = judged(&result);
    if let Some(compared) = part!(result, gate.baseline?) {
        all.extend(shifts(&compared, figure!(result, gate.delta).as_ref()));
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
    let columns: [Column<'_, &Judged>; 7] = [
        ("Figure", &|of| breakable(&of.name)),
        ("Verdict", &|of| esc(of.verdict)),
        ("Change", &|of| number(of.change.as_ref(), percent)),
        ("Lower bound", &|of| number(of.lower.as_ref(), percent)),
        ("Upper bound", &|of| number(of.upper.as_ref(), percent)),
        ("Allowed", &|of| markup::percent(of.allowed.as_ref())),
        ("A to itself", &|of| markup::interval(of.null.clone(), None, percent)),
    ];
    Some(format!(
        "{label}{}<p>A change of up to {delta} counts as none, or up to the floor of a figure where that \
         is more.</p>{}{}{changes}{only}",
        sides(&result),
        picture(&all),
        markup::table_of("Figures of the gate", &all, &columns)
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

/// A picture of the changes between their bounds, beside the allowed changes.
fn picture(all: &[Judged]) -> String {
    let known = all.iter().filter(|of| of.change.is_some());
    let rows = known.map(|of| {
        let change = of.change.as_ref().map_or_else(String::new, |change| percent(change.value));
        let mut parts = of.name.split(['/', ' ']);
        let design = parts.find_map(|part| Design::ALL.iter().find(|of| of.name() == part));
        PictureRow {
            title: of.name.clone(),
            name: format!("{} <span class=\"tag\">{}</span>", breakable(&of.name), esc(of.verdict)),
            design: design.copied().unwrap_or(Design::Sequential),
            value: of.change.clone(),
            ends: of.lower.clone().zip(of.upper.clone()).map(|(low, high)| [low, high]),
            value_count: None,
            words: format!("{}, {}: {change}", of.name, of.verdict),
            singles: Vec::new(),
            limit: of.allowed.as_ref().map(|allowed| allowed.value),
        }
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let picture = RowPicture {
        label: "Changes between their bounds",
        heads: ["figure", "change", "bounds"],
        scale: RowPicture::scale(&rows),
        text: percent,
        tick: percent,
        groups: vec![(String::new(), rows)],
    };
    picture.html()
}

/// The figures of the last attempt, by its last look.
fn judged(result: &Part<'_, GateResult>) -> Vec<Judged> {
    let mut all = Vec::new();
    let Some((last, attempt)) = result.gate.attempts.iter().enumerate().next_back() else {
        return all;
    };
    for (at, cell) in attempt.cells.iter().enumerate() {
        for (which, judged) in cell.figures.iter().enumerate() {
            let part = part!(result, gate.attempts[last].cells[at].figures[which]);
            let look = judged.looks.len().saturating_sub(1);
            let look = part.as_ref().and_then(|part| part!(part, looks[look]));
            let look = look.as_ref();
            all.push(Judged {
                name: format!("{} {}", cell.variant, judged.metric),
                verdict: judged.verdict.name(),
                change: look.and_then(|look| figure!(look, change)),
                lower: look.and_then(|look| figure!(look, lower)),
                upper: look.and_then(|look| figure!(look, upper)),
                null: look.and_then(|look| look.interval("null", |of| Some(of.null))),
                allowed: part.and_then(|part| figure!(part, delta)),
            });
        }
    }
    all
}

/// How each variant changed from the stored result.
fn shifts(compared: &Part<'_, Compared>, allowed: Option<&Figure>) -> Vec<Judged> {
    let ratios = (0..compared.ratios.len())
        .map(|index| ("against its reference", part!(compared, ratios[index])));
    let times = (0..compared.times.len()).map(|index| ("time", part!(compared, times[index])));
    let counts = (0..compared.counts.len())
        .map(|index| (compared.counts[index].metric.name(), part!(compared, counts[index].shift)));
    let all = ratios.chain(times).chain(counts).filter_map(|(what, shift)| Some((what, shift?)));
    let judged = all.map(|(what, shift): (&str, Part<'_, Shift>)| Judged {
        name: format!("{}, {what}", shift.variant),
        verdict: shift.verdict.name(),
        change: figure!(shift, change),
        lower: figure!(shift, lower),
        upper: figure!(shift, upper),
        allowed: allowed.cloned(),
        null: None,
    });
    judged.collect()
}

/// A name with places after the parts of its variant at which a line may break.
fn breakable(name: &str) -> String {
    esc(name).replace('/', "/<wbr/>").replace('+', "+<wbr/>")
}

fn percent(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{} %", units::percent(share))
}
