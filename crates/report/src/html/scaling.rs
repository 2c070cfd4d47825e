//! Scaling: throughput by threads that execute and by threads that read, beside the ideal line
//! and the device's ceiling.

use super::{
    chart::{self, Chart, Guide, Point, Scale, Series},
    data::{self, Report, Row},
    figure::{Figure, figure, interval},
    markup::{self, Column, Section, esc, number},
    settings::{DESIGN, IO_THREADS, OF_VARIANT, SOURCE, STORE, THREADS},
    throughput::disk_share,
};
use result::Cell;
use variant::CacheMode;

use crate::{certainty, units};

/// Charts that stand open; the others are folded away.
const OPEN_CHART_COUNT: usize = 4;
/// A ceiling above this many times the fastest point is only told: drawn, it would press the
/// lines together.
const CEILING_MAX: f64 = 30.0;
/// Room around the axes, as a factor.
const ROOM: f64 = 1.25;

/// The scaled count.
struct Kind {
    id: &'static str,
    title: &'static str,
    count: fn(&Cell) -> u64,
    setting: usize,
    axis: &'static str,
}

const BY_THREADS: Kind = Kind {
    id: "threads",
    title: "Scaling by threads that execute",
    count: |cell| cell.threads,
    setting: THREADS,
    axis: "threads that execute, doubling at equal steps",
};
const BY_IO_THREADS: Kind = Kind {
    id: "io-threads",
    title: "Scaling by I/O threads",
    count: |cell| cell.io_threads,
    setting: IO_THREADS,
    axis: "threads that only read, doubling at equal steps",
};

/// A row on a line of a chart.
#[derive(Clone, Copy)]
struct Counted<'r, 'a> {
    /// Threads.
    count: f64,
    row: &'r Row<'a>,
}

/// A line of a chart: rows that differ in the one setting.
type Line<'r, 'a> = Vec<Counted<'r, 'a>>;

/// The parts on scaling that have a line.
pub(super) fn sections(report: &Report<'_>) -> Vec<Section> {
    [BY_THREADS, BY_IO_THREADS].iter().filter_map(|kind| section(report, kind)).collect()
}

fn section(report: &Report<'_>, kind: &Kind) -> Option<Section> {
    let lines = lines(report, kind);
    if lines.is_empty() {
        return None;
    }
    let firsts = lines.iter().map(|line| line[0].row);
    let panels = report.groups(firsts, &panel_free());
    let charts: Vec<String> = panels
        .iter()
        .map(|panel| {
            let title = match panels.len() {
                1 => String::new(),
                _ => report.told_apart(panel[0], &panel_free()),
            };
            let lines =
                lines.iter().filter(|line| panel.iter().any(|row| std::ptr::eq(*row, line[0].row)));
            chart(report, kind, &title, &lines.cloned().collect::<Vec<_>>())
        })
        .collect();
    let mut body = markup::open_and_folded(&charts, OPEN_CHART_COUNT);
    let rows: Vec<&Row<'_>> = lines.iter().flatten().map(|point| point.row).collect();
    body.push_str(&markup::fold("The points as a table", &table(report, kind, &lines)));
    Some(Section {
        id: kind.id,
        title: kind.title,
        lede: "Median throughput with its 95 % interval where there is one; both axes are \
               logarithmic. Single samples are joined by no line. A dotted line is <em>ideal</em>, for the first \
               line of each design: twice the threads, twice the throughput. The dashed line is the <em>device’s \
               ceiling</em>: the throughput if only the fewest block reads of the lines took time, at the \
               highest rate of reads that the device gave in this run. A store that reads neighbouring \
               blocks in one request can lie above it."
            .to_owned(),
        body,
        results: report.results_of(rows),
    })
}

/// The settings that may differ within a chart.
fn panel_free() -> Vec<usize> {
    let mut free = OF_VARIANT.to_vec();
    free.extend([DESIGN, SOURCE]);
    free
}

