//! The page of loads on live nodes: transactions by block, times to inclusion, depth of the pool, and the
//! figures and calls of each load.

use std::ops::Range;

use result::{
    send::{SendErrors, SendResult},
    stored::StoredLoad,
};
use variant::Design;

use super::{
    chart::{Chart, Guide, Point, Scale, Series, tick},
    figure::{Figure, Part, figure},
    markup::{self, esc, number, section, unknown},
    shell::{Parts, shell},
};
use crate::{send::conclude, units};

/// Most marks of a series over time: of more values each mark is the highest of several.
const MARK_COUNT_MAX: usize = 60;
/// Room around times on a logarithmic axis, as a factor.
const ROOM: f64 = 1.3;
/// Looks of the first and the second series of a chart.
const LOOKS: [Design; 2] = [Design::Sequential, Design::BatchedIo];

const HEADS: [&str; 15] = [
    "Load",
    "Planned",
    "Included",
    "Reverted",
    "In no block",
    "Refused",
    "Never sent",
    "Included a second",
    "Gas a second",
    "Inclusion p50",
    "p90",
    "p99",
    "Max",
    "Acceptance p50",
    "Call p50",
];

const CALL_HEADS: [&str; 8] = [
    "Load",
    "Calls that sent",
    "Repeated",
    "Known already",
    "Forgotten and sent again",
    "Signed anew",
    "Nonces corrected",
    "In blocks twice",
];

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
    let line = |load: &Load<'_>| {
        let node = &load.node;
        let version = node.version.as_deref().unwrap_or("a node without a version");
        let digest: String = load.work.digest.chars().take(12).collect();
        format!(
            "<p class=\"work\">{}: {}, chain {}, by {}; rules of {}, workload <code>{}</code>; {}</p>\n",
            esc(&name(load)),
            esc(version),
            number(figure!(load, node.chain_id).as_ref(), |id| format!("{id:.0}")),
            esc(&node.transport),
            esc(&load.work.fork),
            esc(&digest),
            esc(&units::moment(load.started_unix_s)),
        )
    };
    loads.iter().map(line).collect()
}

