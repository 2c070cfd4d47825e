//! The parts of a history's page. Each work, machine and store has a chart, with a point for each
//! result and a line for each level (the results between two changes). Tables have the changes and
//! all points.

use result::{Cell, stats::FALSE_ALARM_RATE};
use variant::StoreKind;

use super::{
    chart::{Axis, Chart, Fit, Guide, Point, Series},
    data::Report,
    figure::{Part, figure, interval, part},
    markup::{self, Column, Section, esc, number},
    scale::{Scale, tick},
};
use crate::{
    certainty, facts,
    history::{self, Group, commit, judged_count},
    history_table::{note, p_words, work_words},
    units,
};

/// Room around the axis of times, as a factor.
const ROOM: f64 = 1.15;

/// A change, with its number among the changes of all groups.
struct Numbered<'h, 'a> {
    number: usize,
    group: &'h Group<'a>,
    series: &'h history::Series<'a>,
    change: &'h history::Change,
}

/// All changes, in the order of groups and variants by which they are numbered.
fn numbered<'h, 'a>(groups: &'h [Group<'a>]) -> Vec<Numbered<'h, 'a>> {
    let series = groups.iter().flat_map(|group| group.series.iter().map(move |of| (group, of)));
    let all =
        series.flat_map(|(group, of)| of.changes.iter().map(move |change| (group, of, change)));
    let numbers = (1..).zip(all);
    numbers
        .map(|(number, (group, series, change))| Numbered { number, group, series, change })
        .collect()
}

