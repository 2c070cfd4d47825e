//! The HTML page of loads on live nodes: transactions by block, times to inclusion and depth of the
//! pool. It also shows the figures and calls of each load.

use result::{
    Bucket,
    send::{SendPool, SendResult},
    stored::StoredLoad,
};
use variant::Design;

use super::{
    chart::{Axis, Chart, Fit, Guide, Point, Series},
    figure::{Figure, Part, figure},
    markup::{self, Column, Parts, Section, count, esc, number, shell, unknown},
    scale::tick,
};
use crate::{send::conclusion, units};

/// Maximal number of marks of a series over time. If there are more values, each mark is the
/// highest of several.
const MARK_COUNT_MAX: usize = 60;
/// Room around times on a logarithmic axis, as a factor.
const ROOM: f64 = 1.3;
/// Designs whose looks the first and the second series of a chart borrow.
const LOOKS: [Design; 2] = [Design::Sequential, Design::BatchedIo];

/// A load, and its place among the results.
type Load<'a> = Part<'a, SendResult>;

/// The page of `loads`, of which there is one or more.
pub fn page(loads: &[StoredLoad]) -> String {
    let parts: Vec<Load<'_>> =
        loads.iter().enumerate().map(|(index, load)| Part::whole(index, &load.result)).collect();
    let mut sections = vec![figures(&parts), blocks(&parts), inclusion(&parts)];
    sections.extend(pool(&parts));
    let results = loads.iter().map(|load| (load.path.as_path(), load.result.command.as_slice()));
    sections.extend([calls(&parts), faults(&parts), markup::files(results)]);
    let mut names: Vec<&str> = parts.iter().map(|load| load.work.scenario.as_str()).collect();
    names.dedup();
    shell(&Parts {
        title: &esc(&format!("Load of {} on a live node", names.join(", "))),
        header: &header(&parts),
        verdict: &verdict(&parts),
        sections: &sections,
        source_count: loads.len(),
        report: None,
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
        let text = esc(&format!("{}: {}", name(load), conclusion(load)));
        format!("<li>{}</li>\n", markup::signed(sign, &text))
    });
    let lines = format!("<ul class=\"lines\">\n{}</ul>", lines.collect::<String>());
    markup::verdict(class, &markup::signed(sign, headline), &lines)
}

