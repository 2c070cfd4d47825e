//! The engine `prewarm`, which takes no list. It runs the batch in order on the leading thread (the
//! *run in order*). Meanwhile workers run later transactions on the state before the batch, only
//! for their reads (the *speculative pass*). The run in order then finds the values in the shared
//! cache, or the blocks in the caches of the store and the machine.
//!
//! The pass and the run in order begin together, as in reth, Nethermind and ethrex. A worker skips
//! transactions that the run in order has begun, and gives up its transaction when the run in order
//! begins it. With a barrier (`ReadTime::Before`), the pass ends before the run in order begins.
//!
//! The cached values are always right: they are the state before the batch. If a speculative run
//! reads other keys than the run in order, these reads cost time and never change the result.

mod job;
mod speculate;

use std::{
    hash::BuildHasher,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use alloy_primitives::{Address, B256, U256, map::DefaultHashBuilder};
use revm::{
    Database,
    state::{AccountInfo, Bytecode},
};
use variant::{Phase, ReadTime, WarmCache, Warming};
use workload::{Steps, Workload};

use self::job::{Cache, CacheKey, Job, Key};
use super::{
    clock::{CurrentBatch, Engine, Execution},
    error::{EngineError, ViewError},
    executed::{BatchResult, Executed, SpeculativePassCounts},
    in_order::{self, BatchDatabase},
    row,
    tally::{ReadTally, Reading, WorkerCounts},
};
use crate::{
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    store::Reader,
    trace::{EventKind, Recorder, Track, close_part},
};

pub(super) struct Prewarm<'a> {
    execution: Execution<'a>,
    warming: Warming,
    hasher: DefaultHashBuilder,
}

impl<'a> Prewarm<'a> {
    /// Makes the engine with the time and the cache of its speculative pass.
    pub(super) fn new(execution: Execution<'a>, warming: Warming) -> Self {
        Self { execution, warming, hasher: DefaultHashBuilder::default() }
    }

    /// Returns the hasher of keys, if keys are counted one by one. With a shared cache, the cache's
    /// own counts suffice.
    fn hasher(&self) -> Option<&DefaultHashBuilder> {
        (self.warming.cache == WarmCache::PerWorker).then_some(&self.hasher)
    }
}

impl<'a> Engine for Prewarm<'a> {
    type Job = Job;
    type Lead = InOrder<'a>;

    const NAME: &'static str = "prewarm";

    /// If workers run beside the run in order, the leading thread is one of the variant's threads.
    /// If workers run before it, the leading thread waits meanwhile, and does not count.
    fn worker_count(&self) -> usize {
        let thread_count = self.execution.task.variant.thread_count;
        match self.warming.time {
            ReadTime::Before => thread_count,
            ReadTime::While => thread_count.saturating_sub(1),
        }
    }

