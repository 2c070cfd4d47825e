//! Input and output of raw reads.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration};

use workload::SlotFamily;

use super::keys::SlotSequence;
use crate::{error::StoreError, latency::Latencies, process::Activity, store::ReadCounters};

/// Number of slots per call of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotsPerCall {
    /// One slot after the other.
    One,
    /// This number of slots in a call.
    Many(NonZeroUsize),
}

/// Input of a measurement: the slots to read, and how to read them.
#[derive(Clone, Copy, Debug)]
pub struct RawReads<'a> {
    /// The slots. Their values should follow [`workload::ValueRule::Random`]; other rules make the
    /// reading threads allocate.
    pub family: &'a SlotFamily,
    /// Choice and order of the slots, shared by all measurements of a run.
    pub sequence: &'a SlotSequence,
    /// Number of threads.
    pub thread_count: NonZeroUsize,
    /// Number of slots in each call.
    pub slots_per_call: SlotsPerCall,
    /// Time after which the threads stop.
    pub time: Duration,
    /// Flag that another thread sets to cancel the measurement.
    pub cancel: &'a AtomicBool,
}

/// Result of a measurement.
#[derive(Clone, Debug)]
pub struct RawResult {
    /// Number of reads of existing slots.
    pub present_count: u64,
    /// Number of reads of absent slots.
    pub absent_count: u64,
    /// Latencies of reads of existing slots. The latency of each slot in a call is the time of the
    /// whole call. Empty if slots are read one by one from a store whose reads are too short to be
    /// timed.
    pub present: Latencies,
    /// Latencies of reads of absent slots, recorded as those of existing slots.
    pub absent: Latencies,
    /// Time from the start of the first read to the end of the last read, over all threads.
    pub elapsed: Duration,
    /// Sum of the readers' counters.
    pub counters: ReadCounters,
    /// CPU time of the reading threads. It includes the computation of keys, but no interrupts.
    pub cpu: Option<Duration>,
    /// Activity of the process during the reads.
    pub process: Activity,
    /// True if all keys were read before the time was over.
    pub is_exhausted: bool,
}

impl RawResult {
    /// Returns the number of all reads.
    pub const fn read_count(&self) -> u64 {
        self.present_count + self.absent_count
    }
}

/// Reason why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// The store failed, or a value differs from the recipe.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Several slots per call were requested, but the store reads one slot after the other.
    #[error("{store} reads one key after the other here: it has no multi-get, or none that works")]
    NotTogether {
        /// The store's name.
        store: &'static str,
    },
    /// Threads could not be started.
    #[error("cannot start {count} threads: {source}")]
    NoThreads {
        /// Number of threads that were requested.
        count: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// The user has cancelled the measurement.
    #[error("interrupted")]
    Cancelled,
}
