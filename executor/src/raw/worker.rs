//! Raw reads of one thread. While the clock runs, a thread allocates nothing and shares no
//! histogram. Threads share only two flags and two counters.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use alloy_primitives::U256;

use super::{
    keys::Batch,
    reads::{RawError, RawReads, SlotsPerCall},
};
use crate::{
    error::StoreError,
    latency::Latencies,
    process::thread_cpu_time,
    store::{ReadCounters, Reader, Sample},
};

/// Number of keys that are computed at a time if slots are read one by one.
const KEYS_AHEAD: usize = 64;

/// State that all threads share.
pub(super) struct Shared<'a> {
    reads: &'a RawReads<'a>,
    store: &'static str,
    /// Number of draws that are left until all keys are drawn.
    remaining: AtomicU64,
    /// Set when a thread failed, so that all other threads end.
    has_failed: &'a AtomicBool,
}

impl<'a> Shared<'a> {
    pub(super) fn new(
        reads: &'a RawReads<'a>,
        store: &'static str,
        has_failed: &'a AtomicBool,
    ) -> Self {
        Self { reads, store, remaining: AtomicU64::new(reads.sequence.period()), has_failed }
    }

    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn is_over(&self, start: Instant, now: Instant) -> bool {
        now - start >= self.reads.time
            || self.reads.cancel.load(Ordering::Relaxed)
            || self.has_failed.load(Ordering::Relaxed)
    }

    /// Takes up to `wanted` of the remaining draws. Returns the number of taken draws.
    fn take(&self, wanted: u64) -> u64 {
        let before = self.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| {
            Some(before.saturating_sub(wanted))
        });
        before.map_or(0, |before| wanted.min(before))
    }
}

/// The reads of one thread.
pub(super) struct Part {
    pub(super) present_count: u64,
    pub(super) absent_count: u64,
    pub(super) present: Latencies,
    pub(super) absent: Latencies,
    pub(super) start: Instant,
    pub(super) end: Instant,
    pub(super) counters: ReadCounters,
    pub(super) cpu: Option<Duration>,
    pub(super) is_exhausted: bool,
}

/// State of a thread that is ready to read.
pub(super) struct Ready<'a> {
    reader: Box<dyn Reader + 'a>,
    batch: Batch,
    /// Number of draws in a full batch.
    batch_len: u64,
    pub(super) part: Part,
}

/// Prepares the calling thread: opens its reader and allocates its memory.
pub(super) fn prepare<'a>(
    sample: &'a dyn Sample,
    shared: &Shared<'_>,
) -> Result<Ready<'a>, RawError> {
    let reader = sample.reader()?;
    let batch_len = match shared.reads.slots_per_call {
        SlotsPerCall::One => KEYS_AHEAD,
        SlotsPerCall::Many(count) if reader.call_sizes().reads_together() => count.get(),
        SlotsPerCall::Many(_) => return Err(RawError::NotTogether { store: shared.store }),
    };
    let now = Instant::now();
    let part = Part {
        present_count: 0,
        absent_count: 0,
        present: Latencies::ready(),
        absent: Latencies::ready(),
        start: now,
        end: now,
        counters: ReadCounters::default(),
        cpu: None,
        is_exhausted: false,
    };
    Ok(Ready { reader, batch: Batch::with_capacity(batch_len), batch_len: batch_len as u64, part })
}

impl Ready<'_> {
    /// Reads until the time is over, all keys are drawn, or another thread has failed.
    pub(super) fn read(&mut self, shared: &Shared<'_>) -> Result<(), RawError> {
        let cpu_before = thread_cpu_time();
        self.part.start = Instant::now();
        self.part.end = self.part.start;
        while !shared.is_over(self.part.start, self.part.end) {
            let count = shared.take(self.batch_len);
            if count == 0 {
                self.part.is_exhausted = true;
                break;
            }
            let sequence = shared.reads.sequence;
            self.batch.fill(shared.reads.family, sequence, sequence.claim(count));
            match shared.reads.slots_per_call {
                SlotsPerCall::One => self.read_one_by_one(shared)?,
                SlotsPerCall::Many(_) => self.read_together(shared)?,
            }
        }
        self.part.cpu = thread_cpu_time().zip(cpu_before).map(|(now, before)| now - before);
        self.part.counters = self.reader.counters();
        Ok(())
    }

    fn read_one_by_one(&mut self, shared: &Shared<'_>) -> Result<(), RawError> {
        let Self { reader, batch, part, .. } = self;
        let (family, is_timed) = (shared.reads.family, reader.is_timed());
        // The time of a read does not include the computation of its key.
        let mut start = Instant::now();
        for (key, expected) in batch.keys.iter().zip(&batch.values) {
            let value = reader.slot(&family.address, key)?;
            if value != *expected {
                return Err(wrong(shared, key, value, *expected));
            }
            let (count, latencies) = match expected.is_zero() {
                false => (&mut part.present_count, &mut part.present),
                true => (&mut part.absent_count, &mut part.absent),
            };
            *count += 1;
            if is_timed {
                part.end = Instant::now();
                latencies.record(part.end - start);
                start = part.end;
                if shared.is_over(part.start, part.end) {
                    return Ok(());
                }
            }
        }
        part.end = Instant::now();
        Ok(())
    }

    fn read_together(&mut self, shared: &Shared<'_>) -> Result<(), RawError> {
        let Self { reader, batch, part, .. } = self;
        let start = Instant::now();
        let mut first_wrong = None;
        let mut answer_count = 0;
        reader.slots(&shared.reads.family.address, &batch.keys, &mut |index, value| {
            answer_count += 1;
            if value != batch.values[index] {
                first_wrong.get_or_insert((index, value));
            }
        })?;
        part.end = Instant::now();
        if let Some((index, value)) = first_wrong {
            return Err(wrong(shared, &batch.keys[index], value, batch.values[index]));
        }
        assert_eq!(answer_count, batch.keys.len(), "one answer for each key");
        let absent_count = batch.keys.len() as u64 - batch.present_count;
        let latency = part.end - start;
        if batch.present_count > 0 {
            part.present.record_batch(latency, batch.present_count);
        }
        if absent_count > 0 {
            part.absent.record_batch(latency, absent_count);
        }
        part.present_count += batch.present_count;
        part.absent_count += absent_count;
        Ok(())
    }
}

/// Makes the error of a value that differs from the recipe.
fn wrong(shared: &Shared<'_>, key: &U256, value: U256, expected: U256) -> RawError {
    let reason = format!("it reads as {value:#x}, and the recipe says {expected:#x}");
    StoreError::damaged(shared.store, format!("slot {key:#x}"), reason).into()
}
