//! Counts one worker's reads and its waits for values, with their times, for all engines. Also
//! times calls that read several keys.

use std::time::{Duration, Instant};

use alloy_primitives::{Address, U256};

use crate::{
    error::StoreError,
    latency::Latencies,
    process::Priority,
    shards::{CoordinatorTimes, ShardTimes, Speculation},
    single_flight::Arrival,
    store::{ReadCounters, Reader},
    trace::{EventKind, KeyKind, Recorder, Trace},
};

/// Counts and times of one worker's reads.
#[derive(Clone, Debug, Default)]
pub struct ReadTally {
    /// Latencies of the reads that this worker made itself; empty if the store's reads are not
    /// timed.
    pub latencies: Latencies,
    /// Number of reads that this worker made itself.
    pub read_count: u64,
    /// Number of values that were ready when this worker requested them.
    pub ready_count: u64,
    /// Number of values for which this worker waited, because another thread was reading them.
    pub waited_count: u64,
    /// Sum of the times of these waits.
    pub wait: Duration,
    /// Sum of the durations of all reads, one by one. A call that reads several keys together adds
    /// its duration times its mean number of reads in flight. This sum divided by the length of
    /// `window` is the mean number of reads in flight.
    pub read_time_sum: Duration,
    /// Start of the first read and end of the last one, if reads are timed.
    pub window: Option<(Instant, Instant)>,
    /// True if each read is timed ([`Reader::is_timed`]).
    is_timed: bool,
    /// The recorder of single reads and steps, if the sample is traced.
    pub(crate) trace: Option<Box<Recorder>>,
}

impl ReadTally {
    /// Makes an empty tally of the reads of `reader`, which records to `trace`.
    pub(crate) fn new(reader: &dyn Reader, trace: Option<Box<Recorder>>) -> Self {
        let is_timed = reader.is_timed();
        let latencies = if is_timed { Latencies::ready() } else { Latencies::default() };
        Self { latencies, is_timed, trace, ..Self::default() }
    }

    /// Adds another worker's tally.
    pub fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.read_count += other.read_count;
        self.ready_count += other.ready_count;
        self.waited_count += other.waited_count;
        self.wait += other.wait;
        self.read_time_sum += other.read_time_sum;
        if let Some((start, end)) = other.window {
            self.widen(start, end);
        }
    }

    /// Extends the window to a read that lasted from `start` to `end`.
    pub(crate) fn widen(&mut self, start: Instant, end: Instant) {
        self.window = Some(match self.window {
            None => (start, end),
            Some((first, last)) => (first.min(start), last.max(end)),
        });
    }

    /// Counts a value by its arrival: it was ready, this worker read it, or this worker waited for
    /// it since `waited_since`.
    #[inline]
    pub(crate) fn note(&mut self, key: KeyKind, arrival: Arrival, waited_since: Option<Instant>) {
        match arrival {
            Arrival::Ready => self.ready_count += 1,
            Arrival::Read => self.read_count += 1,
            Arrival::Waited => {
                self.waited_count += 1;
                let Some(since) = waited_since else { return };
                let now = Instant::now();
                self.wait += now - since;
                if let Some(trace) = &mut self.trace {
                    trace.record_frequent(EventKind::Wait { key }, since, now);
                }
            }
        }
    }

    /// Makes one read and counts it.
    pub(crate) fn read<T>(&mut self, key: KeyKind, read: impl FnOnce() -> T) -> T {
        self.read_count += 1;
        self.timed(key, read)
    }

    /// Returns the present time, if reads of this store are timed or traced.
    #[inline]
    pub(crate) fn now(&self) -> Option<Instant> {
        (self.is_timed || self.trace.is_some()).then(Instant::now)
    }

    /// Counts the time of one read, of one key or of several keys together.
    pub(crate) fn record(&mut self, kind: EventKind, start: Instant, end: Instant) {
        self.record_at(1.0, kind, start, end);
    }

    /// Counts the time of a call with `depth` reads in flight on average.
    fn record_at(&mut self, depth: f64, kind: EventKind, start: Instant, end: Instant) {
        if self.is_timed {
            let count = if let EventKind::Read { count, .. } = kind { count as u64 } else { 1 };
            self.latencies.record_batch(end - start, count);
            self.read_time_sum += (end - start).mul_f64(depth);
            self.widen(start, end);
        }
        if let Some(trace) = &mut self.trace {
            trace.record_frequent(kind, start, end);
        }
    }

    /// Reads `keys` of one account as [`Reader::slots`] does, and counts and times each.
    pub(crate) fn read_slots(
        &mut self,
        reader: &mut dyn Reader,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let mut clock = CallClock::start(reader, KeyKind::Slot, self);
        reader.slots(address, keys, &mut |index, value| {
            sink(index, value);
            clock.arrived();
        })?;
        clock.stop(reader, keys.len());
        Ok(())
    }

    /// Calls `read` and records its time, if reads of this store are timed or traced.
    #[inline]
    pub(crate) fn timed<T>(&mut self, key: KeyKind, read: impl FnOnce() -> T) -> T {
        let Some(start) = self.now() else { return read() };
        let value = read();
        self.record(EventKind::Read { key, count: 1 }, start, Instant::now());
        value
    }
}

