//! Batches and writes of a sample: the writes that its commits caused in a store, and the space of
//! the store's files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::Percentiles;

/// Writes of a sample from the start of its clock to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteFacts {
    /// Bytes of the keys and values of all commits: rows, and nodes of tries.
    pub committed_bytes: u64,
    /// Bytes that this process sent, or will send, to devices; `null` if the kernel does not report
    /// them.
    pub device_write_bytes: Option<u64>,
    /// Bytes sent to devices over the bytes of the commits; `null` for a store that commits in
    /// memory.
    pub device_amplification: Option<f64>,
    /// Counts of the store; `null` if it does not compact files.
    pub store: Option<StoreWriteFacts>,
    /// Bytes of the store's log, flushes and compactions over the bytes of the commits.
    pub store_amplification: Option<f64>,
    /// Space of the store's files; `null` for a store that commits in memory.
    pub space: Option<SpaceFacts>,
}

/// Figures over all batches of the samples that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchFigures {
    /// Time per batch to the end of its commit; exact, by nearest rank.
    pub time_ns: Percentiles,
    /// Bytes sent to devices over the bytes of the commits; median of the samples.
    pub device_amplification: Option<f64>,
    /// Bytes of the store's log, flushes and compactions over the bytes of the commits; median of
    /// the samples.
    pub store_amplification: Option<f64>,
}

/// Counts of a store that flushes write buffers and compacts files, from the start of the clock to
/// its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreWriteFacts {
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Flushes of write buffers.
    pub flush_count: u64,
    /// Bytes that flushes wrote.
    pub flush_bytes: u64,
    /// Compactions.
    pub compaction_count: u64,
    /// Bytes that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes that compactions wrote.
    pub compaction_write_bytes: u64,
    /// Time that commits were stopped or slowed down because flushes or compactions lagged behind.
    pub stall_ns: u64,
    /// Bytes to compact after the last commit, as the store estimates them. The phase `settle`
    /// waited for them.
    pub due_bytes: u64,
    /// Bytes to compact at the end of the clock, as the store estimates them.
    pub pending_bytes: u64,
    /// Memory of write buffers at the end of the clock. An empty buffer also has some.
    pub buffered_bytes: u64,
}

impl StoreWriteFacts {
    /// Bytes that the store wrote.
    pub const fn written_bytes(&self) -> u64 {
        self.log_bytes + self.flush_bytes + self.compaction_write_bytes
    }
}

/// Bytes of a store's files, including those of the state below the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpaceFacts {
    /// Bytes before the clock.
    pub before_bytes: u64,
    /// Largest of the bytes before the clock, after the clock, and after any batch if the store
    /// works in the background.
    pub peak_bytes: u64,
    /// Bytes after the clock.
    pub after_bytes: u64,
}
