//! Figures over samples: estimates with their intervals, percentiles, and the histograms of latencies that are kept
//! beside a result.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median.
    pub median: Option<f64>,
    /// 95 % confidence interval of the median; `null` below six samples.
    pub ci95: Option<[f64; 2]>,
    /// Mean without the lowest and the highest fifth; `null` below six samples.
    pub trimmed_mean: Option<f64>,
    /// Yuen's 95 % confidence interval of that mean; `null` below six samples.
    pub trimmed_ci95: Option<[f64; 2]>,
}

/// Percentiles of a histogram; each is `null` where fewer than ten values lie beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Median.
    pub p50: Option<u64>,
    /// 75th.
    pub p75: Option<u64>,
    /// 90th.
    pub p90: Option<u64>,
    /// 95th.
    pub p95: Option<u64>,
    /// 99th.
    pub p99: Option<u64>,
    /// 99.9th.
    pub p999: Option<u64>,
    /// 99.99th.
    pub p9999: Option<u64>,
    /// Largest.
    pub max: Option<u64>,
    /// Number of values.
    pub count: u64,
}

/// The content of a histogram.
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

/// A histogram to write.
#[derive(Clone, Debug)]
pub struct HistogramLog {
    /// The variant, with its store, as its cell names it.
    pub variant: String,
    /// The kind of its values.
    pub what: LogKind,
    /// Nanoseconds, of the samples of the cell that count: without those of a warm-up.
    pub histogram: Histogram<u64>,
}
