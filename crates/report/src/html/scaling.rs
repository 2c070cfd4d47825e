//! The parts on throughput by its cost: executing threads, reading threads, and the size of the
//! list. Charts by threads have the ideal line and the device's ceiling beside them.

use super::{
    chart::{Axis, Chart, Fit, Guide, Point, Series},
    data::{self, Report, Row},
    figure::{Figure, figure, interval},
    markup::{self, Column, Section, esc, number},
    scale::{Scale, tick},
    settings::{DESIGN, IO_THREADS, OF_VARIANT, SOURCE, THREADS},
};
use result::Cell;
use variant::{CacheMode, ListForm};

use crate::{certainty, units};

/// Largest ceiling that is drawn, as a multiple of the fastest point. A higher ceiling would press
/// the lines together; only its number is shown.
const CEILING_MAX: f64 = 30.0;
/// Room around the axes, and around sizes of lists, as factors.
const ROOM: f64 = 1.25;
const LIST_ROOM: f64 = 2.0;
/// Position of designs without a list, as a share of the width.
const NO_LIST: f64 = 0.05;
/// Position at which the axis of list sizes begins, as a share of the width.
const AXIS_BEGIN: f64 = 0.16;

/// A kind of threads whose count varies along a line.
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
    /// Number of threads of the chart's kind.
    count: f64,
    row: &'r Row<'a>,
}

/// A line of a chart: rows that differ only in their number of threads.
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
    let panels = report.panels(firsts, &[&OF_VARIANT[..], &[DESIGN, SOURCE]].concat());
    let charts = panels.iter().map(|(title, panel)| {
        let own =
            lines.iter().filter(|line| panel.iter().any(|row| std::ptr::eq(*row, line[0].row)));
        chart(report, kind, title, &own.collect::<Vec<_>>())
    });
    let body = markup::charts(charts);
    let lede = "Median throughput with its 95 % interval where there is one; both axes are \
               logarithmic. Single samples are joined by no line. A dotted line is <em>ideal</em>, for the first \
               line of each design: twice the threads, twice the throughput. The dashed line is the <em>device’s \
               ceiling</em>: the throughput if only the fewest block reads of the lines took time, at the \
               highest rate of reads that the device gave in this run. A store that reads neighbouring \
               blocks in one request can lie above it.";
    let results = report.results_of(lines.iter().flatten().map(|point| point.row));
    Some(Section::new(kind.id, kind.title, lede, body, results))
}

/// Lines of rows that differ only in the kind's setting, which has two values or more. Rows are
/// sorted by it.
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
    let apart = report.distinguishing_settings_in_design(row);
    let apart = if apart.is_empty() { apart } else { format!(", {apart}") };
    format!("{}{}{apart}", row.cell.design, other.unwrap_or_default())
}