    fn work(&self, _worker: usize, pool: &WorkerPool<'_, Job>) -> Result<WorkerCounts, StoreError> {
        let Execution { sample, task, stop } = self.execution;
        let mut reader = sample.reader()?;
        let recorder_count = task.variant.thread_count + 1;
        let mut counts = WorkerCounts::new(reader.as_ref(), task.trace, recorder_count);
        pool.serve(|job: &Job| {
            let start = job.spans.elapsed();
            let own;
            let cache = match &job.cache {
                Some(shared) => shared,
                None => {
                    own = Cache::default();
                    &own
                }
            };
            let (workload, hasher) = (task.workload, self.hasher());
            let pass = speculate::SpeculativePass { workload, job, cache, cancel: stop, hasher };
            let reading = Reading { reader: reader.as_mut(), tally: &mut counts.prefetched };
            match pass.run(reading) {
                Ok(read) => lock(&job.read).push(read),
                Err(error) => {
                    // The failure is stored before `stop` is set, so that no failure that `stop`
                    // causes comes first.
                    lock(&job.failure).get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
            let recorder = counts.prefetched.trace.as_deref_mut();
            close_part(&job.spans, Phase::WarmUp, start, recorder);
        });
        Ok(WorkerCounts { counters: reader.counters(), ..counts })
    }

    fn prepare_lead(&self) -> Result<Self::Lead, EngineError> {
        let Execution { sample, task, stop } = self.execution;
        let trace = task.trace.map(|trace| trace.recorder(task.variant.thread_count + 1));
        let reader = sample.reader()?;
        Ok(InOrder {
            workload: task.workload,
            cancel: stop,
            tally: ReadTally::new(reader.as_ref(), trace),
            reader,
            job: None,
            hasher: self.hasher().cloned(),
            asked: Vec::new(),
            keys: Vec::with_capacity(task.workload.batches.len()),
            pass_wait: Duration::ZERO,
        })
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        current: &CurrentBatch<'_, Job>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let job = Job {
            batch_index: current.index,
            steps: Steps::of(current.batch),
            next_step: AtomicU32::new(0),
            // Beside the run in order, workers skip the first transaction, step 1, which it begins
            // at once.
            passed_count: AtomicU32::new(match self.warming.time {
                ReadTime::Before => 0,
                ReadTime::While => 1,
            }),
            cache: (self.warming.cache == WarmCache::Shared).then(Cache::default),
            spans: Arc::clone(current.spans),
            read: Mutex::default(),
            failure: Mutex::default(),
        };
        let job = match self.warming.time {
            ReadTime::Before => {
                let job = current.work_on(job);
                if let Some(failure) = lock(&job.failure).take() {
                    return Err(failure);
                }
                job
            }
            ReadTime::While => current.begin(job),
        };
        let start = current.spans.elapsed();
        lead.job = Some(Arc::clone(&job));
        let task = self.execution.task;
        let list_duty = task.variant.list_duty;
        let ran = in_order::run_batch(lead, task, current.index, list_duty, executed);
        lead.job = None;
        let done = current.spans.close(Phase::Execute, start).end;
        if self.warming.time == ReadTime::While {
            // The run in order has ended, with or without a failure. So the pass ends.
            job.passed_count.store(u32::MAX, Ordering::Relaxed);
            current.end();
            let now = current.spans.elapsed();
            lead.pass_wait += now.saturating_sub(done);
            if let Some(trace) = &mut lead.tally.trace {
                trace.record_rare(
                    EventKind::Threads,
                    current.spans.at(done),
                    current.spans.at(now),
                );
            }
            // A worker's failure stops the run in order, so it is reported in place of the run's
            // error.
            if let Some(failure) = lock(&job.failure).take() {
                return Err(failure);
            }
        }
        let ran = ran?;
        let read = std::mem::take(&mut *lock(&job.read));
        lead.keys.push(BatchKeys { read, asked: std::mem::take(&mut lead.asked) });
        ran.close(task, current.index, current.spans)
    }

    fn add_lead_counts(&self, mut lead: Self::Lead, executed: &mut Executed) {
        executed.counters = lead.reader.counters();
        if let Some(trace) = self.execution.task.trace {
            trace.add(Track::Main, lead.tally.trace.take());
        }
        executed.on_demand = lead.tally;
        let tally = &executed.on_demand;
        let begun =
            SpeculativePassCounts { pass_wait: lead.pass_wait, ..SpeculativePassCounts::default() };
        executed.speculative_pass = Some(match self.warming.cache {
            WarmCache::PerWorker => lead.keys.into_iter().fold(begun, add_counts),
            // The shared cache read every key once, for the run in order or for a worker. The run
            // in order requested each key at most once.
            WarmCache::Shared => {
                let found_count = tally.ready_count + tally.waited_count;
                let requested_count = tally.read_count + found_count;
                SpeculativePassCounts { requested_count, found_count, ..begun }
            }
        });
    }

    fn complete(&self, executed: &mut Executed) {
        if let Some(counts) = &mut executed.speculative_pass {
            counts.read_count = executed.prefetched.read_count;
            if self.warming.cache == WarmCache::Shared {
                counts.unused_count = counts.read_count - counts.found_count;
            }
        }
    }
}

/// State of the run in order from batch to batch.
pub(super) struct InOrder<'a> {
    workload: &'a Workload,
    cancel: &'a AtomicBool,
    reader: Box<dyn Reader + 'a>,
    tally: ReadTally,
    job: Option<Arc<Job>>,
    /// Hashes keys, if they are counted one by one.
    hasher: Option<DefaultHashBuilder>,
    /// Hashes of the keys that the run in order requested in this batch.
    asked: Vec<u64>,
    /// Hashes of the keys of each batch so far.
    keys: Vec<BatchKeys>,
    /// Time from the end of a batch's run in order to the end of the pass over the batch, summed
    /// over the batches.
    pass_wait: Duration,
}

