//! A speculative pass, then in order: all transactions of a batch run in parallel on the state
//! before it, only for what they read; then the batch runs as in `sequential`, and finds what
//! they have read. No list. The pass may be wrong in all but values: what it cached is the state
//! before the batch, so a transaction that went another way costs a read and never the result.

mod speculate;

use std::{
    hash::BuildHasher,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use alloy_primitives::{Address, B256, U256, map::DefaultHashBuilder};
use revm::{
    Database,
    state::{AccountInfo, Bytecode},
};
use workload::{Steps, Workload, genesis::AccountState};

use super::{
    EngineError, Executed, Task, commit,
    sequential::{self, Purpose, Traced},
};
use crate::{
    crew::Crew,
    process,
    single_flight::SingleFlight,
    span::Spans,
    store::{ReadCounters, Reader, Sample, StoreError},
    trace::{self, Recorder, Track},
    view::{self, ReadTally, ViewError},
};
use variant::{Phase, WarmCache};

/// What the speculative pass was good for. A key is an account, a slot or a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmUp {
    /// Reads of the store that the pass made; a key that two workers read counts twice.
    pub read_count: u64,
    /// Keys that the run in order asked for.
    pub asked_count: u64,
    /// Those among them that the pass had read before.
    pub found_count: u64,
    /// Keys that the pass read and the run in order did not ask for.
    pub unused_count: u64,
}

/// What was read before the batch.
#[derive(Debug, Default)]
struct Cache {
    accounts: SingleFlight<Address, Option<AccountState>>,
    slots: SingleFlight<(Address, U256), U256>,
    codes: SingleFlight<B256, Bytecode>,
}

/// The part of a cache that has one kind of key.
type Part<K, V> = fn(&Cache) -> &SingleFlight<K, V>;

/// A key as the figures count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Account(Address),
    Slot(Address, U256),
    Code(B256),
}

impl Key {
    /// As a trace tells keys apart.
    const fn kind(self) -> trace::Key {
        match self {
            Self::Account(_) => trace::Key::Account,
            Self::Slot(..) => trace::Key::Slot,
            Self::Code(_) => trace::Key::Code,
        }
    }
}

/// One batch as the workers of the pass see it.
#[derive(Debug)]
struct Job {
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
struct InOrder<'a, R> {
    workload: &'a Workload,
    cancel: &'a AtomicBool,
    reader: R,
    tally: ReadTally,
    job: Option<Arc<Job>>,
    hasher: &'a DefaultHashBuilder,
    /// Hashes of the keys that were asked for in this batch.
    asked: Vec<u64>,
}

/// Executes all batches in order, each after a speculative pass over it.
///
/// # Errors
/// [`EngineError`].
pub(super) fn execute<S: Sample>(
    sample: &S,
    task: &Task<'_>,
    cache: WarmCache,
) -> Result<Executed, EngineError> {
    let size = task.variant.thread_count;
    let stop = AtomicBool::new(false);
    let hasher = DefaultHashBuilder::default();
    let crew = Crew::<Job>::new(size, &stop, task.cancel);
    let no_thread = |error| StoreError::no_thread("prewarm", &error);
    let live = |worker| work(sample, task, worker, &crew, (&stop, &hasher));
    let lead = || run_batches(sample, task, cache, &crew, (&stop, &hasher));
    let (executed, lives) =
        crew.run(|_| "executor", no_thread, live, lead).map_err(EngineError::Store)?;
    let mut executed = executed?;
    for (tally, counters) in &lives {
        executed.prefetched.merge(tally);
        executed.counters.add(counters);
    }
    if let Some(warm_up) = &mut executed.warm_up {
        warm_up.read_count = executed.prefetched.read_count;
    }
    Ok(executed)
}

