//! Databases: what each of several, built from seeds of their own, came to, and how much of the
//! spread is theirs.

use super::{
    data::{Report, Row, Source},
    markup::{self, Section, esc, interval, number},
};
use crate::{report::units, stored};

/// The part on databases; `None` where no result is of several.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let rows: Vec<&Row<'_>> =
        report.rows.iter().filter(|row| row.json["databases"].is_object()).collect();
    if rows.is_empty() {
        return None;
    }
    let results = report.results_of(rows.iter().copied());
    let sources = results.iter().map(|place| &report.sources[*place]);
    Some(Section {
        id: "databases",
        title: "Databases",
        lede:
            "How rows lie is drawn once, when a database is built from its seed. So each database \
               is one value of the figures on this page, however many samples were taken on it. \
               <em>Between</em> and <em>within</em>: standard deviations of a time between \
               databases and among the samples of one; 0 between where chance explains it. \
               <em>Time over the first</em>: by that of the store’s first variant, on each \
               database by itself."
                .to_owned(),
        body: sources.map(|source| of_source(report, source, &rows)).collect(),
        results,
    })
}

fn of_source(report: &Report<'_>, source: &Source<'_>, rows: &[&Row<'_>]) -> String {
    let count = source.stored.databases().len();
    let seeds: Vec<String> = (0..count)
        .map(|place| source.figure(&format!("/databases/{place}/workload/seed")))
        .map(|figure| figure.map_or_else(markup::unknown, |figure| seed(&figure)))
        .collect();
    let label = match report.sources.len() {
        1 => String::new(),
        _ => format!("{}: ", source.label),
    };
    let words = units::things(count as u64, "database");
    let caption = format!("<p class=\"lede\">{label}{words}, of seeds {}.</p>", seeds.join(", "));
    let own = rows.iter().filter(|row| row.source == source.index);
    let places: Vec<String> = (1..=count).map(|place| format!("ms on the {place}.")).collect();
    let mut heads = vec!["Variant", "ms a batch", "95 %", "Least to most", "Between", "Within"];
    heads.extend(["Time over the first", "95 %", "Least to most"]);
    heads.extend(places.iter().map(String::as_str));
    let rows: Vec<_> = own.map(|row| cells(row, source)).collect();
    let title = "Time of a batch on each database, by variant";
    format!("{caption}{}", markup::table(title, &heads, &rows))
}

/// All digits of a seed.
fn seed(figure: &super::data::Figure) -> String {
    format!("<data{}>{}</data>", markup::source_of(figure), esc(&figure.text))
}

fn cells(row: &Row<'_>, source: &Source<'_>) -> Vec<String> {
    let values = stored::value_count(row.json);
    let percent = |share: f64| format!("{} %", units::percent(share));
    let ends =
        |path: &str, text: fn(f64) -> String| interval(row.interval(path).as_ref(), values, text);
    let spread =
        |key: &str| number(row.figure(&format!("databases/time_spread/{key}")).as_ref(), percent);
    let mut cells = vec![
        esc(row.variant()),
        number(row.figure("ms_per_batch/median").as_ref(), units::plain),
        ends("ms_per_batch/ci95", units::plain),
        ends("databases/ms_per_batch_range", units::plain),
        spread("between"),
        spread("within"),
        number(row.figure("databases/time_ratio/median").as_ref(), units::ratio),
        ends("databases/time_ratio/ci95", units::ratio),
        ends("databases/time_ratio_range", units::ratio),
    ];
    let each = row.json["databases"]["each"].as_array().map_or(&[][..], Vec::as_slice);
    cells.extend(source.stored.databases().iter().map(|database| {
        // A run that was interrupted may not have the variant on its last one.
        let place = each.iter().position(|of| of["seed"] == database["workload"]["seed"]);
        let path = place.map(|place| format!("databases/each/{place}/ms_per_batch/median"));
        number(path.and_then(|path| row.figure(&path)).as_ref(), units::plain)
    }));
    cells
}
