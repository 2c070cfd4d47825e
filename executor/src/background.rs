//! Background work of a store: flushes and compactions, with the store's counts of them.

use std::{sync::atomic::AtomicBool, time::Duration};

use crate::error::StoreError;

/// Flushes and compactions of a sample.
pub trait Background {
    /// Lets compactions begin. Called once after the clock has started, and never for a sample
    /// without a clock.
    ///
    /// # Errors
    /// [`StoreError`].
    fn begin(&self) -> Result<(), StoreError>;

    /// Waits for the flushes and compactions that commits have caused, or until `cancel` is set.
    ///
    /// # Errors
    /// [`StoreError`]: a flush or a compaction failed.
    fn settle(&self, cancel: &AtomicBool) -> Result<Settled, StoreError>;

    /// Counts since the sample was opened.
    ///
    /// # Errors
    /// [`StoreError`]: a count is unavailable.
    fn counters(&self) -> Result<WriteCounters, StoreError>;
}

/// The end of [`Background::settle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// All work has ended.
    Waited,
    /// The user interrupted; work may continue until the sample is closed.
    Cancelled,
}

/// Counts of a store that flushes and compacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounters {
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Flushes of write buffers that have ended.
    pub flush_count: u64,
    /// Bytes of the files that flushes wrote.
    pub flush_bytes: u64,
    /// Compactions that have ended.
    pub compaction_count: u64,
    /// Bytes that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes that compactions wrote.
    pub compaction_write_bytes: u64,
    /// Time that commits were held back or slowed down because flushes or compactions lagged behind.
    pub stall: Duration,
    /// Bytes that compactions have still to process, as the store estimates them now.
    pub pending_compaction_bytes: u64,
    /// Memory of write buffers now; an empty buffer takes memory, too.
    pub buffered_bytes: u64,
}

impl WriteCounters {
    /// Returns the counts since `earlier`, with the present values of `pending_compaction_bytes`
    /// and `buffered_bytes`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        let &Self {
            log_bytes,
            flush_count,
            flush_bytes,
            compaction_count,
            compaction_read_bytes,
            compaction_write_bytes,
            stall,
            pending_compaction_bytes,
            buffered_bytes,
        } = self;
        Self {
            log_bytes: log_bytes.saturating_sub(earlier.log_bytes),
            flush_count: flush_count.saturating_sub(earlier.flush_count),
            flush_bytes: flush_bytes.saturating_sub(earlier.flush_bytes),
            compaction_count: compaction_count.saturating_sub(earlier.compaction_count),
            compaction_read_bytes: compaction_read_bytes
                .saturating_sub(earlier.compaction_read_bytes),
            compaction_write_bytes: compaction_write_bytes
                .saturating_sub(earlier.compaction_write_bytes),
            stall: stall.saturating_sub(earlier.stall),
            pending_compaction_bytes,
            buffered_bytes,
        }
    }
}
