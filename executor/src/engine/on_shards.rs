//! Code of the coordinator that both engines on shards share (`bal`, `block_stm`). It has the
//! connected shards, the state of the leading thread, and the assignment of a batch's steps to
//! shards.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use alloy_primitives::{Address, Bytes, map::HashMap};
use partition::{Access, Partition, Transactions, Tx};
use variant::{PartitionTime, Partitioner, Phase, Sharding, Variant};
use workload::{Batch, BlockAccessIndex, Step, StepKind, Steps, Transaction};

use super::{
    clock::Execution,
    error::EngineError,
    executed::Executed,
    tally::{Reading, WorkerCounts},
    task::Task,
};
use crate::{
    error::StoreError,
    pool::WorkerPool,
    shards::{Assignment, ShardTimes, Shards},
    span::{Span, Spans},
    store::Reader,
    trace::add_part,
};

/// Seed of the partitioner's search. It is constant, so that one input always has the same
/// partition.
const SEED: u64 = 1;

/// The shards of an execution.
#[derive(Clone, Copy)]
pub(super) struct OnShards<'a> {
    pub(super) execution: Execution<'a>,
    shards: &'a dyn Shards,
}

impl<'a> OnShards<'a> {
    /// Takes the connected shards from the task.
    ///
    /// # Errors
    /// [`EngineError::Store`] if fewer shards are connected than the variant has.
    pub(super) fn new(execution: Execution<'a>) -> Result<Self, EngineError> {
        let wanted = execution.task.variant.sharding.count;
        let connected = execution.task.shards.map_or(0, Shards::count);
        match execution.task.shards {
            Some(shards) if connected >= wanted => Ok(Self { execution, shards }),
            _ => Err(EngineError::Store(StoreError::Failed {
                store: "shards",
                action: format!("execute on {wanted}"),
                reason: format!("{connected} are connected"),
            })),
        }
    }

    /// Returns the number of shards.
    pub(super) const fn count(&self) -> usize {
        self.execution.task.variant.sharding.count
    }

    /// Runs the coordinator's thread for the connection to a shard. Gives the shard the workload
    /// before the clock starts, then calls `run` for each batch.
    ///
    /// # Errors
    /// [`StoreError`], with the shard's name if the shard fails.
    pub(super) fn work<J>(
        &self,
        shard: usize,
        pool: &WorkerPool<'_, J>,
        run: impl Fn(&mut Connection<'_>, &J),
    ) -> Result<WorkerCounts, StoreError> {
        let Self { execution: Execution { sample, task, stop }, shards } = *self;
        let mut reader = sample.reader()?;
        let mut counts = WorkerCounts::new(reader.as_ref(), task.trace, self.count());
        shards.load(shard, task.workload, task.cancel).map_err(|error| StoreError::Failed {
            store: "shards",
            action: format!("give the workload to {}", shards.name(shard)),
            reason: error.0,
        })?;
        pool.serve(|job| {
            let (reader, counts) = (reader.as_mut(), &mut counts);
            run(&mut Connection { task, stop, shards, shard, reader, counts }, job);
        });
        Ok(WorkerCounts { counters: reader.counters(), ..counts })
    }

    /// Adds to `executed` the counts of the leading thread, and the shards' names.
    pub(super) fn add_lead_counts(&self, lead: LeadState<'_>, executed: &mut Executed) {
        executed.counters = lead.reader.counters();
        executed.partitioning = lead.partitioning;
        executed.shard_names = (0..self.count()).map(|shard| self.shards.name(shard)).collect();
    }
}

/// A connection of the coordinator to one shard.
pub(super) struct Connection<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) stop: &'a AtomicBool,
    pub(super) shards: &'a dyn Shards,
    /// Index of the shard.
    pub(super) shard: usize,
    reader: &'a mut dyn Reader,
    pub(super) counts: &'a mut WorkerCounts,
}

impl<'a> Connection<'a> {
    /// Returns the store's reader, for values that the shard requests.
    pub(super) fn reading(&mut self) -> Reading<'_> {
        Reading { reader: &mut *self.reader, tally: &mut self.counts.on_demand }
    }

    /// Records that the shard is ready for the batch, which was sent to it from `start` on. It was
    /// ready earlier than now by the `delay` that was added to its message. Returns that time, since
    /// the clock's start.
    pub(super) fn ready(&mut self, spans: &Spans, start: Duration, delay: Duration) -> Duration {
        let end = spans.elapsed().saturating_sub(delay).max(start);
        let span = Span { phase: Phase::ShardSend, start, end };
        add_part(spans, span, self.counts.on_demand.trace.as_deref_mut());
        end
    }

    /// Adds the shard's times, which count from the moment at which it was ready. `ready` is the
    /// arrival of its message `Ready`, less the added delay, so the spans are late by the message's
    /// travel time. They count for the phases; no track of a trace shows them, as they overlap.
    pub(super) fn add_times(&mut self, spans: &Spans, ready: Duration, times: &ShardTimes) {
        let now = spans.elapsed();
        let executed = ready.saturating_add(times.executed).min(now);
        for (phase, start, end) in [
            (Phase::Prefetch, ready, ready.saturating_add(times.ahead).min(now)),
            (Phase::Execute, ready, executed),
            (Phase::ShardResults, executed, now),
        ] {
            spans.add_on_own_track(Span { phase, start, end });
        }
        self.counts.shard_times.add(times);
    }

    /// Returns the transaction of a step of the batch at `batch_index`; `None` for a step that is
    /// no transaction.
    pub(super) fn transaction(&self, batch_index: usize, step: Step) -> Option<&'a Transaction> {
        let block = &self.task.workload.batches[batch_index].blocks[step.block];
        match step.kind {
            StepKind::Transaction(tx_index) => Some(&block.transactions[tx_index]),
            StepKind::BeforeTransactions | StepKind::AfterTransactions => None,
        }
    }

    /// Makes the error of the batch at `batch`, in which the shard failed for `reason`.
    pub(super) fn blame(&self, batch: usize, reason: impl Into<String>) -> EngineError {
        if self.stop.load(Ordering::Relaxed) || self.task.cancel.load(Ordering::Relaxed) {
            // Another thread has failed, or the user interrupted: that is the cause.
            return EngineError::Cancelled;
        }
        EngineError::Shard { batch, shard: self.shards.name(self.shard), reason: reason.into() }
    }
}