/// Rows that differ in nothing but the setting, where it has two values or more, sorted by it.
fn lines<'r, 'a>(report: &'r Report<'a>, kind: &Kind) -> Vec<Line<'r, 'a>> {
    let groups = report.groups(&report.rows, &[kind.setting, SOURCE]);
    let mut lines = Vec::new();
    for group in groups {
        let mut line: Line<'r, 'a> = group
            .into_iter()
            .filter(|row| row.throughput().is_some_and(|f| f.value > 0.0))
            .map(|row| Counted { count: (kind.count)(&row.cell) as f64, row })
            .filter(|counted| counted.count > 0.0)
            .collect();
        line.sort_by(|a, b| a.count.total_cmp(&b.count));
        if line.first().map(|first| first.count) < line.last().map(|last| last.count) {
            lines.push(line);
        }
    }
    lines
}

fn name(report: &Report<'_>, kind: &Kind, row: &Row<'_>) -> String {
    let other = match kind.setting {
        THREADS if report.varying.contains(&IO_THREADS) => figure!(row.cell, io_threads),
        IO_THREADS if report.varying.contains(&THREADS) => figure!(row.cell, threads),
        _ => None,
    };
    let other = other.filter(|count| count.value > 0.0).map(|count| match kind.setting {
        THREADS => format!(" …+{}io", count.text),
        _ => format!(" {}+…io", count.text),
    });
    let apart = report.told_apart_in_design(row);
    let apart = if apart.is_empty() { apart } else { format!(", {apart}") };
    format!("{}{}{apart}", row.cell.design, other.unwrap_or_default())
}

/// The device's ceiling in millions of gas a second, with the three numbers that it is made of:
/// the least block reads of the rows, the device's reads a second, the gas.
fn ceiling(report: &Report<'_>, lines: &[Line<'_, '_>]) -> Option<(f64, [Figure; 3])> {
    let rows = lines.iter().flatten().map(|point| point.row);
    let cold = rows.filter(|row| row.cell.cache.want == Some(CacheMode::Cold));
    let reads =
        cold.filter_map(|row| Some((row, row.median("blocks_read", |sample| sample.blocks_read)?)));
    let (row, least) = reads.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    let source = &report.sources[row.source];
    let run = source.run()?;
    let rate = figure!(run, device?.ceiling_iops)?;
    let gas = figure!(run, workload.gas)?;
    let ceiling = gas.value * rate.value / least.value / 1e6;
    (ceiling.is_finite() && ceiling > 0.0).then_some((ceiling, [least, rate, gas]))
}

fn chart(report: &Report<'_>, kind: &Kind, title: &str, lines: &[Line<'_, '_>]) -> String {
    let points = lines.iter().flatten();
    let x = Scale::log(points.clone().map(|point| point.count), ROOM);
    let ceiling = ceiling(report, lines);
    let fastest = points.clone().map(|point| data::speed(point.row)).fold(0.0, f64::max);
    let drawn = ceiling.as_ref().map(|(value, _)| *value).filter(|v| *v <= fastest * CEILING_MAX);
    let speeds = points.clone().flat_map(|Counted { row, .. }| {
        let interval = interval!(row.cell, mgas_per_s.ci95).map(|ends| ends.map(|end| end.value));
        interval.into_iter().flatten().chain([data::speed(row)])
    });
    let y = Scale::log(speeds.chain(drawn), ROOM);
    let mut counts: Vec<f64> = points.map(|point| point.count).collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let designs: Vec<_> = lines.iter().map(|line| line[0].row.cell.design).collect();
    // Indices among the lines of one design.
    let nth: Vec<usize> = (0..lines.len())
        .map(|index| designs[..index].iter().filter(|of| **of == designs[index]).count())
        .collect();
    let all = lines.iter().zip(&nth).map(|(line, nth)| series(report, kind, line, *nth, [x, y]));
    // One for each design: those of its other lines are parallel to it.
    let firsts = lines.iter().zip(&nth).filter(|(_, nth)| **nth == 0);
    let mut guides: Vec<Guide> = firsts.map(|(line, _)| ideal(line, x, y)).collect();
    if let Some(first) = guides.first_mut() {
        first.name = "ideal".to_owned();
    }
    guides.extend(drawn.map(|value| Guide {
        from: [0.0, y.at(value)],
        to: [1.0, y.at(value)],
        name: format!("device’s ceiling {}", units::number(value)),
    }));
    let chart = Chart {
        label: format!("{} {title}", kind.title),
        x_title: kind.axis.to_owned(),
        y_title: "MGas/s, logarithmic".to_owned(),
        x_ticks: counts.iter().map(|count| (x.at(*count), chart::tick(*count))).collect(),
        y_ticks: y.labelled_ticks(chart::tick),
        series: all.collect(),
        guides,
    };
    let ceiling = ceiling.map_or_else(String::new, |(value, [reads, rate, gas])| {
        format!(
            "Device’s ceiling: {} gas × {} reads a second ÷ {} block reads = {} MGas/s.",
            markup::count(Some(gas)),
            number(Some(rate), units::number),
            markup::count(Some(reads)),
            units::number(value)
        )
    });
    chart.figure(title, &format!("<figcaption>{ceiling}</figcaption>"))
}

