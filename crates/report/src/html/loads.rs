//! The page of loads on live nodes: transactions by block, times to inclusion, depth of the pool, and the
//! figures and calls of each load.

use result::{send::SendResult, stored::StoredLoad};
use variant::Design;

use super::{
    chart::{Chart, Guide, Point, Scale, Series, tick},
    figure::{Figure, Part, figure},
    markup::{self, Column, count, esc, number, section, unknown},
    shell::{Parts, shell},
};
use crate::{send::conclude, units};

/// Most marks of a series over time: of more values each mark is the highest of several.
const MARK_COUNT_MAX: usize = 60;
/// Room around times on a logarithmic axis, as a factor.
const ROOM: f64 = 1.3;
/// Looks of the first and the second series of a chart.
const LOOKS: [Design; 2] = [Design::Sequential, Design::BatchedIo];

/// A load, and where its figures stand.
type Load<'a> = Part<'a, SendResult>;

/// The page of `loads`, of which there is one or more.
pub fn page(loads: &[StoredLoad]) -> String {
    let parts: Vec<Load<'_>> =
        loads.iter().enumerate().map(|(index, load)| Part::whole(index, &load.result)).collect();
    let mut sections = vec![("figures", "Figures", figures(&parts))];
    sections.push(("blocks", "Transactions by block", blocks(&parts)));
    sections.push(("inclusion", "Time to inclusion", inclusion(&parts)));
    sections.extend(pool(&parts).map(|html| ("pool", "Depth of the pool", html)));
    sections.push(("calls", "Calls", calls(&parts)));
    sections.push(("faults", "Errors and doubts", faults(&parts)));
    sections.push(("results", "Results", results(loads)));
    let mut names: Vec<&str> = parts.iter().map(|load| load.work.scenario.as_str()).collect();
    names.dedup();
    shell(&Parts {
        title: &esc(&format!("Load of {} on a live node", names.join(", "))),
        header: &header(&parts),
        verdict: &verdict(&parts),
        sections,
        source_count: loads.len(),
    })
}

/// The name of a load among those of the page.
fn name(load: &Load<'_>) -> String {
    let SendResult { work, pace, pace_value, .. } = load.value;
    format!("{}. {} {pace} {pace_value}", load.result + 1, work.scenario)
}

