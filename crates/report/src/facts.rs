//! Facts of a result, with their words, that several parts of the pages show.

use result::{
    Bottleneck, CLIENT_DISAGREES, CacheFacts, Cell, ClientCell, HOST_CACHE_RATIO, RunResult,
    SampleFacts, WorkloadFacts, databases::DatabaseFacts, stats,
};
use variant::{CacheMode, Design, RootTime, StoreKind};

use super::units;

/// A state with fewer slots is only for trying out: EIP-8038 was priced on 64 times as many slots.
const SMALL_STATE_SLOT_COUNT: u64 = 2_000_000;
/// Minimal number of distinct blocks of the store's files per key. Below it many reads share a
/// block, which is closer to a scan than to random reads.
pub const SCATTERED_BLOCKS_PER_KEY: f64 = 0.9;

/// Minimal share of the time that a bottleneck must explain to be named.
const BOTTLENECK_SHARE_MIN: f64 = 0.5;

/// A result, with the facts that several parts of the page state.
pub(super) struct Reading<'a> {
    pub(super) result: &'a RunResult,
    /// Whether any sample differs from the reference. If so, no figure may be shown.
    pub(super) disagrees: bool,
    /// Stores with their cells, in the order in which the stores first appear.
    pub(super) stores: Vec<StoreCells<'a>>,
    /// Noun for the work that a time covers: `block` or `batch`.
    pub(super) time_is_per: &'static str,
}

pub(super) struct StoreCells<'a> {
    pub(super) store: StoreKind,
    /// Cells of the store, grouped by design, in the order in which designs first appear.
    pub(super) cells: Vec<&'a Cell>,
}

/// The bottleneck of a row, where it explains at least half of the time or its share is not known.
pub(super) fn bottleneck(cell: &Cell) -> Option<Bottleneck> {
    let share = cell.bottleneck_share.filter(|share| share.is_finite());
    cell.bottleneck.filter(|_| share.is_none_or(|share| share >= BOTTLENECK_SHARE_MIN))
}

impl<'a> Reading<'a> {
    pub(super) fn new(result: &'a RunResult) -> Self {
        let stores = distinct(result.cells.iter().map(|cell| cell.store)).into_iter();
        let stores = stores.map(|store| {
            let cells = result.cells.iter().filter(|cell| cell.store == store);
            let mut cells: Vec<&Cell> = cells.collect();
            let designs = distinct(cells.iter().map(|cell| cell.design));
            cells.sort_by_key(|cell| designs.iter().position(|design| *design == cell.design));
            StoreCells { store, cells }
        });
        let mut samples = result.cells.iter().flat_map(|cell| &cell.samples);
        Self {
            result,
            disagrees: result.agree == Some(false) || samples.any(|sample| !sample.agree),
            stores: stores.collect(),
            time_is_per: time_is_per([&result.workload]),
        }
    }

    pub(super) fn cells(&self) -> Vec<&'a Cell> {
        self.stores.iter().flat_map(|of| of.cells.iter().copied()).collect()
    }
}

/// All values once, in the order in which they first appear.
pub(crate) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in all {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// Groups of values that are like each group's first, in the order in which these appear.
pub(crate) fn grouped<T>(
    all: impl IntoIterator<Item = T>,
    are_like: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for value in all {
        match groups.iter_mut().find(|group| are_like(&group[0], &value)) {
            Some(group) => group.push(value),
            None => groups.push(vec![value]),
        }
    }
    groups
}

/// Groups stores that have the same words: (`rocksdb, flat`, `cold …`).
pub(super) fn by_words(
    of_stores: impl IntoIterator<Item = (StoreKind, String)>,
) -> Vec<(String, String)> {
    let groups = grouped(of_stores, |(_, a), (_, b)| a == b).into_iter();
    let joined = groups.map(|mut group| {
        let stores = units::joined(group.iter().map(|(store, _)| store.name()), ", ");
        (stores, group.swap_remove(0).1)
    });
    joined.collect()
}

/// The noun that times are per: `block` where each batch of all `works` has one block, otherwise
/// `batch`.
fn time_is_per<'a>(works: impl IntoIterator<Item = &'a WorkloadFacts>) -> &'static str {
    match works.into_iter().all(|work| work.block_count == work.batch_count) {
        true => "block",
        false => "batch",
    }
}

/// The heading of times in milliseconds: `ms per block`, or `ms per batch` where a batch of one of
/// `works` has several blocks.
pub(super) fn ms_per<'a>(works: impl IntoIterator<Item = &'a WorkloadFacts>) -> &'static str {
    match time_is_per(works) {
        "block" => "ms per block",
        _ => "ms per batch",
    }
}

/// Median milliseconds per batch; `None` where it is unknown or not above 0.
pub(super) fn time_ms(cell: &Cell) -> Option<f64> {
    cell.ms_per_batch.median.filter(|ms| ms.is_finite() && *ms > 0.0)
}

