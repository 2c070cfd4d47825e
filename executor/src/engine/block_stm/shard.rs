//! Executes a shard's part of an optimistic batch, for the server in `crates/shard/`. The shard's
//! threads run steps like the engine's workers. Their memory also has the writes of other shards'
//! steps. The coordinator sends these writes and the values before the batch, and decides the
//! commits.
//!
//! Keys that the transactions name (senders, recipients, access lists) are requested ahead, in
//! micro-batches, without waiting for earlier answers. Other keys are requested when a step needs
//! them.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, U256};
use workload::{Batch, BlockAccessIndex, StepKind, Steps, Workload};

use super::{
    cell::Found,
    deferred_fees::{self, BatchFees},
    intake::{Codes, Intake, RemoteState},
    memory::Memory,
    scheduler::Scheduler,
    shared::{Logs, Results, Shared},
    shared_scheduler::SharedScheduler,
    worker,
};
use crate::{
    engine::{
        error::EngineError,
        send_queue::{Limits, SendQueue},
        tally::{ReadTally, Reading},
    },
    lock::lock,
    shards::{
        Assignment, OptimisticCoordinator, OptimisticFinished, ShardTimes,
        versions::{OptimisticStep, RequestedKeys},
    },
};

/// A shard's part of a batch, shared by the shard's threads.
struct ShardRun<'a> {
    workload: &'a Workload,
    assignment: &'a Assignment,
    coordinator: &'a dyn OptimisticCoordinator,
    steps: Steps,
    memory: Memory,
    fees: BatchFees,
    logs: Logs,
    codes: Codes,
    /// Results that wait to be sent.
    results: SendQueue<OptimisticStep>,
    times: Mutex<ShardTimes>,
    failures: Mutex<Vec<EngineError>>,
}

/// Executes a shard's part of a batch without a list. `stop` ends it early.
///
/// # Errors
/// [`EngineError`]: a step is not valid, the coordinator does not answer, or `stop` is set.
///
/// # Panics
/// Panics on a batch or a step that the workload does not have.
pub fn run_optimistic_shard(
    workload: &Workload,
    assignment: &Assignment,
    coordinator: &dyn OptimisticCoordinator,
    stop: &AtomicBool,
) -> Result<OptimisticFinished, EngineError> {
    let batch = &workload.batches[assignment.batch];
    let steps = Steps::of(batch);
    let memory = Memory::new(assignment.steps.len());
    let shard = ShardRun {
        workload,
        assignment,
        coordinator,
        fees: BatchFees::new(batch, &steps, &memory),
        logs: Logs::for_each_step(steps.count()),
        memory,
        steps,
        codes: Codes::default(),
        results: SendQueue::new(Limits::OF_A_SHARD),
        times: Mutex::default(),
        failures: Mutex::default(),
    };
    let threads = assignment.thread_count.max(1);
    let links = deferred_fees::nonce_links(batch, &shard.steps);
    let scheduler = Scheduler::new(&links, threads).on_shard(&assignment.steps);
    let over = AtomicBool::new(false);
    let flush = || shard.results.flush();
    let scheduler = SharedScheduler::new(scheduler, &over).with_idle_call(&flush);
    coordinator.ready().map_err(|_| EngineError::Cancelled)?;
    let is_committed = shard.run(&scheduler, stop, &over);
    if !is_committed {
        return Err(lock(&shard.failures).pop().unwrap_or(EngineError::Cancelled));
    }
    let runs = scheduler.into_scheduler().speculation();
    let times = shard.times.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(OptimisticFinished { times, runs })
}

