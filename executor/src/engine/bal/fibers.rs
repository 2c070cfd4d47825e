//! The worker of `bal` for variants with several fibers on a thread (`run.fibers`). Each
//! transaction under way has its own fiber, reader, view and EVM. A transaction that waits for the
//! device yields the thread to the others.

use std::sync::atomic::Ordering;

use variant::Engine;

use super::{job::Job, prestate::PreState};
use crate::{
    engine::{clock::Execution, tally::WorkerCounts},
    error::StoreError,
    fiber::Fibers,
    lock::lock,
    pool::WorkerPool,
    trace::Track,
};

/// Runs a worker until the pool ends. In a trace, each fiber has a track of its own.
pub(super) fn work<P: PreState>(
    execution: &Execution<'_>,
    worker: usize,
    pool: &WorkerPool<'_, Job<P>>,
) -> Result<WorkerCounts, StoreError> {
    let Execution { sample, task, stop } = *execution;
    let count = task.variant.fiber_count;
    let mut readers = sample.fiber_readers(count)?;
    let recorder_count = count * task.variant.thread_count;
    let counts =
        readers.iter().map(|reader| WorkerCounts::new(reader.as_ref(), task.trace, recorder_count));
    let mut counts: Vec<_> = counts.collect();
    let mut fibers = Fibers::new(count).map_err(|error| StoreError::Failed {
        store: Engine::Bal.name(),
        action: format!("make the stacks of {count} fibers"),
        reason: error.to_string(),
    })?;
    pool.serve(|job: &Job<P>| {
        let works = readers.iter_mut().zip(&mut counts).map(|(reader, counts)| {
            move || {
                if let Err(failure) = job.execute(reader.as_mut(), counts, task, worker, stop) {
                    stop.store(true, Ordering::Relaxed);
                    lock(&job.failures).push(failure);
                }
            }
        });
        fibers.run(works.collect(), &|| stop.store(true, Ordering::Relaxed));
    });
    let mut sum = WorkerCounts::default();
    for (number, (reader, mut counts)) in readers.iter().zip(counts).enumerate() {
        if let Some(trace) = task.trace {
            trace.add(Track::Executor(worker * count + number), counts.on_demand.trace.take());
        }
        sum.on_demand.merge(&counts.on_demand);
        sum.counters.add(&reader.counters());
    }
    Ok(sum)
}
