//! The background work of a sample: flushes and compactions, if the settings request them. They may
//! begin while the clock runs. RocksDB's statistics count them. The sample's clock stops only when
//! they have ended.
//!
//! **Invariant**: only files of the sample's own directory are written. A compaction reads the
//! base's table files through the sample's hard links, writes new files, and removes the sample's
//! links. The base keeps its own links.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use ::rocksdb::{
    ErrorKind, WaitForCompactOptions, properties,
    statistics::{Histogram, Ticker},
};

use super::{
    sample::RocksSample,
    settings::{NAME, failed},
};
use crate::{
    background::{Background, Settled, WriteCounters},
    error::StoreError,
};

/// Polling interval for the cancel flag during a wait for compactions, in microseconds.
const CANCEL_POLL_MICROS: u64 = 10_000;

/// RocksDB's default of `max_background_jobs`.
const BACKGROUND_JOBS: u32 = 2;

/// Name of the option that sets the number of background jobs.
const BACKGROUND_JOBS_OPTION: &str = "max_background_jobs";

/// Returns the maximal numbers of flushing and of compacting threads: RocksDB divides
/// `max_background_jobs` of `options` among them. A scenario refuses options that set these numbers
/// one by one. RocksDB compacts on one thread as long as compactions keep up with the writes.
pub(super) fn thread_counts(options: &str) -> (u32, u32) {
    // Options are separated by semicolons, but semicolons within braces belong to a value.
    let mut depth = 0_u32;
    let pairs = options.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ';' && depth == 0
    });
    // The last value counts. `Iterator::last` would search from the end, and count braces wrongly.
    let values = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        value.trim().parse::<u32>().ok().filter(|_| name.trim() == BACKGROUND_JOBS_OPTION)
    });
    let jobs = values.fold(BACKGROUND_JOBS, |_, jobs| jobs);
    let flushing = (jobs / 4).max(1);
    (flushing, jobs.saturating_sub(flushing).max(1))
}

impl Background for RocksSample<'_> {
    /// Allows compactions, which are off when the database is opened.
    fn begin(&self) -> Result<(), StoreError> {
        for name in self.families() {
            let set = self
                .db()
                .set_options_cf(self.family(name)?, &[("disable_auto_compactions", "false")]);
            set.map_err(failed(format!("let {name} be compacted")))?;
        }
        Ok(())
    }

    /// Waits for flushes and compactions. Does not flush rows that are in write buffers.
    fn settle(&self, cancel: &AtomicBool) -> Result<Settled, StoreError> {
        let mut options = WaitForCompactOptions::default();
        options.set_timeout(CANCEL_POLL_MICROS);
        while !cancel.load(Ordering::Relaxed) {
            match self.db().wait_for_compact(&options) {
                Ok(()) => return Ok(Settled::Ended),
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                Err(error) => return Err(failed("wait for flushes and compactions")(error)),
            }
        }
        Ok(Settled::Cancelled)
    }

    fn counters(&self) -> Result<WriteCounters, StoreError> {
        let statistics = self.statistics.as_ref().ok_or_else(|| {
            let reason = "the sample was opened without statistics";
            StoreError::failed(NAME, "count flushes and compactions", reason)
        })?;
        let ticker = |ticker| statistics.get_ticker_count(ticker);
        let count = |histogram| statistics.get_histogram_data(histogram).count();
        let sum_of = |property| self.sum_over_families(property);
        Ok(WriteCounters {
            log_bytes: ticker(Ticker::WalFileBytes),
            flush_count: count(Histogram::FlushTime),
            flush_bytes: ticker(Ticker::FlushWriteBytes),
            compaction_count: count(Histogram::CompactionTime),
            compaction_read_bytes: ticker(Ticker::CompactReadBytes),
            compaction_write_bytes: ticker(Ticker::CompactWriteBytes),
            stall: Duration::from_micros(ticker(Ticker::StallMicros)),
            pending_compaction_bytes: sum_of(properties::ESTIMATE_PENDING_COMPACTION_BYTES)?,
            buffered_bytes: sum_of(properties::CUR_SIZE_ALL_MEM_TABLES)?,
        })
    }
}

impl RocksSample<'_> {
    /// Returns the bytes of all files in the sample's directory, with the links to the base's
    /// files. `None` if the directory cannot be read.
    pub(super) fn bytes_on_disk(&self) -> Option<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.dir.path()).ok()? {
            // A file may be removed while the directory is read.
            bytes += entry.ok()?.metadata().map_or(0, |metadata| metadata.len());
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_those_that_rocksdb_takes() {
        assert_eq!(thread_counts(""), (1, 1));
        assert_eq!(thread_counts("max_background_jobs=8"), (2, 6));
        assert_eq!(thread_counts("ttl=77; max_background_jobs = 1"), (1, 1));
        assert_eq!(thread_counts("max_background_jobs=8;max_background_jobs=4"), (1, 3));
        assert_eq!(thread_counts("a={b=1;max_background_jobs=8};max_background_jobs=4"), (1, 3));
        assert_eq!(
            thread_counts("a={b={c=1;max_background_jobs=8};max_background_jobs=8}"),
            (1, 1)
        );
    }
}