/// The device's ceiling in millions of gas a second. It comes with the three numbers behind it: the
/// fewest block reads of a cold row, the device's reads a second, the gas.
fn ceiling(report: &Report<'_>, lines: &[&Line<'_, '_>]) -> Option<(f64, [Figure; 3])> {
    let rows = lines.iter().copied().flatten().map(|point| point.row);
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

fn chart(report: &Report<'_>, kind: &Kind, title: &str, lines: &[&Line<'_, '_>]) -> String {
    let points = lines.iter().copied().flatten();
    let ceiling = ceiling(report, lines);
    let fastest = points.clone().map(|point| data::speed(point.row)).fold(0.0, f64::max);
    let mut named: Vec<_> = points.map(|point| (point.count, tick(point.count))).collect();
    named.sort_by(|a, b| a.0.total_cmp(&b.0));
    named.dedup();
    // One ideal line for each design: those of its other lines would be parallel to it.
    let design = |line: &Line<'_, '_>| line[0].row.cell.design;
    let firsts = lines
        .iter()
        .enumerate()
        .filter(|(index, line)| lines[..*index].iter().all(|other| design(other) != design(line)));
    let ideal = firsts.map(|(_, line)| {
        let (first, last) = (line[0], line[line.len() - 1]);
        Guide::Ideal([first.count, data::speed(first.row)], last.count.max(first.count * 2.0))
    });
    let drawn = ceiling.iter().filter(|(value, _)| *value <= fastest * CEILING_MAX);
    let across = drawn.map(|(value, _)| {
        Guide::Horizontal(*value, format!("device’s ceiling {}", units::number(*value)))
    });
    let chart = Chart {
        label: format!("{} {title}", kind.title),
        x: Axis { named, ..Axis::new(kind.axis, Fit::Log(ROOM), tick) },
        y: Axis::new("MGas/s, logarithmic", Fit::Log(ROOM), tick),
        series: lines.iter().map(|line| series(report, kind, line)).collect(),
        guides: ideal.chain(across).collect(),
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

fn series(report: &Report<'_>, kind: &Kind, line: &Line<'_, '_>) -> Series {
    let what = if kind.setting == THREADS { "threads" } else { "I/O threads" };
    let points = line.iter().enumerate().filter_map(|(index, Counted { count, row })| {
        let before = format!("{} at {} {what}:", name(report, kind, row), tick(*count));
        let point = point(row, *count, &before)?;
        // A line interpolates between medians, and a single sample is no median.
        let is_joined = index.checked_sub(1).is_some_and(|before| {
            let mut ends = line[before..=index].iter();
            ends.all(|point| certainty::is_repeated(point.row.cell.value))
        });
        Some(Point { is_joined, ..point })
    });
    let first = line[0].row;
    let points = points.collect();
    Series { name: name(report, kind, first), design: first.cell.design, points }
}

/// A row's throughput, with its interval, at `x`.
fn point(row: &Row<'_>, x: f64, before: &str) -> Option<Point> {
    let figure = row.throughput()?;
    let words = format!("{before} {} million gas a second", units::number(figure.value));
    let ends = interval!(row.cell, mgas_per_s.ci95).map(|ends| ends.map(|end| end.value));
    Some(Point { x, figure, ends, words, is_joined: false })
}

/// The part on list sizes; `None` where no two designs can be compared.
pub(super) fn list_size(report: &Report<'_>) -> Option<Section> {
    let panels = report.panels(&report.rows, &OF_VARIANT).into_iter();
    let best = panels.map(|(title, rows)| (title, Report::best_of_designs(&rows)));
    let best: Vec<_> = best.filter(|(_, rows)| rows.len() > 1).collect();
    if best.is_empty() {
        return None;
    }
    let charts = best.iter().map(|(title, rows)| list_chart(report, title, rows));
    let mut body = markup::charts(charts);
    let rows: Vec<&Row<'_>> = best.iter().flat_map(|(_, rows)| rows).copied().collect();
    body.push_str(&markup::fold("The points as a table", &list_table(report, &rows)));
    let lede = "The encoded length of all lists in the form that a design takes, beside the median \
               throughput of its fastest variant. Up and to the left is better.";
    let results = report.results_of(rows);
    Some(Section::new("list-size", "List size against throughput", lede, body, results))
}

/// Encoded length of the lists, in the form that the row takes; `None` where it takes no list.
fn list_bytes(report: &Report<'_>, row: &Row<'_>) -> Option<Figure> {
    let work = report.sources[row.source].workload()?;
    let bytes = match row.cell.list? {
        ListForm::ParallelIo => figure!(work, bal.parallel_io_bytes),
        ListForm::BatchedIo => figure!(work, bal.batched_io_bytes),
        ListForm::Full => figure!(work, bal.full_bytes),
    };
    bytes.filter(|figure| figure.value > 0.0)
}

fn list_chart(report: &Report<'_>, title: &str, rows: &[&Row<'_>]) -> String {
    let sizes: Vec<Option<f64>> =
        rows.iter().map(|row| list_bytes(report, row).map(|figure| figure.value)).collect();
    let own = Scale::log(sizes.iter().copied().flatten(), LIST_ROOM);
    let Scale::Log { min, max } = own else { return String::new() };
    // The axis continues below the smallest size, for designs without a list.
    let begin = min / (max / min).powf(AXIS_BEGIN / (1.0 - AXIS_BEGIN));
    let no_list = begin * (max / begin).powf(NO_LIST);
    let without = sizes.contains(&None).then(|| (no_list, "no list".to_owned()));
    let sized = own.ticks().into_iter().map(|size| (size, units::bytes(size as u64)));
    let width = Fit::Fixed(Scale::Log { min: begin, max });
    let series = rows.iter().zip(&sizes).filter_map(|(row, bytes)| {
        let size = bytes.map_or_else(|| "no list".to_owned(), |bytes| units::bytes(bytes as u64));
        let name = row.name();
        let point = point(row, bytes.unwrap_or(no_list), &format!("{name}: {size},"))?;
        Some(Series { name, design: row.cell.design, points: vec![point] })
    });
    let chart = Chart {
        label: format!("List size against throughput {title}"),
        x: Axis {
            named: without.into_iter().chain(sized).collect(),
            ..Axis::new("length of all lists, logarithmic", width, tick)
        },
        y: Axis::new("MGas/s", Fit::FromZero, tick),
        series: series.collect(),
        guides: Vec::new(),
    };
    chart.figure(title, "")
}

fn list_table(report: &Report<'_>, rows: &[&Row<'_>]) -> String {
    let columns: [Column<'_, &&Row<'_>>; 4] = [
        ("Variant", &|row| format!("{}{}", report.prefix(row), esc(row.variant()))),
        ("List", &|row| esc(row.cell.list.map_or("none", ListForm::name))),
        ("Length", &|row| markup::bytes(list_bytes(report, row))),
        ("MGas/s", &|row| number(row.throughput(), units::number)),
    ];
    markup::table_of("List size and throughput", rows, &columns)
}
