//! A speculative pass, then in order: all transactions of a batch run in parallel on the state
//! before it, only for what they read; then the batch runs as in `sequential`, and finds what
//! they have read. No list. The pass may be wrong in all but values: what it cached is the state
//! before the batch, so a transaction that went another way costs a read and never the result.

mod cache;
mod speculate;

use std::{
    hash::BuildHasher,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use alloy_primitives::{Address, B256, U256, map::DefaultHashBuilder};
use revm::{
    Database,
    state::{AccountInfo, Bytecode},
};
use variant::{Phase, WarmCache};
use workload::{Steps, Workload};

use self::cache::{Cache, Key, Part};
use super::{
    clock::{Engine, Execution, Turn},
    error::{EngineError, ViewError},
    executed::{BatchResult, Executed, WarmUp},
    in_order::{self, Purpose, Traced},
    row,
    tally::{ReadTally, Reading},
};
use crate::{
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    span::Spans,
    store::{ReadCounters, Reader, Sample},
    trace::{Recorder, Track, close_part},
};

/// The engine.
pub(super) struct Prewarm<'a, S> {
    at: Execution<'a, S>,
    cache: WarmCache,
    hasher: DefaultHashBuilder,
}

impl<'a, S> Prewarm<'a, S> {
    /// Whose workers fill `cache`.
    pub(super) fn new(at: Execution<'a, S>, cache: WarmCache) -> Self {
        Self { at, cache, hasher: DefaultHashBuilder::default() }
    }
}

impl<'a, S: Sample> Engine for Prewarm<'a, S> {
    type Job = Job;
    type Lead = InOrder<'a, S::Reader<'a>>;
    type Leavings = Leavings;

    const NAME: &'static str = "prewarm";

    fn worker_count(&self) -> usize {
        self.at.task.variant.thread_count
    }

    fn work(&self, worker: usize, pool: &WorkerPool<'_, Job>) -> Result<Leavings, StoreError> {
        let Execution { sample, task, stop } = self.at;
        let mut reader = sample.reader()?;
        let trace = task.trace.map(|trace| trace.recorder(task.variant.thread_count + 1));
        let mut tally = ReadTally { trace, ..ReadTally::default() };
        pool.serve(|job: &Job| {
            let start = job.spans.elapsed();
            let own = Cache::default();
            let cache = job.cache.as_ref().unwrap_or(&own);
            let (workload, hasher) = (task.workload, &self.hasher);
            let ahead = speculate::Ahead { workload, cache, cancel: stop, hasher };
            let reading = Reading { reader: &mut reader, tally: &mut tally };
            match ahead.run(job.place, &job.steps, &job.next_step, reading) {
                Ok(read) => lock(&job.read).push(read),
                Err(error) => {
                    // In this order, so that who is stopped by it does not come before it.
                    lock(&job.failure).get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
            close_part(&job.spans, Phase::WarmUp, start, tally.trace.as_deref_mut());
        });
        if let Some(trace) = task.trace {
            trace.give(Track::Executor(worker), tally.trace.take());
        }
        Ok(Leavings { tally, counters: reader.counters() })
    }

    fn lead(&self) -> Result<Self::Lead, EngineError> {
        let Execution { sample, task, stop } = self.at;
        let trace = task.trace.map(|trace| trace.recorder(task.variant.thread_count + 1));
        Ok(InOrder {
            workload: task.workload,
            cancel: stop,
            reader: sample.reader()?,
            tally: ReadTally { trace, ..ReadTally::default() },
            job: None,
            hasher: self.hasher.clone(),
            asked: Vec::new(),
            keys: Vec::with_capacity(task.workload.batches.len()),
        })
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        turn: &Turn<'_, Job>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let job = turn.work_on(Job {
            place: turn.index,
            steps: Steps::of(turn.batch),
            next_step: AtomicU32::new(0),
            cache: (self.cache == WarmCache::Shared).then(Cache::default),
            spans: Arc::clone(turn.spans),
            read: Mutex::default(),
            failure: Mutex::default(),
        });
        if let Some(failure) = lock(&job.failure).take() {
            return Err(failure);
        }
        let start = turn.spans.elapsed();
        lead.job = Some(Arc::clone(&job));
        let ran = in_order::run_batch(lead, self.at.task, turn.index, Purpose::Measure, executed)?;
        lead.job = None;
        turn.spans.close(Phase::Execute, start);
        let read = std::mem::take(&mut *lock(&job.read));
        lead.keys.push(BatchKeys { read, asked: std::mem::take(&mut lead.asked) });
        Ok(ran.result)
    }

