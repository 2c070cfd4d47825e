//! Settings and progress of row generation.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::rows::error::RowError;

/// Settings for making rows. They change neither the rows nor their order.
#[derive(Clone, Debug)]
pub struct RowSettings<'a> {
    /// Number of threads of pass 1 and of hashing codes; at least 1.
    pub threads: usize,
    /// Directory of the scratch file; created where absent. The file has no name there.
    pub scratch: PathBuf,
    /// Target for the largest number of rows in a part, at least 1. A bucket aims at 15/16 of this
    /// number. Sorting takes about 56 bytes a row (76 for accounts) for each part being emitted.
    /// Parts that fit the second-level cache are the fastest: 2^17 to 2^18 rows where that cache
    /// has 2 MiB a core.
    pub part_row_count_max: u64,
    /// Maximum bytes of pass 1's records in memory (4 bytes a slot, 24 an account). Larger tables
    /// use the scratch file.
    pub memory_bytes_max: u64,
    /// Flag that stops both passes with [`RowError::Cancelled`] once it is set.
    pub cancel: &'a AtomicBool,
}

/// A flag that is never set.
static NEVER: AtomicBool = AtomicBool::new(false);

impl RowSettings<'_> {
    /// Two threads, parts of 2^18 rows, 256 MiB of records in memory, no cancelling.
    pub fn new(scratch: impl Into<PathBuf>) -> Self {
        Self {
            threads: 2,
            scratch: scratch.into(),
            part_row_count_max: 1 << 18,
            memory_bytes_max: 256 << 20,
            cancel: &NEVER,
        }
    }

    /// Fails once the flag is set.
    pub(super) fn check_cancel(&self) -> Result<(), RowError> {
        if self.cancel.load(Ordering::Relaxed) { Err(RowError::Cancelled) } else { Ok(()) }
    }
}

/// Progress of pass 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowProgress {
    /// Number of rows scanned so far.
    pub done_row_count: u64,
    /// Number of rows that pass 1 scans in all; 0 where there is nothing to scan.
    pub total_row_count: u64,
}
