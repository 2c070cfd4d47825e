//! The coordinator's connection to one shard of an optimistic batch. One thread receives: it answers requests for
//! keys from the store and from other shards' writes, and takes the shard's runs in. Another thread sends
//! updates for the shard: commits, and writes of other shards.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use alloy_primitives::{B256, Bytes};
use evm::{AccountWrite, StepWrites};
use variant::Phase;
use workload::{BlockAccessIndex, StepKind, Steps, Transaction};

use super::{
    deferred_fees::BatchFees,
    hub::{self, Hub, Outbox},
    memory::Memory,
};
use crate::{
    engine::{
        error::EngineError,
        tally::{ReadTally, Reading},
        task::Task,
    },
    lock::lock,
    shards::{
        Assignment, Channel, OptimisticFinished, OptimisticReport, Receiver, Sender, ShardTimes,
        Shards, Speculation,
        versions::{KeyValues, Keys, OptimisticStep, Order, VersionWrites},
    },
    single_flight::SingleFlight,
    span::{Span, Spans},
    store::{ReadCounters, Reader},
    trace::add_part,
};

mod source;

use source::Source;

/// Most accounts and slots of a request.
const MAX_KEYS_PER_REQUEST: usize = 1 << 16;
/// Most codes of a request.
const MAX_CODES_PER_REQUEST: usize = 64;
/// Most values and steps in one message, unless one order has more.
const MAX_VALUES_PER_MESSAGE: usize = 1 << 14;

/// One batch as the connections see it.
pub(in crate::engine) struct Job {
    pub(super) batch_index: usize,
    pub(super) steps: Steps,
    pub(super) memory: Memory,
    pub(super) fees: BatchFees,
    pub(super) hub: Mutex<Hub>,
    pub(super) parts: Vec<Assignment>,
    pub(super) outboxes: Vec<Outbox>,
    pub(super) inboxes: Vec<Mutex<Option<mpsc::Receiver<Option<Order>>>>>,
    pub(super) codes: SingleFlight<B256, Option<Bytes>>,
    pub(super) spans: Arc<Spans>,
    pub(super) failures: Mutex<Vec<EngineError>>,
}

impl Job {
    fn ledger(&self) -> hub::Ledger<'_> {
        hub::Ledger { memory: &self.memory, fees: &self.fees }
    }
}

/// Counts of one connection over all batches.
#[derive(Debug)]
pub(in crate::engine) struct ShardStats {
    pub(super) on_demand: ReadTally,
    pub(super) times: ShardTimes,
    pub(super) speculation: Speculation,
    pub(super) counters: ReadCounters,
}

/// A connection to a shard.
pub(super) struct ShardConnection<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) stop: &'a AtomicBool,
    pub(super) shards: &'a dyn Shards,
    /// Index of the shard.
    pub(super) shard: usize,
    pub(super) reader: &'a mut dyn Reader,
    pub(super) stats: &'a mut ShardStats,
}

/// Ends the sending thread of a connection, when dropped.
struct Ending<'j>(&'j Outbox);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        drop(self.0.send(None));
    }
}

