//! The engine `bal` on shards, in the coordinator's process. Shards execute the steps of a batch.
//! This process has one thread for each shard's connection, and the store with the values before
//! the batch. It checks, joins and commits the shards' writes as `bal` does.

use std::{sync::atomic::Ordering, time::Instant};

use variant::Phase;
use workload::list::{ListBounds, ListIndex};

use super::{
    job::{Job, remote::ShardBatch},
    parts,
    prestate::Declared,
};
use crate::{
    engine::{
        clock::{CurrentBatch, Engine, Execution},
        error::EngineError,
        executed::{BatchResult, Executed},
        on_shards::{self, LeadState, OnShards, Parts},
        tally::WorkerCounts,
        task::Task,
    },
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    shards::Assignment,
    trace::Track,
};

pub(in crate::engine) struct Sharded<'a>(pub(in crate::engine) OnShards<'a>);

/// A batch, and the assignment of each shard.
pub(in crate::engine) struct ShardedJob {
    job: Job<Declared>,
    assignments: Vec<Assignment>,
}

impl<'a> Engine for Sharded<'a> {
    type Job = ShardedJob;
    type Lead = LeadState<'a>;

    const NAME: &'static str = "sharded";

    fn worker_count(&self) -> usize {
        self.0.count()
    }

    fn track(&self, worker: usize) -> Track {
        Track::Shard(worker)
    }

    fn work(
        &self,
        worker: usize,
        pool: &WorkerPool<'_, ShardedJob>,
    ) -> Result<WorkerCounts, StoreError> {
        self.0.work(worker, pool, |connection, ShardedJob { job, assignments }| {
            let mut batch = ShardBatch { connection, job, assignment: &assignments[worker] };
            if let Err(failure) = batch.run() {
                self.0.execution.stop.store(true, Ordering::Relaxed);
                lock(&job.failures).push(failure);
            }
        })
    }

    fn prepare_lead(&self) -> Result<Self::Lead, EngineError> {
        let task = self.0.execution.task;
        LeadState::new(self.0.execution, |lead, batch_index| {
            partition_before(lead, task, batch_index)
        })
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        current: &CurrentBatch<'_, ShardedJob>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let Execution { sample, task, stop } = self.0.execution;
        let spans = current.spans;
        let job = Job::new(task, current.index, spans, sample.row_layout(), None)?;
        let sharding = &task.variant.sharding;
        let parts =
            lead.next_parts(spans, |_| Ok(parts::partition(current.batch, job.list(), sharding)))?;
        let Parts { steps, shard_of_tx } = parts;
        let list = &task.lists[current.index];
        let assignments = on_shards::assignments(steps, current.index, list, &task.variant);
        let done = current.work_on(ShardedJob { job, assignments });
        let start = spans.elapsed();
        let result = done.job.finish(task, lead.reader.as_mut(), stop, executed)?;
        spans.close(Phase::Validate, start);
        Ok(BatchResult { shard_of_tx, ..result })
    }

    fn add_lead_counts(&self, lead: Self::Lead, executed: &mut Executed) {
        self.0.add_lead_counts(lead, executed);
    }
}

/// Partitions a batch before the clock starts. `partitioning` does not include the time to decode
/// the list, which the run decodes again.
fn partition_before(
    lead: &mut LeadState<'_>,
    task: &Task<'_>,
    batch_index: usize,
) -> Result<Parts, EngineError> {
    let batch = &task.workload.batches[batch_index];
    let bounds = ListBounds::new(batch, &task.workload.rules);
    let list = ListIndex::decode(&task.lists[batch_index], &bounds);
    let list = list.map_err(|error| EngineError::rejected(batch_index, error))?;
    let start = Instant::now();
    let parts = parts::partition(batch, &list, &task.variant.sharding);
    lead.partitioning += start.elapsed();
    Ok(parts)
}
