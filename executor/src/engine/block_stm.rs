//! Optimistic parallel execution without a list (Gelashvili et al., "Block-STM", 2022). Steps run
//! before the writes of lower steps are known. A memory keeps a version of a key for each step that
//! writes it. A step whose reads turn out wrong runs again.
//!
//! Differences from the paper: system calls and withdrawals are steps, too. Reads are compared by
//! value, so a lower step that runs again and writes the same value makes no read wrong. Each key
//! keeps the highest step that read it. So a step is validated only if a write after its read may
//! have made the read wrong. Fees are kept apart from the beneficiary's account until a step reads
//! the account.
//!
//! | file | owns |
//! |---|---|
//! | `scheduler.rs`, `window.rs` | each worker's next task, the limit of running ahead; no locks |
//! | `shared_scheduler.rs` | the lock of the scheduler, and the waits of workers |
//! | `cell.rs` | the versions of one key; no locks |
//! | `memory.rs`, `deferred_fees.rs` | all cells; all fees |
//! | `shared.rs` | the state of a batch that all runs share, with their logs and results |
//! | `view.rs`, `publish.rs` | reads and writes of one run |
//! | `worker.rs`, `settle.rs` | a worker's loop; the net changes |
//! | `shard.rs`, `intake.rs` | execution of a shard's part of a batch |
//! | `sharded.rs`, `shard_connection.rs`, `hub.rs`, `accesses.rs` | the coordinator's part |
//!
//! The engine knows no list. It uses the store only to read the state before the batch.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use variant::Phase;
use workload::{BlockAccessIndex, Steps};

use self::{
    deferred_fees::BatchFees,
    memory::Memory,
    scheduler::Scheduler,
    shared::{LastRuns, Logs, Results, Shared},
    shared_scheduler::SharedScheduler,
};
use super::{
    clock::{CurrentBatch, Engine, Execution},
    error::EngineError,
    executed::{BatchResult, Executed},
    tally::{Reading, WorkerCounts},
    task::Task,
};
use crate::{
    error::StoreError, lock::lock, pool::WorkerPool, shards::Speculation, span::Spans,
    store::Reader, trace::close_part,
};

mod accesses;
mod cell;
mod deferred_fees;
mod hub;
mod intake;
mod memory;
#[cfg(test)]
mod model;
mod publish;
mod scheduler;
mod settle;
mod shard;
mod shard_connection;
mod sharded;
mod shared;
mod shared_scheduler;
mod task;
mod view;
mod window;
mod worker;

pub use shard::run_optimistic_shard;
pub(super) use sharded::Sharded;

pub(super) struct BlockStm<'a>(pub(super) Execution<'a>);

/// One batch, shared by its workers.
#[derive(Debug)]
pub(super) struct Job<'a> {
    batch_index: usize,
    steps: Steps,
    memory: Memory,
    fees: BatchFees,
    scheduler: SharedScheduler<'a>,
    logs: Logs,
    spans: Arc<Spans>,
    last_runs: LastRuns,
    failures: Mutex<Vec<(BlockAccessIndex, EngineError)>>,
}

impl<'a> Engine for BlockStm<'a> {
    type Job = Job<'a>;
    type Lead = Box<dyn Reader + 'a>;

    const NAME: &'static str = "block-stm";

    fn worker_count(&self) -> usize {
        self.0.task.variant.thread_count
    }

    fn work(
        &self,
        _worker: usize,
        pool: &WorkerPool<'_, Job<'a>>,
    ) -> Result<WorkerCounts, StoreError> {
        let Execution { sample, task, stop } = self.0;
        let mut reader = sample.reader()?;
        let recorder_count = task.variant.thread_count;
        let mut counts = WorkerCounts::new(reader.as_ref(), task.trace, recorder_count);
        pool.serve(|job: &Job<'_>| {
            let start = job.spans.elapsed();
            let reading = Reading { reader: reader.as_mut(), tally: &mut counts.on_demand };
            if let Err(failure) = worker::work(job.shared(task, stop), reading) {
                stop.store(true, Ordering::Relaxed);
                lock(&job.failures).push(failure);
            }
            let recorder = counts.on_demand.trace.as_deref_mut();
            close_part(&job.spans, Phase::Execute, start, recorder);
        });
        Ok(WorkerCounts { counters: reader.counters(), ..counts })
    }

    fn prepare_lead(&self) -> Result<Self::Lead, EngineError> {
        Ok(self.0.sample.reader()?)
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        current: &CurrentBatch<'_, Job<'a>>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let Execution { task, stop, .. } = self.0;
        let job = current.work_on(Job::new(current, task.variant.thread_count, stop));
        let start = current.spans.elapsed();
        let job = Arc::into_inner(job).unwrap_or_else(|| panic!("batch {} is done", current.index));
        let result = job.finish(task, lead.as_mut(), executed)?;
        current.spans.close(Phase::Validate, start);
        Ok(result)
    }

    fn add_lead_counts(&self, lead: Self::Lead, executed: &mut Executed) {
        executed.counters = lead.counters();
        executed.speculation.get_or_insert_default();
    }
}

impl<'a> Job<'a> {
    fn new(current: &CurrentBatch<'_, Self>, thread_count: usize, stop: &'a AtomicBool) -> Self {
        let steps = Steps::of(current.batch);
        let memory = Memory::new(steps.count() as usize);
        let fees = BatchFees::new(current.batch, &steps, &memory);
        let links = deferred_fees::nonce_links(current.batch, &steps);
        let scheduler = Scheduler::new(&links, thread_count);
        Self {
            batch_index: current.index,
            fees,
            scheduler: SharedScheduler::new(scheduler, stop),
            logs: Logs::new(steps.count()),
            last_runs: LastRuns::new(steps.count()),
            steps,
            memory,
            spans: Arc::clone(current.spans),
            failures: Mutex::default(),
        }
    }

    fn shared<'j>(&'j self, task: &'j Task<'_>, stop: &'j AtomicBool) -> Shared<'j> {
        Shared {
            workload: task.workload,
            batch_index: self.batch_index,
            steps: &self.steps,
            memory: &self.memory,
            fees: &self.fees,
            scheduler: &self.scheduler,
            logs: &self.logs,
            results: Results::Kept(&self.last_runs),
            written: task.root.written,
            stop,
        }
    }

    /// Joins the workers' results.
    fn finish(
        self,
        task: &Task<'_>,
        reader: &mut dyn Reader,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let failures = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        settle::check_failures(failures, task.cancel)?;
        let step_count = self.steps.count();
        executed.speculation.get_or_insert_default().add(&Speculation {
            step_count: u64::from(step_count),
            ..self.scheduler.into_scheduler().speculation()
        });
        let runs = self.last_runs.into_runs();
        let results = executed.add_transactions(runs.map(|run| (run.result, run.latency)));
        let net_changes = settle::net_changes(&self.memory, &self.fees, step_count, reader)?;
        Ok(BatchResult { results, net_changes, ..BatchResult::default() })
    }
}