/// Makes the error of a shard whose coordinator failed.
pub(super) fn coordinator_failed(reason: String) -> StoreError {
    StoreError::Failed { store: "coordinator", action: "fetch values".to_owned(), reason }
}

/// State of the leading thread from batch to batch.
pub(super) struct LeadState<'a> {
    pub(super) reader: Box<dyn Reader + 'a>,
    /// Parts of the remaining batches, if batches are partitioned before the clock.
    parts: std::vec::IntoIter<Parts>,
    /// Time of partitioning so far.
    pub(super) partitioning: Duration,
}

impl<'a> LeadState<'a> {
    /// Prepares the leading thread. If batches are partitioned before the clock, calls
    /// `partition` for each batch; it must add its time to `partitioning`.
    pub(super) fn new(
        execution: Execution<'a>,
        partition: impl Fn(&mut Self, usize) -> Result<Parts, EngineError>,
    ) -> Result<Self, EngineError> {
        let (reader, parts) = (execution.sample.reader()?, Vec::new().into_iter());
        let mut lead = Self { reader, parts, partitioning: Duration::ZERO };
        if execution.task.variant.sharding.partition_time == PartitionTime::Before {
            let batches = 0..execution.task.workload.batches.len();
            let parts = batches.map(|batch_index| partition(&mut lead, batch_index));
            lead.parts = parts.collect::<Result<Vec<_>, _>>()?.into_iter();
        }
        Ok(lead)
    }

    /// Returns the parts of the next batch. If the parts were not made before the clock,
    /// `partition` makes them now.
    pub(super) fn next_parts(
        &mut self,
        spans: &Spans,
        partition: impl FnOnce(&mut dyn Reader) -> Result<Parts, EngineError>,
    ) -> Result<Parts, EngineError> {
        if let Some(parts) = self.parts.next() {
            return Ok(parts);
        }
        let start = spans.elapsed();
        let parts = partition(self.reader.as_mut())?;
        let span = spans.close(Phase::Partition, start);
        self.partitioning += span.end - span.start;
        Ok(parts)
    }
}

/// Returns whether a partitioner uses the keys of transactions.
pub(super) const fn needs_accesses(partitioner: Partitioner) -> bool {
    match partitioner {
        Partitioner::RoundRobin | Partitioner::BySender => false,
        Partitioner::ByComponent | Partitioner::Fanout => true,
    }
}

/// The assignment of a batch's steps to shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Steps of each shard, ascending. Steps of system calls and withdrawals are on the first
    /// shard.
    pub(super) steps: Vec<Vec<BlockAccessIndex>>,
    /// The shard of each transaction.
    pub(super) shard_of_tx: Vec<u32>,
}

impl Parts {
    /// Partitions a batch. `accesses` has the known accesses of each transaction, or is empty.
    pub(super) fn new(batch: &Batch, sharding: &Sharding, accesses: Vec<Vec<Access>>) -> Self {
        let Sharding { count, partitioner, .. } = *sharding;
        let shard_count = u32::try_from(count).unwrap_or(u32::MAX);
        let partition =
            Partition::new(&transactions(batch, accesses), partitioner, shard_count, SEED);
        let mut parts = Self { steps: vec![Vec::new(); count], shard_of_tx: Vec::new() };
        for (index, step) in Steps::of(batch).iter() {
            let mut shard = 0;
            if let StepKind::Transaction(_) = step.kind {
                shard = partition.shard_of(parts.shard_of_tx.len());
                parts.shard_of_tx.push(shard);
            }
            parts.steps[shard as usize].push(index);
        }
        parts
    }
}

/// Converts the transactions of a batch for partitioners.
fn transactions(batch: &Batch, accesses: Vec<Vec<Access>>) -> Transactions {
    let mut accesses = accesses.into_iter();
    let mut senders: HashMap<Address, u32> = HashMap::default();
    let mut transactions = Transactions::default();
    for tx in batch.blocks.iter().flat_map(|block| &block.transactions) {
        let next = senders.len() as u32;
        let sender = *senders.entry(tx.sender).or_insert(next);
        let accesses = accesses.next().unwrap_or_default();
        transactions.push(Tx { gas: tx.gas_limit, sender, accesses });
    }
    transactions
}

/// Makes the assignments of all shards for the batch at `batch`.
pub(super) fn assignments(
    steps: Vec<Vec<BlockAccessIndex>>,
    batch: usize,
    list: &Bytes,
    variant: &Variant,
) -> Vec<Assignment> {
    let assignments = steps.into_iter().map(|steps| Assignment {
        batch,
        list: list.clone(),
        steps,
        thread_count: variant.thread_count,
        micro_batch_key_count: variant.sharding.micro_batch_key_count,
        delay: variant.sharding.delay(),
    });
    assignments.collect()
}
