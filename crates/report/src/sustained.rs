//! The part of a run's page on runs over many blocks. For each variant it has the percentiles of
//! the blocks' times, the slowest block, the writes, and the space of the store's files.

use result::{Cell, SampleFacts, StoreWriteFacts};
use variant::Phase;

use super::{
    facts::Reading,
    page::{Page, Tone},
    units,
};

/// Smallest number of batches of a run over many batches: ten values lie beyond their median.
pub(crate) const MANY_BATCHES: usize = 20;

/// Index of the sample with the median wall time, of a cell over many batches. Of two middle
/// samples it is the faster. Only samples after the warm-up are compared. `None` for a cell over
/// few batches.
pub(crate) fn typical(cell: &Cell) -> Option<usize> {
    let counted = cell.counted();
    let mut drawn: Vec<(usize, &SampleFacts)> = cell.samples.iter().enumerate().collect();
    drawn.retain(|(_, sample)| {
        sample.batch_ns.len() >= MANY_BATCHES
            && counted.iter().flat_map(|of| of.iter()).any(|one| std::ptr::eq(one, *sample))
    });
    drawn.sort_by_key(|(_, sample)| sample.wall_ns);
    drawn.get(drawn.len().checked_sub(1)? / 2).map(|(index, _)| *index)
}

/// Adds the lines of all cells over many batches.
pub(super) fn sustained(page: &mut Page, reading: &Reading<'_>) {
    for cell in reading.cells() {
        let Some(index) = typical(cell) else { continue };
        let sample = &cell.samples[index];
        let label = if reading.time_is_per == "block" { "blocks" } else { "batches" };
        page.labelled(Tone::Plain, label, &format!("{}: {}", cell.variant, times(cell, sample)));
        page.each(Tone::Plain, "", writes(cell, sample));
    }
    page.gap();
}

/// Times of the batches: `p50 31.2 ms, p90 40.1 ms, p99 88.0 ms, max 210 ms over 1k; …`
fn times(cell: &Cell, sample: &SampleFacts) -> String {
    let of = &cell.batch_figures.time_ns;
    let [p50, p90, p99, max] =
        [of.p50, of.p90, of.p99, of.max].map(|ns| units::or_unknown(ns.map(units::ns)));
    let slowest = sample.batch_ns.iter().zip(1_u64..).max_by_key(|(time, _)| **time);
    let slowest = slowest.map_or(0, |(_, number)| number);
    format!(
        "p50 {p50}, p90 {p90}, p99 {p99}, max {max} over {}; number {} is the slowest of the median sample",
        units::count(of.count),
        units::count(slowest)
    )
}

/// Writes of the store: `written 3.12 times the commits (by rocksdb 3.05: log 1.00, …); no stalls;
/// …`
fn writes(cell: &Cell, sample: &SampleFacts) -> Option<String> {
    let writes = sample.writes.as_ref()?;
    let mut parts = Vec::new();
    let of_store = writes.store.map(|store| by_store(cell, &store, writes.committed_bytes));
    if let Some(times) = writes.device_amplification {
        let own = of_store.map_or(String::new(), |own| format!(" ({own})"));
        parts.push(format!("written {} times the commits{own}", units::ratio(times)));
    }
    if let Some(store) = writes.store {
        parts.push(match store.stall_ns {
            0 => "no stalls".to_owned(),
            stalled => format!("stalls {}", units::ns(stalled)),
        });
        let settle = sample.phases_ns[Phase::Settle];
        parts.push(format!("settled in {}", units::ns(settle)));
    }
    if let Some(space) = writes.space {
        let bytes = [space.before_bytes, space.peak_bytes, space.after_bytes].map(units::bytes);
        let [before, peak, after] = bytes;
        parts.push(format!("files {before} before, {peak} at most, {after} after"));
    }
    units::any_joined(parts, "; ")
}

/// Bytes written by the store, over the bytes of the commits: `by rocksdb 3.05: log 1.00, 12
/// flushes 1.02, 5 compactions 1.03`
fn by_store(cell: &Cell, store: &StoreWriteFacts, committed_bytes: u64) -> String {
    let parts =
        [store.written_bytes(), store.log_bytes, store.flush_bytes, store.compaction_write_bytes];
    let [all, log, flushed, compacted] =
        parts.map(|bytes| units::ratio(bytes as f64 / committed_bytes.max(1) as f64));
    let flushes = units::things(store.flush_count, "flush");
    let compactions = units::things(store.compaction_count, "compaction");
    format!("by {} {all}: log {log}, {flushes} {flushed}, {compactions} {compacted}", cell.store)
}
