//! Optimistic and in parallel, without a list: steps run before it is known what lower ones
//! write, over a memory that keeps each step's writes apart; a step that turns out to have read
//! something else than it should have is run again (Gelashvili et al., "Block-STM", 2022).
//!
//! What is its own here: every step is one of the order, system calls and withdrawals too. What
//! was read is compared by value, so a lower step that runs again and writes the same disturbs
//! nobody. A key remembers its highest reader, so only steps that a write may have disturbed are
//! validated. Fees are kept apart from the beneficiary's account until somebody reads it.
//!
//! | file | owns |
//! |---|---|
//! | `scheduler.rs`, `window.rs` | who does what next, and how far ahead; plain values |
//! | `board.rs` | the scheduler behind its lock, waiting |
//! | `cell.rs` | the versions of one key; plain values |
//! | `memory.rs`, `purse.rs` | all cells; all fees |
//! | `view.rs`, `publish.rs` | what one run reads and writes |
//! | `worker.rs`, `settle.rs` | a worker's life; the net changes |
//!
//! It knows no list, and leaves the store alone but for reading below the batch.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use workload::{Batch, BlockAccessIndex, Steps};

use self::{
    board::Board,
    memory::Memory,
    purse::Purses,
    scheduler::Scheduler,
    view::Ground,
    worker::{Logs, Run, Work},
};
use super::{BatchResult, EngineError, Executed, Speculation, Task, commit};
use crate::{
    crew::Crew,
    process,
    span::Spans,
    store::{ReadCounters, Reader, Sample, StoreError},
    trace::Track,
    view::ReadTally,
};
use variant::Phase;

mod board;
mod cell;
mod memory;
#[cfg(test)]
mod model;
mod publish;
mod purse;
mod scheduler;
mod settle;
mod view;
mod window;
mod worker;

/// One batch as its workers see it.
#[derive(Debug)]
struct Job<'a> {
    place: usize,
    steps: Steps,
    memory: Memory,
    purses: Purses,
    board: Board<'a>,
    logs: Logs,
    spans: Arc<Spans>,
    runs: Mutex<Vec<Vec<Run>>>,
    failures: Mutex<Vec<(BlockAccessIndex, EngineError)>>,
}

/// Executes all batches in order, the steps of each optimistically at once.
///
/// # Errors
/// [`EngineError`].
pub(super) fn execute<S: Sample>(sample: &S, task: &Task<'_>) -> Result<Executed, EngineError> {
    let size = task.variant.thread_count;
    let stop = AtomicBool::new(false);
    let crew = Crew::<Job<'_>>::new(size, &stop, task.cancel);
    let no_thread = |error| StoreError::no_thread("block-stm", &error);
    let live = |worker| work(sample, task, worker, &crew, &stop);
    let lead = || run_batches(sample, task, &crew, &stop);
    let (executed, lives) =
        crew.run(|_| "executor", no_thread, live, lead).map_err(EngineError::Store)?;
    let mut executed = executed?;
    for (tally, counters) in &lives {
        executed.on_demand.merge(tally);
        executed.counters.add(counters);
    }
    Ok(executed)
}

