//! Block-STM on shards, in the coordinator's process. Shards execute the steps of a batch. This
//! process has the store with the state before the batch, and one thread for each shard's
//! connection. It validates the shards' runs, and commits steps and net changes.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering, mpsc},
    time::Instant,
};

use alloy_primitives::Bytes;
use variant::Phase;
use workload::Steps;

use super::{
    accesses::shared_accesses,
    deferred_fees::BatchFees,
    hub::Hub,
    memory::Memory,
    settle,
    shard_connection::{Job, ShardBatch},
};
use crate::{
    engine::{
        clock::{CurrentBatch, Engine},
        error::EngineError,
        executed::{BatchResult, Executed},
        on_shards::{self, LeadState, OnShards, Parts},
        tally::WorkerCounts,
        task::Task,
    },
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    single_flight::SingleFlight,
    store::Reader,
    trace::Track,
};

pub(in crate::engine) struct Sharded<'a>(pub(in crate::engine) OnShards<'a>);

impl<'a> Engine for Sharded<'a> {
    type Job = Job;
    type Lead = LeadState<'a>;

    const NAME: &'static str = "sharded block-stm";

    fn worker_count(&self) -> usize {
        self.0.count()
    }

    fn track(&self, worker: usize) -> Track {
        Track::Shard(worker)
    }

    fn work(&self, worker: usize, pool: &WorkerPool<'_, Job>) -> Result<WorkerCounts, StoreError> {
        self.0.work(worker, pool, |connection, job| {
            if let Err(failure) = (ShardBatch { connection, job }).run() {
                lock(&job.failures).push(failure);
                self.0.execution.stop.store(true, Ordering::Relaxed);
            }
        })
    }

    fn prepare_lead(&self) -> Result<Self::Lead, EngineError> {
        let task = self.0.execution.task;
        LeadState::new(self.0.execution, |lead, batch_index| {
            let start = Instant::now();
            let parts = partition(task, batch_index, lead.reader.as_mut());
            lead.partitioning += start.elapsed();
            parts
        })
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        current: &CurrentBatch<'_, Job>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let task = self.0.execution.task;
        let parts =
            lead.next_parts(current.spans, |reader| partition(task, current.index, reader))?;
        let Parts { steps, shard_of_tx } = parts;
        let job = current.work_on(new_job(current, task, steps));
        let start = current.spans.elapsed();
        let job = Arc::into_inner(job).unwrap_or_else(|| panic!("batch {} is done", current.index));
        let result = finish(job, task, lead.reader.as_mut(), executed)?;
        current.spans.close(Phase::Validate, start);
        Ok(BatchResult { shard_of_tx, ..result })
    }

    fn add_lead_counts(&self, lead: Self::Lead, executed: &mut Executed) {
        self.0.add_lead_counts(lead, executed);
        executed.cross_shard.get_or_insert_default();
        executed.speculation.get_or_insert_default();
    }
}

/// Partitions the batch at `batch_index`.
fn partition(
    task: &Task<'_>,
    batch_index: usize,
    reader: &mut dyn Reader,
) -> Result<Parts, EngineError> {
    let sharding = &task.variant.sharding;
    let accesses = if on_shards::needs_accesses(sharding.partitioner) {
        shared_accesses(task.workload, batch_index, reader, task.cancel)?
    } else {
        Vec::new()
    };
    Ok(Parts::new(&task.workload.batches[batch_index], sharding, accesses))
}

/// Makes the job of a batch. `by_shard` has the steps of each shard.
fn new_job(current: &CurrentBatch<'_, Job>, task: &Task<'_>, by_shard: Vec<Vec<u32>>) -> Job {
    let steps = Steps::of(current.batch);
    let memory = Memory::new(steps.count() as usize);
    let fees = BatchFees::new(current.batch, &steps, &memory);
    let mut owner = vec![0; steps.count() as usize];
    for (shard, steps) in (0_u32..).zip(&by_shard) {
        steps.iter().for_each(|index| owner[*index as usize] = shard);
    }
    let (outboxes, inboxes): (Vec<_>, Vec<_>) = by_shard.iter().map(|_| mpsc::channel()).unzip();
    let hub = Hub::new(owner, outboxes.clone());
    Job {
        batch_index: current.index,
        steps,
        memory,
        fees,
        hub: Mutex::new(hub),
        assignments: on_shards::assignments(by_shard, current.index, &Bytes::new(), &task.variant),
        outboxes,
        inboxes: inboxes.into_iter().map(|inbox| Mutex::new(Some(inbox))).collect(),
        codes: SingleFlight::default(),
        spans: Arc::clone(current.spans),
        failures: Mutex::default(),
    }
}

/// Joins the results of all shards, after their connections have ended.
fn finish(
    job: Job,
    task: &Task<'_>,
    reader: &mut dyn Reader,
    executed: &mut Executed,
) -> Result<BatchResult, EngineError> {
    let failures = job.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    settle::check_failures(failures.into_iter().map(|error| (0, error)).collect(), task.cancel)?;
    let hub = job.hub.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (runs, cross_shard) = hub.into_runs();
    executed.cross_shard.get_or_insert_default().add(&cross_shard);
    let step_count = job.steps.count();
    executed.speculation.get_or_insert_default().step_count += u64::from(step_count);
    let runs = runs.into_iter().map(|run| (run.result, run.latency));
    let results = executed.add_transactions(runs);
    let net_changes = settle::net_changes(&job.memory, &job.fees, step_count, reader)?;
    Ok(BatchResult { results, net_changes, ..BatchResult::default() })
}