/// The part on changes.
pub(super) fn changes(groups: &[Group<'_>]) -> Section {
    let rows = numbered(groups)
        .iter()
        .map(|of| {
            // One work need not be named in each row.
            let work = match groups.len() {
                0 | 1 => String::new(),
                _ => format!("<br/>{}; {}", esc(&work_words(of.group)), esc(&of.group.machine)),
            };
            change_row(of, &work)
        })
        .collect::<Vec<_>>();
    let heads = ["Change", "Since", "Commit", "Variant", "Times as long", "p", "Also changed"];
    let body = match rows.is_empty() {
        true => "<p>No time changed.</p>".to_owned(),
        false => markup::table("Changes", &heads, &rows),
    };
    let lede = esc(&format!("{}.", capital(&note(judged_count(groups)))));
    Section::new("changes", "Where a time changed", lede, body, Vec::new())
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn change_row(of: &Numbered<'_, '_>, work: &str) -> Vec<String> {
    let Numbered { number, group: _, series, change } = of;
    let (last, first) = (&series.points[change.at - 1], &series.points[change.at]);
    let facts: Vec<String> = change.facts.iter().map(|fact| esc(fact)).collect();
    vec![
        number.to_string(),
        esc(&units::moment(first.run.started_unix_s)),
        [last, first].map(|of| format!("<code>{}</code>", esc(&commit(of.run)))).join(" → "),
        format!("<code>{}</code>{work}", esc(&series.cell().variant)),
        format!("{:.3}", change.ratio),
        p_words(change),
        facts.join("<br/>"),
    ]
}

/// The part with the charts.
pub(super) fn charts(groups: &[Group<'_>]) -> Section {
    let all = numbered(groups);
    let mut body = String::new();
    for group in groups {
        for store in facts::distinct(group.series.iter().map(|series| series.cell().store)) {
            body.push_str(&chart(group, store, &all));
        }
    }
    let lede = format!(
        "The median time of a batch in each result, in the order of time, with its 95 % interval \
             where there is one. Results stand at equal steps, under the commit of their program. A \
             line joins results of one level; it breaks where the level changes, which an upright line \
             with the change’s number marks. A false change is drawn on {} % of such pages at \
             most. Results of other work or of another machine have a chart of their own.",
        units::percent(FALSE_ALARM_RATE)
    );
    Section::new("history", "Times from result to result", lede, body, Vec::new())
}

/// Position of a result's mark along the axis.
fn position(group: &Group<'_>, result: usize) -> f64 {
    let index = group.results.iter().position(|of| *of == result).unwrap_or(0);
    index as f64 + 0.5
}

fn chart(group: &Group<'_>, store: StoreKind, changes: &[Numbered<'_, '_>]) -> String {
    let drawn: Vec<_> = group.series.iter().filter(|series| series.cell().store == store).collect();
    let runs = drawn.iter().flat_map(|series| &series.points);
    let mut named: Vec<(f64, String)> =
        runs.map(|point| (position(group, point.result), commit(point.run))).collect();
    named.sort_by(|a, b| a.0.total_cmp(&b.0));
    named.dedup_by(|a, b| a.0 == b.0);
    let width = Fit::Fixed(Scale::Linear { min: 0.0, max: group.results.len() as f64 });
    let title = "results in the order of time, by the commit of their program";
    let ms = format!("{}, logarithmic", facts::ms_per([group.workload]));
    let chart = Chart {
        label: format!("Times of {} from result to result, on {store}", group.workload.scenario),
        x: Axis { named, ..Axis::new(title, width, tick) },
        y: Axis::new(ms, Fit::Log(ROOM), tick),
        series: drawn.iter().map(|series| line(group, series)).collect(),
        guides: guides(group, store, changes),
    };
    let caption = format!("{}; {}; {store}", work_words(group), group.machine);
    chart.figure(&caption, "")
}

/// Vertical lines of the changes, each between the results before and after. Changes between the
/// same two results share a line, which names all their numbers.
fn guides(group: &Group<'_>, store: StoreKind, changes: &[Numbered<'_, '_>]) -> Vec<Guide> {
    let mut all: Vec<(f64, String)> = Vec::new();
    let own = changes
        .iter()
        .filter(|of| std::ptr::eq(of.group, group) && of.series.cell().store == store);
    for of in own {
        let [before, after] =
            [of.change.at - 1, of.change.at].map(|at| of.series.points[at].result);
        let x = f64::midpoint(position(group, before), position(group, after));
        match all.iter_mut().find(|(at, _)| *at == x) {
            Some((_, name)) => name.push_str(&format!(", {}", of.number)),
            None => all.push((x, of.number.to_string())),
        }
    }
    all.into_iter().map(|(x, name)| Guide::Vertical(x, name)).collect()
}

fn line(group: &Group<'_>, series: &history::Series<'_>) -> Series {
    let starts: Vec<usize> = series.changes.iter().map(|change| change.at).collect();
    let points = series.points.iter().enumerate().filter_map(|(index, of)| {
        let cell = cell(of)?;
        let figure = figure!(cell, ms_per_batch.median)?;
        let ends = interval!(cell, ms_per_batch.ci95).map(|ends| ends.map(|end| end.value));
        let words = format!(
            "{} at commit {}, {}: {} ms per batch",
            series.cell().variant,
            commit(of.run),
            units::moment(of.run.started_unix_s),
            units::plain(figure.value)
        );
        // A line interpolates between medians, and a single sample is no median.
        let is_joined = !starts.contains(&index)
            && index.checked_sub(1).is_some_and(|before| {
                series.points[before..=index].iter().all(|of| certainty::is_repeated(of.cell))
            });
        Some(Point { x: position(group, of.result), figure, ends, words, is_joined })
    });
    let Cell { variant, design, .. } = series.cell();
    let (_, name) = variant.split_once('/').unwrap_or(("", variant.as_str()));
    Series { name: name.to_owned(), design: *design, points: points.collect() }
}

/// The cell of a point, with its place in the result.
fn cell<'a>(of: &history::Point<'a>) -> Option<Part<'a, Cell>> {
    let index = of.cell_index;
    part!(Part::whole(of.result, of.run), cells[index])
}

/// The part with all points as a table.
pub(super) fn points(report: &Report<'_>, groups: &[Group<'_>]) -> Section {
    let all = groups.iter().flat_map(|group| &group.series).flat_map(|series| &series.points);
    let columns: [Column<'_, &history::Point<'_>>; 6] = [
        ("Variant", &|of| format!("<code>{}</code>", esc(&of.cell.variant))),
        ("Result", &|of| report.sources[of.result].label.clone()),
        ("Began", &|of| esc(&units::moment(of.run.started_unix_s))),
        ("Commit", &|of| format!("<code>{}</code>", esc(&commit(of.run)))),
        (report.ms_per(), &|of| {
            let time = cell(of).and_then(|cell| figure!(cell, ms_per_batch.median));
            number(time, units::plain)
        }),
        ("95 %", &|of| {
            let ends = cell(of).and_then(|cell| interval!(cell, ms_per_batch.ci95));
            markup::interval(ends, Some(of.cell.value_count()), units::plain)
        }),
    ];
    let table = markup::table_of("All points", all, &columns);
    let lede = "Each variant in each result. The letters are those of the list of results.";
    let body = markup::fold("All points as a table", &table);
    Section::new("points", "All points", lede, body, Vec::new())
}
