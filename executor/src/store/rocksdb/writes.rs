//! Flushes and compactions of a sample, where they are asked for: let to begin with the clock, counted by
//! RocksDB's statistics, and waited for at the end.
//!
//! **Invariant**: only files of the sample's own directory are written. A compaction reads the base's table
//! files through their links, writes new files, and removes links; the base keeps its own.

use std::{fs, time::Duration};

use ::rocksdb::{
    WaitForCompactOptions, properties,
    statistics::{Histogram, Ticker},
};
use variant::Compaction;

use super::{sample::RocksSample, settings::failed};
use crate::{
    error::StoreError,
    store::{Settled, WriteCounters},
};

/// RocksDB's default of `max_background_jobs`.
const BACKGROUND_JOBS: u32 = 2;

/// The option that says otherwise.
const BACKGROUND_JOBS_OPTION: &str = "max_background_jobs";

/// Threads that flush and threads that compact, as RocksDB divides `max_background_jobs` of `options`.
pub(super) fn thread_counts(options: &str) -> (u32, u32) {
    let value = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == BACKGROUND_JOBS_OPTION).then(|| value.trim().parse::<u32>().ok())?
    };
    let jobs = options.split(';').filter_map(value).next_back().unwrap_or(BACKGROUND_JOBS);
    let flushing = (jobs / 4).max(1);
    (flushing, jobs.saturating_sub(flushing).max(1))
}

impl RocksSample {
    /// Lets compactions begin: the database was opened without.
    pub(super) fn let_compact(&self) -> Result<(), StoreError> {
        if self.settings().compaction == Compaction::Off {
            return Ok(());
        }
        for name in self.families() {
            let set = self
                .db()
                .set_options_cf(self.family(name)?, &[("disable_auto_compactions", "false")]);
            set.map_err(failed(format!("let {name} be compacted")))?;
        }
        Ok(())
    }

    /// Waits until no flush and no compaction is under way or due. Rows in write buffers stay there.
    pub(super) fn wait_for_compactions(&self) -> Result<Settled, StoreError> {
        if self.settings().compaction == Compaction::Off {
            return Ok(Settled::NothingRuns);
        }
        let waited = self.db().wait_for_compact(&WaitForCompactOptions::default());
        waited.map_err(failed("wait for flushes and compactions"))?;
        Ok(Settled::Waited)
    }

    /// RocksDB's counts since the sample was opened; `None` where it keeps none.
    pub(super) fn counts_of_writes(&self) -> Option<WriteCounters> {
        let statistics = self.statistics()?;
        let ticker = |ticker| statistics.get_ticker_count(ticker);
        let times = |histogram| statistics.get_histogram_data(histogram).count();
        let sum_of = |property| self.sum_over_families(property);
        Some(WriteCounters {
            log_bytes: ticker(Ticker::WalFileBytes),
            flush_count: times(Histogram::FlushTime),
            flush_bytes: ticker(Ticker::FlushWriteBytes),
            compaction_count: times(Histogram::CompactionTime),
            compaction_read_bytes: ticker(Ticker::CompactReadBytes),
            compaction_write_bytes: ticker(Ticker::CompactWriteBytes),
            stall: Duration::from_micros(ticker(Ticker::StallMicros)),
            pending_compaction_bytes: sum_of(properties::ESTIMATE_PENDING_COMPACTION_BYTES),
            buffered_bytes: sum_of(properties::CUR_SIZE_ALL_MEM_TABLES),
        })
    }

    /// Bytes of all files in the sample's directory, links to the base's too.
    pub(super) fn bytes_on_disk(&self) -> Option<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.dir()).ok()? {
            // A file may go while the directory is read.
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
    }
}