impl ShardConnection<'_> {
    /// Has the shard execute its part.
    ///
    /// # Errors
    /// The failure of the shard or of the store.
    pub(super) fn run(&mut self, job: &Job) -> Result<(), EngineError> {
        let start = job.spans.elapsed();
        let begun = self.shards.begin_optimistic(self.shard, &job.parts[self.shard], self.stop);
        let Channel { sender, mut receiver } = begun.map_err(|error| self.blame(job, error.0))?;
        let inbox = lock(&job.inboxes[self.shard]).take();
        let inbox = inbox.unwrap_or_else(|| panic!("shard {} has one connection", self.shard));
        thread::scope(|scope| {
            let spans = &job.spans;
            let sending = scope.spawn(move || send(sender, &inbox, spans));
            let ending = Ending(&job.outboxes[self.shard]);
            let received = self.receive(job, receiver.as_mut(), start);
            drop(ending);
            if let Ok(Some(span)) = sending.join() {
                job.spans.add_on_own_track(span);
            }
            received
        })
    }

    fn receive(
        &mut self,
        job: &Job,
        receiver: &mut dyn Receiver,
        start: Duration,
    ) -> Result<(), EngineError> {
        let mut ready = None;
        let finished = loop {
            let is_ready = ready.is_some();
            // At the end of a batch every shard owes its last message.
            let received = receiver.receive(self.stop, &|| {
                !is_ready
                    || lock(&job.hub).next_owner().is_none_or(|owner| owner == self.shard as u32)
            });
            match received.map_err(|error| self.blame_silent(job, error.0))? {
                OptimisticReport::Ready => {
                    let now = job.spans.elapsed();
                    let end = now.saturating_sub(job.parts[self.shard].delay).max(start);
                    if ready.replace(end).is_some() {
                        return Err(self.blame(job, "it says twice that it is ready".to_owned()));
                    }
                    let span = Span { phase: Phase::ShardSend, start, end };
                    let recorder = self.stats.on_demand.trace.as_deref_mut();
                    add_part(&job.spans, span, recorder);
                }
                OptimisticReport::Wanted { request, keys } => self.answer(job, request, &keys)?,
                OptimisticReport::Steps(steps) => self.take(job, steps)?,
                OptimisticReport::Failed(reason) => {
                    return Err(self.blame(job, format!("it cannot go on: {reason}")));
                }
                OptimisticReport::Done(finished) => break finished,
            }
        };
        let lowest = lock(&job.hub).committed();
        if lowest < job.steps.count() {
            let reason = format!("it says that all is done, and step {lowest} is not committed");
            return Err(self.blame(job, reason));
        }
        let Some(ready) = ready else {
            let reason = "it says that all is done, and never that it was ready";
            return Err(self.blame(job, reason.to_owned()));
        };
        self.add_times(job, ready, &finished);
        Ok(())
    }

    /// Adds the shard's times, which are by its own clock: see `ShardConnection::add_times` of the engine `bal`.
    fn add_times(&mut self, job: &Job, ready: Duration, finished: &OptimisticFinished) {
        let OptimisticFinished { times, runs } = finished;
        let now = job.spans.elapsed();
        let executed = ready.saturating_add(times.executed).min(now);
        for (phase, start, end) in [
            (Phase::Prefetch, ready, ready.saturating_add(times.ahead).min(now)),
            (Phase::Execute, ready, executed),
            (Phase::ShardResults, executed, now),
        ] {
            job.spans.add_on_own_track(Span { phase, start, end });
        }
        self.stats.times.add(times);
        self.stats.speculation.add(runs);
    }

    /// Takes runs in, commits what can be, and tells all shards.
    fn take(&self, job: &Job, steps: Vec<OptimisticStep>) -> Result<(), EngineError> {
        if let Some(keys) = self.task.root.written {
            steps.iter().for_each(|step| keys.add_writes(&keys_of(&step.writes)));
        }
        let mut hub = lock(&job.hub);
        for step in steps {
            let tx = self.transaction(job, step.index);
            let taken = hub.take(job.ledger(), self.shard as u32, step, tx);
            taken.map_err(|reason| self.blame(job, reason))?;
        }
        hub.announce();
        Ok(())
    }

    /// The transaction of a step, if it is one.
    fn transaction(&self, job: &Job, index: BlockAccessIndex) -> Option<&Transaction> {
        if index >= job.steps.count() {
            return None;
        }
        let step = job.steps.at(index);
        let block = &self.task.workload.batches[job.batch_index].blocks[step.block];
        match step.kind {
            StepKind::Transaction(tx_index) => Some(&block.transactions[tx_index]),
            StepKind::BeforeTransactions | StepKind::AfterTransactions => None,
        }
    }

    /// Answers a request: reads of the store what nobody has read, outside the lock.
    fn answer(&mut self, job: &Job, request: u64, keys: &Keys) -> Result<(), EngineError> {
        let Keys { accounts, slots, codes } = keys;
        if accounts.len() + slots.len() > MAX_KEYS_PER_REQUEST
            || codes.len() > MAX_CODES_PER_REQUEST
        {
            let reason = format!(
                "it wants {} accounts, {} slots and {} codes at once: {MAX_KEYS_PER_REQUEST} keys and \
                 {MAX_CODES_PER_REQUEST} codes are the most",
                accounts.len(),
                slots.len(),
                codes.len()
            );
            return Err(self.blame(job, reason));
        }
        let source = Source {
            memory: &job.memory,
            codes: &job.codes,
            reading: Reading { reader: &mut *self.reader, tally: &mut self.stats.on_demand },
            stop: self.stop,
        };
        let read = source.read(keys, |hash| lock(&job.hub).code(hash));
        let codes = read.map_err(|error| EngineError::of_read(job.batch_index, 0, error))?;
        let values = KeyValues { request, codes, ..KeyValues::default() };
        lock(&job.hub).answer(job.ledger(), self.shard as u32, keys, values);
        Ok(())
    }

    /// The fault of a shard that ended or says nothing, and which of its runs is waited for.
    fn blame_silent(&self, job: &Job, mut reason: String) -> EngineError {
        let hub = lock(&job.hub);
        if hub.next_owner() == Some(self.shard as u32) {
            let index = hub.committed();
            if let Some(different) = hub.difference(job.ledger()) {
                reason += &format!("; step {index} {different}, and it has not run it again");
            }
        }
        drop(hub);
        self.blame(job, reason)
    }

    fn blame(&self, job: &Job, reason: String) -> EngineError {
        if self.stop.load(Ordering::Relaxed) || self.task.cancel.load(Ordering::Relaxed) {
            // Another thread has failed, or the user interrupted: that is the cause.
            return EngineError::Cancelled;
        }
        EngineError::Shard { batch: job.batch_index, shard: self.shards.name(self.shard), reason }
    }
}

