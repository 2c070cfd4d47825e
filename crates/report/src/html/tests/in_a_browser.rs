//! Pages as a browser shows them, against their results; wrong pages are found.

use serde_json::Value;

use super::{
    jsons, profile,
    rendered::{self, Checked, Made},
    result, result_of_gate, shown,
    sustained::many_blocks,
    sweep,
    sweeps::swept,
};
use crate::html::page;
use result::{Bucket, RunResult, Shown, example};

/// Compares the page of each of these; `None` without a browser.
fn checked(all: &[Vec<Shown>]) -> Option<Vec<Checked>> {
    let pages: Vec<String> = all.iter().map(|results| page(results)).collect();
    let results: Vec<Vec<Value>> = all.iter().map(|results| jsons(results)).collect();
    let made = pages.iter().zip(&results).map(|(page, results)| Made { page, results });
    rendered::check(&made.collect::<Vec<_>>())
}

/// A run with every figure that a page can draw, no two of them equal.
fn whole() -> Shown {
    result(|run| {
        run.profile = Some(profile());
        for (place, cell) in (1_u64..).zip(&mut run.cells) {
            let step = 1.0 + place as f64 / 7.0;
            let latency = &mut cell.tx_latency_ns;
            let all = [&mut latency.p50, &mut latency.p75, &mut latency.p90, &mut latency.p95];
            let rare = [&mut latency.p99, &mut latency.p999, &mut latency.p9999, &mut latency.max];
            for (which, percentile) in (1_u64..).zip(all.into_iter().chain(rare)) {
                *percentile = Some((which.pow(4) * 7_310 * place).pow(2) / 1_000);
            }
            latency.count = 12_345 + place;
            let ends = [latency.p50.map(|p50| p50 / 2), latency.p90, latency.max];
            cell.tx_latency_histogram = (0..)
                .zip(ends.into_iter().flatten())
                .map(|(nth, up_to_ns)| Bucket { up_to_ns, count: nth * (40 + place) })
                .collect();
            cell.device_fraction = Some(0.13 * step);
            cell.blocks_per_present_key = Some(0.81 * step);
            cell.longest_tx_share = Some(0.031 * step);
            for (nth, sample) in (1_u64..).zip(&mut cell.samples) {
                sample.wall_ns += nth * 1_000_003;
                let wall = sample.wall_ns;
                sample.phases_ns = result::PhasesNs::of(|phase| wall / (2 + phase as u64 + place));
            }
        }
    })
}

#[test]
fn texts_and_coordinates_are_those_of_the_results() {
    let all = [
        vec![whole()],
        vec![result(|_| ())],
        vec![shown(example::typical())],
        vec![many_blocks(200)],
        vec![many_blocks(40)],
        sweep(),
        swept(|_| ()),
        vec![whole(), result(|run| run.workload.seed = 7)],
        vec![shown(example::pooled(&[vec![1, 1, 1, 1], vec![3, 3], vec![5, 5]]))],
        vec![result_of_gate()],
        vec![result(close), result(|run| run.cells.truncate(1))],
    ];
    let Some(pages) = checked(&all) else { return };
    let differences = pages.iter().flat_map(|page| page.differences.clone()).collect();
    Checked { differences, ..Checked::default() }.assert_same();
    // Two widths of each.
    let Checked { number_count, field_count, mark_count, tick_count, .. } = &pages[0];
    assert!(*number_count > 2 * 250, "{number_count} numbers");
    assert!(*field_count > 2 * 150, "{field_count} fields");
    assert!(*mark_count > 2 * 150, "{mark_count} marks");
    assert!(*tick_count > 2 * 30, "{tick_count} ticks");
}

/// Throughputs so near to each other that few round numbers lie between them.
fn close(run: &mut RunResult) {
    for (place, cell) in run.cells.iter_mut().enumerate() {
        let median = 5_100.0 + place as f64;
        cell.mgas_per_s.median = Some(median);
        cell.mgas_per_s.ci95 = Some([median * 0.999, median * 1.002]);
    }
}

/// A change that makes a page wrong: its name, and the page with it.
type Planted = (&'static str, fn(&str) -> String);

const PLANTED: [Planted; 9] = [
    ("every number twice as large", |page| doubled(page, "<data", "</data>")),
    ("every tick twice as large", |page| doubled(page, "<text", "</text>")),
    ("a mark elsewhere, its axis as it was", |page| {
        moved(page, "overflow=\"visible\" class=\"w0\"", "y=\"")
    }),
    ("a throughput's mark elsewhere", |page| moved(page, "y=\"15\" overflow", "x=\"")),
    ("an interval's end elsewhere", |page| moved(page, "class=\"whisker d-parallel-io\"", "x2=\"")),
    ("a whisker shorter", |page| page.replacen("M-4 ", "M-4 -3", 1)),
    ("a bar longer", |page| moved(page, "class=\"d-parallel-io\" width", "width=\"")),
    ("percentiles below the wrong headings", |page| {
        let page = page.replace(">90</th>", ">x</th>").replace(">99</th>", ">90</th>");
        page.replace(">x</th>", ">99</th>")
    }),
    ("the name of another variant", |page| {
        page.replacen("+batched@2+16io</th>", "+batched@2+64io</th>", 1)
    }),
];

/// Each text of an element with its digits' number doubled, as by an error in its writer.
fn doubled(page: &str, begin: &str, end: &str) -> String {
    let mut parts = page.split(begin);
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (element, rest) = part.split_once(end).unwrap();
        let (tag, shown) = element.split_once('>').unwrap();
        let from = shown.find(|c: char| c.is_ascii_digit()).unwrap_or(shown.len());
        let tail = &shown[from..];
        let to = tail.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tail.len());
        let decimals = tail[..to].split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let number = tail[..to].parse::<f64>();
        let twice = number.map_or(String::new(), |number| format!("{:.decimals$}", number * 2.0));
        text.push_str(&format!("{begin}{tag}>{}{twice}{}{end}{rest}", &shown[..from], &tail[to..]));
    }
    text
}

/// The number of an attribute, of the last one before or the first one after some words, 3 larger.
fn moved(page: &str, words: &str, attribute: &str) -> String {
    let at = page.find(words).unwrap_or_else(|| panic!("{words} is not on the page"));
    let start = page[..at].rfind('<').unwrap();
    let from = start + page[start..].find(attribute).unwrap() + attribute.len();
    let to = from + page[from..].find(['"', '%']).unwrap();
    let number: f64 = page[from..to].parse().unwrap();
    format!("{}{:.2}{}", &page[..from], number + 3.0, &page[to..])
}

#[test]
fn what_is_planted_on_a_page_is_found() {
    let results = [whole()];
    let right = page(&results);
    let mut all = vec![right.clone()];
    all.extend(PLANTED.iter().map(|(_, change)| change(&right)));
    let jsons = jsons(&results);
    let made: Vec<_> = all.iter().map(|page| Made { page, results: &jsons }).collect();
    let Some(pages) = rendered::check(&made) else { return };
    pages[0].assert_same();
    for (((name, _), page), checked) in PLANTED.iter().zip(&all[1..]).zip(&pages[1..]) {
        assert_ne!(*page, right, "{name}: nothing is planted");
        assert!(!checked.differences.is_empty(), "{name}: nothing was found");
    }
    // All doubled numbers are found but the zeros.
    let found = pages[1].differences.len();
    assert!(found > 2 * 200, "{found}");
}
