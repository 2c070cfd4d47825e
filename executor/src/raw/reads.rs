//! Input and output of raw reads.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration};

use workload::SlotFamily;

use super::keys::Draw;
use crate::{error::StoreError, latency::Latencies, process::Delta, store::ReadCounters};

/// Reads per call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asking {
    /// One slot after the other.
    OneByOne,
    /// This many slots in a call.
    Together(NonZeroUsize),
}

/// The keys to read, and the way of reading.
#[derive(Clone, Copy, Debug)]
pub struct RawReads<'a> {
    /// The slots. Their values must be by [`workload::ValueRule::Random`]; otherwise a reading
    /// thread allocates.
    pub family: &'a SlotFamily,
    /// Choice and order of the slots, shared by all points of a run.
    pub draw: &'a Draw,
    /// Threads.
    pub thread_count: NonZeroUsize,
    /// Reads per call of each thread.
    pub asking: Asking,
    /// Time of reading.
    pub time: Duration,
    /// Set by another thread to stop.
    pub cancel: &'a AtomicBool,
}

/// The measurement.
#[derive(Clone, Debug)]
pub struct RawPoint {
    /// Gets of slots that exist.
    pub present_count: u64,
    /// Gets of slots that do not.
    pub absent_count: u64,
    /// Times of gets of existing slots. Slots of one call each take as long as the call. Empty for
    /// a store whose reads are too short for a clock.
    pub present: Latencies,
    /// Times of gets of slots that do not exist.
    pub absent: Latencies,
    /// Time from the first get of the first thread to the last get of the last.
    pub elapsed: Duration,
    /// The store's counters.
    pub counters: ReadCounters,
    /// CPU time of the reading threads, with the making of keys, without interrupts.
    pub cpu: Option<Duration>,
    /// The process's counters during the reads.
    pub process: Delta,
    /// Whether every key was read before the time was over.
    pub is_exhausted: bool,
}

impl RawPoint {
    /// Gets.
    pub const fn get_count(&self) -> u64 {
        self.present_count + self.absent_count
    }
}

/// Reason for a missing point.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// The store failed, or a value was not the recipe's.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Many slots per call were requested, and the store reads one after the other.
    #[error("{store} reads one key after the other here: it has no multi-get, or none that works")]
    NotTogether {
        /// The store's name.
        store: &'static str,
    },
    /// The system gave no threads.
    #[error("cannot start {count} threads: {source}")]
    NoThreads {
        /// Number of threads that were requested.
        count: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Cancelled,
}
