//! The part on throughput by variant: a picture with a line for each variant and its interval, and
//! a table of all its figures.

use super::{
    data::{self, Report, Row},
    figure::{figure, interval},
    markup::{self, Column, Section, ends, esc, number, unknown},
    rows::{self, RowPicture},
    scale::tick,
    settings::OF_VARIANT,
};
use result::{Bottleneck, Cell, ratios, stats};
use variant::CacheMode;

use crate::{answer, certainty, facts, units};

/// Above this many rows only the fastest row of each design is drawn; the table has all.
const DRAWN_ROW_COUNT: usize = 40;
/// Index of the sample whose number of keys is shown.
const FIRST: usize = 0;
/// The tag of the fastest row of a group, where intervals show that it is.
const FASTEST: &str = " <span class=\"tag\">fastest</span>";
/// Ratio between the fastest rows of two groups from which each group has its own scale.
const APART: f64 = 10.0;

/// The part on throughput; `None` without a figure.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let groups = report.panels(&report.rows, &OF_VARIANT).into_iter();
    let all = report.rows.len();
    let drawn: Vec<Group<'_, '_>> = match all {
        0 => return None,
        1..=DRAWN_ROW_COUNT => groups.collect(),
        _ => groups.map(|(title, rows)| (title, Report::best_of_designs(&rows))).collect(),
    };
    let count: usize = drawn.iter().map(|(_, rows)| rows.len()).sum();
    let pictures = by_scale(drawn);
    let mut body: String = pictures.iter().map(|groups| picture(report, groups)).collect();
    let of_all = if count < all {
        format!(" Drawn are the {count} best of their designs; the table has all {all} variants.")
    } else {
        String::new()
    };
    let scales = match pictures.len() {
        1 => "",
        _ => " The groups lie far apart: each has a scale of its own.",
    };
    body.push_str(&markup::fold("All figures by variant, as a table", &table(report)));
    let lede = format!(
        "Gas over wall time: the median of the samples, and its 95 % interval as the bar \
             across; each fine line is a sample. <em>n=</em> stands where six samples, which an interval needs, are missing; \
             <em>fastest</em> where its interval overlaps no other. The time covers list, reads, execution, checks, {}. \
             Keys are accounts and slots that the lists name.{scales}{of_all}",
        facts::commit_and_root(report.rows.iter().map(|row| row.cell.value))
    );
    let results = report.results_of(report.rows.iter());
    Some(Section::new("throughput", "Throughput by variant", lede, body, results))
}

/// A title, and the rows below it.
type Group<'r, 'a> = (String, Vec<&'r Row<'a>>);

/// The groups of each picture: all in one with one scale. A group has its own picture where one
/// scale would put the marks of the slower group on the axis.
fn by_scale<'r, 'a>(groups: Vec<Group<'r, 'a>>) -> Vec<Vec<Group<'r, 'a>>> {
    let best = groups.iter().map(|(_, group)| {
        group.iter().map(|row| data::speed(row)).filter(|speed| *speed > 0.0).fold(0.0, f64::max)
    });
    let (least, most) =
        best.fold((f64::INFINITY, 0.0_f64), |(low, high), best| (low.min(best), high.max(best)));
    match most >= APART * least {
        true => groups.into_iter().map(|group| vec![group]).collect(),
        false => vec![groups],
    }
}

/// A picture of some of the page's groups of rows, with one scale.
fn picture(report: &Report<'_>, groups: &[Group<'_, '_>]) -> String {
    let drawn = groups.iter().map(|(title, group)| {
        let cells: Vec<&Cell> = group.iter().map(|row| row.cell.value).collect();
        let rows = group.iter().map(|row| {
            let is_fastest = certainty::is_fastest(row.cell.value, cells.iter().copied());
            let tag = if is_fastest { FASTEST } else { "" };
            let base = ratios::in_order(row.cell.value, cells.iter().copied());
            let base = base.filter(|base| !std::ptr::eq(*base, row.cell.value));
            let words = base.and_then(|base| answer::times_in_order(row.cell.value, base));
            let words = words.map(|words| format!(" <small>{words}</small>")).unwrap_or_default();
            drawn(report, row, &format!("{tag}{words}"))
        });
        (title.clone(), rows.collect::<Vec<_>>())
    });
    let groups: Vec<_> = drawn.collect();
    let rows = RowPicture {
        label: "Throughput by variant",
        heads: ["variant", "MGas/s", "95 % interval"],
        scale: RowPicture::scale(groups.iter().flat_map(|(_, rows)| rows)),
        text: units::number,
        tick,
        groups,
    };
    rows.html()
}

