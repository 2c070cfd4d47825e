//! Batches whose steps are executed by shards: a thread for each shard talks to it. Values come from this
//! process's store; writes are checked, joined and committed here, as those of `bal` are.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use variant::{PartitionTime, Phase};
use workload::list::{ListBounds, ListIndex};

use super::{
    job::{Job, JobInput, WorkerCounts, remote::ShardConnection},
    parts,
    prestate::Declared,
};
use crate::{
    engine::{
        clock::{Engine, Execution, Turn},
        error::EngineError,
        executed::{BatchResult, Executed},
        on_shards::{self, Parts},
        task::Task,
    },
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    shards::{Assignment, Shards},
    store::Reader,
    trace::Track,
};

/// The engine.
pub(in crate::engine) struct Sharded<'a> {
    at: Execution<'a>,
    shards: &'a dyn Shards,
}

/// A batch and the parts of it.
pub(in crate::engine) struct ShardedJob {
    job: Job<Declared>,
    parts: Vec<Assignment>,
}

/// State of the leading thread.
pub(in crate::engine) struct Lead<'a> {
    reader: Box<dyn Reader + 'a>,
    /// Parts of each batch, where batches are partitioned before the clock.
    parts: std::vec::IntoIter<Parts>,
    partitioning: Duration,
}

impl<'a> Sharded<'a> {
    /// The engine for an execution.
    ///
    /// # Errors
    /// [`EngineError::Store`] where fewer shards are connected than the variant has.
    pub(in crate::engine) fn new(at: Execution<'a>) -> Result<Self, EngineError> {
        Ok(Self { at, shards: on_shards::connected(at.task)? })
    }
}

impl<'a> Engine for Sharded<'a> {
    type Job = ShardedJob;
    type Lead = Lead<'a>;
    type WorkerCounts = WorkerCounts;

    const NAME: &'static str = "sharded";

    fn worker_count(&self) -> usize {
        self.at.task.variant.sharding.count
    }

    fn worker_name(&self, _worker: usize) -> &'static str {
        "shard"
    }

    fn work(
        &self,
        worker: usize,
        pool: &WorkerPool<'_, ShardedJob>,
    ) -> Result<WorkerCounts, StoreError> {
        let Execution { sample, task, stop } = self.at;
        let mut reader = sample.reader()?;
        let mut counts = WorkerCounts::new(reader.as_ref(), task.trace, self.worker_count());
        on_shards::load(self.shards, worker, task)?;
        pool.serve(|ShardedJob { job, parts }| {
            let mut connection = ShardConnection {
                task,
                stop,
                shards: self.shards,
                shard: worker,
                assignment: &parts[worker],
                reader: reader.as_mut(),
                counts: &mut counts,
            };
            if let Err(failure) = connection.run(job) {
                stop.store(true, Ordering::Relaxed);
                lock(&job.failures).push(failure);
            }
        });
        if let Some(trace) = task.trace {
            trace.give(Track::Shard(worker), counts.on_demand.trace.take());
        }
        Ok(WorkerCounts { counters: reader.counters(), ..counts })
    }

    fn lead(&self) -> Result<Self::Lead, EngineError> {
        let Execution { sample, task, .. } = self.at;
        let mut partitioning = Duration::ZERO;
        let parts = match task.variant.sharding.partition_time {
            PartitionTime::Before => parts_before(task, &mut partitioning)?,
            PartitionTime::Inside => Vec::new(),
        };
        Ok(Lead { reader: sample.reader()?, parts: parts.into_iter(), partitioning })
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        turn: &Turn<'_, ShardedJob>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let Execution { sample, task, stop } = self.at;
        let (batch, spans, layout) = (turn.batch, turn.spans, sample.row_layout());
        let input =
            JobInput { task, batch_index: turn.index, batch, spans, layout, known_order: None };
        let job = Job::new(input)?;
        let sharding = &task.variant.sharding;
        let known = lead.parts.next();
        let parts = known.unwrap_or_else(|| {
            let start = spans.elapsed();
            let parts = parts::partition(batch, job.list(), sharding);
            let span = spans.close(Phase::Partition, start);
            lead.partitioning += span.end - span.start;
            parts
        });
        let Parts { steps, shard_of_tx } = parts;
        let list = &task.lists[turn.index];
        let parts = on_shards::assignments(steps, turn.index, list, &task.variant);
        let done = turn.work_on(ShardedJob { job, parts });
        let start = spans.elapsed();
        let result = done.job.finish(task, lead.reader.as_mut(), stop, executed)?;
        spans.close(Phase::Validate, start);
        Ok(BatchResult { shard_of_tx, ..result })
    }

    fn leave(&self, lead: Self::Lead, executed: &mut Executed) {
        executed.counters = lead.reader.counters();
        executed.partitioning = lead.partitioning;
        executed.shard_names =
            (0..self.worker_count()).map(|shard| self.shards.name(shard)).collect();
    }

    fn gather(&self, workers: Vec<WorkerCounts>, executed: &mut Executed) {
        for worker in &workers {
            executed.counters.add(&worker.counters);
            executed.on_demand.merge(&worker.on_demand);
            executed.shard_times.add(&worker.shard_times);
            executed.coordinator_times.add(&worker.coordinator_times);
        }
    }
}

/// The parts of all batches, before the clock. Adds their time, without that of the lists, to `partitioning`.
fn parts_before(task: &Task<'_>, partitioning: &mut Duration) -> Result<Vec<Parts>, EngineError> {
    let batches = task.workload.batches.iter().zip(task.lists).enumerate();
    let parts = batches.map(|(batch_index, (batch, list))| {
        let bounds = ListBounds::new(batch, task.workload.fork());
        let list = ListIndex::decode(list, &bounds);
        let list = list.map_err(|error| EngineError::rejected(batch_index, error))?;
        let start = Instant::now();
        let parts = parts::partition(batch, &list, &task.variant.sharding);
        *partitioning += start.elapsed();
        Ok(parts)
    });
    parts.collect()
}