    fn leave(&self, mut lead: Self::Lead, executed: &mut Executed) {
        executed.counters = lead.reader.counters();
        if let Some(trace) = self.at.task.trace {
            trace.give(Track::Main, lead.tally.trace.take());
        }
        executed.on_demand = lead.tally;
        executed.warm_up = Some(lead.keys.into_iter().fold(WarmUp::default(), add));
    }

    fn gather(&self, left: Vec<Leavings>, executed: &mut Executed) {
        for worker in &left {
            executed.prefetched.merge(&worker.tally);
            executed.counters.add(&worker.counters);
        }
        if let Some(warm_up) = &mut executed.warm_up {
            warm_up.read_count = executed.prefetched.read_count;
        }
    }
}

/// One batch as the workers of the pass see it.
#[derive(Debug)]
pub(super) struct Job {
    place: usize,
    steps: Steps,
    next_step: AtomicU32,
    /// The one cache, where there is one.
    cache: Option<Cache>,
    spans: Arc<Spans>,
    /// Hashes of the keys that each worker read.
    read: Mutex<Vec<Vec<u64>>>,
    failure: Mutex<Option<EngineError>>,
}

/// What the run in order needs from batch to batch.
pub(super) struct InOrder<'a, R> {
    workload: &'a Workload,
    cancel: &'a AtomicBool,
    reader: R,
    tally: ReadTally,
    job: Option<Arc<Job>>,
    hasher: DefaultHashBuilder,
    /// Hashes of the keys that were asked for in this batch.
    asked: Vec<u64>,
    /// Of all batches so far.
    keys: Vec<BatchKeys>,
}

/// Hashes of the keys of one batch: those that each worker read, and those asked for.
struct BatchKeys {
    read: Vec<Vec<u64>>,
    asked: Vec<u64>,
}

/// Counts of one worker of the pass.
pub(super) struct Leavings {
    tally: ReadTally,
    counters: ReadCounters,
}

/// Where a key lies in the cache.
struct Find<K, V> {
    key: K,
    within: Part<K, V>,
}

/// Adds what the keys of one batch say; outside the clock.
fn add(total: WarmUp, keys: BatchKeys) -> WarmUp {
    let distinct = |mut keys: Vec<u64>| {
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let (read, asked) = (distinct(keys.read.concat()), distinct(keys.asked));
    let found = asked.iter().filter(|key| read.binary_search(key).is_ok()).count() as u64;
    WarmUp {
        read_count: total.read_count,
        asked_count: total.asked_count + asked.len() as u64,
        found_count: total.found_count + found,
        unused_count: total.unused_count + read.len() as u64 - found,
    }
}

impl<R> Traced for InOrder<'_, R> {
    fn trace(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }
}

impl<R: Reader> InOrder<'_, R> {
    /// Finds `key` in the one cache, or reads it: into that cache, or where there is none, for
    /// the caller alone.
    fn get<K: std::hash::Hash + Eq + Copy, V: Clone>(
        &mut self,
        key: Key,
        find: Find<K, V>,
        read: impl FnOnce(&mut R) -> Result<V, ViewError>,
    ) -> Result<V, ViewError> {
        self.asked.push(self.hasher.hash_one(key));
        let Self { reader, tally, .. } = self;
        let Some(cache) = self.job.as_ref().and_then(|job| job.cache.as_ref()) else {
            return tally.read::<R, _>(key.kind(), || read(reader));
        };
        let since = tally.now::<R>();
        let (value, arrival) = (find.within)(cache).get_or_read(find.key, self.cancel, || {
            tally.timed::<R, _>(key.kind(), || read(reader))
        })?;
        self.tally.note(key.kind(), arrival, since);
        Ok(value)
    }
}

impl<R: Reader> Database for InOrder<'_, R> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        let find = Find { key: address, within: |cache| &cache.accounts };
        let row = self.get(Key::Account(address), find, |reader| Ok(reader.account(&address)?))?;
        Ok(row.map(row::info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ViewError> {
        let find = Find { key: hash, within: |cache| &cache.codes };
        self.get(Key::Code(hash), find, |reader| row::bytecode(hash, reader.code(&hash)?))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let find = Find { key: (address, key), within: |cache| &cache.slots };
        let read = |reader: &mut R| Ok(reader.slot(&address, &key)?);
        self.get(Key::Slot(address, key), find, read)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_and_what_nobody_used_are_counted_by_key() {
        let first = add(
            WarmUp::default(),
            BatchKeys { read: vec![vec![1, 2, 3], vec![3, 4]], asked: vec![3, 4, 5] },
        );
        let wanted = WarmUp { read_count: 0, asked_count: 3, found_count: 2, unused_count: 2 };
        assert_eq!(first, wanted);
        // A key of another batch is another value.
        let second = add(first, BatchKeys { read: vec![vec![]], asked: vec![1] });
        assert_eq!(second, WarmUp { asked_count: 4, ..wanted });
    }
}
