//! Two sections of a page. One has the times of samples, one after the other, with the warm-up
//! marked. The other has the times of blocks in runs over many blocks, with their writes and space.

use super::{
    chart::{Axis, Chart, Fit, Guide, Point, Series},
    data::{Report, Row},
    figure::figure,
    markup::{self, Column, Section, bytes, count, esc, number},
    scale::{Scale, tick},
    settings::OF_VARIANT,
};
use result::{PhasesNs, SpaceFacts, stats};
use variant::Phase;

use crate::{sustained::typical, units};

/// Maximal number of marks of a chart. If there are more blocks, each mark is the slowest of
/// several.
const MARK_COUNT_MAX: usize = 60;
/// Room above and below the times of a chart, as a factor.
const ROOM: f64 = 1.15;

/// The part on samples in their order. `None` where no variant has two samples, and for a sweep,
/// which has too many variants.
pub(super) fn samples(report: &Report<'_>) -> Option<Section> {
    let panels = report.panels(&report.rows, &OF_VARIANT).into_iter().map(|(title, rows)| {
        let best = Report::best_of_designs(&Report::most_duties(&rows)).into_iter();
        (title, best.filter(|row| row.cell.samples.len() > 1).collect::<Vec<_>>())
    });
    let panels: Vec<_> = panels.filter(|(_, rows)| !rows.is_empty()).collect();
    if panels.is_empty() || report.is_sweep() {
        return None;
    }
    let rows = panels.iter().flat_map(|(_, rows)| rows).copied();
    let lines = rows.clone().map(|row| {
        let times = (0..row.cell.samples.len())
            .map(|index| number(figure!(row.cell, samples[index].wall_ns), units::time_ns));
        let name = format!("{}{}", report.prefix(row), esc(row.variant()));
        let outliers = outliers(row).into_iter().map(|number| number.to_string());
        vec![name, units::joined(outliers, ", "), units::joined(times, ", ")]
    });
    let heads = ["Variant", "Outliers", "Time of each sample"];
    let table = markup::table("Samples in order", &heads, lines);
    let charts = panels.iter().map(|(title, rows)| sample_chart(title, rows));
    let body = markup::charts(charts);
    let lede = "Wall time of each sample of the fastest variant of each design, in the order in which they were \
               taken. A line joins samples that count; a warm-up stands alone. A trend or a step is a \
               machine that changed while it measured. An outlier lies 1.5 interquartile ranges \
               outside the quartiles; it counts all the same.";
    let body = body + &markup::fold("The samples as a table", &table);
    let results = report.results_of(rows);
    Some(Section::new("samples", "Sample after sample", lede, body, results))
}

/// Positions, from 1 on, of a row's outliers in the order of all its samples. They are outliers
/// among the samples of one database after the warm-up.
fn outliers(row: &Row<'_>) -> Vec<usize> {
    let (mut numbers, mut before_count) = (Vec::new(), 0);
    for of in row.cell.value.by_database() {
        let times: Vec<_> = of.counted().iter().map(|sample| sample.wall_ns as f64).collect();
        let first = before_count + of.samples.len() - times.len() + 1;
        numbers.extend(stats::outliers(&times).into_iter().map(|index| first + index));
        before_count += of.samples.len();
    }
    numbers
}

fn sample_chart(title: &str, rows: &[&Row<'_>]) -> String {
    let series = rows.iter().map(|row| {
        let name = row.name();
        let outliers = outliers(row);
        let on_each = row.cell.value.by_database().into_iter().flat_map(|of| {
            let warm_up_count = of.samples.len() - of.counted().len();
            // Less: a warm-up sample. Equal: the first counted one, not joined to the one before.
            (0..of.samples.len()).map(move |index| index.cmp(&warm_up_count))
        });
        let points = on_each.enumerate().filter_map(|(index, place)| {
            let figure = figure!(row.cell, samples[index].wall_ns)?;
            let what = match outliers.contains(&(index + 1)) {
                true => "outlier, sample",
                false if place.is_lt() => "warm-up sample",
                false => "sample",
            };
            let time = units::time_ns(figure.value);
            let words = format!("{name}, {what} {}: {time}", index + 1);
            let is_joined = place.is_gt();
            Some(Point { x: (index + 1) as f64, figure, ends: None, words, is_joined })
        });
        let points = points.collect();
        Series { name, design: row.cell.design, points }
    });
    let most = rows.iter().map(|row| row.cell.samples.len()).max().unwrap_or(1);
    let width = Fit::Fixed(Scale::Linear { min: 0.0, max: most as f64 + 0.5 });
    let chart = Chart {
        label: format!("Samples in order {title}"),
        x: Axis::new("number of the sample", width, tick),
        y: Axis::new("wall time, logarithmic", Fit::Log(ROOM), units::time_ns),
        series: series.collect(),
        guides: Vec::new(),
    };
    chart.figure(title, "")
}

/// The part on runs over many blocks; `None` without such a run.
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
    let lede = format!(
        "Time of each {noun} to the end of its commit, by number, in the sample whose wall time is \
             the median. Of more than {MARK_COUNT_MAX} a mark is the slowest of several, and its bar reaches \
             down to their fastest. In the table percentiles are over all samples that count. <em>Written</em> \
             is the bytes that the process sent to devices over the bytes of the commits, <em>by store</em> \
             those of its log, flushes and compactions. <em>Settling</em> is the wait, at the end of the clock, \
             for flushes and compactions that are due; <em>before</em>, <em>peak</em> and <em>after</em> are \
             bytes of the store’s files."
    );
    let results = report.results_of(drawn.iter().map(|(row, _)| *row));
    Some(Section::new("sustained", "Block after block", lede, body, results))
}