/// A worker's life in the pass, and what it counted.
fn work<S: Sample>(
    sample: &S,
    task: &Task<'_>,
    worker: usize,
    crew: &Crew<'_, Job>,
    (stop, hasher): (&AtomicBool, &DefaultHashBuilder),
) -> Result<(ReadTally, ReadCounters), StoreError> {
    let mut reader = sample.reader()?;
    let trace = task.trace.map(|trace| trace.recorder(task.variant.thread_count + 1));
    let mut tally = ReadTally { trace, ..ReadTally::default() };
    crew.serve(|job: &Job| {
        let start = job.spans.elapsed();
        let own = Cache::default();
        let cache = job.cache.as_ref().unwrap_or(&own);
        let ahead = speculate::Ahead { workload: task.workload, cache, cancel: stop, hasher };
        let done = ahead.run(job.place, &job.steps, &job.next_step, (&mut reader, &mut tally));
        match done {
            Ok(read) => lock(&job.read).push(read),
            Err(error) => {
                // In this order, so that who is stopped by it does not come before it.
                lock(&job.failure).get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
        let span = job.spans.close(Phase::WarmUp, start);
        if let Some(trace) = &mut tally.trace {
            trace.phase(&job.spans, span);
        }
    });
    if let Some(trace) = task.trace {
        trace.give(Track::Executor(worker), tally.trace.take());
    }
    Ok((tally, reader.counters()))
}

/// The clock runs in here only.
fn run_batches<S: Sample>(
    sample: &S,
    task: &Task<'_>,
    cache: WarmCache,
    crew: &Crew<'_, Job>,
    (stop, hasher): (&AtomicBool, &DefaultHashBuilder),
) -> Result<Executed, EngineError> {
    let mut executed = Executed::default();
    let mut keys = Vec::with_capacity(task.workload.batches.len());
    let mut in_order = InOrder {
        workload: task.workload,
        cancel: stop,
        reader: sample.reader()?,
        tally: ReadTally::default(),
        job: None,
        hasher,
        asked: Vec::new(),
    };
    in_order.tally.trace = task.trace.map(|trace| trace.recorder(task.variant.thread_count + 1));
    crew.wait_idle();
    if stop.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    let before = process::Snapshot::now();
    let spans = Arc::new(Spans::start());
    for (place, batch) in task.workload.batches.iter().enumerate() {
        crew.post(Arc::new(Job {
            place,
            steps: Steps::of(batch),
            next_step: AtomicU32::new(0),
            cache: (cache == WarmCache::Shared).then(Cache::default),
            spans: Arc::clone(&spans),
            read: Mutex::default(),
            failure: Mutex::default(),
        }));
        let job = crew.finish().unwrap_or_else(|| panic!("batch {place} was posted"));
        if let Some(failure) = lock(&job.failure).take() {
            return Err(failure);
        }
        let start = spans.elapsed();
        in_order.job = Some(Arc::clone(&job));
        let ran = sequential::run_batch(in_order, task, place, Purpose::Measure, &mut executed)?;
        in_order = ran.database;
        in_order.job = None;
        spans.close(Phase::Execute, start);
        commit(sample, &spans, &ran.result.net_changes)?;
        executed.batches.push(ran.result);
        keys.push((std::mem::take(&mut *lock(&job.read)), std::mem::take(&mut in_order.asked)));
    }
    executed.wall = spans.elapsed();
    executed.process = process::Snapshot::now().since(&before);
    executed.spans = spans.spans();
    executed.counters = in_order.reader.counters();
    if let Some(trace) = task.trace {
        trace.give(Track::Main, in_order.tally.trace.take());
        trace.clock(&spans, &[Phase::Execute, Phase::Commit]);
    }
    executed.on_demand = in_order.tally;
    executed.warm_up = Some(keys.into_iter().fold(WarmUp::default(), add));
    Ok(executed)
}

/// Adds what the keys of one batch say; outside the clock.
fn add(total: WarmUp, (read, asked): (Vec<Vec<u64>>, Vec<u64>)) -> WarmUp {
    let distinct = |mut keys: Vec<u64>| {
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let (read, asked) = (distinct(read.concat()), distinct(asked));
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
        (find, within): (K, Part<K, V>),
        read: impl FnOnce(&mut R) -> Result<V, ViewError>,
    ) -> Result<V, ViewError> {
        self.asked.push(self.hasher.hash_one(key));
        let Self { reader, tally, .. } = self;
        let Some(cache) = self.job.as_ref().and_then(|job| job.cache.as_ref()) else {
            return tally.read::<R, _>(key.kind(), || read(reader));
        };
        let since = tally.now::<R>();
        let (value, arrival) = within(cache)
            .get_or_read(find, self.cancel, || tally.timed::<R, _>(key.kind(), || read(reader)))?;
        self.tally.note(key.kind(), arrival, since);
        Ok(value)
    }
}

impl<R: Reader> Database for InOrder<'_, R> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        let find = (address, (|cache| &cache.accounts) as Part<_, _>);
        let row = self.get(Key::Account(address), find, |reader| Ok(reader.account(&address)?))?;
        Ok(row.map(view::info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ViewError> {
        let find = (hash, (|cache| &cache.codes) as Part<_, _>);
        self.get(Key::Code(hash), find, |reader| view::bytecode(hash, reader.code(&hash)?))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let find = ((address, key), (|cache| &cache.slots) as Part<_, _>);
        let read = |reader: &mut R| Ok(reader.slot(&address, &key)?);
        self.get(Key::Slot(address, key), find, read)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_and_what_nobody_used_are_counted_by_key() {
        let first = add(WarmUp::default(), (vec![vec![1, 2, 3], vec![3, 4]], vec![3, 4, 5]));
        let wanted = WarmUp { read_count: 0, asked_count: 3, found_count: 2, unused_count: 2 };
        assert_eq!(first, wanted);
        // A key of another batch is another value.
        let second = add(first, (vec![vec![]], vec![1]));
        assert_eq!(second, WarmUp { asked_count: 4, ..wanted });
    }
}
