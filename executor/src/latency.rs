//! Latency histograms of reads and transactions: one per worker, merged after the clock.

use std::{sync::OnceLock, time::Duration};

use hdrhistogram::Histogram;

/// Longest recorded time: ten minutes. A longer time is recorded as ten minutes.
const LONGEST_NS: u64 = 600_000_000_000;

/// Latencies in nanoseconds with three significant digits.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Made with the first latency, or by [`Self::ready`]. A histogram takes 248 KiB, and many
    /// recorders never record a latency.
    histogram: Option<Histogram<u64>>,
    total: Duration,
}

fn empty() -> Histogram<u64> {
    let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3);
    histogram.unwrap_or_else(|e| panic!("bounds are constant: {e}"))
}

impl Latencies {
    /// Makes an empty recorder with its histogram, so that recording allocates nothing while a
    /// clock runs.
    pub(crate) fn ready() -> Self {
        Self { histogram: Some(empty()), total: Duration::ZERO }
    }

    /// Records one latency.
    pub fn record(&mut self, latency: Duration) {
        self.record_batch(latency, 1);
    }

    /// Records a batch of `count` reads that took `latency` together. Each read waited for the
    /// whole batch.
    pub fn record_batch(&mut self, latency: Duration, count: u64) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.get_or_insert_with(empty).saturating_record_n(ns.max(1), count);
        self.total += latency;
    }

    /// Adds another worker's latencies.
    ///
    /// # Panics
    /// Never, since all histograms have the same bounds.
    pub fn merge(&mut self, other: &Self) {
        self.total += other.total;
        let Some(other) = &other.histogram else { return };
        match &mut self.histogram {
            Some(own) => own.add(other).unwrap_or_else(|e| panic!("same bounds: {e}")),
            own @ None => *own = Some(other.clone()),
        }
    }

    /// Returns the histogram of the latencies, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        static NONE: OnceLock<Histogram<u64>> = OnceLock::new();
        self.histogram.as_ref().unwrap_or_else(|| NONE.get_or_init(empty))
    }

    /// Returns the sum of all latencies; the latency of a batch counts once.
    pub const fn total(&self) -> Duration {
        self.total
    }
}