fn drawn(report: &Report<'_>, row: &Row<'_>, tag: &str) -> rows::PictureRow {
    let (design, threads) = (row.cell.design, row.threads());
    let other = report.distinguishing_settings_in_design(row);
    let other = if other.is_empty() { other } else { format!(" {}", esc(&other)) };
    let samples = row.cell.value.counted().into_iter().flatten();
    let singles = samples.filter_map(|of| stats::mgas_per_s(of.gas, of.wall_ns));
    let value = row.throughput();
    let speed = value.as_ref().map_or_else(String::new, |value| units::number(value.value));
    rows::PictureRow {
        title: row.variant().to_owned(),
        name: format!("<b>{}</b> {}{other}{tag}", esc(design.name()), esc(&threads)),
        design,
        value,
        ends: interval!(row.cell, mgas_per_s.ci95),
        value_count: Some(row.cell.value_count()),
        words: format!("{design} at {threads}: {speed} million gas a second"),
        singles: singles.collect(),
        limit: None,
    }
}

fn table(report: &Report<'_>) -> String {
    let columns: [Column<'_, &Row<'_>>; 14] = [
        ("Variant", &|row| format!("{}{}", report.prefix(row), esc(row.variant()))),
        ("Samples", &|row| row.cell.samples.len().to_string()),
        ("MGas/s", &|row| number(row.throughput(), units::number)),
        ("95 %", &|row| ends(row, interval!(row.cell, mgas_per_s.ci95), units::number)),
        (report.ms_per(), &|row| number(figure!(row.cell, ms_per_batch.median), units::plain)),
        ("95 %", &|row| ends(row, interval!(row.cell, ms_per_batch.ci95), units::plain)),
        ("Keys", &|row| markup::count(figure!(row.cell, samples[FIRST].unique_keys))),
        ("Blocks a key", &|row| number(figure!(row.cell, blocks_per_present_key), units::ratio)),
        ("Share of the disk", &|row| disk_share(row)),
        ("Disk requests", &|row| {
            number(row.median("disk_requests", |sample| sample.disk_requests), units::number)
        }),
        ("Read from disk", &|row| {
            markup::bytes(row.median("device_read_bytes", |sample| sample.device_read_bytes))
        }),
        // 0 is no depth: see `facts::reads_at_once`.
        ("Reads at once", &|row| {
            let depth = figure!(row.cell, reads_in_flight).filter(|depth| depth.value > 0.0);
            number(depth, units::number)
        }),
        ("Longest tx", &|row| markup::percent(figure!(row.cell, longest_tx_share))),
        ("Bottleneck", &|row| {
            facts::bottleneck(row.cell.value).map(Bottleneck::name).map_or_else(unknown, esc)
        }),
    ];
    markup::table_of("All figures by variant", &report.rows, &columns)
}

/// The share of the disk that a row got, or the reason for none. A warm row reads from memory, and
/// some stores have no device.
fn disk_share(row: &Row<'_>) -> String {
    let share = figure!(row.cell, device_fraction);
    match (share, row.cell.cache.want) {
        (Some(share), _) => markup::percent(Some(share)),
        (None, Some(CacheMode::Warm)) => markup::not_applicable("warm"),
        (None, Some(CacheMode::Cold)) => unknown(),
        (None, None) => markup::not_applicable("no device"),
    }
}
