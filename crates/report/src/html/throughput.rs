//! Throughput by variant: a line a variant, with its interval, and the table of all its figures.

use super::{
    chart::{self, Scale},
    data::{self, Report, Row},
    figure::{Figure, figure, interval},
    look,
    markup::{self, Column, Section, esc, interval, number, unknown},
    settings::OF_VARIANT,
};
use result::{Bottleneck, Cell};
use variant::CacheMode;

use crate::{certainty, facts, units};

/// Above this many rows only the best of each design is drawn; the table has all.
const DRAWN_ROW_COUNT: usize = 40;
/// The sample whose keys are shown: they are the same in all.
const FIRST: usize = 0;
/// The tag of the fastest of several, where intervals show that it is.
const FASTEST: &str = " <span class=\"tag\">fastest</span>";
/// Groups of which the fastest rows lie apart by this factor have scales of their own.
const APART: f64 = 10.0;
/// Height of a row's picture, in pixels.
const ROW_HEIGHT: u32 = 30;

/// The part on throughput; `None` without a figure.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let groups = report.groups(&report.rows, &OF_VARIANT);
    let all = report.rows.len();
    let drawn: Vec<Vec<&Row<'_>>> = match all {
        0 => return None,
        1..=DRAWN_ROW_COUNT => groups,
        _ => groups.iter().map(|group| Report::best_of_designs(group)).collect(),
    };
    let pictures = by_scale(drawn.clone());
    let mut body = String::new();
    for groups in &pictures {
        body.push_str(&picture_of(report, groups, drawn.len()));
    }
    let count: usize = drawn.iter().map(Vec::len).sum();
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
    Some(Section {
        id: "throughput",
        title: "Throughput by variant",
        lede: format!(
            "Gas over wall time: the median of the samples, and its 95 % interval as the bar \
             across. <em>n=</em> stands where six samples, which an interval needs, are missing; \
             <em>fastest</em> where its interval overlaps no other. The time covers list, reads, execution, checks, {}. \
             Keys are accounts and slots that the lists name.{scales}{of_all}",
            facts::commit_and_root(report.rows.iter().map(|row| row.cell.value))
        ),
        body,
        results: report.results_of(report.rows.iter()),
    })
}

