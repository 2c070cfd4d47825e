//! The finding of a run for a terminal: the time of each design, one claim and the bottleneck, on at
//! most two lines. The table above it, the page for a browser and the result's `conclusion` have more.

use result::{Cell, RunResult, stats::INTERVAL_COUNT_MIN};

use super::{
    certainty, conclude,
    facts::{self, OfStore, Reading},
    page, units,
};

/// Columns of a line beside its label, on a terminal of 80.
const WIDTH: usize = 80 - page::LABEL_WIDTH;
/// Lines of the finding.
const LINE_COUNT: usize = 2;
/// Designs that are named where there is no room for all.
const NAMED_COUNT: usize = 2;

/// The words that a finding has room for, from many to few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// Every design with its threads.
    Threads,
    /// Every design.
    Designs,
    /// The same, and fewer words for execution alone, as below.
    Short,
    /// The fastest ones.
    Fastest,
    /// The fastest one and its bottleneck.
    Bottleneck,
    /// The fastest one.
    Time,
}

const DETAILS: [Detail; 6] = [
    Detail::Threads,
    Detail::Designs,
    Detail::Short,
    Detail::Fastest,
    Detail::Bottleneck,
    Detail::Time,
];

/// The finding; `None` where nothing was measured.
pub(super) fn found(reading: &Reading<'_>) -> Option<String> {
    if reading.disagrees {
        return conclude::finding(reading);
    }
    let texts: Vec<String> =
        DETAILS.into_iter().filter_map(|detail| run_in_words(reading, detail)).collect();
    let fitting = texts.iter().find(|text| page::wrap(text, WIDTH).len() <= LINE_COUNT);
    fitting.or(texts.last()).cloned()
}

/// The finding of a run over several stores, shorter than its conclusion: every store with its best
/// designs; `None` of any other run.
pub(super) fn over_stores(result: &RunResult) -> Option<String> {
    let reading = Reading::new(result);
    if reading.disagrees || reading.stores.len() < 2 {
        return None;
    }
    let mut text = found(&reading)?;
    if let Some(words) = facts::small_state(result) {
        text.push_str(&format!("; {words}"));
    }
    Some(text)
}

fn run_in_words(reading: &Reading<'_>, detail: Detail) -> Option<String> {
    let many = reading.stores.len() > 1;
    let stores = reading.stores.iter().filter_map(|of| {
        let text = store_in_words(of, detail)?;
        Some(if many { format!("{}: {text}", of.store) } else { text })
    });
    let parts: Vec<String> = stores.chain(conclude::clients_in_words(reading.result)).collect();
    let before = if reading.result.interrupted { "interrupted, so far: " } else { "" };
    (!parts.is_empty()).then(|| format!("{before}{}", parts.join(". ")))
}

fn store_in_words(of: &OfStore<'_>, detail: Detail) -> Option<String> {
    let mut designs = certainty::best_of_designs(&facts::most_duties(&of.cells));
    designs.sort_by(|a, b| {
        let [a, b] = [a, b].map(|cell| facts::time_ms(cell).unwrap_or(f64::NAN));
        a.total_cmp(&b)
    });
    let best = *designs.first()?;
    let shown = match detail {
        Detail::Threads | Detail::Designs | Detail::Short => designs.len(),
        Detail::Fastest => NAMED_COUNT.min(designs.len()),
        Detail::Bottleneck | Detail::Time => 1,
    };
    let mut names: Vec<String> =
        designs[..shown].iter().map(|cell| design_words(cell, detail)).collect();
    if shown < designs.len() && detail == Detail::Fastest {
        names.push(format!("{} more", designs.len() - shown));
    }
    let mut parts = vec![names.join(", ")];
    if let Some(alone) = conclude::alone(&of.cells, best) {
        let time = units::time_ns(facts::time_ms(alone).unwrap_or(f64::NAN) * 1e6);
        parts[0].insert_str(0, "whole: ");
        let has_room = matches!(detail, Detail::Threads | Detail::Designs);
        let words = if has_room { "execution alone" } else { "alone" };
        parts.push(format!("{words} {time}"));
    }
    let has_claim = !matches!(detail, Detail::Bottleneck | Detail::Time);
    parts.extend(claim(best, &designs).filter(|_| has_claim));
    parts.extend(bottleneck(best).filter(|_| detail != Detail::Time));
    Some(parts.join("; "))
}

/// `batched-io (2+64io) 4.90 s`: a row by the words of its line in the table, design and threads.
fn design_words(cell: &Cell, detail: Detail) -> String {
    let time = units::time_ns(facts::time_ms(cell).unwrap_or(f64::NAN) * 1e6);
    let threads = facts::threads(cell);
    match detail {
        Detail::Threads if threads != "1" => format!("{} ({threads}) {time}", cell.design),
        _ => format!("{} {time}", cell.design),
    }
}

/// Whether the times show that the best of `designs`, which come in the order of their times, is the
/// fastest.
fn claim(best: &Cell, designs: &[&Cell]) -> Option<String> {
    let [_, others @ ..] = designs else { return None };
    if others.is_empty() {
        return None;
    }
    if certainty::is_fastest(best, designs.iter().copied()) {
        return Some(format!("{} is fastest", best.design));
    }
    let alike: Vec<&str> = others
        .iter()
        .filter(|other| certainty::overlap(best, other))
        .map(|other| other.design.name())
        .collect();
    let counts = designs.iter().map(|cell| cell.value_count());
    Some(match (counts.max(), alike.as_slice()) {
        (Some(0 | 1), _) => "one sample each: no interval yet".to_owned(),
        (Some(most), _) if most < INTERVAL_COUNT_MIN => "no interval yet".to_owned(),
        (_, []) => "no difference shown".to_owned(),
        (_, alike) => format!("no difference from {} shown", alike.join(", ")),
    })
}

/// `bottleneck device, 79 % of wall`.
fn bottleneck(cell: &Cell) -> Option<String> {
    let term = cell.bottleneck?;
    let share = cell.bottleneck_share.filter(|share| share.is_finite());
    let share = share.map(|share| format!(", {} % of wall", units::percent(share)));
    Some(format!("bottleneck {term}{}", share.unwrap_or_default()))
}
