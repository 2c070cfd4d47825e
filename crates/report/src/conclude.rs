//! The finding in one line. It compares each design at its best setting with the others at
//! theirs, and batched with on-demand reads at equal measured depth: against fewer readers "batched
//! wins" would only say that more reads were under way (`docs/methodology.md`).

use variant::Design;

use result::{Cell, RunResult, stats::INTERVAL_COUNT_MIN};

use super::{
    certainty,
    facts::{self, OfStore, Reading, best_of},
    units,
};

const BATCHED: Design = Design::BatchedIo;
const ON_DEMAND: Design = Design::ParallelIo;

/// The finding, in one line; `None` where nothing was measured. A run whose designs disagree
/// finds that and no figure.
pub fn conclude(result: &RunResult) -> Option<String> {
    finding(&Reading::new(result))
}

/// [`conclude`] of a result that was read already.
pub(super) fn finding(reading: &Reading<'_>) -> Option<String> {
    if reading.disagrees {
        let who = facts::disagreement(reading.result);
        return Some(format!("{who}: no figure is to be believed"));
    }
    let result = reading.result;
    let many = reading.stores.len() > 1;
    let parts = reading.stores.iter().filter_map(|of| {
        let finding = store_in_words(reading, of)?;
        Some(if many { format!("{}: {finding}", of.store) } else { finding })
    });
    let parts: Vec<String> = parts.chain(clients_in_words(result)).collect();
    if parts.is_empty() {
        return None;
    }
    let mut line = parts.join(". ");
    if let Some(words) = facts::small_state(result) {
        line.push_str(&format!("; {words}"));
    }
    let before = if result.interrupted { "interrupted, so far: " } else { "" };
    Some(format!("{before}{line}"))
}

/// `geth 25.0 s (0.81 times in order)`: every client; `None` without one.
pub(super) fn clients_in_words(result: &RunResult) -> Option<String> {
    let words = result.clients.iter().filter_map(|client| {
        let time = words_of(client.ms_per_batch.median?);
        let is_repeated = client.counted().len() > 1;
        let ratio = client.in_order_ratio.filter(|ratio| is_repeated && ratio.is_finite());
        let ratio = ratio.map(|ratio| format!(" ({} times in order)", units::ratio(ratio)));
        let few = client.counted().len() < INTERVAL_COUNT_MIN;
        let few = if few { ", no interval" } else { "" };
        Some(format!("{} {time}{}{few}", client.client, ratio.unwrap_or_default()))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn store_in_words(reading: &Reading<'_>, of: &OfStore<'_>) -> Option<String> {
    let cells = &facts::most_duties(&of.cells)[..];
    let best = facts::best(cells.iter().copied())?;
    let mut parts = vec![times(reading, cells)];
    if let Some(alone) = alone(&of.cells, best) {
        parts[0] = format!("whole: {}, execution alone {}", parts[0], time(alone));
    }
    // The rows of all depths: of whole ones there may be one of each design.
    let groups = facts::by_duties(&of.cells);
    parts.extend(groups.last().and_then(|cells| equal_depth(cells)));
    parts.extend(certainty::words(cells));
    parts.extend(reads(best));
    parts.extend(best.bottleneck.map(|term| format!("bottleneck: {term}")));
    parts.extend(of.cache.clone());
    Some(parts.join("; "))
}

/// `batched-io 4.90 s at 2+64io, parallel-io 5.10 s at 64 threads and 12.0 s at 2, sequential 20.1 s`.
fn times(reading: &Reading<'_>, cells: &[&Cell]) -> String {
    let batched = best_of(cells, BATCHED);
    let on_demand = best_of(cells, ON_DEMAND);
    let mut parts = Vec::new();
    parts.extend(
        batched.map(|cell| format!("{BATCHED} {} at {}", time(cell), facts::threads(cell))),
    );
    parts.extend(on_demand.map(|cell| {
        let noun = if cell.threads == 1 { "thread" } else { "threads" };
        let beside = same_cores(cells, cell, batched);
        let beside = beside.map(|other| format!(" and {} at {}", time(other), other.threads));
        let beside = beside.unwrap_or_default();
        format!("{ON_DEMAND} {} at {} {noun}{beside}", time(cell), cell.threads)
    }));
    let mut others = facts::distinct(cells.iter().map(|cell| cell.design));
    others.retain(|design| ![BATCHED, ON_DEMAND].contains(design));
    parts.extend(others.into_iter().filter_map(|design| best_of(cells, design)).map(|cell| {
        let unverified = facts::unverified_ms(cell)
            .map(|ms| format!(" ({} without waiting for verification)", words_of(ms)));
        let of = format!("{} {}{}", cell.design, time(cell), unverified.unwrap_or_default());
        match (cell.threads, cell.fibers, cell.io_threads) {
            (1, 1, 0) => of,
            (threads, 1, 0) => format!("{of} at {threads} threads"),
            _ => format!("{of} at {}", facts::threads(cell)),
        }
    }));
    let workload = &reading.result.workload;
    let per = match (workload.block_count, workload.batch_count) {
        (1, _) | (_, 1) => String::new(),
        _ => format!(" (per {})", reading.time_is_per),
    };
    format!("{}{per}", parts.join(", "))
}

/// The on-demand cell that has as many threads as batched executes with, or the fewest: a client
/// with a thread per core.
fn same_cores<'a>(cells: &[&'a Cell], best: &Cell, batched: Option<&Cell>) -> Option<&'a Cell> {
    let timed = cells.iter().copied().filter(|cell| {
        cell.design == ON_DEMAND && cell.threads != best.threads && facts::time_ms(cell).is_some()
    });
    match batched {
        Some(batched) => facts::best(timed.filter(|cell| cell.threads == batched.threads)),
        None => timed.min_by_key(|cell| cell.threads),
    }
}

