//! Results as one HTML page that needs nothing else: no network, no script, and its own pictures.
//! Where a number stands in a result, attributes on the page name the result and the number's path
//! there. So the page can be checked against the results.
//!
//! The functions return text; none reads a file. A result whose designs disagree shows no figure.
//! `verdict` has the first part of the page and the list of results; most other files have one part
//! each. `data` has the rows that parts share, `chart` and `rows` draw, `markup` writes.

mod calibrated;
mod chart;
mod clients;
mod data;
mod databases;
mod figure;
mod gate;
mod ground;
mod heat;
mod history;
mod latency;
mod limits;
mod loads;
mod mark;
mod markup;
mod phases;
mod rows;
mod scale;
mod scaling;
mod settings;
mod sustained;
mod throughput;
mod varied;
mod verdict;

#[cfg(test)]
mod tests;

use result::Shown;

pub use limits::page as page_of_limits;
pub use loads::page as page_of_loads;
pub use markup::{quote, words};

use crate::{
    axes::{self, Axis},
    calibrated::{Calibrated, Figures},
    facts::distinct,
    history::groups,
    units,
};

use data::Report;
use figure::{Figure, figure};
use markup::{Parts, Section, esc, shell};

/// The page of `results`, of which there is one or more.
pub fn page(results: &[Shown]) -> String {
    let report = Report::new(results);
    let mut sections: Vec<Section> = Vec::new();
    // The heat map is the main figure of a sweep, and one figure among others for other results.
    let is_sweep = report.is_sweep();
    sections.extend(heat::section(&report).filter(|_| is_sweep));
    sections.extend(varied::section(&report));
    sections.extend(gate::section(&report));
    sections.extend(throughput::section(&report));
    sections.extend(sustained::samples(&report));
    sections.extend(sustained::section(&report));
    sections.extend(clients::section(&report));
    sections.extend(databases::section(&report));
    sections.extend(latency::sections(&report));
    sections.extend(scaling::sections(&report));
    sections.extend(phases::section(&report));
    sections.extend(phases::profile(&report));
    sections.extend(scaling::list_size(&report));
    sections.extend(heat::section(&report).filter(|_| !is_sweep));
    document(&report, &title(&report), sections)
}

/// The page of a client against our designs over many workloads.
pub fn calibration(calibrated: &Calibrated<'_>) -> String {
    let report = Report::new(calibrated.results);
    let figures = Figures::new(calibrated);
    let workloads = calibrated::workloads(&figures, calibrated.unfinished);
    let sections = vec![calibrated::ranks(&figures), workloads];
    let client = figures.rows.first().map_or("a client", |row| row.client.client.as_str());
    let count = units::things(figures.rows.len() as u64, "workload");
    let title = esc(&format!("{client} against our designs on {count}"));
    document(&report, &title, sections)
}

/// The page of a history: `results` are in the order of time.
pub fn history(results: &[Shown]) -> String {
    let report = Report::new(results);
    let groups = groups(results);
    let points = history::points(&report, &groups);
    let sections = vec![history::changes(&groups), history::charts(&groups), points];
    document(&report, &format!("History of {}", title(&report)), sections)
}

/// The page of these sections, and of those that all pages of results have.
fn document(report: &Report<'_>, title: &str, mut sections: Vec<Section>) -> String {
    let conditions = [ground::warnings(report), ground::environment(report)];
    sections.extend(conditions.into_iter().chain([verdict::results(report)]));
    shell(&Parts {
        title,
        header: &work(report),
        verdict: &verdict::html(report),
        sections: &sections,
        source_count: report.sources.len(),
        report: Some(report),
    })
}

/// The title of the page: the names of the scenarios, and `Gate` for a gate without a workload.
fn title(report: &Report<'_>) -> String {
    let works = report.sources.iter().map(|source| source.shown.workload());
    let names = distinct(works.map(|work| work.map_or("Gate", |work| work.scenario.as_str())));
    match names.len() {
        0..=3 => esc(&names.join(", ")),
        count => esc(&format!("{}, {} and {} more", names[0], names[1], count - 2)),
    }
}

/// The work, in a line. For several results it has the facts that all share, and the axes of a
/// sweep.
fn work(report: &Report<'_>) -> String {
    let Some(source) = report.sources.first() else { return String::new() };
    let work = source.workload();
    let of = work.as_ref();
    let digest = units::digest(of.map_or("", |of| &of.digest));
    let facts = [
        (axes::GAS, format!("{} gas", markup::count(of.and_then(|of| figure!(of, gas))))),
        (axes::TRANSACTIONS, things(of.and_then(|of| figure!(of, tx_count)), "transaction")),
        (axes::BLOCKS, things(of.and_then(|of| figure!(of, block_count)), "block")),
        (axes::FORK, format!("on {}", esc(of.map_or("an unknown fork", |of| &of.fork)))),
        (
            axes::SLOTS,
            format!(
                "a state of {} slots",
                markup::count(of.and_then(|of| figure!(of, state_slot_count)))
            ),
        ),
        (axes::DIGEST, format!("workload <code>{}</code>", esc(&digest))),
    ];
    let shown = report.shown();
    let works: Vec<_> = shown.iter().filter_map(|shown| shown.workload()).collect();
    let differing = axes::differing(&works);
    let shared = facts.into_iter().filter(|(name, _)| !differing.contains(name));
    let shared = units::any_joined(shared.map(|(_, text)| text), ", ");
    let shared = shared.as_deref().unwrap_or("no fact of the work");
    let begun = esc(&units::moment(source.shown.started_unix_s()));
    let line = match report.sources.len() {
        // A gate that compared two files has no workload.
        1 if of.is_none() => begun,
        1 => format!("{shared}; {begun}"),
        count => {
            let differ = match differing.as_slice() {
                [] => String::new(),
                names => format!("; they differ in {}", names.join(", ")),
            };
            format!("{count} results; in all: {shared}{differ}; the first of {begun}")
        }
    };
    format!("<p class=\"work\">{line}</p>\n{}", axes_of(report))
}

fn things(figure: Option<Figure>, noun: &str) -> String {
    markup::number(figure, |value| units::things(value as u64, noun))
}

/// The axes of a sweep with their values.
fn axes_of(report: &Report<'_>) -> String {
    let axes = axes::axes(&report.shown());
    let axes = axes
        .iter()
        .map(|Axis { key, values }| format!("<em>{}</em> {}", esc(key), esc(&values.join(", "))));
    let axes = units::any_joined(axes, " × ");
    axes.map(|axes| format!("<p class=\"work\">Axes of the sweep: {axes}</p>\n"))
        .unwrap_or_default()
}
