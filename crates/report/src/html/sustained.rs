//! Time of each block over its number, of runs over many blocks; and their writes and space, as a table.

use super::{
    chart::{Chart, Guide, Point, Scale, Series, tick},
    data::{Report, Row},
    figure::{Figure, figure},
    markup::{self, Column, Section, bytes, count, esc, number},
};
use result::{PhasesNs, SpaceFacts};
use variant::Phase;

use crate::{sustained::typical, units};

/// Most marks of a chart: of more blocks each mark is the slowest of several.
const MARK_COUNT_MAX: usize = 60;
/// Room above and below the times of a chart, as a factor.
const ROOM: f64 = 1.15;

/// The part on many blocks; `None` without a run over many.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let drawn: Vec<(&Row<'_>, usize)> =
        report.rows.iter().filter_map(|row| Some((row, typical(row.cell.value)?))).collect();
    if drawn.is_empty() {
        return None;
    }
    let noun = if report.ms_per() == "ms per block" { "block" } else { "batch" };
    let mut body: String =
        drawn.iter().map(|(row, sample)| chart(report, row, *sample, noun)).collect();
    body.push_str(&table(report, drawn.iter().map(|(row, _)| *row)));
    Some(Section {
        id: "sustained",
        title: "Block after block",
        lede: format!(
            "Time of each {noun} to the end of its commit, over its number, of the sample whose wall time is \
             the median. Of more than {MARK_COUNT_MAX} a mark is the slowest of several, and its bar reaches \
             down to their fastest. In the table percentiles are over all samples that count. <em>Written</em> \
             is the bytes that the process sent to devices over the bytes of the commits, <em>by store</em> \
             those of its log, flushes and compactions. <em>Settling</em> is the wait, at the end of the clock, \
             for flushes and compactions that are due; <em>before</em>, <em>most</em> and <em>after</em> are \
             bytes of the store’s files."
        ),
        body,
        results: report.results_of(drawn.iter().map(|(row, _)| *row)),
    })
}

/// A chart of one sample.
fn chart(report: &Report<'_>, row: &Row<'_>, sample: usize, noun: &str) -> String {
    let times = &row.cell.value.samples[sample].batch_ns;
    let size = times.len().div_ceil(MARK_COUNT_MAX);
    let lines: Vec<(&str, Figure)> = [
        ("median", figure!(row.cell, batch_figures.time_ns.p50)),
        ("99th percentile", figure!(row.cell, batch_figures.time_ns.p99)),
    ]
    .into_iter()
    .filter_map(|(name, figure)| Some((name, figure?)))
    .collect();
    let values = times.iter().map(|time| *time as f64);
    let y = Scale::log(values.chain(lines.iter().map(|(_, figure)| figure.value)), ROOM);
    let x = Scale::Linear { max: times.len() as f64 };
    let name = format!("{} {}", row.cell.design, row.threads());
    let points = times.chunks(size).enumerate().filter_map(|(chunk, times)| {
        let (slowest_index, slowest) = times.iter().enumerate().max_by_key(|(_, time)| **time)?;
        let fastest = times.iter().min()?;
        let index = chunk * size + slowest_index;
        let figure = figure!(row.cell, samples[sample].batch_ns[index])?;
        let words = format!("{name}, {noun} {}: {}", index + 1, units::time_ns(figure.value));
        let ends = (size > 1).then(|| [y.at(*fastest as f64), y.at(*slowest as f64)]);
        let (x, y) = (x.at((index + 1) as f64), y.at(figure.value));
        Some(Point { x, y, ends, words, figure, is_joined: true })
    });
    let points = points.collect();
    let guides = lines.iter().map(|(name, figure)| {
        let at = y.at(figure.value);
        Guide {
            from: [0.0, at],
            to: [1.0, at],
            name: format!("{name} {}", units::time_ns(figure.value)),
        }
    });
    let title = format!("{}{}", report.prefix(row), row.variant());
    let chart = Chart {
        label: format!("Time of each {noun} of {title}"),
        x_title: format!("number of the {noun}"),
        y_title: "time, logarithmic".to_owned(),
        x_ticks: x.labelled_ticks(tick),
        y_ticks: y.labelled_ticks(units::time_ns),
        series: vec![Series { name, design: row.cell.design, nth: 0, points }],
        guides: guides.collect(),
    };
    chart.figure(&title, "")
}

fn table<'r, 'a: 'r>(report: &Report<'_>, rows: impl Iterator<Item = &'r Row<'a>>) -> String {
    let settle = format!("phases_ns/{}", PhasesNs::key(Phase::Settle));
    let columns: [Column<'_, &Row<'_>>; 13] = [
        ("Variant", &|row| format!("{}{}", report.prefix(row), esc(row.variant()))),
        ("Values", &|row| count(figure!(row.cell, batch_figures.time_ns.count))),
        ("p50", &|row| number(figure!(row.cell, batch_figures.time_ns.p50), time_words)),
        ("p90", &|row| number(figure!(row.cell, batch_figures.time_ns.p90), time_words)),
        ("p99", &|row| number(figure!(row.cell, batch_figures.time_ns.p99), time_words)),
        ("max", &|row| number(figure!(row.cell, batch_figures.time_ns.max), time_words)),
        ("Written ×", &|row| {
            number(figure!(row.cell, batch_figures.device_amplification), units::ratio)
        }),
        ("By store ×", &|row| {
            number(figure!(row.cell, batch_figures.store_amplification), units::ratio)
        }),
        ("Stalls", &|row| {
            let stalls = row.median("writes/store/stall_ns", |sample| {
                Some(sample.writes.as_ref()?.store.as_ref()?.stall_ns)
            });
            number(stalls, time_words)
        }),
        ("Settling", &|row| {
            number(row.median(&settle, |sample| Some(sample.phases_ns[Phase::Settle])), time_words)
        }),
        ("Before", &|row| space(row, "before_bytes", |space| space.before_bytes)),
        ("Peak", &|row| space(row, "peak_bytes", |space| space.peak_bytes)),
        ("After", &|row| space(row, "after_bytes", |space| space.after_bytes)),
    ];
    markup::table_of("Blocks and writes by variant", rows, &columns)
}

/// The median of a number of bytes of the store's files.
fn space(row: &Row<'_>, key: &str, number: fn(&SpaceFacts) -> u64) -> String {
    bytes(row.median(&format!("writes/space/{key}"), |sample| {
        Some(number(sample.writes.as_ref()?.space.as_ref()?))
    }))
}

fn time_words(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { units::time_ns(ns) }
}
