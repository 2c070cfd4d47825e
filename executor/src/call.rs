//! Times the reads of one call that asks a store for several keys, where its reads are timed.

use std::time::Instant;

use crate::{store::Reader, view::ReadTally};

/// The clock of one call. Reads that the store makes together count as long as all of them.
#[derive(Debug)]
pub(crate) struct CallClock<'t> {
    tally: &'t mut ReadTally,
    start: Option<Instant>,
    since: Option<Instant>,
}

impl<'t> CallClock<'t> {
    /// The call begins.
    pub(crate) fn start<R: Reader>(reader: &R, tally: &'t mut ReadTally) -> Self {
        let start = R::IS_TIMED.then(Instant::now);
        let since = start.filter(|_| !reader.reads_together());
        Self { tally, start, since }
    }

    /// A value came; where values come one by one, the time since the last is its own.
    #[inline]
    pub(crate) fn arrived(&mut self) {
        if let Some(from) = self.since {
            let now = Instant::now();
            self.tally.latencies.record(now - from);
            self.tally.widen(from, now);
            self.since = Some(now);
        }
    }

    /// The call is over, and `count` values came.
    pub(crate) fn stop(self, count: usize) {
        self.tally.read_count += count as u64;
        if let (Some(start), None) = (self.start, self.since)
            && count > 0
        {
            let now = Instant::now();
            self.tally.latencies.record_batch(now - start, count as u64);
            self.tally.widen(start, now);
        }
    }
}
