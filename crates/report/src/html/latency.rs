//! Latency by percentile, of transactions and of reads: the best variant of each design as a
//! curve, all of them in the table.

use super::{
    chart::{Chart, Point, Scale, Series},
    data::{OF_VARIANT, Report, Row},
    markup::{self, Section, esc, number},
};
use crate::units;

/// Percentiles of a result by key and name, with the share of values beyond each.
const PERCENTILES: [(&str, &str, f64); 7] = [
    ("p50", "50", 0.5),
    ("p75", "75", 0.25),
    ("p90", "90", 0.1),
    ("p95", "95", 0.05),
    ("p99", "99", 0.01),
    ("p999", "99.9", 0.001),
    ("p9999", "99.99", 0.0001),
];
/// Where the largest value stands, in tenfold rarities beyond the last percentile drawn.
const LARGEST_GAP: f64 = 0.7;
/// Charts that stand open; the others are folded away.
const OPEN_CHART_COUNT: usize = 4;

/// Which latency.
struct Kind {
    id: &'static str,
    title: &'static str,
    key: &'static str,
    lede: &'static str,
}

const TRANSACTIONS: Kind = Kind {
    id: "tx-latency",
    title: "Latency of a transaction",
    key: "tx_latency_ns",
    lede: "Time of a transaction, its reads included, over the samples that count. Each step to the right \
           is a rarer case. A percentile is drawn where \
           ten values or more lie beyond it; <em>max</em> is the largest value, whatever their \
           number.",
};
const READS: Kind = Kind {
    id: "read-latency",
    title: "Latency of a read",
    key: "read_latency_ns",
    lede: "Time of a read of the store, over the samples that count. Where keys are read together \
           (marked <em>b</em> in the table), each counts as long as its batch.",
};

/// The parts on latency that have a figure.
pub(super) fn sections(report: &Report<'_>) -> Vec<Section> {
    [TRANSACTIONS, READS].iter().filter_map(|kind| section(report, kind)).collect()
}

fn section(report: &Report<'_>, kind: &Kind) -> Option<Section> {
    let path = |key: &str| format!("{}/{key}", kind.key);
    let known = |row: &&Row<'_>| {
        let keys = PERCENTILES.iter().map(|(key, _, _)| *key).chain(["max"]);
        keys.into_iter().any(|key| row.figure(&path(key)).is_some())
    };
    let rows: Vec<&Row<'_>> = report.rows.iter().filter(known).collect();
    if rows.is_empty() {
        return None;
    }
    let groups = report.groups(rows.iter().copied(), &OF_VARIANT);
    let has_curve = |group: &&Vec<&Row<'_>>| {
        group.iter().any(|row| row.figure(&path(PERCENTILES[0].0)).is_some())
    };
    let charts: Vec<String> = groups
        .iter()
        .filter(has_curve)
        .map(|group| {
            let title = match groups.len() {
                1 => String::new(),
                _ => report.told_apart(group[0], &OF_VARIANT),
            };
            chart(kind, &title, &Report::best_of_designs(group))
        })
        .collect();
    let (open, folded) = charts.split_at(charts.len().min(OPEN_CHART_COUNT));
    let mut body = open.concat();
    if charts.is_empty() {
        body.push_str("<p>Too few values for a percentile: the largest ones are in the table.</p>");
    }
    if !folded.is_empty() {
        body.push_str(&markup::fold(&format!("{} more", folded.len()), &folded.concat()));
    }
    body.push_str(&markup::fold("Percentiles by variant, as a table", &table(report, kind, &rows)));
    Some(Section {
        id: kind.id,
        title: kind.title,
        lede: format!("{} Drawn is the fastest variant of each design.", kind.lede),
        body,
        results: report.results_of(rows),
    })
}

fn chart(kind: &Kind, title: &str, rows: &[&Row<'_>]) -> String {
    let of = |row: &Row<'_>, key: &str| row.figure(&format!("{}/{key}", kind.key));
    let keys = || PERCENTILES.iter().map(|(key, _, _)| *key).chain(["max"]);
    let values = rows.iter().flat_map(|row| keys().filter_map(|key| of(row, key)));
    let y = Scale::decades(values.map(|figure| figure.value));
    let is_drawn = |(key, _, _): &&(&str, &str, f64)| rows.iter().any(|row| of(row, key).is_some());
    let drawn: Vec<_> = PERCENTILES.iter().filter(is_drawn).collect();
    let rarity = |beyond: f64| -beyond.log10();
    let end = drawn.last().map_or(0.0, |(_, _, beyond)| rarity(*beyond)) + LARGEST_GAP;
    let begin = rarity(0.5);
    let x = |beyond: f64| 0.03 + 0.94 * (rarity(beyond) - begin) / (end - begin).max(LARGEST_GAP);
    let mut x_ticks: Vec<_> =
        drawn.iter().map(|(_, name, beyond)| (x(*beyond), (*name).to_owned())).collect();
    x_ticks.push((0.97, "max".to_owned()));
    let series = rows.iter().map(|row| {
        let name = format!("{} {}", row.text("design"), row.threads());
        let point = |key: &str, what: &str, x: f64, is_joined: bool| {
            let figure = of(row, key)?;
            let words = format!("{name}, percentile {what}: {}", units::time_ns(figure.value));
            let y = y.at(figure.value);
            Some(Point { x, y, ends: None, words, figure, is_joined })
        };
        let mut points: Vec<Point> = drawn
            .iter()
            .filter_map(|(key, what, beyond)| point(key, what, x(*beyond), true))
            .collect();
        points.extend(point("max", "100, the largest", 0.97, false));
        Series { name: name.clone(), design: row.text("design").to_owned(), nth: 0, points }
    });
    let chart = Chart {
        label: format!("{} by percentile {title}", kind.title),
        x_title: "percentile".to_owned(),
        y_title: "time, logarithmic".to_owned(),
        x_ticks,
        y_ticks: y.ticks().into_iter().map(|tick| (y.at(tick), short_time(tick))).collect(),
        series: series.collect(),
        guides: Vec::new(),
    };
    let caption = match title {
        "" => String::new(),
        title => format!("<p class=\"over\">{}</p>", esc(title)),
    };
    format!("<figure>{caption}{}</figure>\n", chart.html())
}

/// `100 µs`, not `100.0 µs`: ticks are round.
fn short_time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", units::count(value.round() as u64))
}

fn table(report: &Report<'_>, kind: &Kind, rows: &[&Row<'_>]) -> String {
    let mut heads = vec!["Variant", "Values"];
    heads.extend(PERCENTILES.iter().map(|(_, name, _)| *name));
    heads.push("max");
    let cells = |row: &&Row<'_>| {
        let time =
            |key: &str| number(row.figure(&format!("{}/{key}", kind.key)).as_ref(), units::time_ns);
        let batches = kind.key == READS.key && row.json["read_latency_of_batches"] == true;
        let mark = if batches { " <abbr title=\"as long as its batch\">b</abbr>" } else { "" };
        let count = row.figure(&format!("{}/count", kind.key));
        let mut cells = vec![
            format!("{}{}{mark}", report.prefix(row), esc(row.variant())),
            number(count.as_ref(), |count| units::count(count as u64)),
        ];
        cells.extend(PERCENTILES.iter().map(|(key, _, _)| time(key)));
        cells.push(time("max"));
        cells
    };
    let rows: Vec<_> = rows.iter().map(cells).collect();
    markup::table(kind.title, &heads, &rows)
}
