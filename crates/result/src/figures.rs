//! Figures over samples: estimates with their intervals, percentiles, exact counters, and the
//! histograms of latencies that are kept in files beside a result. `stats` computes the estimates
//! and percentiles; `src/figures/` fills the rest.
//!
//! Exact counters do not depend on time: they are the same in every sample of a variant on one
//! workload. If the counters of two builds differ, the builds do different work, and their times
//! cannot be compared.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Estimate of a figure over samples; `null`s where no sample has the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median.
    pub median: Option<f64>,
    /// 95 % confidence interval of the median; `null` below six samples.
    pub ci95: Option<[f64; 2]>,
    /// Mean without the lowest and the highest fifth of the samples; `null` below six samples.
    pub trimmed_mean: Option<f64>,
    /// Yuen's 95 % confidence interval of the trimmed mean; `null` below six samples.
    pub trimmed_ci95: Option<[f64; 2]>,
}

/// Percentiles of many values. A percentile is `null` where fewer than ten values lie beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Median.
    pub p50: Option<u64>,
    /// 75th percentile.
    pub p75: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// 99.99th percentile.
    pub p9999: Option<u64>,
    /// Largest value; `null` without values.
    pub max: Option<u64>,
    /// Number of values.
    pub count: u64,
}

/// Values in one range of a histogram of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// Longest time of the range. The range begins above the longest time of the range before it.
    pub up_to_ns: u64,
    /// Number of values in the range.
    pub count: u64,
}

/// The kind of latency in a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogKind {
    /// Time per transaction, reads included.
    Transactions,
    /// Time per read of the store.
    Reads,
}

impl LogKind {
    /// Name as part of a file name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "tx",
            Self::Reads => "reads",
        }
    }
}

/// A histogram of a variant's latencies, for a file beside the result.
#[derive(Clone, Debug)]
pub struct HistogramLog {
    /// Name of the variant with its store, as its cell has it.
    pub variant: String,
    /// The kind of latency.
    pub kind: LogKind,
    /// The latencies in nanoseconds, of the cell's samples after the warm-up.
    pub histogram: Histogram<u64>,
}

/// Exact counters of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Gas used: the sum of all receipts.
    pub gas: u64,
    /// Digest of the outcomes of all transactions: status, gas, logs, returned data.
    pub receipts: String,
    /// Digest of the net changes of all batches.
    pub net_changes: String,
    /// Encoded length of the lists in the form that the variant takes; 0 if it takes none.
    pub list_bytes: u64,
    /// Number of accounts and slots that the lists name.
    pub unique_keys: u64,
    /// Number of reads requested from the store; `null` for an engine whose reads depend on the
    /// timing of threads.
    pub store_reads: Option<u64>,
}

impl Counters {
    /// Returns the counters that differ in `other`, each as `store_reads: 5 → 6`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        self.named()
            .into_iter()
            .zip(other.named())
            .filter(|((_, before), (_, after))| before != after)
            .map(|((name, before), (_, after))| format!("{name}: {before} → {after}"))
            .collect()
    }

    /// The counters with their names.
    fn named(&self) -> [(&'static str, String); 6] {
        let reads = self.store_reads.map_or("unknown".to_owned(), |reads| reads.to_string());
        [
            ("gas", self.gas.to_string()),
            ("receipts", self.receipts.clone()),
            ("net_changes", self.net_changes.clone()),
            ("list_bytes", self.list_bytes.to_string()),
            ("unique_keys", self.unique_keys.to_string()),
            ("store_reads", reads),
        ]
    }

    /// Returns these counters, without the number of reads if it differs in `other`. The other
    /// counters are equal in all samples of a workload.
    #[must_use]
    pub fn in_common(self, other: &Self) -> Self {
        let store_reads = self.store_reads.filter(|reads| other.store_reads == Some(*reads));
        Self { store_reads, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_more_is_a_difference_and_is_named_with_both_values() {
        let before = Counters { gas: 7, store_reads: Some(1_000), ..Counters::default() };
        let after = Counters { store_reads: Some(1_001), ..before.clone() };
        assert_eq!(before.differences(&after), ["store_reads: 1000 → 1001"]);
        assert_eq!(before.differences(&before), Vec::<String>::new());
    }

    #[test]
    fn reads_that_vary_are_unknown_and_unknown_reads_are_equal() {
        let some = Counters { store_reads: Some(5), ..Counters::default() };
        let other = Counters { store_reads: Some(6), ..Counters::default() };
        let varying = some.in_common(&other);
        assert_eq!(varying.store_reads, None);
        assert_eq!(varying.differences(&Counters::default()), Vec::<String>::new());
    }
}
