//! The coordinator's connection to one shard during an optimistic batch. One thread receives the
//! shard's messages. It answers requests for keys, with values from the store and writes of other
//! shards' steps, and gives the shard's runs to the hub. Another thread sends the shard its orders:
//! values, commits, and writes of other shards' steps.

use std::{
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use alloy_primitives::{B256, Bytes};
use evm::{AccountWrite, StepWrites};
use variant::Phase;
use workload::Steps;

use super::{
    deferred_fees::BatchFees,
    hub::{self, Hub, Outbox},
    memory::Memory,
};
use crate::{
    engine::{error::EngineError, on_shards::Connection},
    lock::lock,
    shards::{
        Assignment, Channel, OptimisticReport, Receiver, Sender,
        versions::{KeyValues, OptimisticStep, Order, RequestedKeys, VersionWrites},
    },
    single_flight::SingleFlight,
    span::{Span, Spans},
};

mod source;

use source::Source;

/// Largest number of accounts and slots in a request.
const MAX_KEYS_PER_REQUEST: usize = 1 << 16;
/// Largest number of codes in a request.
const MAX_CODES_PER_REQUEST: usize = 64;
/// Number of values and committed steps in a message, from which on it gets no further order.
const MAX_VALUES_PER_MESSAGE: usize = 1 << 14;

/// One batch, shared by the connections to all shards.
pub(in crate::engine) struct Job {
    pub(super) batch_index: usize,
    pub(super) steps: Steps,
    pub(super) memory: Memory,
    pub(super) fees: BatchFees,
    pub(super) hub: Mutex<Hub>,
    /// The assignment of each shard.
    pub(super) assignments: Vec<Assignment>,
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

/// A shard that executes its part of a batch.
pub(super) struct ShardBatch<'c, 'a> {
    pub(super) connection: &'c mut Connection<'a>,
    pub(super) job: &'c Job,
}

/// Ends the sending thread of a connection on drop, also while unwinding.
struct EndOnDrop<'j>(&'j Outbox);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        drop(self.0.send(None));
    }
}

impl ShardBatch<'_, '_> {
    /// Has the shard execute its part, until all steps of the batch are committed.
    ///
    /// # Errors
    /// The shard or the store failed.
    pub(super) fn run(&mut self) -> Result<(), EngineError> {
        let job = self.job;
        let Connection { shards, shard, stop, .. } = *self.connection;
        let start = job.spans.elapsed();
        let begun = shards.begin_optimistic(shard, &job.assignments[shard], stop);
        let Channel { sender, mut receiver } = begun.map_err(|error| self.blame(error.0))?;
        let inbox = lock(&job.inboxes[shard]).take();
        let inbox = inbox.unwrap_or_else(|| panic!("shard {shard} has one connection"));
        thread::scope(|scope| {
            let sending = scope.spawn(move || send(sender, &inbox, &job.spans));
            let end = EndOnDrop(&job.outboxes[shard]);
            let received = self.receive(receiver.as_mut(), start);
            drop(end);
            if let Ok(Some(span)) = sending.join() {
                job.spans.add_on_own_track(span);
            }
            received
        })
    }

    /// Handles the shard's messages until it reports that all is done.
    fn receive(&mut self, receiver: &mut dyn Receiver, start: Duration) -> Result<(), EngineError> {
        let job = self.job;
        let Connection { shard, stop, .. } = *self.connection;
        let mut ready = None;
        let finished = loop {
            // A shard owes a message until it is ready, while the lowest uncommitted step is its
            // own, and after the last commit.
            let received = receiver.receive(stop, &|| {
                ready.is_none()
                    || lock(&job.hub).next_owner().is_none_or(|owner| owner == shard as u32)
            });
            match received.map_err(|error| self.blame_silent(error.0))? {
                OptimisticReport::Ready if ready.is_some() => {
                    return Err(self.blame("it says twice that it is ready"));
                }
                OptimisticReport::Ready => {
                    let delay = job.assignments[shard].delay;
                    ready = Some(self.connection.ready(&job.spans, start, delay));
                }
                OptimisticReport::Request { request, keys } => self.answer(request, &keys)?,
                OptimisticReport::Steps(steps) => self.add_runs(steps)?,
                OptimisticReport::Failed { reason, .. } => {
                    return Err(self.blame(format!("it cannot go on: {reason}")));
                }
                OptimisticReport::Done(finished) => break finished,
            }
        };
        let lowest = lock(&job.hub).committed();
        if lowest < job.steps.count() {
            let reason = format!("it says that all is done, and step {lowest} is not committed");
            return Err(self.blame(reason));
        }
        let Some(ready) = ready else {
            return Err(self.blame("it says that all is done, and never that it was ready"));
        };
        self.connection.add_times(&job.spans, ready, &finished.times);
        self.connection.counts.speculation.add(&finished.runs);
        Ok(())
    }

