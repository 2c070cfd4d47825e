//! Measures the writes of an execution, for `clock.rs`: background work, and the size of the
//! sample's files. Background work is the flushes and compactions that commits cause in the store.

use std::{sync::atomic::AtomicBool, time::Duration};

use variant::Phase;

use super::error::EngineError;
use crate::{
    background::{Background, Settled, WriteCounters},
    error::StoreError,
    span::Spans,
    store::Sample,
};

/// Sizes of a sample's files, with the files that the sample shares with the built state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Number of bytes before the clock.
    pub before_bytes: u64,
    /// Largest of the numbers of bytes before the clock, after each batch, and after the clock. For
    /// a store without background work, the size is not measured after each batch.
    pub peak_bytes: u64,
    /// Number of bytes after the clock.
    pub after_bytes: u64,
}

/// Background work of a store, from the start of the clock to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundWrites {
    /// The store's counts.
    pub counters: WriteCounters,
    /// Bytes that compactions still had to process when the last batch was committed, by the
    /// store's estimate.
    pub due_bytes: u64,
}

/// The writes of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Bytes of the keys and values of all commits: rows, and nodes of tries.
    pub committed_bytes: u64,
    /// Background work; `None` for a store without such work.
    pub background: Option<BackgroundWrites>,
    /// Sizes of the sample's files; `None` without files.
    pub space: Option<Space>,
}

/// Follows the writes of a sample from before its clock until after it.
pub(super) struct WriteWatch<'s> {
    sample: &'s dyn Sample,
    background: Option<&'s dyn Background>,
    /// Counts before the clock.
    before: WriteCounters,
    due_bytes: u64,
    space: Option<Space>,
    /// Time inside the clock that this watch took to let background work begin and to measure. It
    /// is subtracted from the clock's time.
    pub(super) excluded: Duration,
}

impl<'s> WriteWatch<'s> {
    /// Takes the counts of a sample whose clock is about to start.
    pub(super) fn new(sample: &'s dyn Sample) -> Result<Self, StoreError> {
        let background = sample.background();
        let before = background.map(Background::counters).transpose()?.unwrap_or_default();
        let space = sample.file_bytes().map(|bytes| Space {
            before_bytes: bytes,
            peak_bytes: bytes,
            after_bytes: bytes,
        });
        Ok(Self { sample, background, before, due_bytes: 0, space, excluded: Duration::ZERO })
    }

    /// Lets the store's background work begin, once the clock has started.
    pub(super) fn begin(&mut self, spans: &Spans) -> Result<(), StoreError> {
        // Without background work, no time is subtracted from the clock's time. So the clock's end
        // is not before the end of a traced event.
        let Some(background) = self.background else { return Ok(()) };
        self.exclude(spans, |_| background.begin())
    }

    /// Measures the files' size after a batch, if background work may shrink the files before the
    /// clock ends.
    pub(super) fn measure_after_batch(&mut self, spans: &Spans) {
        if self.background.is_some() {
            self.exclude(spans, Self::measure);
        }
    }

    /// Waits for the background work that commits have caused. This wait is part of the clock's
    /// time.
    pub(super) fn settle(&mut self, spans: &Spans, cancel: &AtomicBool) -> Result<(), EngineError> {
        let Some(background) = self.background else { return Ok(()) };
        let counters = self.exclude(spans, |_| background.counters())?;
        self.due_bytes = counters.pending_compaction_bytes;
        let start = spans.elapsed();
        match background.settle(cancel)? {
            Settled::Cancelled => Err(EngineError::Cancelled),
            Settled::Ended => {
                spans.close(Phase::Settle, start);
                Ok(())
            }
        }
    }

    /// Returns the writes, after the clock has stopped.
    pub(super) fn end(mut self) -> Result<Writes, StoreError> {
        self.measure();
        let counters = self.background.map(Background::counters).transpose()?;
        let background = counters.map(|counters| BackgroundWrites {
            counters: counters.since(&self.before),
            due_bytes: self.due_bytes,
        });
        Ok(Writes { committed_bytes: 0, background, space: self.space })
    }

    fn measure(&mut self) {
        if let (Some(space), Some(bytes)) = (&mut self.space, self.sample.file_bytes()) {
            space.after_bytes = bytes;
            space.peak_bytes = space.peak_bytes.max(bytes);
        }
    }

    /// Does `work`, whose time does not count.
    fn exclude<T>(&mut self, spans: &Spans, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = spans.elapsed();
        let done = work(self);
        self.excluded += spans.elapsed() - start;
        done
    }
}