/// A chart of the times of one sample's blocks or batches.
fn chart(report: &Report<'_>, row: &Row<'_>, sample: usize, noun: &str) -> String {
    let times = &row.cell.value.samples[sample].batch_ns;
    let size = times.len().div_ceil(MARK_COUNT_MAX);
    let lines = [
        ("median", figure!(row.cell, batch_figures.time_ns.p50)),
        ("99th percentile", figure!(row.cell, batch_figures.time_ns.p99)),
    ];
    let guides = lines.into_iter().filter_map(|(name, figure)| {
        let ns = figure?.value;
        Some(Guide::Horizontal(ns, format!("{name} {}", units::time_ns(ns))))
    });
    let name = row.name();
    let points = times.chunks(size).enumerate().filter_map(|(chunk, times)| {
        let (slowest_index, slowest) = times.iter().enumerate().max_by_key(|(_, time)| **time)?;
        let fastest = times.iter().min()?;
        let index = chunk * size + slowest_index;
        let figure = figure!(row.cell, samples[sample].batch_ns[index])?;
        let words = format!("{name}, {noun} {}: {}", index + 1, units::time_ns(figure.value));
        let ends = (size > 1).then_some([*fastest as f64, *slowest as f64]);
        Some(Point { x: (index + 1) as f64, figure, ends, words, is_joined: true })
    });
    let points = points.collect();
    let width = Fit::Fixed(Scale::Linear { min: 0.0, max: times.len() as f64 });
    let title = format!("{}{}", report.prefix(row), row.variant());
    let chart = Chart {
        label: format!("Time of each {noun} of {title}"),
        x: Axis::new(format!("number of the {noun}"), width, tick),
        y: Axis::new("time, logarithmic", Fit::Log(ROOM), units::time_ns),
        series: vec![Series { name, design: row.cell.design, points }],
        guides: guides.collect(),
    };
    chart.figure(&title, "")
}

fn table<'r, 'a: 'r>(report: &Report<'_>, rows: impl Iterator<Item = &'r Row<'a>>) -> String {
    let settle = format!("phases_ns/{}", PhasesNs::key(Phase::Settle));
    let columns: [Column<'_, &Row<'_>>; 13] = [
        ("Variant", &|row| format!("{}{}", report.prefix(row), esc(row.variant()))),
        ("Values", &|row| count(figure!(row.cell, batch_figures.time_ns.count))),
        ("p50", &|row| markup::time(figure!(row.cell, batch_figures.time_ns.p50))),
        ("p90", &|row| markup::time(figure!(row.cell, batch_figures.time_ns.p90))),
        ("p99", &|row| markup::time(figure!(row.cell, batch_figures.time_ns.p99))),
        ("max", &|row| markup::time(figure!(row.cell, batch_figures.time_ns.max))),
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
            markup::time(stalls)
        }),
        ("Settling", &|row| {
            markup::time(row.median(&settle, |sample| Some(sample.phases_ns[Phase::Settle])))
        }),
        ("Before", &|row| space(row, "before_bytes", |space| space.before_bytes)),
        ("Peak", &|row| space(row, "peak_bytes", |space| space.peak_bytes)),
        ("After", &|row| space(row, "after_bytes", |space| space.after_bytes)),
    ];
    markup::table_of("Blocks and writes by variant", rows, &columns)
}

/// The median over the samples of a size of the store's files, in bytes.
fn space(row: &Row<'_>, key: &str, number: fn(&SpaceFacts) -> u64) -> String {
    bytes(row.median(&format!("writes/space/{key}"), |sample| {
        Some(number(sample.writes.as_ref()?.space.as_ref()?))
    }))
}
