//! The one clock, and the trait of engines. Starts the workers, then the clock. Has the engine run
//! each batch, computes the state root if the variant has one, and commits. At the end waits for
//! background work that commits caused in the store, stops the clock, and completes the trace. An
//! engine knows only how to run a batch.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use variant::{BlockDuty, Phase};
use workload::Batch;

use super::{
    error::{EngineError, Spent},
    executed::{BatchResult, Executed},
    tally::WorkerCounts,
    task::Task,
    writes::WriteWatch,
};
use crate::{
    error::StoreError,
    latency::Latencies,
    pool::WorkerPool,
    process,
    received::Reception,
    root::{self, RootedSample, Rooting},
    span::Spans,
    store::Sample,
    trace::Track,
};

/// One execution of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Execution<'a> {
    /// The state that is open for this execution.
    pub(super) sample: &'a dyn Sample,
    /// The work.
    pub(super) task: &'a Task<'a>,
    /// Flag that the workers of this execution poll. It is set if a worker fails or the user
    /// interrupts.
    pub(super) stop: &'a AtomicBool,
}

/// A way to execute batches. The functions are listed in the order of their calls.
pub(super) trait Engine: Sync {
    /// One batch, shared by its workers.
    type Job: Send + Sync;
    /// State of the leading thread, from batch to batch.
    type Lead;

    /// The engine's name, for errors.
    const NAME: &'static str;

    /// Returns the number of workers, without the leading thread.
    fn worker_count(&self) -> usize {
        0
    }

    /// Returns the track of the worker with this number, from 0.
    fn track(&self, worker: usize) -> Track {
        Track::Executor(worker)
    }

    /// Runs a worker, from before the clock starts until after it stops: makes the worker's reader,
    /// then serves the pool.
    ///
    /// # Errors
    /// [`StoreError`]: the worker cannot begin.
    fn work(
        &self,
        _worker: usize,
        _pool: &WorkerPool<'_, Self::Job>,
    ) -> Result<WorkerCounts, StoreError> {
        Ok(WorkerCounts::default())
    }

    /// Prepares the leading thread, before the clock starts.
    ///
    /// # Errors
    /// [`EngineError`]: nothing is executed.
    fn prepare_lead(&self) -> Result<Self::Lead, EngineError>;

    /// Runs one batch inside the clock. The caller commits the result.
    ///
    /// # Errors
    /// [`EngineError`]: no further batch is run.
    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        current: &CurrentBatch<'_, Self::Job>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError>;

    /// Adds the counts of the leading thread, after the clock has stopped.
    fn add_lead_counts(&self, lead: Self::Lead, executed: &mut Executed);

    /// Completes the counts, after the counts of all workers are added.
    fn complete(&self, _executed: &mut Executed) {}
}

/// The batch to run now.
pub(super) struct CurrentBatch<'t, J> {
    /// 0-based index of the batch.
    pub(super) index: usize,
    /// The batch.
    pub(super) batch: &'t Batch,
    /// The sample's clock.
    pub(super) spans: &'t Arc<Spans>,
    pool: &'t WorkerPool<'t, J>,
}

impl<J> CurrentBatch<'_, J> {
    /// Gives `job` to all workers and waits until they are done.
    pub(super) fn work_on(&self, job: J) -> Arc<J> {
        self.pool.post(Arc::new(job));
        self.pool.finish().unwrap_or_else(|| panic!("batch {} was posted", self.index))
    }

    /// Gives `job` to all workers and returns at once. The caller must call [`Self::end`] later.
    pub(super) fn begin(&self, job: J) -> Arc<J> {
        let job = Arc::new(job);
        self.pool.post(Arc::clone(&job));
        job
    }

    /// Waits until all workers are done with the job that [`Self::begin`] gave them.
    pub(super) fn end(&self) {
        drop(self.pool.finish());
    }
}

/// Executes all batches in order by `engine`.
///
/// # Errors
/// [`EngineError`]. The error of a rejected list has the cost so far.
pub(super) fn run<E: Engine>(
    engine: &E,
    execution: Execution<'_>,
) -> Result<Executed, EngineError> {
    let Execution { sample, task, stop } = execution;
    let pool = WorkerPool::<E::Job>::new(engine.worker_count(), stop, task.cancel);
    let tries = sample.tries();
    let rooted_sample = RootedSample {
        variant: &task.variant,
        workload: task.workload,
        lists: task.lists,
        tries: tries.as_deref(),
        inputs: task.root,
        trace: task.trace,
        stop,
        cancel: task.cancel,
    };
    let reception = Reception::new(task.received(), stop);
    let ran = reception.run(|| {
        root::with_rooting(rooted_sample, |rooting| {
            let concurrent = ConcurrentWork { reception: &reception, rooting };
            pool.run(
                |worker| engine.track(worker).name(),
                |error| StoreError::no_thread(E::NAME, &error),
                |worker| {
                    let mut counts = engine.work(worker, &pool)?;
                    if let Some(trace) = task.trace {
                        trace.add(engine.track(worker), counts.on_demand.trace.take());
                        trace.add(engine.track(worker), counts.prefetched.trace.take());
                    }
                    Ok(counts)
                },
                || run_leader(engine, execution, &pool, concurrent),
            )
        })
    });
    let ran = ran.map_err(EngineError::Store)?.map_err(|error| EngineError::of_root(0, error))?;
    let (timed, workers) = ran.map_err(|error| match task.cancel.load(Ordering::Relaxed) {
        // A worker may also fail to begin because the user interrupts, for example while a shard
        // gets its workload.
        true => EngineError::Cancelled,
        false => EngineError::Store(error),
    })?;
    let Timed { mut executed, done } = timed?;
    workers.iter().for_each(|worker| executed.add_worker(worker));
    engine.complete(&mut executed);
    match done {
        Ok(()) => Ok(executed),
        Err(error) => Err(error.spending(|spent| {
            let Executed { wall, process, counters, .. } = executed;
            *spent = Spent { wall, process, counters };
        })),
    }
}