fn header(loads: &[Load<'_>]) -> String {
    let lines = loads.iter().map(|load| {
        let node = &load.node;
        let version = node.version.as_deref().unwrap_or("a node without a version");
        format!(
            "<p class=\"work\">{}: {}, chain {}, by {}; rules of {}, workload <code>{}</code>; {}</p>\n",
            esc(&name(load)),
            esc(version),
            number(figure!(load, node.chain_id), |id| format!("{id:.0}")),
            esc(&node.transport),
            esc(&load.work.fork),
            esc(&units::digest(&load.work.digest)),
            esc(&units::moment(load.started_unix_s)),
        )
    });
    lines.collect()
}

/// Returns whether all transactions of a load are in blocks and succeeded.
fn is_whole(load: &Load<'_>) -> bool {
    load.counts.included_count == load.counts.planned_count
}

fn verdict(loads: &[Load<'_>]) -> String {
    let (class, sign, headline) = match loads.iter().all(is_whole) {
        true => ("good", "✓", "All transactions are in blocks and succeeded"),
        false => ("bad", "✗", "Transactions are missing or reverted"),
    };
    let lines = loads.iter().map(|load| {
        let sign = if is_whole(load) { "✓" } else { "✗" };
        let text = format!("{}: {}", name(load), conclude(load));
        format!("<li><span class=\"sign\" aria-hidden=\"true\">{sign}</span> {}</li>\n", esc(&text))
    });
    format!(
        "<section id=\"verdict\" class=\"verdict {class}\" aria-labelledby=\"verdict-title\">\n\
         <h2 id=\"verdict-title\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span> {headline}</h2>\n\
         <ul class=\"lines\">\n{}</ul></section>\n",
        lines.collect::<String>()
    )
}

fn figures(loads: &[Load<'_>]) -> String {
    let lede = "Times are from when a transaction was due. One that is in no block counts as longer than it had \
                waited; a percentile among such is not known.";
    let columns: [Column<'_, &Load<'_>>; 15] = [
        ("Load", &|load| esc(&name(load))),
        ("Planned", &|load| count(figure!(load, counts.planned_count))),
        ("Included", &|load| count(figure!(load, counts.included_count))),
        ("Reverted", &|load| count(figure!(load, counts.reverted_count))),
        ("In no block", &|load| count(figure!(load, counts.pending_count))),
        ("Refused", &|load| count(figure!(load, counts.failed_count))),
        ("Never sent", &|load| count(figure!(load, counts.unsent_count))),
        ("Included a second", &|load| number(figure!(load, included_per_s), units::number)),
        ("Gas a second", &|load| number(figure!(load, gas_per_s), units::number)),
        ("Inclusion p50", &|load| time(figure!(load, latency.inclusion_ns.p50))),
        ("p90", &|load| time(figure!(load, latency.inclusion_ns.p90))),
        ("p99", &|load| time(figure!(load, latency.inclusion_ns.p99))),
        ("Max", &|load| time(figure!(load, latency.inclusion_ns.max))),
        ("Acceptance p50", &|load| time(figure!(load, latency.acceptance_ns.p50))),
        ("Call p50", &|load| time(figure!(load, latency.call_ns.p50))),
    ];
    let table = markup::table_of("Figures of each load", loads, &columns);
    section("figures", "Figures", lede, &table)
}

fn time(figure: Option<Figure>) -> String {
    number(figure, units::time_ns)
}

/// The index of the highest value of each of at most [`MARK_COUNT_MAX`] groups of neighbours.
fn highest(values: &[u64]) -> Vec<usize> {
    let size = values.len().div_ceil(MARK_COUNT_MAX).max(1);
    (0..values.len())
        .step_by(size)
        .map(|start| start..(start + size).min(values.len()))
        .filter_map(|group| group.max_by_key(|index| values[*index]))
        .collect()
}

/// A point on a line, with the number of transactions that it stands for.
fn point(x: f64, y: Scale, figure: Figure, words: impl Fn(&str) -> String) -> Point {
    let count = units::things(figure.value as u64, "transaction");
    Point { x, y: y.at(figure.value), ends: None, words: words(&count), figure, is_joined: true }
}

/// The first or the second series of a chart.
fn series(name: &str, look: usize, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), design: LOOKS[look], nth: 0, points }
}

fn blocks(loads: &[Load<'_>]) -> String {
    let lede = format!(
        "Transactions of the load in each block, over the time at which the block was seen. Of more than \
         {MARK_COUNT_MAX} blocks a mark is the fullest of several."
    );
    let charts = loads.iter().map(|load| {
        let counts: Vec<u64> = load.blocks.iter().map(|block| block.own_tx_count).collect();
        let seconds: Vec<f64> =
            load.blocks.iter().map(|block| block.seen_ns as f64 / 1e9).collect();
        let shown = highest(&counts);
        let x = Scale::linear(shown.iter().map(|index| seconds[*index]));
        let y = Scale::linear(counts.iter().map(|count| *count as f64));
        let points = shown.into_iter().filter_map(|index| {
            let (number, seconds) = (load.blocks[index].number, seconds[index]);
            let figure = figure!(load, blocks[index].own_tx_count)?;
            Some(point(x.at(seconds), y, figure, |count| {
                format!("block {number}, seen after {seconds:.1} s: {count}")
            }))
        });
        let points = points.collect();
        let chart = Chart {
            label: format!("Transactions by block of {}", name(load)),
            x_title: "seconds since the start".to_owned(),
            y_title: "transactions of the load in the block".to_owned(),
            x_ticks: x.labelled_ticks(tick),
            y_ticks: y.labelled_ticks(tick),
            series: vec![series("of the load", 0, points)],
            guides: Vec::new(),
        };
        chart.figure(&name(load), "")
    });
    section("blocks", "Transactions by block", &lede, &charts.collect::<String>())
}

fn inclusion(loads: &[Load<'_>]) -> String {
    let lede = "Transactions by the time from when they were due to when their block was seen: each mark is a \
                range of times, at its upper end. Those that were in no block at the end are a series of their \
                own, by the time that they had waited.";
    let charts = loads.iter().map(histogram);
    section("inclusion", "Time to inclusion", lede, &charts.collect::<String>())
}

fn histogram(load: &Load<'_>) -> String {
    let buckets = &load.latency.inclusion_histogram;
    if buckets.is_empty() {
        return format!("<p class=\"over\">{}</p>{}\n", esc(&name(load)), unknown());
    }
    let x = Scale::log(buckets.iter().map(|bucket| bucket.up_to_ns as f64), ROOM);
    let highest = buckets.iter().map(|bucket| bucket.included_count.max(bucket.open_count) as f64);
    let y = Scale::linear(highest);
    let (mut included, mut open) = (Vec::new(), Vec::new());
    for (index, bucket) in buckets.iter().enumerate() {
        let up_to_ns = bucket.up_to_ns as f64;
        let (at, up_to) = (x.at(up_to_ns), units::time_ns(up_to_ns));
        let figure = figure!(load, latency.inclusion_histogram[index].included_count);
        included.extend(figure.map(|figure| {
            point(at, y, figure, |count| format!("{count} in a block, up to {up_to}"))
        }));
        let figure = figure!(load, latency.inclusion_histogram[index].open_count);
        open.extend(figure.map(|figure| {
            point(at, y, figure, |count| format!("{count} in no block, up to {up_to}"))
        }));
    }
    let mut all = vec![series("in a block", 0, included)];
    if load.latency.open_count > 0 {
        all.push(series("in no block", 1, open));
    }
    let guides = [
        ("p50", figure!(load, latency.inclusion_ns.p50)),
        ("p99", figure!(load, latency.inclusion_ns.p99)),
    ];
    let guides = guides.into_iter().filter_map(|(percentile, figure)| {
        let ns = figure?.value;
        let name = format!("{percentile} {}", units::time_ns(ns));
        Some(Guide { from: [x.at(ns), 0.0], to: [x.at(ns), 1.0], name })
    });
    let chart = Chart {
        label: format!("Times to inclusion of {}", name(load)),
        x_title: "time from due to seen in a block, logarithmic".to_owned(),
        y_title: "transactions".to_owned(),
        x_ticks: x.labelled_ticks(units::time_ns),
        y_ticks: y.labelled_ticks(tick),
        series: all,
        guides: guides.collect(),
    };
    chart.figure(&name(load), "")
}

/// `None` where no node told its pool.
fn pool(loads: &[Load<'_>]) -> Option<String> {
    let told: Vec<&Load<'_>> = loads.iter().filter(|load| !load.pool.is_empty()).collect();
    let lede = format!(
        "Transactions in the node’s pool by its word (txpool_status): those that may go into the next block, and \
         those that wait for others. Of more than {MARK_COUNT_MAX} samples a mark is the highest of several."
    );
    let charts: String = told.iter().map(|load| depth(load)).collect();
    (!told.is_empty()).then(|| section("pool", "Depth of the pool", &lede, &charts))
}

fn depth(load: &Load<'_>) -> String {
    let pending: Vec<u64> = load.pool.iter().map(|at| at.pending_count).collect();
    let queued: Vec<u64> = load.pool.iter().map(|at| at.queued_count).collect();
    let seconds: Vec<f64> = load.pool.iter().map(|at| at.at_ns as f64 / 1e9).collect();
    let x = Scale::linear(seconds.iter().copied());
    let y = Scale::linear(pending.iter().chain(&queued).map(|count| *count as f64));
    let of_pending = highest(&pending).into_iter().filter_map(|index| {
        let (figure, seconds) = (figure!(load, pool[index].pending_count)?, seconds[index]);
        Some(point(x.at(seconds), y, figure, |count| {
            format!("{count} pending after {seconds:.1} s")
        }))
    });
    let of_queued = highest(&queued).into_iter().filter_map(|index| {
        let (figure, seconds) = (figure!(load, pool[index].queued_count)?, seconds[index]);
        Some(point(x.at(seconds), y, figure, |count| {
            format!("{count} queued after {seconds:.1} s")
        }))
    });
    let chart = Chart {
        label: format!("Depth of the pool under {}", name(load)),
        x_title: "seconds since the start".to_owned(),
        y_title: "transactions in the pool".to_owned(),
        x_ticks: x.labelled_ticks(tick),
        y_ticks: y.labelled_ticks(tick),
        series: vec![
            series("pending", 0, of_pending.collect()),
            series("queued", 1, of_queued.collect()),
        ],
        guides: Vec::new(),
    };
    chart.figure(&name(load), "")
}

fn calls(loads: &[Load<'_>]) -> String {
    let lede = "Calls that handed a transaction over, and signatures. Known already: the node had the transaction, \
                since an earlier call had brought it.";
    let columns: [Column<'_, &Load<'_>>; 8] = [
        ("Load", &|load| esc(&name(load))),
        ("Calls that sent", &|load| count(figure!(load, attempts.call_count))),
        ("Repeated", &|load| count(figure!(load, attempts.retry_count))),
        ("Known already", &|load| count(figure!(load, attempts.known_count))),
        ("Forgotten and sent again", &|load| count(figure!(load, attempts.resent_count))),
        ("Signed anew", &|load| count(figure!(load, attempts.signed_anew_count))),
        ("Nonces corrected", &|load| count(figure!(load, attempts.nonce_corrected_count))),
        ("In blocks twice", &|load| count(figure!(load, attempts.twice_count))),
    ];
    section("calls", "Calls", lede, &markup::table_of("Calls of each load", loads, &columns))
}

fn faults(loads: &[Load<'_>]) -> String {
    let mut items = Vec::new();
    for load in loads {
        let name = esc(&name(load));
        let of_sending = load.errors.iter().enumerate();
        let of_sending = of_sending
            .map(|(index, errors)| ("sending", errors, figure!(load, errors[index].count)));
        let of_reading = load.read_errors.iter().enumerate().map(|(index, errors)| {
            ("reading blocks", errors, figure!(load, read_errors[index].count))
        });
        for (doing, errors, figure) in of_sending.chain(of_reading) {
            let (count, kind, first) = (count(figure), esc(&errors.kind), esc(&errors.first));
            items.push(format!("{name}: {count} {kind} while {doing}; the first: {first}"));
        }
        if load.reorgs.count > 0 {
            let undone = number(figure!(load, reorgs.undone_count), |value| {
                units::things(value as u64, "inclusion")
            });
            items.push(format!("{name}: reorganisations undid {undone}"));
        }
        items.extend(load.warnings.iter().map(|warning| format!("{name}: {}", esc(warning))));
    }
    let body = match items.is_empty() {
        true => "<p>None.</p>\n".to_owned(),
        false => {
            let lines = items.iter().map(|item| format!("<li>{item}</li>\n"));
            format!("<ul>{}</ul>\n", lines.collect::<String>())
        }
    };
    section("faults", "Errors and doubts", "Failed calls by kind, and reasons for doubt.", &body)
}

fn results(loads: &[StoredLoad]) -> String {
    let lines = loads.iter().map(|load| {
        let path = esc(&load.path.display().to_string());
        let command = esc(&markup::words(&load.result.command));
        format!("<p><code>{path}</code></p><pre tabindex=\"0\"><code>{command}</code></pre>\n")
    });
    section(
        "results",
        "Results",
        "Files, and the commands that made them.",
        &lines.collect::<String>(),
    )
}