fn figures(loads: &[Load<'_>]) -> Section {
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
    Section::new("figures", "Figures", lede, table, Vec::new())
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

/// A series of a chart. Each point has its value along x, a number of transactions, and the words
/// that follow this number in its label. `look` is an index in [`LOOKS`].
fn series(
    name: &str,
    look: usize,
    points: impl Iterator<Item = (f64, Option<Figure>, String)>,
) -> Series {
    let points = points.filter_map(|(x, figure, of)| {
        let figure = figure?;
        let words = format!("{}{of}", units::things(figure.value as u64, "transaction"));
        Some(Point { x, figure, ends: None, words, is_joined: true })
    });
    Series { name: name.to_owned(), design: LOOKS[look], points: points.collect() }
}

/// A chart of transactions over the seconds since the start.
fn over_time(load: &Load<'_>, label: &str, y_title: &str, series: Vec<Series>) -> String {
    let chart = Chart {
        label: format!("{label} {}", name(load)),
        x: Axis::new("seconds since the start", Fit::FromZero, tick),
        y: Axis::new(y_title, Fit::FromZero, tick),
        series,
        guides: Vec::new(),
    };
    chart.figure(&name(load), "")
}

fn blocks(loads: &[Load<'_>]) -> Section {
    let lede = format!(
        "Transactions of the load in each block, over the time at which the block was seen. Of more than \
         {MARK_COUNT_MAX} blocks a mark is the fullest of several."
    );
    let charts = loads.iter().map(|load| {
        let counts: Vec<u64> = load.blocks.iter().map(|block| block.own_tx_count).collect();
        let points = highest(&counts).into_iter().map(|index| {
            let block = &load.blocks[index];
            let seconds = block.seen_ns as f64 / 1e9;
            let words = format!(" in block {}, seen after {seconds:.1} s", block.number);
            (seconds, figure!(load, blocks[index].own_tx_count), words)
        });
        let all = vec![series("of the load", 0, points)];
        over_time(load, "Transactions by block of", "transactions of the load in the block", all)
    });
    Section::new("blocks", "Transactions by block", lede, charts.collect(), Vec::new())
}

fn inclusion(loads: &[Load<'_>]) -> Section {
    let lede = "Transactions by the time from when they were due to when their block was seen: each bar is a \
                range of times. Those that were in no block at the end are a series of their \
                own, by the time that they had waited.";
    let charts = loads.iter().map(histogram).collect();
    Section::new("inclusion", "Time to inclusion", lede, charts, Vec::new())
}

fn histogram(load: &Load<'_>) -> String {
    if load.latency.inclusion_histogram.is_empty() && load.latency.open_histogram.is_empty() {
        return format!("<p class=\"over\">{}</p>{}\n", esc(&name(load)), unknown());
    }
    let included = bins("in a block", &load.latency.inclusion_histogram, |index| {
        figure!(load, latency.inclusion_histogram[index].count)
    });
    let open = bins("in no block", &load.latency.open_histogram, |index| {
        figure!(load, latency.open_histogram[index].count)
    });
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
        Some(Guide::Vertical(ns, format!("{percentile} {}", units::time_ns(ns))))
    });
    let title = "time from due to seen in a block, logarithmic";
    let chart = Chart {
        label: format!("Times to inclusion of {}", name(load)),
        x: Axis { is_binned: true, ..Axis::new(title, Fit::Log(ROOM), units::time_ns) },
        y: Axis::new("transactions", Fit::FromZero, tick),
        series: all,
        guides: guides.collect(),
    };
    chart.figure(&name(load), "")
}

/// The points of a histogram's series.
fn bins(
    name: &str,
    buckets: &[Bucket],
    count: impl Fn(usize) -> Option<Figure>,
) -> impl Iterator<Item = (f64, Option<Figure>, String)> {
    buckets.iter().enumerate().map(move |(index, bucket)| {
        let up_to_ns = bucket.up_to_ns as f64;
        (up_to_ns, count(index), format!(" {name}, up to {}", units::time_ns(up_to_ns)))
    })
}

/// The part on the node's pool of transactions; `None` where no node reported it.
fn pool(loads: &[Load<'_>]) -> Option<Section> {
    let told: Vec<&Load<'_>> = loads.iter().filter(|load| !load.pool.is_empty()).collect();
    let lede = format!(
        "Transactions in the node’s pool by its word (txpool_status): those that may go into the next block, and \
         those that wait for others. Of more than {MARK_COUNT_MAX} samples a mark is the highest of several."
    );
    let charts = told.iter().map(|load| depth(load)).collect();
    let section = Section::new("pool", "Depth of the pool", lede, charts, Vec::new());
    Some(section).filter(|_| !told.is_empty())
}

fn depth(load: &Load<'_>) -> String {
    let of = |kind: &str, number: fn(&SendPool) -> u64| {
        let counts: Vec<u64> = load.pool.iter().map(number).collect();
        let shown = highest(&counts).into_iter().map(|index| {
            let seconds = load.pool[index].at_ns as f64 / 1e9;
            (index, seconds, format!(" {kind} after {seconds:.1} s"))
        });
        shown.collect::<Vec<_>>().into_iter()
    };
    let pending = of("pending", |at| at.pending_count)
        .map(|(index, x, words)| (x, figure!(load, pool[index].pending_count), words));
    let queued = of("queued", |at| at.queued_count)
        .map(|(index, x, words)| (x, figure!(load, pool[index].queued_count), words));
    let all = vec![series("pending", 0, pending), series("queued", 1, queued)];
    over_time(load, "Depth of the pool under", "transactions in the pool", all)
}

fn calls(loads: &[Load<'_>]) -> Section {
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
    let table = markup::table_of("Calls of each load", loads, &columns);
    Section::new("calls", "Calls", lede, table, Vec::new())
}

fn faults(loads: &[Load<'_>]) -> Section {
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
    let lines = items.iter().map(|item| format!("<li>{item}</li>\n"));
    let body = match lines.collect::<String>() {
        none if none.is_empty() => "<p>None.</p>\n".to_owned(),
        lines => format!("<ul>{lines}</ul>\n"),
    };
    let lede = "Failed calls by kind, and reasons for doubt.";
    Section::new("faults", "Errors and doubts", lede, body, Vec::new())
}
