//! The table of settings that vary between several results: which result is which.

use std::collections::BTreeSet;

use super::{
    data::{self, Report, Row, Source},
    markup::{self, Section, esc, number, unknown},
    settings::{DIGEST, OF_VARIANT, SOURCE, STORE},
};
use crate::{facts, units};

/// The table; `None` of one result, and where the results differ in nothing that the page knows.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let places: Vec<usize> = report.varying.iter().copied().filter(is_of_result).collect();
    if report.sources.len() < 2 || places.is_empty() {
        return None;
    }
    let mut heads: Vec<&str> = vec![""];
    heads.extend(places.iter().map(|place| report.setting_name(*place)));
    heads.extend(["Best, MGas/s", "by"]);
    let rows: Vec<_> = report.sources.iter().map(|of| row(report, of, &places)).collect();
    Some(Section {
        id: "varied",
        title: "Settings that vary",
        lede: "Each result by its letter, with the settings in which the results differ. All others are \
               the same in all of them. <em>Best</em> is the highest median of a result."
            .to_owned(),
        body: markup::table("Settings that vary", &heads, &rows),
        results: Vec::new(),
    })
}

/// Returns whether a setting tells results apart: those of variants and stores do so in one result,
/// and digests say no more than the settings that they follow from.
fn is_of_result(place: &usize) -> bool {
    !OF_VARIANT.contains(place) && ![STORE, DIGEST, SOURCE].contains(place)
}

fn row(report: &Report<'_>, source: &Source<'_>, places: &[usize]) -> Vec<String> {
    let own: Vec<&Row<'_>> = report.rows.iter().filter(|row| row.source == source.index).collect();
    let setting = |place: &usize| {
        let texts: BTreeSet<&str> =
            own.iter().filter_map(|row| Some(row.setting(*place)?.text.as_str())).collect();
        match texts.is_empty() {
            true => unknown(),
            false => esc(&texts.into_iter().collect::<Vec<_>>().join(", ")),
        }
    };
    let best = own.iter().max_by(|a, b| data::speed(a).total_cmp(&data::speed(b)));
    let name = |row: &&Row<'_>| format!("{} {}", row.cell.design, facts::threads(row.cell.value));
    let mut texts = vec![source.label.clone()];
    texts.extend(places.iter().map(setting));
    texts.push(number(best.and_then(|row| row.throughput()).as_ref(), units::number));
    texts.push(best.map_or_else(unknown, |row| esc(&name(row))));
    texts
}