/// The work on a batch besides its execution: the duties on received blocks, and the state root.
struct ConcurrentWork<'b, 'r, 't> {
    reception: &'b Reception<'b>,
    rooting: Option<Rooting<'r, 't>>,
}

/// An execution whose clock has stopped, after the last batch or a failure.
struct Timed {
    executed: Executed,
    done: Result<(), EngineError>,
}

/// Runs the leading thread: executes and commits all batches. The clock runs only in this function.
fn run_leader<E: Engine>(
    engine: &E,
    execution: Execution<'_>,
    pool: &WorkerPool<'_, E::Job>,
    concurrent: ConcurrentWork<'_, '_, '_>,
) -> Result<Timed, EngineError> {
    let ConcurrentWork { reception, mut rooting } = concurrent;
    let mut lead = engine.prepare_lead()?;
    let mut executed = Executed { tx_latencies: Latencies::ready(), ..Executed::default() };
    pool.wait_idle();
    if execution.stop.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    let mut writes = WriteWatch::new(execution.sample)?;
    let before = process::Snapshot::now();
    let spans = Arc::new(Spans::start());
    // No background work runs before the clock starts.
    writes.begin(&spans)?;
    let mut batches = execution.task.workload.batches.iter().enumerate();
    let done = batches.try_for_each(|(index, batch)| {
        let begin = spans.elapsed();
        let current = CurrentBatch { index, batch, spans: &spans, pool };
        let decoded = reception
            .receive(index, &spans)
            .map_err(|error| EngineError::of_received(index, error))?;
        let begun = rooting.as_ref().map_or(Ok(None), |rooting| rooting.begin(index, &spans));
        let writing = begun.map_err(|error| EngineError::of_root(index, error))?;
        let mut result = engine.run_batch(&mut lead, &current, &mut executed)?;
        drop(writing);
        let checked = reception.check(index, decoded.as_ref(), &result.results, &spans);
        checked.map_err(|error| EngineError::of_received(index, error))?;
        result.decoded = decoded;
        if let Some(rooting) = &mut rooting {
            let rooted = rooting.root(&result.net_changes, &spans);
            result.rooted = Some(rooted.map_err(|error| EngineError::of_root(index, error))?);
        }
        let end = commit(execution, rooting.as_ref(), &result, &spans)?;
        executed.batches.push(result);
        executed.batch_times.push(end - begin);
        writes.measure_after_batch(&spans);
        Ok(())
    });
    let done = done.and_then(|()| writes.settle(&spans, execution.task.cancel));
    executed.wall = spans.elapsed().saturating_sub(writes.excluded);
    executed.process = process::Snapshot::now().since(&before);
    let done = done.and_then(|()| {
        executed.writes = writes.end()?;
        Ok(())
    });
    executed.spans = spans.spans();
    executed.root_work = rooting.as_ref().map(Rooting::work);
    engine.add_lead_counts(lead, &mut executed);
    if let Some(trace) = execution.task.trace {
        trace.set_clock(&spans);
    }
    Ok(Timed { executed, done })
}

/// Commits a batch, with the nodes of its state root if that is computed. Returns the end of the
/// commit.
fn commit(
    execution: Execution<'_>,
    rooting: Option<&Rooting<'_, '_>>,
    result: &BatchResult,
    spans: &Spans,
) -> Result<Duration, EngineError> {
    let start = spans.elapsed();
    match (rooting, &result.rooted) {
        (Some(rooting), Some(rooted)) => rooting.commit(&result.net_changes, rooted)?,
        _ => execution.sample.commit(&result.net_changes)?,
    }
    let end = spans.close(Phase::Commit, start).end;
    if !execution.task.variant.block_duties.has(BlockDuty::Sync) {
        return Ok(end);
    }
    let start = spans.elapsed();
    execution.sample.sync()?;
    Ok(spans.close(Phase::Sync, start).end)
}
