//! A worker with several transactions under way: each on a fiber, with a reader, a view and an EVM of
//! its own, as if it were a thread. One that waits for the device yields the thread to the others.

use std::sync::atomic::Ordering;

use variant::Engine;

use super::{
    job::{Job, Leavings, Tallies},
    prestate::PreState,
};
use crate::{
    engine::clock::Execution, error::StoreError, fiber::Fibers, lock::lock, pool::WorkerPool,
    store::ReadCounters, trace::Track,
};

/// A worker's life. In a trace each fiber has a track, as a thread that executes has.
pub(super) fn work<P: PreState>(
    at: &Execution<'_>,
    worker: usize,
    pool: &WorkerPool<'_, Job<P>>,
) -> Result<Leavings, StoreError> {
    let Execution { sample, task, stop } = *at;
    let count = task.variant.fiber_count;
    let mut readers = sample.fiber_readers(count)?;
    let recorder = || task.trace.map(|trace| trace.recorder(count * task.variant.thread_count));
    let mut tallies: Vec<Tallies> =
        readers.iter().map(|reader| Tallies::of(reader.as_ref(), recorder)).collect();
    let mut fibers = Fibers::new(count).map_err(|error| StoreError::Failed {
        store: Engine::Bal.name(),
        action: format!("make the stacks of {count} fibers"),
        reason: error.to_string(),
    })?;
    let end = || stop.store(true, Ordering::Relaxed);
    pool.serve(|job: &Job<P>| {
        let works = readers.iter_mut().zip(&mut tallies).map(|(reader, tallies)| {
            move || {
                if let Err(failure) = job.execute(reader.as_mut(), tallies, task, worker, stop) {
                    stop.store(true, Ordering::Relaxed);
                    lock(&job.failures).push(failure);
                }
            }
        });
        fibers.run(works.collect(), &end);
    });
    let mut left =
        Leavings { tallies: Tallies::default(), counters: ReadCounters::default(), priority: None };
    for (number, (reader, mut tally)) in readers.iter().zip(tallies).enumerate() {
        if let Some(trace) = task.trace {
            trace.give(Track::Executor(worker * count + number), tally.on_demand.trace.take());
        }
        left.tallies.on_demand.merge(&tally.on_demand);
        left.counters.add(&reader.counters());
    }
    Ok(left)
}