/// Two cells whose measured depths differ by at most this factor are a pair at equal depth.
const EQUAL_DEPTH_RATIO: f64 = 1.25;

/// The cells of a design that have a time, with their reads under way, as measured.
fn by_depth<'a>(cells: &[&'a Cell], design: Design) -> impl Iterator<Item = (f64, &'a Cell)> {
    let timed = cells.iter().filter(|cell| facts::time_ms(cell).is_some());
    let cells: Vec<&Cell> = timed.copied().filter(|cell| cell.design == design).collect();
    cells.into_iter().filter_map(|cell| Some((facts::reads_at_once(cell)?, cell)))
}

/// The larger of two depths over the smaller.
fn apart(a: f64, b: f64) -> f64 {
    a.max(b) / a.min(b)
}

/// The two cells, one of each design, with equally many reads under way, and the most of all such
/// pairs; nothing if the best cells are such a pair already. Threads are not depth: a block has no
/// more readers on demand than transactions, and a call may have many reads under way.
pub(super) fn equal_depth(cells: &[&Cell]) -> Option<String> {
    let (batched, on_demand) = (best_of(cells, BATCHED)?, best_of(cells, ON_DEMAND)?);
    let depths = [facts::reads_at_once(batched)?, facts::reads_at_once(on_demand)?];
    if apart(depths[0], depths[1]) <= EQUAL_DEPTH_RATIO {
        return None;
    }
    let pairs = by_depth(cells, BATCHED).flat_map(|(a, batched)| {
        by_depth(cells, ON_DEMAND).map(move |(b, on_demand)| ((a, batched), (b, on_demand)))
    });
    let equal = pairs.filter(|((a, _), (b, _))| apart(*a, *b) <= EQUAL_DEPTH_RATIO);
    let deepest = equal.max_by(|x, y| x.0.0.min(x.1.0).total_cmp(&y.0.0.min(y.1.0)));
    Some(match deepest {
        Some(((a, batched), (b, on_demand))) => format!(
            "at equal depth: {BATCHED} {} with {} reads under way, {ON_DEMAND} {} with {}",
            time(batched),
            units::number(a),
            time(on_demand),
            units::number(b)
        ),
        None => {
            let [batched, on_demand] = [BATCHED, ON_DEMAND].map(|design| {
                let all = by_depth(cells, design).map(|(depth, _)| units::number(depth));
                all.collect::<Vec<_>>().join(", ")
            });
            format!(
                "no two rows had about as many reads under way, so none are compared at equal depth: \
                 {BATCHED} {batched}, {ON_DEMAND} {on_demand}"
            )
        }
    })
}

/// `291k keys, 0.94 blocks a present key, 79 % of the disk`.
fn reads(cell: &Cell) -> Option<String> {
    let keys = cell.samples.first()?.unique_keys;
    let mut parts = vec![units::things(keys, "key")];
    let blocks = units::finite(cell.blocks_per_present_key, units::ratio);
    parts.extend(blocks.map(|blocks| format!("{blocks} blocks a present key")));
    let share = units::finite(cell.device_fraction, units::percent);
    parts.extend(share.map(|share| format!("{share} % of the disk")));
    Some(parts.join(", "))
}

/// The fastest cell of the design of `best` that has fewer duties.
pub(super) fn alone<'a>(cells: &[&'a Cell], best: &Cell) -> Option<&'a Cell> {
    let fewer = cells.iter().copied().filter(|cell| cell.duty_count() < best.duty_count());
    facts::best(fewer.filter(|cell| cell.design == best.design))
}

fn time(cell: &Cell) -> String {
    words_of(facts::time_ms(cell).unwrap_or(f64::NAN))
}

fn words_of(ms: f64) -> String {
    units::time_ns(ms * 1e6)
}
