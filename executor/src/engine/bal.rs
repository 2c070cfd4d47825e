//! All transactions at once, each on its own state as of its index, which the block-level
//! access list gives (EIP-7928). Reads on demand, by readers of their own, or not at all where
//! the list has the values, which readers then verify; the result is checked against the list as
//! it comes.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use workload::{Batch, BlockAccessIndex, Steps};

use super::{EngineError, Executed, Spent, Task, commit};
use crate::{
    crew::Crew,
    prefetch::Lane,
    prestate::PreState,
    process,
    schedule::{self},
    span::Spans,
    store::{ReadCounters, Reader, Sample, StoreError},
    trace::{Recorder, Track, What},
    view::ReadTally,
};
use variant::{Io, Phase, Schedule};

mod gate;
mod job;

use job::Job;

/// What one worker counts over all batches: made before the clock, joined after it.
#[derive(Debug, Default)]
struct Tallies {
    on_demand: ReadTally,
    prefetched: ReadTally,
}

/// What one worker leaves behind.
#[derive(Debug)]
struct Life {
    tallies: Tallies,
    counters: ReadCounters,
    /// Of a thread that only verifies.
    priority: Option<process::Priority>,
}

/// Executes all batches in order, the transactions of each at once.
///
/// # Errors
/// [`EngineError`].
pub(super) fn execute<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
) -> Result<Executed, EngineError> {
    let size = task.variant.thread_count + task.variant.io_thread_count;
    let stop = AtomicBool::new(false);
    let crew = Crew::<Job<P>>::new(size, &stop, task.cancel);
    let executors = task.variant.thread_count;
    let name = |worker| if worker < executors { "executor" } else { "reader" };
    let no_thread = |error| StoreError::no_thread("bal", &error);
    let live = |worker| work(sample, task, worker, &crew, &stop);
    let lead = || run_batches(sample, task, &crew, &stop);
    let (executed, lives) = crew.run(name, no_thread, live, lead).map_err(EngineError::Store)?;
    let mut counters = ReadCounters::default();
    lives.iter().for_each(|life| counters.add(&life.counters));
    let mut executed =
        executed.map_err(|error| error.spending(|spent| spent.counters.add(&counters)))?;
    executed.counters.add(&counters);
    for life in &lives {
        executed.on_demand.merge(&life.tallies.on_demand);
        executed.prefetched.merge(&life.tallies.prefetched);
        executed.verifier_priority = life.priority.or(executed.verifier_priority);
    }
    Ok(executed)
}

/// A worker's life: the first threads execute, those behind them only read. Readers that verify
/// must not take the CPU from those that execute.
fn work<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
    worker: usize,
    crew: &Crew<'_, Job<P>>,
    stop: &AtomicBool,
) -> Result<Life, StoreError> {
    let mut reader = sample.reader()?;
    let mut tallies = Tallies::default();
    let (executors, readers) = (task.variant.thread_count, task.variant.io_thread_count);
    let recorder = || task.trace.map(|trace| trace.recorder(executors + readers));
    (tallies.on_demand.trace, tallies.prefetched.trace) = (recorder(), recorder());
    let executes = worker < executors;
    let verifies = !executes && task.variant.io == Io::FromList;
    let priority = verifies.then(process::lower_priority);
    crew.serve(|job: &Job<P>| {
        let done = match executes {
            true => job.execute(&mut reader, &mut tallies, task, (worker, stop)),
            false => {
                let (number, count) =
                    (worker - task.variant.thread_count, task.variant.io_thread_count);
                job.read(&mut reader, &mut tallies, Lane { number, count }, stop)
            }
        };
        if let Err(failure) = done {
            stop.store(true, Ordering::Relaxed);
            lock(&job.failures).push(failure);
        }
    });
    if let Some(trace) = task.trace {
        let reader = || Track::Reader(worker - executors);
        let track = if executes { Track::Executor(worker) } else { reader() };
        trace.give(track, tallies.on_demand.trace.take());
        trace.give(track, tallies.prefetched.trace.take());
    }
    Ok(Life { tallies, counters: reader.counters(), priority })
}

/// The clock runs in here only.
fn run_batches<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
    crew: &Crew<'_, Job<P>>,
    stop: &AtomicBool,
) -> Result<Executed, EngineError> {
    let mut reader = sample.reader()?;
    let mut executed = Executed::default();
    crew.wait_idle();
    if stop.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    let known_orders = known_orders(task);
    let mut main = task.trace.map(|trace| trace.recorder(usize::MAX));
    let before = process::Snapshot::now();
    let spans = Arc::new(Spans::start());
    let course = Course { spans: &spans, known_orders, main: main.as_deref_mut() };
    let done = run_all(sample, task, crew, stop, (course, &mut reader, &mut executed));
    executed.wall = spans.elapsed();
    executed.process = process::Snapshot::now().since(&before);
    executed.spans = spans.spans();
    if let Some(trace) = task.trace {
        trace.give(Track::Main, main);
        let of_main =
            [Phase::Decode, Phase::Schedule, Phase::Order, Phase::Validate, Phase::Commit];
        trace.clock(&spans, &of_main);
    }
    executed.prefetch_reads_together = reader.reads_together();
    executed.counters = reader.counters();
    match done {
        Ok(()) => Ok(executed),
        Err(error) => Err(error.spending(|spent| {
            let Executed { wall, process, counters, .. } = executed;
            *spent = Spent { wall, process, counters };
        })),
    }
}

/// What the thread that began a sample keeps on its way through the batches.
struct Course<'c> {
    spans: &'c Arc<Spans>,
    /// Of each batch, where steps go by their known cost.
    known_orders: Vec<Vec<BlockAccessIndex>>,
    main: Option<&'c mut Recorder>,
}

fn run_all<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
    crew: &Crew<'_, Job<P>>,
    stop: &AtomicBool,
    (course, reader, executed): (Course<'_>, &mut S::Reader<'_>, &mut Executed),
) -> Result<(), EngineError> {
    let Course { spans, known_orders, mut main } = course;
    let mut known_orders = known_orders.into_iter();
    for (place, batch) in task.workload.batches.iter().enumerate() {
        let at = (spans, sample.row_layout());
        let job = Job::new(task, place, batch, at, known_orders.next())?;
        let posted = spans.elapsed();
        crew.post(Arc::new(job));
        let job = crew.finish().unwrap_or_else(|| panic!("batch {place} was posted"));
        let start = spans.elapsed();
        if let Some(main) = &mut main {
            main.seldom(What::Threads, spans.at(posted), spans.at(start));
        }
        let result = job.finish(task, reader, stop, executed)?;
        drop(job);
        spans.close(Phase::Validate, start);
        commit(sample, spans, &result.net_changes)?;
        executed.batches.push(result);
    }
    Ok(())
}

/// Orders that no client could know, and so are made before the clock.
fn known_orders(task: &Task<'_>) -> Vec<Vec<BlockAccessIndex>> {
    if task.variant.schedule != Schedule::KnownCost {
        return Vec::new();
    }
    let (given, batches) = (task.known_costs, &task.workload.batches);
    assert_eq!(given.len(), batches.len(), "batches with known costs, and batches");
    let order = |(costs, batch): (&Vec<Duration>, &Batch)| {
        assert_eq!(costs.len(), Steps::of(batch).count() as usize, "known costs, and steps");
        schedule::by_known_cost(costs)
    };
    given.iter().zip(batches).map(order).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