impl ShardRun<'_> {
    /// Runs the shard's steps. `over` ends all threads of the shard. Returns whether all steps of
    /// the batch are committed, also those of other shards.
    fn run(&self, scheduler: &SharedScheduler<'_>, stop: &AtomicBool, over: &AtomicBool) -> bool {
        let ready = Instant::now();
        let (ahead_ns, executed_ns) = (&AtomicU64::new(0), &AtomicU64::new(0));
        let intake = Intake {
            coordinator: self.coordinator,
            memory: &self.memory,
            fees: &self.fees,
            scheduler,
            codes: &self.codes,
            results: &self.results,
            step_count: self.steps.count(),
            ahead_ns,
            ready,
        };
        let is_committed = thread::scope(|scope| {
            scope.spawn(move || self.request_ahead(over));
            let intake_thread = scope.spawn(move || intake.run(stop, over));
            for _ in 0..self.assignment.thread_count.max(1) {
                let results = self.results.producer();
                scope.spawn(move || {
                    self.work(scheduler, over, &|step| {
                        let ns = u64::try_from(ready.elapsed().as_nanos()).unwrap_or(u64::MAX);
                        executed_ns.fetch_max(ns, Ordering::Relaxed);
                        results.push(step);
                    });
                });
            }
            while let Some(steps) = self.results.next() {
                if self.coordinator.send(steps).is_err() {
                    // The coordinator takes no more results, because it has ended the batch or is
                    // gone.
                    over.store(true, Ordering::Relaxed);
                    self.results.close();
                    break;
                }
            }
            intake_thread.join().unwrap_or(false)
        });
        let mut times = lock(&self.times);
        times.ahead = Duration::from_nanos(ahead_ns.load(Ordering::Relaxed));
        times.executed = Duration::from_nanos(executed_ns.load(Ordering::Relaxed));
        is_committed
    }

    /// Executes steps on one thread until the batch is over.
    fn work(
        &self,
        scheduler: &SharedScheduler<'_>,
        over: &AtomicBool,
        send: &(dyn Fn(OptimisticStep) + Sync),
    ) {
        let shared = Shared {
            workload: self.workload,
            batch_index: self.assignment.batch,
            steps: &self.steps,
            memory: &self.memory,
            fees: &self.fees,
            scheduler,
            logs: &self.logs,
            results: Results::Sent(send),
            written: None,
            stop: over,
        };
        let mut values = RemoteState {
            coordinator: self.coordinator,
            memory: &self.memory,
            codes: &self.codes,
            over,
            request_count: 0,
            wait: Duration::ZERO,
        };
        let mut tally = ReadTally::new(&values, None);
        let done = worker::work(shared, Reading { reader: &mut values, tally: &mut tally });
        if let Err((_, error)) = done
            && !over.swap(true, Ordering::Relaxed)
        {
            lock(&self.failures).push(error);
        }
        let mut times = lock(&self.times);
        times.value_wait += values.wait + tally.wait;
        times.demand_request_count += values.request_count;
    }

    /// Requests one micro-batch after the other, without waiting for answers. Leaves out keys that
    /// a step has claimed meanwhile.
    fn request_ahead(&self, over: &AtomicBool) {
        let Assignment { micro_batch_key_count, steps, .. } = self.assignment;
        let batch = &self.workload.batches[self.assignment.batch];
        let (accounts, slots) = named_keys(batch, &self.steps, steps);
        let key_count = (*micro_batch_key_count).max(1) as usize;
        let accounts = accounts.chunks(key_count).map(|keys| (keys, &[][..]));
        let slots = slots.chunks(key_count).map(|keys| (&[][..], keys));
        // Requests ahead are numbered from 1; 0 is a request that a step waits for.
        for ((accounts, slots), request) in accounts.chain(slots).zip(1..) {
            if over.load(Ordering::Relaxed) {
                return;
            }
            let keys = self.claim(accounts, slots);
            let count = keys.accounts.len() + keys.slots.len();
            if count == 0 {
                continue;
            }
            let mut times = lock(&self.times);
            times.ahead_request_count += 1;
            times.ahead_key_count += count as u64;
            drop(times);
            if self.coordinator.request(request, keys).is_err() {
                // The claimed keys will never arrive, and steps may wait for them.
                over.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Claims and returns the keys that nobody has requested yet.
    fn claim(&self, accounts: &[Address], slots: &[(Address, U256)]) -> RequestedKeys {
        let memory = &self.memory;
        let accounts = accounts.iter().filter(|address| {
            let id = memory.accounts.id(address);
            memory.accounts.cell(id).cell.base_or_claim() == Found::ToRead
        });
        let slots = slots.iter().filter(|(address, key)| {
            let id = memory.slot_id(address, key);
            memory.slots.cell(id).cell.base_or_claim() == Found::ToRead
        });
        RequestedKeys {
            accounts: accounts.copied().collect(),
            slots: slots.copied().collect(),
            codes: Vec::new(),
        }
    }
}

/// Returns the keys that the transactions of the steps `own` name: senders, recipients, and access
/// lists (EIP-2930).
fn named_keys(
    batch: &Batch,
    steps: &Steps,
    own: &[BlockAccessIndex],
) -> (Vec<Address>, Vec<(Address, U256)>) {
    let (mut accounts, mut slots) = (Vec::new(), Vec::new());
    for index in own {
        let step = steps.at(*index);
        if let StepKind::Transaction(tx_index) = step.kind {
            let tx = &batch.blocks[step.block].transactions[tx_index];
            accounts.push(tx.sender);
            accounts.extend(tx.to);
            for (address, keys) in &tx.access_list {
                accounts.push(*address);
                slots.extend(keys.iter().map(|key| (*address, U256::from_be_bytes(key.0))));
            }
        }
    }
    accounts.sort_unstable();
    accounts.dedup();
    slots.sort_unstable();
    slots.dedup();
    (accounts, slots)
}