/// Median milliseconds per batch without waiting for verification; `None` where nothing is
/// verified.
pub(super) fn unverified_ms(cell: &Cell) -> Option<f64> {
    cell.unverified_ms_per_batch.median.filter(|ms| ms.is_finite() && *ms > 0.0)
}

/// Mean number of reads under way, as measured. In a call for many keys each block that it reads
/// counts. `None` where all blocks were in memory, since 0 is no depth.
pub(super) fn reads_at_once(cell: &Cell) -> Option<f64> {
    cell.reads_in_flight.filter(|depth| depth.is_finite() && *depth > 0.0)
}

/// The seeds of databases: `7, 8, 9`.
pub(super) fn seeds(databases: &[DatabaseFacts]) -> String {
    units::joined(databases.iter().map(|database| database.workload.seed.to_string()), ", ")
}

/// Times of the samples after the warm-up.
pub(super) fn times_ns(cell: &Cell) -> Vec<f64> {
    cell.counted().into_iter().flatten().map(|sample| sample.wall_ns as f64).collect()
}

/// The median of a figure over the cell's samples after the warm-up; `None` where a sample lacks
/// the figure.
pub(super) fn median(cell: &Cell, figure: impl Fn(&SampleFacts) -> Option<u64>) -> Option<f64> {
    let samples = cell.counted().into_iter().flatten();
    stats::median(&samples.map(|of| Some(figure(of)? as f64)).collect::<Option<Vec<_>>>()?)
}

/// The cell with the shortest median time; `None` where no cell has a time.
pub fn best<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<&'a Cell> {
    let timed = cells.into_iter().filter_map(|cell| Some((time_ms(cell)?, cell)));
    timed.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, cell)| cell)
}

/// The fastest cell of a design.
pub(super) fn best_of<'a>(cells: &[&'a Cell], design: Design) -> Option<&'a Cell> {
    best(cells.iter().copied().filter(|cell| cell.design == design))
}

/// The cells with the most duties inside the clock: parts of a block's validation beside execution.
/// Other cells do less work, so their times do not compare.
pub fn most_duties<'a>(cells: &[&'a Cell]) -> Vec<&'a Cell> {
    let most = cells.iter().map(|cell| cell.duty_count()).max();
    cells.iter().copied().filter(|cell| Some(cell.duty_count()) == most).collect()
}

/// Groups of cells with the same duties inside the clock, those with the most duties first. Times
/// compare only within a group, since other groups do other work.
pub(super) fn by_duties<'a>(cells: &[&'a Cell]) -> Vec<Vec<&'a Cell>> {
    let mut groups = grouped(cells.iter().copied(), |a, b| a.has_duties_of(b));
    groups.sort_by_key(|group| std::cmp::Reverse(group[0].duty_count()));
    groups
}

/// Text for the end of a legend: the kind of commit, and the state root. Where only some cells have
/// a root, it says which: whole blocks, or rows named `+root`.
pub(crate) fn commit_and_root<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> &'static str {
    let (mut with, mut without, mut has_whole) = (false, false, false);
    for cell in cells {
        has_whole |= !cell.duties.is_empty();
        match cell.root {
            RootTime::Nothing => without = true,
            RootTime::After | RootTime::FromList | RootTime::Pipelined => with = true,
        }
    }
    match (with, without) {
        (true, true) if has_whole => {
            "flat commit; whole: the block from its bytes, senders, header, state root and sync too"
        }
        (false, _) => "flat commit; no state root",
        (true, false) => "state root, commit with its nodes",
        (true, true) => "flat commit; the state root in rows named +root alone",
    }
}

/// Threads of a cell: `64`, `2x32` with fibers, `2+64io` with readers, or `2+4sh` on shards.
pub(super) fn threads(cell: &Cell) -> String {
    let threads = units::count(cell.threads);
    if cell.shards > 0 {
        return format!("{threads}+{}sh", units::count(cell.shards));
    }
    match (cell.fibers, cell.io_threads) {
        (1, 0) => threads,
        (fibers, 0) => format!("{threads}x{}", units::count(fibers)),
        (_, io) => format!("{threads}+{}io", units::count(io)),
    }
}

/// `batched-io 2+8io`: the name of a row, design and threads. A single thread is not named.
pub fn row_name(cell: &Cell) -> String {
    match threads(cell).as_str() {
        "1" => cell.design.name().to_owned(),
        threads => format!("{} {threads}", cell.design),
    }
}

/// Age in seconds below which a state may still lie in a cache of the host, where a probe does not
/// see it.
const FRESH_STATE_S: u64 = 3_600;

/// Whether the probe of the device saw a cache outside of this machine.
pub(super) fn has_host_cache(result: &RunResult) -> bool {
    let ratio = result.device.as_ref().and_then(|device| device.host_cache_ratio);
    ratio.is_some_and(|ratio| ratio > HOST_CACHE_RATIO)
}

