//! The part with the settings that vary between several results, in a table. For a sweep the table
//! has the axes, and also a line for each cell that was left out.

use std::collections::BTreeSet;

use result::sweep::Keys;

use super::{
    data::{self, Report, Row, Source},
    markup::{self, Section, esc, number, unknown},
    settings::{DIGEST, OF_VARIANT, SETTINGS, SOURCE, STORE, variant_key_index},
};
use crate::{
    axes::{self, Axis},
    units,
};

/// Head of the column of figures.
const BEST: &str = "Best, MGas/s";
/// Text for a table with lines of cells that were left out.
const LEFT_OUT: &str =
    " <em>Left out</em>: the cell would be the run of the result named beside it.";

/// The part. `None` for one result for which no cell was left out, and where the results differ in
/// no setting of the page.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let columns = columns(report);
    let has_left_out = report.sources.iter().any(|source| !source.shown.left_out.is_empty());
    if columns.is_empty() || report.sources.len() < 2 && !has_left_out {
        return None;
    }
    // A phone shows the first columns: the figure is one of them.
    let mut heads: Vec<&str> = vec!["", BEST];
    heads.extend(columns.iter().map(|column| column.name(report)));
    heads.push("by");
    let rows = report.sources.iter().flat_map(|source| {
        let own = row(report, source, &columns);
        let left_out = source.shown.left_out.iter();
        [own].into_iter().chain(left_out.map(|keys| left_out_row(source, keys, &columns)))
    });
    let left_out = if has_left_out { LEFT_OUT } else { "" };
    let lede = format!(
        "Each result by its letter, with the settings in which the results differ. All others are \
             the same in all of them. <em>Best</em> is the highest median of a result, among whole blocks where it has such rows.{left_out}"
    );
    let body = markup::table("Settings that vary", &heads, rows);
    Some(Section::new("varied", "Settings that vary", lede, body, Vec::new()))
}

/// A column: an axis of the sweep, or another setting by its index.
enum Column {
    Axis(Axis),
    Setting(usize),
}

impl Column {
    fn name<'a>(&'a self, report: &'a Report<'_>) -> &'a str {
        match self {
            Self::Axis(Axis { key, .. }) => {
                variant_key_index(key).map_or(key.as_str(), |index| SETTINGS[index].0)
            }
            Self::Setting(index) => report.setting_name(*index),
        }
    }
}

/// The axes of the sweep with several values, then the settings that vary and are neither axes nor
/// part of a variant.
fn columns(report: &Report<'_>) -> Vec<Column> {
    let axes = axes::axes(&report.shown()).into_iter().filter(|axis| axis.values.len() > 1);
    let others = report.varying.iter().copied().filter(is_of_result);
    let others = others.filter(|index| *index < SETTINGS.len() || !report.is_sweep());
    axes.map(Column::Axis).chain(others.map(Column::Setting)).collect()
}

/// Returns whether a setting distinguishes results. Settings of variants and stores already differ
/// within one result. Digests say no more than the settings that decide them.
fn is_of_result(index: &usize) -> bool {
    !OF_VARIANT.contains(index) && ![STORE, DIGEST, SOURCE].contains(index)
}

fn row(report: &Report<'_>, source: &Source<'_>, columns: &[Column]) -> Vec<String> {
    let own: Vec<&Row<'_>> = report.rows.iter().filter(|row| row.source == source.index).collect();
    let settings = columns.iter().map(|column| match column {
        Column::Axis(axis) => value_of(&source.shown.swept, axis),
        Column::Setting(index) => {
            let texts: BTreeSet<&str> =
                own.iter().filter_map(|row| Some(row.setting(*index)?.text.as_str())).collect();
            units::any_joined(texts, ", ").map_or_else(unknown, |texts| esc(&texts))
        }
    });
    let alike = Report::most_duties(&own).into_iter();
    let best = alike.max_by(|a, b| data::speed(a).total_cmp(&data::speed(b)));
    let figure = number(best.and_then(|row| row.throughput()), units::number);
    let name = best.map(|row| esc(&row.name()));
    let mut texts = vec![source.label.clone(), figure];
    texts.extend(settings);
    texts.push(name.unwrap_or_else(unknown));
    texts
}

/// The line of a cell that was left out, because it would be the run of `source`.
fn left_out_row(source: &Source<'_>, keys: &Keys, columns: &[Column]) -> Vec<String> {
    let mut texts = vec!["left out".to_owned(), format!("= {}", source.label)];
    texts.extend(columns.iter().map(|column| match column {
        Column::Axis(axis) => value_of(keys, axis),
        Column::Setting(_) => format!("as {}", source.label),
    }));
    texts.push(String::new());
    texts
}

fn value_of(keys: &Keys, axis: &Axis) -> String {
    keys.get(&axis.key).map_or_else(unknown, |value| esc(value))
}
