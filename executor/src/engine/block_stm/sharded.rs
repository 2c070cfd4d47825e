//! Optimistic batches whose steps are executed by shards: a thread for each shard talks to it. The state below the
//! batch comes from this process's store; runs are validated and committed here, and so are the net changes.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use alloy_primitives::Bytes;
use variant::{PartitionTime, Phase};
use workload::Steps;

use super::{
    accesses,
    deferred_fees::BatchFees,
    hub::Hub,
    memory::Memory,
    runs, settle,
    side::{Job, Side, Tallies},
};
use crate::{
    engine::{
        clock::{Engine, Execution, Turn},
        error::EngineError,
        executed::{BatchResult, CrossShard, Executed, Speculation},
        on_shards::{self, Parts},
        tally::ReadTally,
        task::Task,
    },
    error::StoreError,
    lock::lock,
    pool::WorkerPool,
    shards::{ShardRuns, ShardTimes, Shards},
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
    /// Of each batch, where batches are partitioned before the clock.
    parts: std::vec::IntoIter<Parts>,
    partitioning: Duration,
    cross_shard: CrossShard,
    step_count: u64,
}

/// Counts of the thread that talks to a shard.
pub(in crate::engine) struct Leavings {
    tallies: Tallies,
    speculation: Speculation,
    counters: ReadCounters,
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
    type Leavings = Leavings;

    const NAME: &'static str = "sharded block-stm";

    fn worker_count(&self) -> usize {
        self.at.task.variant.sharding.count
    }

    fn worker_name(&self, _worker: usize) -> &'static str {
        "shard"
    }

    fn work(&self, worker: usize, pool: &WorkerPool<'_, Job>) -> Result<Leavings, StoreError> {
        let Execution { sample, task, stop } = self.at;
        let mut reader = sample.reader()?;
        let mut speculation = Speculation::default();
        let trace = task.trace.map(|trace| trace.recorder(self.worker_count()));
        let mut tallies = Tallies {
            on_demand: ReadTally::of(reader.as_ref(), trace),
            times: ShardTimes::default(),
            runs: ShardRuns::default(),
        };
        on_shards::load(self.shards, worker, task)?;
        pool.serve(|job: &Job| {
            let (shards, reader, tallies) = (self.shards, reader.as_mut(), &mut tallies);
            let mut side = Side { task, stop, shards, shard: worker, reader, tallies };
            match side.run(job) {
                Ok(()) => speculation.add(&runs::speculation(&side.tallies.runs)),
                Err(failure) => {
                    lock(&job.failures).push(failure);
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        if let Some(trace) = task.trace {
            trace.give(Track::Shard(worker), tallies.on_demand.trace.take());
        }
        Ok(Leavings { tallies, speculation, counters: reader.counters() })
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
            let parts = batches.map(|place| lead.partition(task, place));
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

    fn gather(&self, left: Vec<Leavings>, executed: &mut Executed) {
        for Leavings { tallies, speculation, counters } in &left {
            executed.counters.add(counters);
            executed.on_demand.merge(&tallies.on_demand);
            executed.shard_times.add(&tallies.times);
            if let Some(total) = &mut executed.speculation {
                total.add(speculation);
            }
        }
    }
}

impl Lead<'_> {
    /// Partitions the batch at `place`.
    fn partition(&mut self, task: &Task<'_>, place: usize) -> Result<Parts, EngineError> {
        let start = Instant::now();
        let sharding = &task.variant.sharding;
        let accesses = if on_shards::needs_accesses(sharding.partitioner) {
            accesses::of(task.workload, place, self.reader.as_mut(), task.cancel)?
        } else {
            Vec::new()
        };
        let parts = Parts::new(&task.workload.batches[place], sharding, accesses);
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
    let next_owner = hub.next_owner().unwrap_or(0);
    Job {
        place: turn.index,
        steps,
        memory,
        fees,
        hub: Mutex::new(hub),
        parts: on_shards::assignments(parts, turn.index, &Bytes::new(), &task.variant),
        outboxes,
        inboxes: inboxes.into_iter().map(|inbox| Mutex::new(Some(inbox))).collect(),
        next_owner: AtomicU32::new(next_owner),
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
    let mut failures = job.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Cancellations come last: the failure of another thread caused them.
    failures.sort_by_key(|error| matches!(error, EngineError::Cancelled));
    if let Some(error) = failures.into_iter().next() {
        return Err(error);
    }
    if task.cancel.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    let hub = job.hub.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (runs, cross_shard) = hub.into_runs();
    lead.cross_shard.add(&cross_shard);
    lead.step_count += u64::from(job.steps.count());
    let mut results = Vec::with_capacity(runs.len());
    let mut longest = Duration::ZERO;
    for run in runs {
        let Some(result) = run.result else { continue };
        results.push(result);
        executed.tx_latencies.record(run.latency);
        longest = longest.max(run.latency);
    }
    executed.longest_txs = executed.longest_txs.saturating_add(longest);
    let step_count = job.steps.count();
    let net_changes =
        settle::net_changes(&job.memory, &job.fees, step_count, lead.reader.as_mut())?;
    Ok(BatchResult { results, net_changes, ..BatchResult::default() })
}
