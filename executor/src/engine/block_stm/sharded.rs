//! Optimistic batches whose steps are executed by shards: a thread for each shard talks to it. The state below the
//! batch comes from this process's store; runs are validated and committed here, and so are the net changes.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering, mpsc},
    time::{Duration, Instant},
};

use alloy_primitives::Bytes;
use variant::{PartitionTime, Phase};
use workload::Steps;

use super::{
    accesses::shared_accesses,
    deferred_fees::BatchFees,
    hub::Hub,
    memory::Memory,
    settle,
    shard_connection::{Job, ShardConnection, ShardStats},
};
use crate::{
    engine::{
        clock::{Engine, Execution, Turn},
        error::EngineError,
        executed::{BatchResult, CrossShard, Executed},
        on_shards::{self, Parts},
        tally::ReadTally,
        task::Task,
    },
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    shards::{ShardTimes, Shards, Speculation},
    single_flight::SingleFlight,
    store::{ReadCounters, Reader},
    trace::Track,
};

/// The engine.
pub(in crate::engine) struct Sharded<'a> {
    at: Execution<'a>,
    shards: &'a dyn Shards,
}

/// State of the leading thread.
pub(in crate::engine) struct Lead<'a> {
    reader: Box<dyn Reader + 'a>,
    /// Parts of each batch, where batches are partitioned before the clock.
    parts: std::vec::IntoIter<Parts>,
    partitioning: Duration,
    cross_shard: CrossShard,
    step_count: u64,
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
    type Job = Job;
    type Lead = Lead<'a>;
    type WorkerCounts = ShardStats;

    const NAME: &'static str = "sharded block-stm";

    fn worker_count(&self) -> usize {
        self.at.task.variant.sharding.count
    }

    fn worker_name(&self, _worker: usize) -> &'static str {
        "shard"
    }

    fn work(&self, worker: usize, pool: &WorkerPool<'_, Job>) -> Result<ShardStats, StoreError> {
        let Execution { sample, task, stop } = self.at;
        let mut reader = sample.reader()?;
        let trace = task.trace.map(|trace| trace.recorder(self.worker_count()));
        let mut stats = ShardStats {
            on_demand: ReadTally::of(reader.as_ref(), trace),
            times: ShardTimes::default(),
            speculation: Speculation::default(),
            counters: ReadCounters::default(),
        };
        on_shards::load(self.shards, worker, task)?;
        pool.serve(|job: &Job| {
            let (shards, reader, stats) = (self.shards, reader.as_mut(), &mut stats);
            let mut connection =
                ShardConnection { task, stop, shards, shard: worker, reader, stats };
            if let Err(failure) = connection.run(job) {
                lock(&job.failures).push(failure);
                stop.store(true, Ordering::Relaxed);
            }
        });
        if let Some(trace) = task.trace {
            trace.give(Track::Shard(worker), stats.on_demand.trace.take());
        }
        Ok(ShardStats { counters: reader.counters(), ..stats })
    }

    fn lead(&self) -> Result<Self::Lead, EngineError> {
        let Execution { sample, task, .. } = self.at;
        let mut lead = Lead {
            reader: sample.reader()?,
            parts: Vec::new().into_iter(),
            partitioning: Duration::ZERO,
            cross_shard: CrossShard::default(),
            step_count: 0,
        };
        if task.variant.sharding.partition_time == PartitionTime::Before {
            let batches = 0..task.workload.batches.len();
            let parts = batches.map(|batch_index| lead.partition(task, batch_index));
            lead.parts = parts.collect::<Result<Vec<_>, _>>()?.into_iter();
        }
        Ok(lead)
    }

    fn run_batch(
        &self,
        lead: &mut Self::Lead,
        turn: &Turn<'_, Job>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let task = self.at.task;
        let start = turn.spans.elapsed();
        let parts = match lead.parts.next() {
            Some(parts) => parts,
            None => {
                let parts = lead.partition(task, turn.index)?;
                turn.spans.close(Phase::Partition, start);
                parts
            }
        };
        let Parts { steps, shard_of_tx } = parts;
        let job = turn.work_on(new_job(turn, task, steps));
        let start = turn.spans.elapsed();
        let job = Arc::into_inner(job).unwrap_or_else(|| panic!("batch {} is done", turn.index));
        let result = finish(job, task, lead, executed)?;
        turn.spans.close(Phase::Validate, start);
        Ok(BatchResult { shard_of_tx, ..result })
    }

    fn leave(&self, lead: Self::Lead, executed: &mut Executed) {
        executed.counters = lead.reader.counters();
        executed.partitioning = lead.partitioning;
        executed.cross_shard = Some(lead.cross_shard);
        executed.shard_names =
            (0..self.worker_count()).map(|shard| self.shards.name(shard)).collect();
        executed.speculation =
            Some(Speculation { steps: lead.step_count, ..Speculation::default() });
    }

    fn gather(&self, workers: Vec<ShardStats>, executed: &mut Executed) {
        for worker in &workers {
            executed.counters.add(&worker.counters);
            executed.on_demand.merge(&worker.on_demand);
            executed.shard_times.add(&worker.times);
            if let Some(total) = &mut executed.speculation {
                total.add(&worker.speculation);
            }
        }
    }
}

