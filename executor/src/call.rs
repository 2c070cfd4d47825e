//! Times the reads of one call that asks a store for several keys, where its reads are timed.

use std::time::Instant;

use crate::{
    store::Reader,
    trace::{Key, What},
    view::ReadTally,
};

/// The clock of one call. Reads that the store makes together count as long as all of them.
#[derive(Debug)]
pub(crate) struct CallClock<'t> {
    tally: &'t mut ReadTally,
    key: Key,
    start: Option<Instant>,
    since: Option<Instant>,
}

impl<'t> CallClock<'t> {
    /// The call begins; it asks for keys of the kind `key`.
    pub(crate) fn start<R: Reader>(reader: &R, key: Key, tally: &'t mut ReadTally) -> Self {
        let start = tally.now::<R>();
        let together = match key {
            Key::Account => reader.reads_accounts_together(),
            Key::Slot | Key::Code => reader.reads_together(),
        };
        let since = start.filter(|_| !together);
        Self { tally, key, start, since }
    }

    /// A value came; where values come one by one, the time since the last is its own.
    #[inline]
    pub(crate) fn arrived<R: Reader>(&mut self) {
        if let Some(from) = self.since {
            let now = Instant::now();
            self.tally.lasted::<R>(What::Read { key: self.key, count: 1 }, from, now);
            self.since = Some(now);
        }
    }

    /// The call is over, and `count` values came.
    pub(crate) fn stop<R: Reader>(self, count: usize) {
        self.tally.read_count += count as u64;
        if let (Some(start), None) = (self.start, self.since)
            && count > 0
        {
            let what = What::Read { key: self.key, count };
            self.tally.lasted::<R>(what, start, Instant::now());
        }
    }
}
