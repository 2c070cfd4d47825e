//! The parts on the latency of transactions and of reads. Charts have the fastest variant of each
//! design by percentile; tables have all variants.

use std::collections::BTreeSet;

use super::{
    chart::{Axis, Chart, Fit, Guide, Point, Series},
    data::{Report, Row},
    figure::{Figure, Part, figure, part},
    markup::{self, Section, esc, number},
    scale::{Scale, tick},
    settings::OF_VARIANT,
};
use result::{Bucket, Cell, Percentiles};

use crate::units;

struct Percentile {
    name: &'static str,
    /// Share of the values that lie beyond it.
    beyond: f64,
    of: Find,
}

impl Percentile {
    /// Its position on a scale of powers of ten: 2 where one value in 100 lies beyond it.
    fn rarity(&self) -> f64 {
        -self.beyond.log10()
    }
}

/// Finds a percentile; `None` where it is not known.
type Find = fn(&Part<'_, Percentiles>) -> Option<Figure>;

/// Percentiles that are drawn, in the order of the scale.
const PERCENTILES: [Percentile; 7] = [
    Percentile { name: "50", beyond: 0.5, of: |of| figure!(of, p50) },
    Percentile { name: "75", beyond: 0.25, of: |of| figure!(of, p75) },
    Percentile { name: "90", beyond: 0.1, of: |of| figure!(of, p90) },
    Percentile { name: "95", beyond: 0.05, of: |of| figure!(of, p95) },
    Percentile { name: "99", beyond: 0.01, of: |of| figure!(of, p99) },
    Percentile { name: "99.9", beyond: 0.001, of: |of| figure!(of, p999) },
    Percentile { name: "99.99", beyond: 0.0001, of: |of| figure!(of, p9999) },
];
/// The largest value. It stands apart from the percentiles, since nothing is known of the values
/// between.
const LARGEST: Percentile =
    Percentile { name: "100, the largest", beyond: 0.0, of: |of| figure!(of, max) };
/// Distance of the largest value from the last drawn percentile, in powers of ten.
const LARGEST_GAP: f64 = 0.7;
/// Margin at both ends of the axis, as a share of the chart's width.
const MARGIN: f64 = 0.03;

/// A kind of latency: of transactions, or of reads.
struct Kind {
    id: &'static str,
    title: &'static str,
    latency: for<'a> fn(&Part<'a, Cell>) -> Option<Part<'a, Percentiles>>,
    histogram: fn(&Cell) -> &[Bucket],
    count: fn(&Part<'_, Cell>, usize) -> Option<Figure>,
    /// Plural noun for the values.
    values: &'static str,
    /// Whether the values of a cell are times of calls that read several keys together.
    is_of_calls: fn(&Cell) -> bool,
    lede: &'static str,
}

impl Kind {
    fn figure(&self, row: &Row<'_>, find: Find) -> Option<Figure> {
        find(&(self.latency)(&row.cell)?)
    }
}

/// The percentiles and the largest value, which are drawn for a row.
fn finds() -> impl Iterator<Item = Find> {
    PERCENTILES.iter().chain([&LARGEST]).map(|percentile| percentile.of)
}

const TRANSACTIONS: Kind = Kind {
    id: "tx-latency",
    title: "Latency of a transaction",
    latency: |cell| part!(cell, tx_latency_ns),
    histogram: |cell| &cell.tx_latency_histogram,
    count: |cell, index| figure!(cell, tx_latency_histogram[index].count),
    values: "transactions",
    is_of_calls: |_| false,
    lede: "Time of a transaction, its reads included, over the samples that count. Each step to the right \
           is a rarer case. A percentile is drawn where \
           ten values or more lie beyond it; <em>max</em> is the largest value, whatever their \
           number.",
};
const READS: Kind = Kind {
    id: "read-latency",
    title: "Latency of a read",
    latency: |cell| part!(cell, read_latency_ns),
    histogram: |cell| &cell.read_latency_histogram,
    count: |cell, index| figure!(cell, read_latency_histogram[index].count),
    values: "reads",
    is_of_calls: |cell| cell.read_latency_of_batches,
    lede: "Time of a read of the store, over the samples that count. Where keys are read together \
           (marked <em>b</em> in the table), each counts as long as its batch.",
};

/// The parts on latency that have a figure.
pub(super) fn sections(report: &Report<'_>) -> Vec<Section> {
    [TRANSACTIONS, READS].iter().filter_map(|kind| section(report, kind)).collect()
}

fn section(report: &Report<'_>, kind: &Kind) -> Option<Section> {
    let rows: Vec<&Row<'_>> = report
        .rows
        .iter()
        .filter(|row| finds().any(|find| kind.figure(row, find).is_some()))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let panels = report.panels(rows.iter().copied(), &OF_VARIANT);
    let charts: Vec<String> = panels
        .iter()
        .filter(|(_, rows)| rows.iter().any(|row| kind.figure(row, PERCENTILES[0].of).is_some()))
        .map(|(title, rows)| {
            chart(kind, title, &Report::best_of_designs(&Report::most_duties(rows)))
        })
        .collect();
    let mut body = match charts.is_empty() {
        true => {
            "<p>Too few values for a percentile: the largest ones are in the table.</p>".to_owned()
        }
        false => markup::charts(charts),
    };
    let drawn = panels.iter().flat_map(|(title, rows)| {
        let mut rows = Report::best_of_designs(&Report::most_duties(rows));
        rows.retain(|row| !(kind.histogram)(&row.cell).is_empty());
        let mut drawn = histograms(kind, title, &rows);
        if !rows.is_empty() {
            drawn.push(ranges(report, kind, &rows));
        }
        drawn
    });
    let drawn: Vec<String> = drawn.collect();
    if !drawn.is_empty() {
        body.push_str(&markup::fold("Histograms by design", &drawn.concat()));
    }
    body.push_str(&markup::fold("Percentiles by variant, as a table", &table(report, kind, &rows)));
    let lede = format!("{} Drawn is the fastest variant of each design.", kind.lede);
    Some(Section::new(kind.id, kind.title, lede, body, report.results_of(rows)))
}

fn chart(kind: &Kind, title: &str, rows: &[&Row<'_>]) -> String {
    let drawn: Vec<_> = PERCENTILES
        .iter()
        .filter(|percentile| rows.iter().any(|row| kind.figure(row, percentile.of).is_some()))
        .collect();
    let end = drawn.last().map_or(0.0, |last| last.rarity()) + LARGEST_GAP;
    let begin = PERCENTILES[0].rarity();
    let mut marks: Vec<(f64, &Percentile)> = drawn
        .into_iter()
        .map(|of| (MARGIN + (1.0 - 2.0 * MARGIN) * (of.rarity() - begin) / (end - begin), of))
        .collect();
    let mut named: Vec<_> = marks.iter().map(|(x, of)| (*x, of.name.to_owned())).collect();
    named.push((1.0 - MARGIN, "max".to_owned()));
    marks.push((1.0 - MARGIN, &LARGEST));
    let series = rows.iter().map(|row| {
        let name = row.name();
        let points = marks.iter().filter_map(|(x, percentile)| {
            let figure = kind.figure(row, percentile.of)?;
            let (what, time) = (percentile.name, units::time_ns(figure.value));
            let words = format!("{name}, percentile {what}: {time}");
            Some(Point { x: *x, figure, ends: None, words, is_joined: percentile.beyond > 0.0 })
        });
        let points = points.collect();
        Series { name, design: row.cell.design, points }
    });
    let fit = Fit::Fixed(Scale::Linear { min: 0.0, max: 1.0 });
    let chart = Chart {
        label: format!("{} by percentile {title}", kind.title),
        x: Axis { named, ..Axis::new("percentile", fit, units::plain) },
        y: Axis::new("time, logarithmic", Fit::Decades, units::time_ns),
        series: series.collect(),
        guides: Vec::new(),
    };
    chart.figure(title, "")
}

/// A histogram for each row, all on one scale of times.
fn histograms(kind: &Kind, title: &str, rows: &[&Row<'_>]) -> Vec<String> {
    let ends = rows.iter().flat_map(|row| (kind.histogram)(&row.cell));
    let times = Scale::log(ends.map(|bucket| bucket.up_to_ns as f64), 1.0);
    let drawn = rows.iter().map(|row| {
        let name = row.name();
        let points =
            (kind.histogram)(&row.cell).iter().enumerate().filter_map(|(index, bucket)| {
                let figure = (kind.count)(&row.cell, index)?;
                let x = bucket.up_to_ns as f64;
                let words =
                    format!("{name}: {} {}, up to {}", figure.text, kind.values, units::time_ns(x));
                Some(Point { x, figure, ends: None, words, is_joined: true })
            });
        let points = points.collect();
        let of: [(&str, Find); 2] =
            [("p50", |of| figure!(of, p50)), ("p99", |of| figure!(of, p99))];
        let guides = of.into_iter().filter_map(|(percentile, find)| {
            let ns = kind.figure(row, find)?.value;
            Some(Guide::Vertical(ns, format!("{percentile} {}", units::time_ns(ns))))
        });
        let chart = Chart {
            label: format!("{} as a histogram {title}: {name}", kind.title),
            x: Axis {
                is_binned: true,
                ..Axis::new("time, logarithmic", Fit::Fixed(times), units::time_ns)
            },
            y: Axis::new(kind.values, Fit::FromZero, tick),
            guides: guides.collect(),
            series: vec![Series { name, design: row.cell.design, points }],
        };
        chart.figure(title, "")
    });
    drawn.collect()
}

/// The numbers of the histograms as a table: a line for each range of times, a column for each row.
fn ranges(report: &Report<'_>, kind: &Kind, rows: &[&Row<'_>]) -> String {
    let ends = rows.iter().flat_map(|row| (kind.histogram)(&row.cell));
    let ends: BTreeSet<u64> = ends.map(|bucket| bucket.up_to_ns).collect();
    let mut heads = vec!["Up to".to_owned()];
    heads.extend(rows.iter().map(|row| format!("{}{}", report.prefix(row), row.variant())));
    let lines = ends.iter().map(|end| {
        let counts = rows.iter().map(|row| {
            let mut buckets = (kind.histogram)(&row.cell).iter();
            let index = buckets.position(|bucket| bucket.up_to_ns == *end);
            index.map_or_else(String::new, |index| markup::count((kind.count)(&row.cell, index)))
        });
        [units::time_ns(*end as f64)].into_iter().chain(counts).collect::<Vec<_>>()
    });
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let caption = format!("{}, as a histogram", kind.title);
    markup::table(&caption, &heads, lines)
}

fn table(report: &Report<'_>, kind: &Kind, rows: &[&Row<'_>]) -> String {
    let mut heads = vec!["Variant", "Values"];
    heads.extend(PERCENTILES.iter().map(|percentile| percentile.name));
    heads.push("max");
    let rows = rows.iter().map(|row| {
        let mark = if (kind.is_of_calls)(&row.cell) {
            " <abbr title=\"as long as its batch\">b</abbr>"
        } else {
            ""
        };
        let mut cells = vec![
            format!("{}{}{mark}", report.prefix(row), esc(row.variant())),
            markup::count(kind.figure(row, |of| figure!(of, count))),
        ];
        cells.extend(finds().map(|find| number(kind.figure(row, find), units::time_ns)));
        cells
    });
    markup::table(kind.title, &heads, rows)
}