/// The groups of each picture: all in one with one scale; each by itself where the fastest of two
/// groups lie apart so far that the slower one's marks would lie on the axis.
fn by_scale<'r, 'a>(groups: Vec<Vec<&'r Row<'a>>>) -> Vec<Vec<Vec<&'r Row<'a>>>> {
    let best = groups.iter().map(|group| {
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
fn picture_of(report: &Report<'_>, groups: &[Vec<&Row<'_>>], group_count: usize) -> String {
    let ends = groups.iter().flatten().flat_map(|row| {
        let high = figure!(row.cell, mgas_per_s.ci95?[1]);
        [high, row.throughput()].into_iter().flatten().map(|figure| figure.value)
    });
    let scale = Scale::linear(ends);
    let mut body = String::from(
        "<figure><div role=\"table\" class=\"rows\" aria-label=\"Throughput by variant\">\n",
    );
    body.push_str(&head(scale));
    for group in groups {
        let title = report.told_apart(group[0], &OF_VARIANT);
        if group_count > 1 {
            body.push_str(&format!("<p class=\"group\">{}</p>\n", esc(&title)));
        }
        let cells: Vec<&Cell> = group.iter().map(|row| row.cell.value).collect();
        for row in group {
            let is_fastest = certainty::is_fastest(row.cell.value, cells.iter().copied());
            body.push_str(&line(report, row, scale, if is_fastest { FASTEST } else { "" }));
        }
    }
    body + "</div></figure>\n"
}

fn head(scale: Scale) -> String {
    let mut svg = String::new();
    for tick in scale.ticks() {
        svg.push_str(&format!(
            "<text x=\"{:.2}%\" y=\"14\" class=\"mid\">{}</text>",
            scale.at(tick) * 100.0,
            esc(&chart::tick(tick))
        ));
    }
    format!(
        "<div role=\"row\" class=\"row head\"><span role=\"columnheader\" class=\"name\">variant</span>\
         <span role=\"columnheader\" class=\"draw\"><svg class=\"grid\" width=\"100%\" height=\"18\" \
         aria-hidden=\"true\">{svg}</svg></span>\
         <span role=\"columnheader\" class=\"value\">MGas/s</span>\
         <span role=\"columnheader\" class=\"ends\">95 % interval</span></div>\n"
    )
}

fn line(report: &Report<'_>, row: &Row<'_>, scale: Scale, tag: &str) -> String {
    let design = row.cell.design;
    let median = row.throughput();
    let ends = interval!(row.cell, mgas_per_s.ci95);
    let values = row.cell.value_count();
    let other = report.told_apart_in_design(row);
    let other = if other.is_empty() { other } else { format!(" {}", esc(&other)) };
    format!(
        "<div role=\"row\" class=\"row\"><span role=\"rowheader\" class=\"name\" title=\"{}\">\
         {} <b>{}</b> {}{other}{tag}</span><span role=\"cell\" class=\"draw\">{}</span>\
         <span role=\"cell\" class=\"value\">{}</span><span role=\"cell\" class=\"ends\">{}</span></div>\n",
        esc(row.variant()),
        chart::sample(design),
        esc(design.name()),
        esc(&row.threads()),
        picture(row, scale, median.as_ref(), ends.as_ref()),
        number(median, units::number),
        interval(ends, values, units::number),
    )
}

fn picture(
    row: &Row<'_>,
    scale: Scale,
    median: Option<&Figure>,
    ends: Option<&[Figure; 2]>,
) -> String {
    let middle = f64::from(ROW_HEIGHT) / 2.0;
    let mut svg = format!("<svg role=\"group\" width=\"100%\" height=\"{ROW_HEIGHT}\">");
    for tick in scale.ticks() {
        let x = scale.at(tick) * 100.0;
        svg.push_str(&format!(
            "<line class=\"tick\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"{ROW_HEIGHT}\"/>"
        ));
    }
    let Some(median) = median else { return svg + "</svg>" };
    let design = row.cell.design;
    let class = look::class(design);
    let x = scale.at(median.value) * 100.0;
    svg.push_str(&format!(
        "<line class=\"stem {class}\" x1=\"0\" x2=\"{x:.2}%\" y1=\"{middle}\" y2=\"{middle}\"/>"
    ));
    let mut words = format!(
        "{} at {}: {} million gas a second",
        design,
        row.threads(),
        units::number(median.value)
    );
    if let Some([low, high]) = ends {
        let (x1, x2) = (scale.at(low.value) * 100.0, scale.at(high.value) * 100.0);
        let (top, bottom) = (middle - 7.0, middle + 7.0);
        svg.push_str(&format!(
            "<g class=\"whisker {class}\"><line x1=\"{x1:.2}%\" x2=\"{x2:.2}%\" y1=\"{middle}\" y2=\"{middle}\"/>\
             <line x1=\"{x1:.2}%\" x2=\"{x1:.2}%\" y1=\"{top}\" y2=\"{bottom}\"/>\
             <line x1=\"{x2:.2}%\" x2=\"{x2:.2}%\" y1=\"{top}\" y2=\"{bottom}\"/></g>"
        ));
        words.push_str(&format!(
            ", 95 % interval {} to {}",
            units::number(low.value),
            units::number(high.value)
        ));
    }
    svg.push_str(&format!(
        "<svg x=\"{x:.2}%\" y=\"{middle}\" overflow=\"visible\">{}</svg></svg>",
        chart::mark(design, &words, median, "")
    ));
    svg
}

fn table(report: &Report<'_>) -> String {
    let columns: [Column<'_, &Row<'_>>; 14] = [
        ("Variant", &|row| format!("{}{}", report.prefix(row), esc(row.variant()))),
        ("Samples", &|row| row.cell.samples.len().to_string()),
        ("MGas/s", &|row| number(row.throughput(), units::number)),
        ("95 %", &|row| {
            interval(interval!(row.cell, mgas_per_s.ci95), row.cell.value_count(), units::number)
        }),
        (report.ms_per(), &|row| number(figure!(row.cell, ms_per_batch.median), units::plain)),
        ("95 %", &|row| {
            interval(interval!(row.cell, ms_per_batch.ci95), row.cell.value_count(), units::plain)
        }),
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
        ("Bottleneck", &|row| row.cell.bottleneck.map(Bottleneck::name).map_or_else(unknown, esc)),
    ];
    markup::table_of("All figures by variant", &report.rows, &columns)
}

/// The share of the disk that a row got, or why there is none: a warm row reads from memory, and some stores have
/// no device.
pub(super) fn disk_share(row: &Row<'_>) -> String {
    let share = figure!(row.cell, device_fraction);
    match (share, row.cell.cache.want) {
        (Some(share), _) => markup::percent(Some(share)),
        (None, Some(CacheMode::Warm)) => markup::not_applicable("warm"),
        (None, Some(CacheMode::Cold)) => unknown(),
        (None, None) => markup::not_applicable("no device"),
    }
}
