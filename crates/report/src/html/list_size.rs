//! The size of the list against throughput: a design's price in bytes, and its gain.

use super::{
    chart::{Chart, Point, Scale, Series},
    data::{self, Report, Row},
    figure::{Figure, figure, interval},
    markup::{self, Section, esc, number},
    settings::OF_VARIANT,
};
use variant::ListForm;

use crate::units;

/// Where designs without a list stand, as a share of the width.
const NO_LIST: f64 = 0.05;
/// Where the axis of the others begins.
const AXIS_BEGIN: f64 = 0.16;
/// Charts that stand open; the others are folded away.
const OPEN_CHART_COUNT: usize = 2;

/// The part on list sizes; `None` where no two designs can be compared.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let groups = report.groups(&report.rows, &OF_VARIANT);
    let best: Vec<Vec<&Row<'_>>> = groups.iter().map(|g| Report::best_of_designs(g)).collect();
    let best: Vec<_> = best.into_iter().filter(|rows| rows.len() > 1).collect();
    if best.is_empty() {
        return None;
    }
    let charts: Vec<String> = best
        .iter()
        .map(|rows| {
            let title = match best.len() {
                1 => String::new(),
                _ => report.told_apart(rows[0], &OF_VARIANT),
            };
            chart(report, &title, rows)
        })
        .collect();
    let (open, folded) = charts.split_at(charts.len().min(OPEN_CHART_COUNT));
    let mut body = open.concat();
    if !folded.is_empty() {
        body.push_str(&markup::fold(&format!("{} more", folded.len()), &folded.concat()));
    }
    let rows: Vec<&Row<'_>> = best.iter().flatten().copied().collect();
    body.push_str(&markup::fold("The points as a table", &table(report, &rows)));
    Some(Section {
        id: "list-size",
        title: "List size against throughput",
        lede: "The encoded length of all lists in the form that a design takes, beside the median \
               throughput of its fastest variant. Up and to the left is better."
            .to_owned(),
        body,
        results: report.results_of(rows),
    })
}

/// Length of the lists in the form that the row takes; `None` where it takes none.
fn list_bytes(report: &Report<'_>, row: &Row<'_>) -> Option<Figure> {
    let work = report.sources[row.source].workload()?;
    let bytes = match row.cell.list? {
        ListForm::ParallelIo => figure!(work, bal.parallel_io_bytes),
        ListForm::BatchedIo => figure!(work, bal.batched_io_bytes),
        ListForm::Full => figure!(work, bal.full_bytes),
    };
    bytes.filter(|figure| figure.value > 0.0)
}

fn chart(report: &Report<'_>, title: &str, rows: &[&Row<'_>]) -> String {
    let bytes = |row: &Row<'_>| list_bytes(report, row).map(|figure| figure.value);
    let scale = Scale::log(rows.iter().filter_map(|row| bytes(row)), 2.0);
    let x = |bytes: f64| AXIS_BEGIN + (1.0 - AXIS_BEGIN) * scale.at(bytes);
    let high = |row: &Row<'_>| figure!(row.cell, mgas_per_s.ci95?[1]).map(|figure| figure.value);
    let y =
        Scale::linear(rows.iter().flat_map(|row| high(row).into_iter().chain([data::speed(row)])));
    let mut x_ticks: Vec<(f64, String)> = Vec::new();
    if rows.iter().any(|row| bytes(row).is_none()) {
        x_ticks.push((NO_LIST, "no list".to_owned()));
    }
    let words = |tick: f64| units::bytes(tick as u64).replace(".00 ", " ").replace(".0 ", " ");
    x_ticks.extend(scale.ticks().into_iter().map(|tick| (x(tick), words(tick))));
    let series = rows.iter().filter_map(|row| {
        let figure = row.throughput()?;
        let bytes = bytes(row);
        let size = bytes.map_or_else(|| "no list".to_owned(), |b| units::bytes(b as u64));
        let name = format!("{} {}", row.cell.design, row.threads());
        let words = format!("{name}: {size}, {} million gas a second", units::number(figure.value));
        let point = Point {
            x: bytes.map_or(NO_LIST, x),
            y: y.at(figure.value),
            ends: interval!(row.cell, mgas_per_s.ci95).map(|ends| ends.map(|end| y.at(end.value))),
            words,
            figure,
            is_joined: false,
        };
        Some(Series { name, design: row.cell.design, nth: 0, points: vec![point] })
    });
    let chart = Chart {
        label: format!("List size against throughput {title}"),
        x_title: "length of all lists, logarithmic".to_owned(),
        y_title: "MGas/s".to_owned(),
        x_ticks,
        y_ticks: y.ticks().into_iter().map(|t| (y.at(t), super::chart::tick(t))).collect(),
        series: series.collect(),
        guides: Vec::new(),
    };
    let caption = match title {
        "" => String::new(),
        title => format!("<p class=\"over\">{}</p>", esc(title)),
    };
    format!("<figure>{caption}{}</figure>\n", chart.html())
}

fn table(report: &Report<'_>, rows: &[&Row<'_>]) -> String {
    let cells = |row: &&Row<'_>| {
        let bytes = list_bytes(report, row);
        vec![
            format!("{}{}", report.prefix(row), esc(row.variant())),
            esc(row.cell.list.map_or("none", ListForm::name)),
            number(bytes.as_ref(), |bytes| units::bytes(bytes as u64)),
            number(row.throughput().as_ref(), units::number),
        ]
    };
    let rows: Vec<_> = rows.iter().map(cells).collect();
    markup::table("List size and throughput", &["Variant", "List", "Length", "MGas/s"], &rows)
}