    /// Gives runs to the hub, which commits the steps that can be committed. Announces the commits
    /// to all shards.
    fn add_runs(&self, steps: Vec<OptimisticStep>) -> Result<(), EngineError> {
        let Self { job, connection } = self;
        if let Some(keys) = connection.task.root.written {
            steps.iter().for_each(|step| keys.add_writes(&keys_of(&step.writes)));
        }
        let mut hub = lock(&job.hub);
        for step in steps {
            let known = (step.index < job.steps.count()).then(|| job.steps.at(step.index));
            let tx = known.and_then(|step| connection.transaction(job.batch_index, step));
            let added = hub.add_run(job.ledger(), connection.shard as u32, step, tx);
            added.map_err(|reason| self.blame(reason))?;
        }
        hub.announce();
        Ok(())
    }

    /// Answers a request. Keys that nobody has read yet are read from the store, outside the hub's
    /// lock.
    fn answer(&mut self, request: u64, keys: &RequestedKeys) -> Result<(), EngineError> {
        let RequestedKeys { accounts, slots, codes } = keys;
        if accounts.len() + slots.len() > MAX_KEYS_PER_REQUEST
            || codes.len() > MAX_CODES_PER_REQUEST
        {
            return Err(self.blame(format!(
                "it wants {} accounts, {} slots and {} codes at once: {MAX_KEYS_PER_REQUEST} keys and \
                 {MAX_CODES_PER_REQUEST} codes are the most",
                accounts.len(),
                slots.len(),
                codes.len()
            )));
        }
        let job = self.job;
        let Connection { shard, stop, .. } = *self.connection;
        let reading = self.connection.reading();
        let source = Source { memory: &job.memory, codes: &job.codes, reading, stop };
        let read = source.read(keys, |hash| lock(&job.hub).code(hash));
        let codes = read.map_err(|error| EngineError::of_read(job.batch_index, 0, error))?;
        let values = KeyValues { request, codes, ..KeyValues::default() };
        lock(&job.hub).answer(job.ledger(), shard as u32, keys, values);
        Ok(())
    }

    /// Makes the error of a shard that ended or is silent. If the shard should have run a step
    /// again, the reason names the step.
    fn blame_silent(&self, mut reason: String) -> EngineError {
        let hub = lock(&self.job.hub);
        if hub.next_owner() == Some(self.connection.shard as u32) {
            let index = hub.committed();
            if let Some(different) = hub.difference(self.job.ledger()) {
                reason += &format!("; step {index} {different}, and it has not run it again");
            }
        }
        drop(hub);
        self.blame(reason)
    }

    /// Makes the error of a faulty shard.
    fn blame(&self, reason: impl Into<String>) -> EngineError {
        self.connection.blame(self.job.batch_index, reason)
    }
}

/// Converts `writes` to step writes. Only their keys count, for root computation.
fn keys_of(writes: &VersionWrites) -> StepWrites {
    let accounts = writes
        .accounts
        .iter()
        .map(|(address, _)| AccountWrite { address: *address, ..AccountWrite::default() });
    StepWrites { accounts: accounts.collect(), slots: writes.slots.clone() }
}

/// Sends the orders to a shard until the inbox has `None`. Several waiting orders share a message.
/// Returns the span from the first to the last message with values that other shards wrote; `None`
/// without such a message.
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
            // The receiving thread reports the reason.
            break;
        }
        if has_values {
            let end = spans.elapsed();
            sent.get_or_insert(Span { phase: Phase::ShardValues, start, end }).end = end;
        }
    }
    sent
}

/// Returns the number of values and committed steps in an order.
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
