//! Runs all transactions in parallel by the block-level access list (EIP-7928). The list gives each
//! transaction its own state as of its index. Readers read ahead, or transactions read on demand.
//! If the list has the values, transactions read nothing, and readers verify the values. A step's
//! writes are checked against the list as soon as the step has run.
//!
//! | file | owns |
//! |---|---|
//! | `job.rs` | one batch, shared by its workers |
//! | `job/execution.rs` | execution of the batch's steps, and their check against the list |
//! | `prestate.rs`, `handover.rs` | the state before the batch, each key read once |
//! | `prefetch.rs`, `verify.rs` | the threads that only read |
//! | `view.rs`, `bitset.rs` | the state of one transaction, and the keys that it touched |
//! | `fibers.rs` | several transactions under way on one thread |
//! | `check.rs`, `feasible.rs` | the checks of the list |
//! | `join.rs` | the net changes |
//! | `sharded.rs`, `parts.rs`, `job/remote.rs` | the coordinator's part of execution on shards |
//! | `shard.rs` | a shard's part of a batch |

use std::{marker::PhantomData, sync::atomic::Ordering};

use variant::{Io, Phase, Schedule};
use workload::{BlockAccessIndex, Steps};

use super::{
    clock::{CurrentBatch, Engine, Execution},
    error::EngineError,
    executed::{BatchResult, Executed},
    tally::WorkerCounts,
    task::Task,
};
use crate::{
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    process, schedule,
    store::Reader,
    trace::{EventKind, Recorder, Track},
};

mod bitset;
mod check;
mod feasible;
mod fibers;
mod handover;
mod job;
mod join;
mod parts;
mod prefetch;
mod prestate;
mod shard;
mod sharded;
mod verify;
mod view;

use job::Job;
pub use parts::shard_of_steps;
pub(crate) use prefetch::{Lane, ReadAhead, Target};
use prestate::PreState;
pub(crate) use prestate::{Declared, Listed, Undeclared};
pub use shard::run_shard;
pub(super) use sharded::Sharded;
pub(crate) use view::CodeRows;

/// The engine. `P` is the source of the state before a batch, which the list's form decides.
pub(super) struct Bal<'a, P> {
    execution: Execution<'a>,
    pre_state: PhantomData<fn() -> P>,
}

impl<'a, P> Bal<'a, P> {
    pub(super) const fn new(execution: Execution<'a>) -> Self {
        Self { execution, pre_state: PhantomData }
    }
}

/// State of the leading thread.
pub(super) struct LeadState<'a> {
    reader: Box<dyn Reader + 'a>,
    /// Orders of the steps of the remaining batches, if the schedule orders them by known cost.
    known_orders: std::vec::IntoIter<Vec<BlockAccessIndex>>,
    recorder: Option<Box<Recorder>>,
}

impl<'a, P: PreState> Engine for Bal<'a, P> {
    type Job = Job<P>;
    type Lead = LeadState<'a>;

    const NAME: &'static str = "bal";

    fn worker_count(&self) -> usize {
        self.execution.task.variant.thread_count + self.execution.task.variant.io_thread_count
    }

    fn track(&self, worker: usize) -> Track {
        match worker.checked_sub(self.execution.task.variant.thread_count) {
            None => Track::Executor(worker),
            Some(reader) => Track::Reader(reader),
        }
    }

    /// The first `thread_count` workers execute, the others only read. Readers that verify run at
    /// low priority, so that they do not take the CPU from executing threads.
    fn work(
        &self,
        worker: usize,
        pool: &WorkerPool<'_, Job<P>>,
    ) -> Result<WorkerCounts, StoreError> {
        let Execution { sample, task, stop } = self.execution;
        let (executors, readers) = (task.variant.thread_count, task.variant.io_thread_count);
        let executes = worker < executors;
        if executes && task.variant.fiber_count > 1 {
            return fibers::work(&self.execution, worker, pool);
        }
        let mut reader = sample.reader()?;
        let mut counts = WorkerCounts::new(reader.as_ref(), task.trace, self.worker_count());
        let verifies = !executes && task.variant.io == Io::FromList;
        counts.priority = verifies.then(process::lower_priority);
        pool.serve(|job: &Job<P>| {
            let done = if executes {
                job.execute(reader.as_mut(), &mut counts, task, worker, stop)
            } else {
                let lane = Lane { number: worker - executors, count: readers };
                job.read(reader.as_mut(), &mut counts, lane, stop)
            };
            if let Err(failure) = done {
                stop.store(true, Ordering::Relaxed);
                lock(&job.failures).push(failure);
            }
        });
        Ok(WorkerCounts { counters: reader.counters(), ..counts })
    }

    fn prepare_lead(&self) -> Result<Self::Lead, EngineError> {
        let Execution { sample, task, .. } = self.execution;
        Ok(LeadState {
            reader: sample.reader()?,
            known_orders: known_orders(task).into_iter(),
            // The leading thread records no reads and no values, so its recorder is the smallest.
            recorder: task.trace.map(|trace| trace.recorder(usize::MAX)),
        })
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        current: &CurrentBatch<'_, Job<P>>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let Execution { sample, task, stop } = self.execution;
        let (layout, known_order) = (sample.row_layout(), lead.known_orders.next());
        let job = Job::new(task, current.index, current.spans, layout, known_order)?;
        let posted = current.spans.elapsed();
        let job = current.work_on(job);
        let start = current.spans.elapsed();
        if let Some(recorder) = &mut lead.recorder {
            recorder.record_rare(
                EventKind::Threads,
                current.spans.at(posted),
                current.spans.at(start),
            );
        }
        let result = job.finish(task, lead.reader.as_mut(), stop, executed)?;
        drop(job);
        current.spans.close(Phase::Validate, start);
        Ok(result)
    }

    fn add_lead_counts(&self, lead: Self::Lead, executed: &mut Executed) {
        if let Some(trace) = self.execution.task.trace {
            trace.add(Track::Main, lead.recorder);
        }
        executed.prefetch_reads_at_once = lead.reader.call_sizes().reads_at_once;
        executed.counters = lead.reader.counters();
    }
}

/// Makes each batch's order by known cost. No client could know these costs, so the orders are made
/// before the clock.
fn known_orders(task: &Task<'_>) -> Vec<Vec<BlockAccessIndex>> {
    if task.variant.schedule != Schedule::KnownCost {
        return Vec::new();
    }
    let (given, batches) = (task.known_costs, &task.workload.batches);
    assert_eq!(given.len(), batches.len(), "batches with known costs, and batches");
    let orders = given.iter().zip(batches).map(|(costs, batch)| {
        assert_eq!(costs.len(), Steps::of(batch).count() as usize, "known costs, and steps");
        schedule::by_known_cost(costs)
    });
    orders.collect()
}
