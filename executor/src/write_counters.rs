//! The counts that stores with work in the background keep of it.

use std::time::Duration;

/// Counts of a store that flushes and compacts, since a sample was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounters {
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Flushes of write buffers that have ended.
    pub flush_count: u64,
    /// Bytes of the files that they wrote.
    pub flush_bytes: u64,
    /// Compactions that have ended.
    pub compaction_count: u64,
    /// Bytes that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes that compactions wrote.
    pub compaction_write_bytes: u64,
    /// Time that commits were held back or slowed down because flushes or compactions lagged behind.
    pub stall: Duration,
    /// Compaction that is due now, as the store estimates it.
    pub pending_compaction_bytes: u64,
    /// Rows in write buffers now, and so in no table file.
    pub buffered_bytes: u64,
}
