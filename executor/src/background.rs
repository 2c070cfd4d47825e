//! The interface of a store to its background work: flushes and compactions, with the store's
//! counts of them. RocksDB has such work. `engine/writes.rs` starts it, awaits it and takes its
//! counts.

use std::{sync::atomic::AtomicBool, time::Duration};

use crate::error::StoreError;

/// Flushes and compactions of the database that is open for a sample.
pub trait Background {
    /// Lets compactions begin. Called once, just after the clock has started. A sample without a
    /// clock has no compactions.
    ///
    /// # Errors
    /// [`StoreError`].
    fn begin(&self) -> Result<(), StoreError>;

    /// Waits for the flushes and compactions that commits have caused, or until `cancel` is set.
    ///
    /// # Errors
    /// [`StoreError`]: a flush or a compaction failed.
    fn settle(&self, cancel: &AtomicBool) -> Result<Settled, StoreError>;

    /// Returns the counts of the work since the sample was opened.
    ///
    /// # Errors
    /// [`StoreError`]: a count is unavailable.
    fn counters(&self) -> Result<WriteCounters, StoreError>;
}

/// Reason why [`Background::settle`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// All flushes and compactions have ended.
    Ended,
    /// The user interrupted; work may continue until the sample is closed.
    Cancelled,
}

/// Counts of a store's writes, flushes and compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounters {
    /// Bytes written to the write-ahead log.
    pub log_bytes: u64,
    /// Number of flushes of write buffers that have ended.
    pub flush_count: u64,
    /// Bytes of the files that flushes wrote.
    pub flush_bytes: u64,
    /// Number of compactions that have ended.
    pub compaction_count: u64,
    /// Bytes that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes that compactions wrote.
    pub compaction_write_bytes: u64,
    /// Time for which commits were held back or slowed down, because flushes or compactions were
    /// behind.
    pub stall: Duration,
    /// Bytes that compactions still have to process, by the store's present estimate.
    pub pending_compaction_bytes: u64,
    /// Present memory of the write buffers. An empty buffer takes memory, too.
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