/// The keys of writes.
fn keys_of(writes: &VersionWrites) -> StepWrites {
    let accounts = writes
        .accounts
        .iter()
        .map(|(address, _)| AccountWrite { address: *address, ..AccountWrite::default() });
    StepWrites { accounts: accounts.collect(), slots: writes.slots.clone() }
}

/// Sends the orders for a shard, several in a message where several have come. Returns the time in which values of
/// other shards were sent.
fn send(
    mut sender: Box<dyn Sender + '_>,
    inbox: &mpsc::Receiver<Option<Order>>,
    spans: &Spans,
) -> Option<Span> {
    let mut sent: Option<Span> = None;
    let mut is_last = false;
    while !is_last && let Ok(Some(first)) = inbox.recv() {
        let mut sum = value_count(&first);
        let mut orders = vec![first];
        while sum < MAX_VALUES_PER_MESSAGE && !is_last {
            match inbox.try_recv() {
                Ok(Some(order)) => {
                    sum += value_count(&order);
                    orders.push(order);
                }
                Ok(None) => is_last = true,
                Err(_) => break,
            }
        }
        let has_values = orders.iter().any(has_values);
        let start = spans.elapsed();
        if sender.send(orders).is_err() {
            // The receiving thread learns why.
            break;
        }
        if has_values {
            let end = spans.elapsed();
            sent.get_or_insert(Span { phase: Phase::ShardValues, start, end }).end = end;
        }
    }
    sent
}

/// Number of values in an order.
fn value_count(order: &Order) -> usize {
    match order {
        Order::Values(values) => values.accounts.len() + values.slots.len() + values.codes.len(),
        Order::Writes(writes) => writes.len(),
        Order::Committed { fees, .. } => fees.len(),
        Order::Hurry => 0,
    }
}

/// Returns whether an order has values that steps of other shards wrote.
fn has_values(order: &Order) -> bool {
    match order {
        Order::Values(values) => {
            values.accounts.iter().any(|value| !value.versions.is_empty())
                || values.slots.iter().any(|value| !value.versions.is_empty())
        }
        Order::Writes(_) => true,
        Order::Committed { .. } | Order::Hurry => false,
    }
}
