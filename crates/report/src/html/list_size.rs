//! The size of the list against throughput: a design's price in bytes, and its gain.

use super::{
    chart::{Chart, Point, Scale, Series},
    data::{self, Report, Row},
    figure::{Figure, figure, interval},
    markup::{self, Column, Section, esc, number},
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
    let mut body = markup::open_and_folded(&charts, OPEN_CHART_COUNT);
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
    let sizes: Vec<Option<f64>> =
        rows.iter().map(|row| list_bytes(report, row).map(|figure| figure.value)).collect();
    let scale = Scale::log(sizes.iter().copied().flatten(), 2.0);
    let y = Scale::linear(rows.iter().flat_map(|row| {
        let high = figure!(row.cell, mgas_per_s.ci95?[1]).map(|figure| figure.value);
        high.into_iter().chain([data::speed(row)])
    }));
    let mut x_ticks: Vec<(f64, String)> = Vec::new();
    if sizes.contains(&None) {
        x_ticks.push((NO_LIST, "no list".to_owned()));
    }
    x_ticks.extend(scale.ticks().into_iter().map(|tick| {
        let words = units::bytes(tick as u64).replace(".00 ", " ").replace(".0 ", " ");
        (x_position(scale, tick), words)
    }));
    let series = rows.iter().zip(&sizes).filter_map(|(row, bytes)| {
        let figure = row.throughput()?;
        let size = bytes.map_or_else(|| "no list".to_owned(), |b| units::bytes(b as u64));
        let name = format!("{} {}", row.cell.design, row.threads());
        let words = format!("{name}: {size}, {} million gas a second", units::number(figure.value));
        let point = Point {
            x: bytes.map_or(NO_LIST, |bytes| x_position(scale, bytes)),
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
        y_ticks: y.labelled_ticks(super::chart::tick),
        series: series.collect(),
        guides: Vec::new(),
    };
    chart.figure(title, "")
}

/// Position of a length along the axis.
fn x_position(scale: Scale, bytes: f64) -> f64 {
    AXIS_BEGIN + (1.0 - AXIS_BEGIN) * scale.at(bytes)
}

fn table(report: &Report<'_>, rows: &[&Row<'_>]) -> String {
    let columns: [Column<'_, &&Row<'_>>; 4] = [
        ("Variant", &|row| format!("{}{}", report.prefix(row), esc(row.variant()))),
        ("List", &|row| esc(row.cell.list.map_or("none", ListForm::name))),
        ("Length", &|row| markup::bytes(list_bytes(report, row))),
        ("MGas/s", &|row| number(row.throughput(), units::number)),
    ];
    markup::table_of("List size and throughput", rows, &columns)
}