/// Counts of one worker over all batches. The worker makes them before the clock; `Executed` adds
/// them up after it.
#[derive(Debug, Default)]
pub(super) struct WorkerCounts {
    pub(super) on_demand: ReadTally,
    pub(super) prefetched: ReadTally,
    pub(super) counters: ReadCounters,
    /// Priority of a thread that only verifies.
    pub(super) priority: Option<Priority>,
    /// Times of the shard whose connection this worker has.
    pub(super) shard_times: ShardTimes,
    pub(super) speculation: Speculation,
    pub(super) coordinator_times: CoordinatorTimes,
}

impl WorkerCounts {
    /// Makes the counts of a worker that reads through `reader`, with recorders if the sample is
    /// traced. `recorder_count` workers have recorders.
    pub(super) fn new(reader: &dyn Reader, trace: Option<&Trace>, recorder_count: usize) -> Self {
        let [on_demand, prefetched] = [trace, trace]
            .map(|trace| ReadTally::new(reader, trace.map(|trace| trace.recorder(recorder_count))));
        Self { on_demand, prefetched, ..Self::default() }
    }
}

/// A store's reader with the tally of its reads.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    /// The store's reader.
    pub(crate) reader: &'a mut dyn Reader,
    /// The tally that counts and times the reader's reads.
    pub(crate) tally: &'a mut ReadTally,
}

/// The clock of one call of the store that reads several keys. If the store reads them together,
/// each read counts with the time of the whole call.
#[derive(Debug)]
pub(crate) struct CallClock<'t> {
    tally: &'t mut ReadTally,
    key: KeyKind,
    /// Start of the call; `None` if reads are neither timed nor traced.
    start: Option<Instant>,
    /// Start of the next read; `None` if the store reads the call's keys together, or as for
    /// `start`.
    since: Option<Instant>,
    /// Number of blocks that the reader had read before the call, if it reads keys together.
    block_count: u64,
}

impl<'t> CallClock<'t> {
    /// Begins a call that reads keys of the kind `key`.
    pub(crate) fn start(reader: &dyn Reader, key: KeyKind, tally: &'t mut ReadTally) -> Self {
        let start = tally.now();
        let call_sizes = reader.call_sizes();
        let together = match key {
            KeyKind::Account => call_sizes.reads_accounts_together,
            KeyKind::Slot | KeyKind::Code => call_sizes.reads_together(),
        };
        let since = start.filter(|_| !together);
        let is_asked = start.is_some() && together;
        let block_count = if is_asked { reader.counters().block_count } else { 0 };
        Self { tally, key, start, since, block_count }
    }

    /// Counts a value that has arrived. If values arrive one by one, the read of this value began
    /// when the value before it arrived.
    #[inline]
    pub(crate) fn arrived(&mut self) {
        if let Some(from) = self.since {
            let now = Instant::now();
            self.tally.record(EventKind::Read { key: self.key, count: 1 }, from, now);
            self.since = Some(now);
        }
    }

    /// Ends the call, which read `count` values.
    pub(crate) fn stop(self, reader: &dyn Reader, count: usize) {
        self.tally.read_count += count as u64;
        if let (Some(start), None) = (self.start, self.since)
            && count > 0
        {
            let kind = EventKind::Read { key: self.key, count };
            let end = Instant::now();
            let block_count = reader.counters().block_count - self.block_count;
            let depth = reader.reads_in_flight(count, block_count);
            self.tally.record_at(depth, kind, start, end);
        }
    }
}