/// Hashes of the keys of one batch: keys that each worker read, and keys that the run in order
/// requested.
struct BatchKeys {
    read: Vec<Vec<u64>>,
    asked: Vec<u64>,
}

/// Adds the counts of one batch's keys to `total`, after the clock has stopped.
fn add_counts(total: SpeculativePassCounts, keys: BatchKeys) -> SpeculativePassCounts {
    let [read, asked] = [keys.read.concat(), keys.asked].map(|mut keys| {
        keys.sort_unstable();
        keys.dedup();
        keys
    });
    let found = asked.iter().filter(|key| read.binary_search(key).is_ok()).count() as u64;
    SpeculativePassCounts {
        requested_count: total.requested_count + asked.len() as u64,
        found_count: total.found_count + found,
        unused_count: total.unused_count + read.len() as u64 - found,
        ..total
    }
}

impl BatchDatabase for InOrder<'_> {
    fn trace(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }

    fn steps_passed(&mut self, step_count: u32) {
        if let Some(job) = &self.job {
            // A worker that sees the count late runs a transaction that is no longer ahead, which
            // is harmless.
            job.passed_count.store(step_count, Ordering::Relaxed);
        }
    }
}

impl InOrder<'_> {
    /// Finds `key` in the shared cache, or reads it into that cache. Without a shared cache, reads
    /// it for the caller only.
    fn get<K: std::hash::Hash + Eq + Copy, V: Clone>(
        &mut self,
        key: Key,
        cache_key: CacheKey<K, V>,
        read: impl FnOnce(&mut dyn Reader) -> Result<V, ViewError>,
    ) -> Result<V, ViewError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        if let Some(hasher) = &self.hasher {
            self.asked.push(hasher.hash_one(key));
        }
        let (reader, tally) = (self.reader.as_mut(), &mut self.tally);
        let Some(cache) = self.job.as_ref().and_then(|job| job.cache.as_ref()) else {
            return tally.read(key.kind(), || read(reader));
        };
        let since = tally.now();
        let (value, arrival) =
            (cache_key.within)(cache).get_or_read(cache_key.key, self.cancel, || {
                tally.timed(key.kind(), || read(reader))
            })?;
        self.tally.note(key.kind(), arrival, since);
        Ok(value)
    }
}

impl Database for InOrder<'_> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        let cache_key = CacheKey { key: address, within: |cache| &cache.accounts };
        let row =
            self.get(Key::Account(address), cache_key, |reader| Ok(reader.account(&address)?))?;
        Ok(row.map(row::info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ViewError> {
        let cache_key = CacheKey { key: hash, within: |cache| &cache.codes };
        self.get(Key::Code(hash), cache_key, |reader| row::bytecode(hash, reader.code(&hash)?))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let cache_key = CacheKey { key: (address, key), within: |cache| &cache.slots };
        self.get(Key::Slot(address, key), cache_key, |reader| Ok(reader.slot(&address, &key)?))
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
        let first = add_counts(
            SpeculativePassCounts::default(),
            BatchKeys { read: vec![vec![1, 2, 3], vec![3, 4]], asked: vec![3, 4, 5] },
        );
        let wanted = SpeculativePassCounts {
            requested_count: 3,
            found_count: 2,
            unused_count: 2,
            ..SpeculativePassCounts::default()
        };
        assert_eq!(first, wanted);
        // A key of another batch is another value.
        let second = add_counts(first, BatchKeys { read: vec![vec![]], asked: vec![1] });
        assert_eq!(second, SpeculativePassCounts { requested_count: 4, ..wanted });
    }
}
