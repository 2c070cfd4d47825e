//! Latency histograms: one per worker, merged after the clock.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Longest time kept apart: ten minutes. Longer ones count as this.
const LONGEST_NS: u64 = 600_000_000_000;

/// Latencies in nanoseconds with three significant digits.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    total: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3);
        Self {
            histogram: histogram.unwrap_or_else(|e| panic!("bounds are constant: {e}")),
            total: Duration::ZERO,
        }
    }
}

impl Latencies {
    /// Records one.
    pub fn record(&mut self, latency: Duration) {
        self.record_batch(latency, 1);
    }

    /// Records a batch of `count` reads that took `latency` together: each of them waited for
    /// the whole.
    pub fn record_batch(&mut self, latency: Duration, count: u64) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record_n(ns.max(1), count);
        self.total += latency;
    }

    /// Adds another worker's.
    ///
    /// # Panics
    /// In no case: all histograms have the same bounds.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).unwrap_or_else(|e| panic!("same bounds: {e}"));
        self.total += other.total;
    }

    /// The histogram, in nanoseconds.
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Sum of all latencies; a batch counts once.
    pub const fn total(&self) -> Duration {
        self.total
    }
}