fn series(
    report: &Report<'_>,
    kind: &Kind,
    line: &Line<'_, '_>,
    nth: usize,
    [x, y]: [Scale; 2],
) -> Series {
    let points = line.iter().enumerate().filter_map(|(index, Counted { count, row })| {
        let figure = row.throughput()?;
        let interval = interval!(row.cell, mgas_per_s.ci95);
        let words = format!(
            "{} at {} {}: {} million gas a second",
            name(report, kind, row),
            chart::tick(*count),
            if kind.setting == THREADS { "threads" } else { "I/O threads" },
            units::number(figure.value)
        );
        let ends = interval.map(|ends| ends.map(|end| y.at(end.value)));
        // A line stands for the values between its ends: single samples have none.
        let is_joined = index.checked_sub(1).is_some_and(|before| {
            let mut ends = line[before..=index].iter();
            ends.all(|point| certainty::is_repeated(point.row.cell.value))
        });
        Some(Point { x: x.at(*count), y: y.at(figure.value), ends, words, figure, is_joined })
    });
    let first = line[0].row;
    Series {
        name: name(report, kind, first),
        design: first.cell.design,
        nth,
        points: points.collect(),
    }
}

/// From the line's first point on, at equal steps of both axes, up to the chart's edge.
fn ideal(line: &Line<'_, '_>, x: Scale, y: Scale) -> Guide {
    let (count, first) = (line[0].count, data::speed(line[0].row));
    let last = line.last().map_or(count, |last| last.count);
    let (Scale::Log { max: x_max, .. }, Scale::Log { max: y_max, .. }) = (x, y) else {
        return Guide { from: [0.0; 2], to: [0.0; 2], name: String::new() };
    };
    let factor = (last.max(count * 2.0) / count).min(x_max / count).min(y_max / first).max(1.0);
    Guide {
        from: [x.at(count), y.at(first)],
        to: [x.at(count * factor), y.at(first * factor)],
        name: String::new(),
    }
}

fn table(report: &Report<'_>, kind: &Kind, lines: &[Line<'_, '_>]) -> String {
    let columns: [Column<'_, &Row<'_>>; 6] = [
        ("Variant", &|row| {
            let store = report.told_apart(row, &[DESIGN, THREADS, IO_THREADS, STORE]);
            let store = if store.is_empty() { store } else { format!(" ({})", esc(&store)) };
            format!("{}{}{store}", report.prefix(row), esc(row.variant()))
        }),
        ("Threads", &|row| markup::count(figure!(row.cell, threads))),
        ("I/O threads", &|row| markup::count(figure!(row.cell, io_threads))),
        ("MGas/s", &|row| number(row.throughput(), units::number)),
        ("95 %", &|row| {
            let ends = interval!(row.cell, mgas_per_s.ci95);
            markup::interval(ends, row.cell.value_count(), units::number)
        }),
        ("Share of the disk", &|row| disk_share(row)),
    ];
    markup::table_of(kind.title, lines.iter().flatten().map(|counted| counted.row), &columns)
}