/// A worker's life, and what it counted.
fn work<S: Sample>(
    sample: &S,
    task: &Task<'_>,
    worker: usize,
    crew: &Crew<'_, Job<'_>>,
    stop: &AtomicBool,
) -> Result<(ReadTally, ReadCounters), StoreError> {
    let mut reader = sample.reader()?;
    let trace = task.trace.map(|trace| trace.recorder(task.variant.thread_count));
    let mut tally = ReadTally { trace, ..ReadTally::default() };
    crew.serve(|job: &Job<'_>| {
        let start = job.spans.elapsed();
        let (ground, place) = (job.ground(task, stop), job.place);
        let work = Work { ground, steps: &job.steps, logs: &job.logs, place };
        match worker::work(&work, (&mut reader, &mut tally)) {
            Ok(runs) => lock(&job.runs).push(runs),
            Err(failure) => {
                stop.store(true, Ordering::Relaxed);
                lock(&job.failures).push(failure);
            }
        }
        let span = job.spans.close(Phase::Execute, start);
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
fn run_batches<'a, S: Sample>(
    sample: &S,
    task: &Task<'_>,
    crew: &Crew<'_, Job<'a>>,
    stop: &'a AtomicBool,
) -> Result<Executed, EngineError> {
    let mut reader = sample.reader()?;
    let mut executed = Executed::default();
    let mut speculation = Speculation::default();
    crew.wait_idle();
    if stop.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    let before = process::Snapshot::now();
    let spans = Arc::new(Spans::start());
    for (place, batch) in task.workload.batches.iter().enumerate() {
        crew.post(Arc::new(Job::new(task, place, batch, (&spans, stop))));
        let job = crew.finish().unwrap_or_else(|| panic!("batch {place} was posted"));
        let start = spans.elapsed();
        let job = Arc::into_inner(job).unwrap_or_else(|| panic!("batch {place} is done"));
        let result = job.finish(task, &mut reader, (&mut executed, &mut speculation))?;
        spans.close(Phase::Validate, start);
        commit(sample, &spans, &result.net_changes)?;
        executed.batches.push(result);
    }
    executed.wall = spans.elapsed();
    executed.process = process::Snapshot::now().since(&before);
    executed.spans = spans.spans();
    executed.counters = reader.counters();
    executed.speculation = Some(speculation);
    if let Some(trace) = task.trace {
        trace.clock(&spans, &[Phase::Validate, Phase::Commit]);
    }
    Ok(executed)
}

impl<'a> Job<'a> {
    fn new(
        task: &Task<'_>,
        place: usize,
        batch: &Batch,
        (spans, stop): (&Arc<Spans>, &'a AtomicBool),
    ) -> Self {
        let steps = Steps::of(batch);
        let memory = Memory::new(steps.count() as usize);
        let purses = Purses::new(batch, &steps, &memory);
        let links = purse::nonce_links(batch, &steps);
        let scheduler = Scheduler::new(&links, task.variant.thread_count);
        Self {
            place,
            purses,
            board: Board::new(scheduler, stop),
            logs: Logs::new(steps.count()),
            steps,
            memory,
            spans: Arc::clone(spans),
            runs: Mutex::default(),
            failures: Mutex::default(),
        }
    }

    fn ground<'j>(&'j self, task: &'j Task<'_>, stop: &'j AtomicBool) -> Ground<'j> {
        Ground {
            memory: &self.memory,
            purses: &self.purses,
            board: &self.board,
            workload: task.workload,
            stop,
        }
    }

    /// Joins what the workers left.
    fn finish<R: Reader>(
        self,
        task: &Task<'_>,
        reader: &mut R,
        (executed, speculation): (&mut Executed, &mut Speculation),
    ) -> Result<BatchResult, EngineError> {
        let mut failures = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What was cancelled because another step failed comes last.
        failures.sort_by_key(|(index, error)| (matches!(error, EngineError::Cancelled), *index));
        if let Some((_, error)) = failures.into_iter().next() {
            return Err(error);
        }
        if task.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        let scheduler = self.board.into_scheduler();
        speculation.add(&scheduler, &self.steps);
        let runs = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut last: Vec<Option<Run>> = Vec::new();
        last.resize_with(self.steps.count() as usize, || None);
        for run in runs.into_iter().flatten() {
            let place = &mut last[run.index as usize];
            if place.as_ref().is_none_or(|known| known.incarnation < run.incarnation) {
                *place = Some(run);
            }
        }
        let mut outcomes = Vec::with_capacity(last.len());
        let mut longest = Duration::ZERO;
        for run in last.into_iter().flatten() {
            let Some(outcome) = run.outcome else { continue };
            outcomes.push(outcome);
            executed.tx_latencies.record(run.latency);
            longest = longest.max(run.latency);
        }
        executed.longest_txs += longest;
        let step_count = self.steps.count();
        let net_changes = settle::net_changes(&self.memory, &self.purses, step_count, reader)?;
        Ok(BatchResult { outcomes, net_changes })
    }
}

impl Speculation {
    fn add(&mut self, scheduler: &Scheduler, steps: &Steps) {
        let counts = scheduler.counts();
        self.executions += counts.executions;
        self.validations += counts.validations;
        self.aborts += counts.aborts;
        self.waits += counts.waits;
        self.steps += u64::from(steps.count());
        for incarnation in scheduler.incarnations() {
            let aborts = incarnation.saturating_sub(1);
            self.aborted_steps += u64::from(aborts > 0);
            self.most_aborts_of_a_step = self.most_aborts_of_a_step.max(u64::from(aborts));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
