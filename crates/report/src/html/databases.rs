//! The part on runs on several databases, each built from its own seed. It has the figures on each
//! database, and the spread between databases and within one.

use super::{
    data::{Report, Row, Source},
    figure::{Figure, figure, interval},
    markup::{self, Column, Section, ends, esc, number, percent},
};
use result::{RunResult, stats::CHANCE_P};

use crate::units;

/// The part; `None` where no result is of several databases.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let rows: Vec<&Row<'_>> =
        report.rows.iter().filter(|row| row.cell.databases.is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let results = report.results_of(rows.iter().copied());
    let sources = results.iter().map(|index| &report.sources[*index]);
    let lede = format!(
        "How rows lie is drawn once, when a database is built from its seed. So each database \
               is one value of the figures on this page, however many samples were taken on it. \
               <em>Between</em> and <em>within</em>: standard deviations of a time between \
               databases and among the samples of one. <em>By chance</em>: how probable databases \
               so far apart are that do not differ (F test); at {CHANCE_P} or more chance explains \
               what is between them. Samples that follow each other on one database are alike, \
               so a small one is no proof. \
               <em>Time over the first</em>: by that of the store’s first variant, on each \
               database by itself."
    );
    let body = sources.map(|source| source_html(report, source, &rows)).collect();
    Some(Section::new("databases", "Databases", lede, body, results))
}

fn source_html(report: &Report<'_>, source: &Source<'_>, rows: &[&Row<'_>]) -> String {
    let Some(run) = source.run() else { return String::new() };
    let seeds: Vec<String> = (0..run.databases.len())
        .map(|index| figure!(run, databases[index].workload.seed))
        .map(|figure| figure.map_or_else(markup::unknown, |figure| seed(&figure)))
        .collect();
    let label = report.label(source.index, ": ");
    let words = units::things(seeds.len() as u64, "database");
    let caption = format!("<p class=\"lede\">{label}{words}, of seeds {}.</p>", seeds.join(", "));
    let own: Vec<&Row<'_>> =
        rows.iter().copied().filter(|row| row.source == source.index).collect();
    let times: [Column<'_, &&Row<'_>>; 7] = [
        ("Variant", &|row| esc(row.variant())),
        (report.ms_per(), &|row| number(figure!(row.cell, ms_per_batch.median), units::plain)),
        ("95 %", &|row| ends(row, interval!(row.cell, ms_per_batch.ci95), units::plain)),
        ("Least to most", &|row| {
            ends(row, interval!(row.cell, databases?.ms_per_batch_range), units::plain)
        }),
        ("Between", &|row| percent(figure!(row.cell, databases?.time_spread?.between))),
        ("By chance", &|row| {
            number(figure!(row.cell, databases?.time_spread?.between_p), units::probability)
        }),
        ("Within", &|row| percent(figure!(row.cell, databases?.time_spread?.within))),
    ];
    let times = markup::table_of("Time of a batch over the databases", &own, &times);
    let ratios: [Column<'_, &&Row<'_>>; 4] = [
        ("Variant", &|row| esc(row.variant())),
        ("Time over the first", &|row| {
            number(figure!(row.cell, databases?.time_ratio.median), units::ratio)
        }),
        ("95 %", &|row| ends(row, interval!(row.cell, databases?.time_ratio.ci95), units::ratio)),
        ("Least to most", &|row| {
            ends(row, interval!(row.cell, databases?.time_ratio_range), units::ratio)
        }),
    ];
    let ratios = markup::table_of("Time over the first variant’s", &own, &ratios);
    let over = "<p class=\"lede\">Over the time of the first variant on the same store:</p>";
    format!("{caption}{times}{over}{ratios}{}", each(&run, &seeds, &own))
}

/// A seed with all of its digits.
fn seed(figure: &Figure) -> String {
    format!("<data{}>{}</data>", markup::source_of(figure), esc(&figure.text))
}

/// A table with one row for each database.
fn each(run: &RunResult, seeds: &[String], rows: &[&Row<'_>]) -> String {
    let mut heads = vec!["Seed"];
    heads.extend(rows.iter().map(|row| row.variant()));
    let lines = run.databases.iter().zip(seeds).map(|(database, seed)| {
        let times = rows.iter().map(|row| {
            // A run that was interrupted may not have the variant on its last database.
            let each = &row.cell.databases.as_ref()?.each;
            let index = each.iter().position(|of| of.seed == database.workload.seed)?;
            figure!(row.cell, databases?.each[index].ms_per_batch.median)
        });
        let times = times.map(|time| number(time, units::plain));
        [seed.clone()].into_iter().chain(times).collect::<Vec<_>>()
    });
    let title = "Milliseconds per batch on each database";
    markup::fold(title, &markup::table(title, &heads, lines))
}