impl Lead<'_> {
    /// Partitions the batch at `batch_index`.
    fn partition(&mut self, task: &Task<'_>, batch_index: usize) -> Result<Parts, EngineError> {
        let start = Instant::now();
        let sharding = &task.variant.sharding;
        let accesses = if on_shards::needs_accesses(sharding.partitioner) {
            shared_accesses(task.workload, batch_index, self.reader.as_mut(), task.cancel)?
        } else {
            Vec::new()
        };
        let parts = Parts::new(&task.workload.batches[batch_index], sharding, accesses);
        self.partitioning += start.elapsed();
        Ok(parts)
    }
}

fn new_job(turn: &Turn<'_, Job>, task: &Task<'_>, parts: Vec<Vec<u32>>) -> Job {
    let steps = Steps::of(turn.batch);
    let memory = Memory::new(steps.count() as usize);
    let fees = BatchFees::new(turn.batch, &steps, &memory);
    let mut owner = vec![0; steps.count() as usize];
    for (shard, steps) in (0_u32..).zip(&parts) {
        steps.iter().for_each(|index| owner[*index as usize] = shard);
    }
    let (outboxes, inboxes): (Vec<_>, Vec<_>) = parts.iter().map(|_| mpsc::channel()).unzip();
    let hub = Hub::new(owner, outboxes.clone());
    Job {
        batch_index: turn.index,
        steps,
        memory,
        fees,
        hub: Mutex::new(hub),
        parts: on_shards::assignments(parts, turn.index, &Bytes::new(), &task.variant),
        outboxes,
        inboxes: inboxes.into_iter().map(|inbox| Mutex::new(Some(inbox))).collect(),
        codes: SingleFlight::default(),
        spans: Arc::clone(turn.spans),
        failures: Mutex::default(),
    }
}

/// Joins the results of all shards.
fn finish(
    job: Job,
    task: &Task<'_>,
    lead: &mut Lead<'_>,
    executed: &mut Executed,
) -> Result<BatchResult, EngineError> {
    let failures = job.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    settle::check_failures(failures.into_iter().map(|error| (0, error)).collect(), task.cancel)?;
    let hub = job.hub.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (runs, cross_shard) = hub.into_runs();
    lead.cross_shard.add(&cross_shard);
    let step_count = job.steps.count();
    lead.step_count += u64::from(step_count);
    let runs = runs.into_iter().map(|run| (run.result, run.latency));
    let results = executed.add_transactions(runs);
    let net_changes =
        settle::net_changes(&job.memory, &job.fees, step_count, lead.reader.as_mut())?;
    Ok(BatchResult { results, net_changes, ..BatchResult::default() })
}