fn verdict(loads: &[Load<'_>]) -> String {
    let is_whole = |load: &Load<'_>| load.counts.included_count == load.counts.planned_count;
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

fn count(figure: Option<Figure>) -> String {
    number(figure.as_ref(), |value| units::count(value as u64))
}

fn figures(loads: &[Load<'_>]) -> String {
    let rate = |figure: Option<Figure>| number(figure.as_ref(), units::number);
    let time = |figure: Option<Figure>| number(figure.as_ref(), units::time_ns);
    let row = |load: &Load<'_>| {
        vec![
            esc(&name(load)),
            count(figure!(load, counts.planned_count)),
            count(figure!(load, counts.included_count)),
            count(figure!(load, counts.reverted_count)),
            count(figure!(load, counts.pending_count)),
            count(figure!(load, counts.failed_count)),
            count(figure!(load, counts.unsent_count)),
            rate(figure!(load, included_per_s)),
            rate(figure!(load, gas_per_s)),
            time(figure!(load, latency.inclusion_ns.p50)),
            time(figure!(load, latency.inclusion_ns.p90)),
            time(figure!(load, latency.inclusion_ns.p99)),
            time(figure!(load, latency.inclusion_ns.max)),
            time(figure!(load, latency.acceptance_ns.p50)),
            time(figure!(load, latency.call_ns.p50)),
        ]
    };
    let rows: Vec<_> = loads.iter().map(row).collect();
    let lede = "Times are from when a transaction was due. One that is in no block counts as longer than it had \
                waited; a percentile among such is not known.";
    section("figures", "Figures", lede, &markup::table("Figures of each load", &HEADS, &rows))
}

/// The index of the highest value of each of at most [`MARK_COUNT_MAX`] groups of neighbours.
fn highest(values: &[u64]) -> Vec<usize> {
    let size = values.len().div_ceil(MARK_COUNT_MAX).max(1);
    let of = |group: Range<usize>| group.max_by_key(|index| values[*index]);
    let groups = (0..values.len()).step_by(size);
    groups.filter_map(|start| of(start..(start + size).min(values.len()))).collect()
}

fn over(title: &str, chart: &Chart) -> String {
    format!("<figure><p class=\"over\">{}</p>{}</figure>\n", esc(title), chart.html())
}

fn blocks(loads: &[Load<'_>]) -> String {
    let lede = format!(
        "Transactions of the load in each block, over the time at which the block was seen. Of more than \
         {MARK_COUNT_MAX} blocks a mark is the fullest of several."
    );
    let charts = loads.iter().map(|load| {
        let counts: Vec<u64> = load.blocks.iter().map(|block| block.own_tx_count).collect();
        let seconds = |index: usize| load.blocks[index].seen_ns as f64 / 1e9;
        let shown = highest(&counts);
        let x = Scale::linear(shown.iter().map(|index| seconds(*index)));
        let y = Scale::linear(counts.iter().map(|count| *count as f64));
        let point = |index: usize| {
            let figure = figure!(load, blocks[index].own_tx_count)?;
            let number = load.blocks[index].number;
            let count = units::things(figure.value as u64, "transaction");
            let words = format!("block {number}, seen after {:.1} s: {count}", seconds(index));
            let (x, y) = (x.at(seconds(index)), y.at(figure.value));
            Some(Point { x, y, ends: None, words, figure, is_joined: true })
        };
        let points = shown.into_iter().filter_map(point).collect();
        let name = "of the load".to_owned();
        let chart = Chart {
            label: format!("Transactions by block of {}", self::name(load)),
            x_title: "seconds since the start".to_owned(),
            y_title: "transactions of the load in the block".to_owned(),
            x_ticks: x.ticks().into_iter().map(|at| (x.at(at), tick(at))).collect(),
            y_ticks: y.ticks().into_iter().map(|at| (y.at(at), tick(at))).collect(),
            series: vec![Series { name, design: LOOKS[0], nth: 0, points }],
            guides: Vec::new(),
        };
        over(&self::name(load), &chart)
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
    let point = |index: usize, figure: Option<Figure>, what: &str| {
        let figure = figure?;
        let up_to_ns = buckets[index].up_to_ns as f64;
        let count = units::things(figure.value as u64, "transaction");
        let words = format!("{count} {what}, up to {}", units::time_ns(up_to_ns));
        let (x, y) = (x.at(up_to_ns), y.at(figure.value));
        Some(Point { x, y, ends: None, words, figure, is_joined: true })
    };
    let all = || 0..buckets.len();
    let included = all().filter_map(|index| {
        let figure = figure!(load, latency.inclusion_histogram[index].included_count);
        point(index, figure, "in a block")
    });
    let open = all().filter_map(|index| {
        let figure = figure!(load, latency.inclusion_histogram[index].open_count);
        point(index, figure, "in no block")
    });
    let series = |name: &str, look: usize, points: Vec<Point>| Series {
        name: name.to_owned(),
        design: LOOKS[look],
        nth: 0,
        points,
    };
    let mut all = vec![series("in a block", 0, included.collect())];
    if load.latency.open_count > 0 {
        all.push(series("in no block", 1, open.collect()));
    }
    let guide = |(text, figure): (&str, Option<Figure>)| {
        let at = figure?.value;
        let name = format!("{text} {}", units::time_ns(at));
        Some(Guide { from: [x.at(at), 0.0], to: [x.at(at), 1.0], name })
    };
    let lines = [
        ("p50", figure!(load, latency.inclusion_ns.p50)),
        ("p99", figure!(load, latency.inclusion_ns.p99)),
    ];
    let chart = Chart {
        label: format!("Times to inclusion of {}", name(load)),
        x_title: "time from due to seen in a block, logarithmic".to_owned(),
        y_title: "transactions".to_owned(),
        x_ticks: x.ticks().into_iter().map(|at| (x.at(at), units::time_ns(at))).collect(),
        y_ticks: y.ticks().into_iter().map(|at| (y.at(at), tick(at))).collect(),
        series: all,
        guides: lines.into_iter().filter_map(guide).collect(),
    };
    over(&name(load), &chart)
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
    let of = |count: fn(&result::send::SendPool) -> u64| -> Vec<u64> {
        load.pool.iter().map(count).collect()
    };
    let (pending, queued) = (of(|at| at.pending_count), of(|at| at.queued_count));
    let seconds = |index: usize| load.pool[index].at_ns as f64 / 1e9;
    let x = Scale::linear((0..load.pool.len()).map(seconds));
    let y = Scale::linear(pending.iter().chain(&queued).map(|count| *count as f64));
    let point = |index: usize, figure: Option<Figure>, what: &str| {
        let figure = figure?;
        let words = format!(
            "{} {what} after {:.1} s",
            units::things(figure.value as u64, "transaction"),
            seconds(index)
        );
        let (x, y) = (x.at(seconds(index)), y.at(figure.value));
        Some(Point { x, y, ends: None, words, figure, is_joined: true })
    };
    let points = |values: &[u64], what: &str, read: &dyn Fn(usize) -> Option<Figure>| {
        let shown = highest(values).into_iter();
        shown.filter_map(|index| point(index, read(index), what)).collect::<Vec<_>>()
    };
    let of_pending = points(&pending, "pending", &|index| figure!(load, pool[index].pending_count));
    let of_queued = points(&queued, "queued", &|index| figure!(load, pool[index].queued_count));
    let series = |name: &str, look: usize, points| Series {
        name: name.to_owned(),
        design: LOOKS[look],
        nth: 0,
        points,
    };
    let chart = Chart {
        label: format!("Depth of the pool under {}", name(load)),
        x_title: "seconds since the start".to_owned(),
        y_title: "transactions in the pool".to_owned(),
        x_ticks: x.ticks().into_iter().map(|at| (x.at(at), tick(at))).collect(),
        y_ticks: y.ticks().into_iter().map(|at| (y.at(at), tick(at))).collect(),
        series: vec![series("pending", 0, of_pending), series("queued", 1, of_queued)],
        guides: Vec::new(),
    };
    over(&name(load), &chart)
}

fn calls(loads: &[Load<'_>]) -> String {
    let row = |load: &Load<'_>| {
        vec![
            esc(&name(load)),
            count(figure!(load, attempts.call_count)),
            count(figure!(load, attempts.retry_count)),
            count(figure!(load, attempts.known_count)),
            count(figure!(load, attempts.resent_count)),
            count(figure!(load, attempts.signed_anew_count)),
            count(figure!(load, attempts.nonce_corrected_count)),
            count(figure!(load, attempts.twice_count)),
        ]
    };
    let rows: Vec<_> = loads.iter().map(row).collect();
    let lede = "Calls that handed a transaction over, and signatures. Known already: the node had the transaction, \
                since an earlier call had brought it.";
    section("calls", "Calls", lede, &markup::table("Calls of each load", &CALL_HEADS, &rows))
}

fn faults(loads: &[Load<'_>]) -> String {
    let mut items = Vec::new();
    for load in loads {
        let name = esc(&name(load));
        let mut add =
            |doing: &str, all: &[SendErrors], figure: &dyn Fn(usize) -> Option<Figure>| {
                for (index, errors) in all.iter().enumerate() {
                    let count = count(figure(index));
                    let (kind, first) = (esc(&errors.kind), esc(&errors.first));
                    items.push(format!("{name}: {count} {kind} while {doing}; the first: {first}"));
                }
            };
        add("sending", &load.errors, &|index| figure!(load, errors[index].count));
        add("reading blocks", &load.read_errors, &|index| figure!(load, read_errors[index].count));
        if load.reorgs.count > 0 {
            let undone = number(figure!(load, reorgs.undone_count).as_ref(), |value| {
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
