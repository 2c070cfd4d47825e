//! The histograms of latencies that belong to a result and are kept beside it.

use hdrhistogram::Histogram;

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