/// Coldness of cells that are proved cold in this machine, in words; a cache of the host may still
/// have the state.
fn cold_words(result: &RunResult) -> String {
    let device = result.device.as_ref();
    if has_host_cache(result) {
        return "cold in this machine only: host cache seen".to_owned();
    }
    let mut words = "cold: proved in this machine".to_owned();
    if device.and_then(|device| device.host_cache_ratio).is_none() {
        words.push_str(", host cache not probed");
    }
    let age_s = device.and_then(|device| device.state_age_s);
    if age_s.is_some_and(|age_s| age_s < FRESH_STATE_S) {
        words.push_str("; state just built, a host may cache it");
    }
    words
}

/// Words for cells that were not to be cold: `warm: at most 1.21 kB from the device in a sample`,
/// or that they have no cold state.
fn words_of_others(cells: &[&Cell]) -> Option<String> {
    let cache = &cells.first()?.cache;
    let Some(want) = cache.want else { return Some(no_cold_state(cache)) };
    let samples = cells.iter().flat_map(|cell| &cell.samples);
    let most = samples.filter_map(|sample| sample.device_read_bytes).max();
    Some(most.map_or_else(
        || want.name().to_owned(),
        |bytes| format!("{want}: at most {} from the device in a sample", units::bytes(bytes)),
    ))
}

/// `no cold state: the memory store has no device`.
pub(super) fn no_cold_state(cache: &CacheFacts) -> String {
    format!("no cold state: {}", cache.reason)
}

/// Coldness of cells in words; `None` without cells.
pub(super) fn cache_words(result: &RunResult, cells: &[&Cell]) -> Option<String> {
    let cold: Vec<&Cell> =
        cells.iter().copied().filter(|cell| cell.cache.want == Some(CacheMode::Cold)).collect();
    if cold.is_empty() {
        return words_of_others(cells);
    }
    for (proved, words) in [(Some(false), "not cold"), (None, "cold not proved")] {
        let doubtful = cold.iter().filter(|cell| cell.cache.proved == proved);
        if let Some(cell) = doubtful.clone().next() {
            let part = match doubtful.count() {
                count if count == cold.len() => String::new(),
                count => format!(" in {count} of {} cells", cold.len()),
            };
            return Some(format!("{words}{part}: {}", cell.cache.reason));
        }
    }
    Some(cold_words(result))
}

/// Names the side that disagrees with the reference in a run with a disagreement.
pub(super) fn disagreement(result: &RunResult) -> &'static str {
    let texts = &result.disagreements;
    match !texts.is_empty() && texts.iter().all(|text| text.starts_with(CLIENT_DISAGREES)) {
        true => "a client disagrees",
        false => "the designs disagree",
    }
}

/// Coldness of a client, with the reason.
pub(super) fn client_cache(client: &ClientCell) -> String {
    let Some(want) = client.cache.want else { return no_cold_state(&client.cache) };
    let cache = match (want, client.cache.proved) {
        (CacheMode::Warm, _) => "warm",
        (CacheMode::Cold, Some(true)) => "cold: proved in this machine",
        (CacheMode::Cold, Some(false)) => "not cold",
        (CacheMode::Cold, None) => "cold not proved",
    };
    format!("{cache}: {}", client.cache.reason)
}

/// Load average of a machine that had more work than CPUs when the run began: `load 16 on 2 CPUs`.
pub(super) fn busy_machine(result: &RunResult) -> Option<String> {
    let cpu_count = result.environment.cpu.logical_count?;
    let [load, ..] = result.environment.host.load_average?;
    let is_busy = load > cpu_count as f64;
    is_busy.then(|| format!("load {} on {}", units::number(load), units::things(cpu_count, "CPU")))
}

/// Reason that the state is too small to stand for a real one, if so.
pub(super) fn small_state(result: &RunResult) -> Option<String> {
    if result.workload.state_slot_count < SMALL_STATE_SLOT_COUNT {
        return Some("small state".to_owned());
    }
    let expected = result.cells.iter().filter_map(|cell| cell.expected_blocks_per_present_key);
    let least = expected.filter(|blocks| blocks.is_finite()).min_by(f64::total_cmp)?;
    (least < SCATTERED_BLOCKS_PER_KEY).then(|| {
        let blocks = units::ratio(least);
        format!("state small for this gas ({blocks} blocks a key)")
    })
}

#[cfg(test)]
mod tests {
    use result::example::{Threads, cell};
    use variant::Design;

    use super::*;

    #[test]
    fn rows_with_a_root_are_told_from_rows_without() {
        let without = cell(Design::Sequential, Threads { executing: 1, reading: 0 }, 1.0);
        let with = Cell { root: RootTime::After, ..without.clone() };
        assert!(commit_and_root([&without]).ends_with("no state root"));
        assert!(commit_and_root([&with]).starts_with("state root"));
        assert!(commit_and_root([&with, &without]).contains("+root"));
    }
}
