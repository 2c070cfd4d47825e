//! Writes that the commits of a sample caused in a store, and the space of the store's files. Also
//! figures over single batches. `src/figures/cells/` fills them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::Percentiles;

/// Writes of a sample, from the start of its clock to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteFacts {
    /// Bytes of the keys and values of all commits: of rows, and of nodes of tries.
    pub committed_bytes: u64,
    /// Bytes that this process sent, or will send, to devices; `null` if the kernel does not report
    /// them.
    pub device_write_bytes: Option<u64>,
    /// Bytes sent to devices over the bytes of the commits; `null` for a store that commits in
    /// memory.
    pub device_amplification: Option<f64>,
    /// Counts of the store; `null` if the store does not compact files.
    pub store: Option<StoreWriteFacts>,
    /// Bytes of the store's log, flushes and compactions over the bytes of the commits; `null`
    /// without such counts.
    pub store_amplification: Option<f64>,
    /// Space of the store's files; `null` for a store without files.
    pub space: Option<SpaceFacts>,
}

/// Figures over all batches of the samples after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchFigures {
    /// Time of a batch to the end of its commit. Each percentile is one of the times, by nearest
    /// rank.
    pub time_ns: Percentiles,
    /// Bytes sent to devices over the bytes of the commits; median over the samples.
    pub device_amplification: Option<f64>,
    /// Bytes of the store's log, flushes and compactions over the bytes of the commits; median over
    /// the samples.
    pub store_amplification: Option<f64>,
}

/// Counts of a store that flushes write buffers and compacts files, from the start of the clock to
/// its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreWriteFacts {
    /// Bytes written to the write-ahead log.
    pub log_bytes: u64,
    /// Number of flushes of write buffers.
    pub flush_count: u64,
    /// Bytes that flushes wrote.
    pub flush_bytes: u64,
    /// Number of compactions.
    pub compaction_count: u64,
    /// Bytes that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes that compactions wrote.
    pub compaction_write_bytes: u64,
    /// Time that commits were stopped or slowed down, because flushes or compactions were behind.
    pub stall_ns: u64,
    /// Bytes due for compaction after the last commit, as the store estimates them. The phase
    /// `settle` waited for their compaction.
    pub due_bytes: u64,
    /// Bytes due for compaction at the end of the clock, as the store estimates them.
    pub pending_bytes: u64,
    /// Memory of write buffers at the end of the clock. Even an empty buffer has some.
    pub buffered_bytes: u64,
}

impl StoreWriteFacts {
    /// Bytes that the store wrote: log, flushes and compactions.
    pub const fn written_bytes(&self) -> u64 {
        self.log_bytes + self.flush_bytes + self.compaction_write_bytes
    }
}

/// Space of a store's files, with those of the state that the sample started from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpaceFacts {
    /// Bytes of the files before the clock.
    pub before_bytes: u64,
    /// Largest bytes of the files: before the clock, after it, and after each batch if the store
    /// works in the background.
    pub peak_bytes: u64,
    /// Bytes of the files after the clock.
    pub after_bytes: u64,
}
