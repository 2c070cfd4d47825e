//! Input and output of raw reads.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration};

use workload::SlotFamily;

use super::keys::Draw;
use crate::{error::StoreError, latency::Latencies, process::Delta, store::ReadCounters};

/// How a thread asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asking {
    /// One slot after the other.
    OneByOne,
    /// So many slots in a call.
    Together(NonZeroUsize),
}

/// The keys to read, and the way of reading.
#[derive(Clone, Copy, Debug)]
pub struct RawReads<'a> {
    /// The slots; values by [`workload::ValueRule::Random`], or a reading thread allocates.
    pub family: &'a SlotFamily,
    /// Which of them, in which order; shared by all points of a run.
    pub draw: &'a Draw,
    /// Threads.
    pub thread_count: NonZeroUsize,
    /// How each asks.
    pub asking: Asking,
    /// How long each reads.
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
    /// Times of gets of slots that exist; of those asked together, each as long as its call.
    /// Empty for a store whose reads are too short for a clock.
    pub present: Latencies,
    /// The same of slots that do not exist.
    pub absent: Latencies,
    /// From the first get of the first thread to the last of the last.
    pub elapsed: Duration,
    /// The store's counters.
    pub counters: ReadCounters,
    /// CPU time of the reading threads, making the keys included; interrupts are not in it.
    pub cpu: Option<Duration>,
    /// The process's counters meanwhile.
    pub process: Delta,
    /// Whether every key was asked for before the time was over.
    pub is_exhausted: bool,
}

impl RawPoint {
    /// Gets.
    pub const fn get_count(&self) -> u64 {
        self.present_count + self.absent_count
    }
}

/// Why there is no point.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// The store failed, or a value was not the recipe's.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Slots were to be asked together, and the store asks for one after the other.
    #[error("{store} reads one key after the other here: it has no multi-get, or none that works")]
    NotTogether {
        /// The store's name.
        store: &'static str,
    },
    /// The system gave no threads.
    #[error("cannot start {count} threads: {source}")]
    NoThreads {
        /// How many were wanted.
        count: usize,
        /// Why not.
        source: std::io::Error,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Cancelled,
}
