//! A shard's part of a batch: its threads run their steps as those of `bal` do, over values that the
//! coordinator sends. Keys that the list lets foresee are fetched ahead, in micro-batches that do not wait for
//! one another: accounts of its transactions' senders and recipients, keys that one of its steps is the
//! first to write, and slots of the called contracts that no step writes. Which step reads what is not in a list
//! (EIP-7928): some of the last are another shard's, and keys beyond these are fetched on demand.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Instant,
};

use alloy_primitives::{Address, B256, Bytes, U256};
use variant::{Design, Io, Variant};
use workload::{
    BlockAccessIndex, StepKind, Workload,
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use super::{
    job::{Job, JobInput, Tallies},
    prestate::Declared,
};
use crate::{
    engine::{error::EngineError, task::Task},
    error::StoreError,
    lock::lock,
    shards::{
        Answer, Assignment, Coordinator, Finished, ShardError, ShardStep, ShardTimes, StateValues,
        Wanted,
    },
    span::Spans,
    store::{ReadCounters, Reader},
};

/// Results that are sent together at most.
const SENT_STEP_COUNT: usize = 64;

/// Executes a shard's part of a batch. `stop` ends it early.
///
/// # Errors
/// [`EngineError`]: a step that is not valid on the list, or a coordinator that does not answer.
///
/// # Panics
/// On a batch or a step that the workload does not have.
pub fn run_shard(
    workload: &Workload,
    assignment: &Assignment,
    coordinator: &dyn Coordinator,
    stop: &AtomicBool,
) -> Result<Finished, EngineError> {
    let Assignment { batch: index, ref list, ref steps, thread_count, .. } = *assignment;
    let mut lists = vec![Bytes::new(); workload.batches.len()];
    lists[index] = list.clone();
    let threads = NonZeroUsize::new(thread_count).unwrap_or(NonZeroUsize::MIN);
    let variant = Variant::of(Design::BatchedIo, threads, NonZeroUsize::MIN);
    let variant = Variant { io: Io::OnDemand, io_thread_count: 0, ..variant };
    let task = &Task::new(workload, &lists, variant, stop);
    let batch = &workload.batches[index];
    let spans = &Arc::new(Spans::start());
    let known_order = Some(steps.clone());
    let job = JobInput { task, index, batch, spans, layout: None, known_order };
    let job = &Job::<Declared>::new(job)?.on_shard();
    let ahead = &Ahead::of(workload, assignment, job);
    // A coordinator that has gone wants nothing.
    stop.fetch_or(coordinator.ready().is_err(), Ordering::Relaxed);
    let ready = Instant::now();
    let times = &Mutex::new(ShardTimes::default());
    let (ended, results) = mpsc::channel::<ShardStep>();
    let (asked, answers) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || ahead.ask(coordinator, stop, &asked, times));
        scope.spawn(move || {
            take_in(job, answers, stop);
            lock(times).ahead = ready.elapsed();
        });
        for worker in 0..threads.get() {
            let steps = Some(ended.clone());
            scope.spawn(move || {
                let mut tallies = Tallies { steps, ..Tallies::default() };
                let mut reader = Remote { coordinator, list: job.list(), times };
                let done = job.execute(&mut reader, &mut tallies, task, worker, stop);
                let mut times = lock(times);
                times.value_wait += tallies.on_demand.wait;
                times.executed = times.executed.max(ready.elapsed());
                drop(times);
                if let Err(failure) = done {
                    stop.store(true, Ordering::Relaxed);
                    lock(&job.failures).push(failure);
                }
            });
        }
        drop(ended);
        while let Ok(first) = results.recv() {
            let mut steps = vec![first];
            steps.extend(results.try_iter().take(SENT_STEP_COUNT - 1));
            if coordinator.send(steps).is_err() {
                // The coordinator has gone: nobody wants the rest.
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
    let times = *lock(times);
    Ok(Finished { met: job.met()?, times })
}

/// Keys to fetch ahead.
struct Ahead<'j> {
    values: &'j Declared,
    accounts: Vec<AccountId>,
    slots: Vec<SlotId>,
    /// Keys of a micro-batch.
    key_count: usize,
}

/// A micro-batch on its way.
type Asked<'c> = (Wanted, Answer<'c>);

impl<'j> Ahead<'j> {
    /// Keys that the list lets foresee: accounts of senders and recipients and of own first writes,
    /// slots of own first writes, and slots that are read alone, of accounts that the steps call.
    fn of(workload: &Workload, assignment: &Assignment, job: &'j Job<Declared>) -> Self {
        let list = job.list();
        let is_own = |index: BlockAccessIndex| assignment.steps.binary_search(&index).is_ok();
        let written =
            list.accounts().filter(|id| list.first_account_change(*id).is_some_and(is_own));
        let mut accounts: Vec<AccountId> = written.collect();
        let mut callees: Vec<AccountId> = Vec::new();
        let batch = &workload.batches[assignment.batch];
        for index in &assignment.steps {
            let step = job.steps().at(*index);
            if let StepKind::Transaction(tx_index) = step.kind {
                let tx = &batch.blocks[step.block].transactions[tx_index];
                let callee = tx.to.and_then(|address| list.account_id(&address));
                accounts.extend(list.account_id(&tx.sender));
                accounts.extend(callee);
                callees.extend(callee);
            }
        }
        for ids in [&mut accounts, &mut callees] {
            ids.sort_unstable();
            ids.dedup();
        }
        let written = list.slots().filter(|id| list.first_slot_change(*id).is_some_and(is_own));
        let mut slots: Vec<SlotId> = written.collect();
        let of_callees = callees.iter().flat_map(|id| list.slots_of(*id)).map(SlotId);
        slots.extend(of_callees.filter(|id| !list.has_changes(*id)));
        let key_count = assignment.micro_batch_key_count.max(1) as usize;
        Self { values: job.declared(), accounts, slots, key_count }
    }

    /// Asks for one micro-batch after the other, without waiting for answers. A key that a step has claimed
    /// meanwhile is left to it.
    fn ask<'c>(
        &self,
        coordinator: &'c dyn Coordinator,
        stop: &AtomicBool,
        asked: &mpsc::Sender<Asked<'c>>,
        times: &Mutex<ShardTimes>,
    ) {
        let accounts = self.accounts.chunks(self.key_count).map(|ids| (ids, &[][..]));
        let slots = self.slots.chunks(self.key_count).map(|ids| (&[][..], ids));
        for (accounts, slots) in accounts.chain(slots) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let claims = self.values.accounts.claims();
            let accounts = accounts.iter().filter(|id| claims.claim(id.get())).map(|id| id.0);
            let claims = self.values.slots.claims();
            let slots = slots.iter().filter(|id| claims.claim(id.get())).map(|id| id.0);
            let (accounts, slots) = (accounts.collect::<Vec<_>>(), slots.collect::<Vec<_>>());
            if accounts.is_empty() && slots.is_empty() {
                continue;
            }
            let mut sums = lock(times);
            sums.ahead_request_count += 1;
            sums.ahead_key_count += (accounts.len() + slots.len()) as u64;
            drop(sums);
            let keys = Wanted { accounts, slots, codes: Vec::new() };
            let answer = coordinator.ask(keys.clone());
            let sent = answer.is_ok_and(|answer| asked.send((keys, answer)).is_ok());
            if !sent {
                // Whoever waits for these keys must not wait for ever.
                stop.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}

/// Takes values in as they come. A failure is the coordinator's, and ends all.
fn take_in<'c>(
    job: &Job<Declared>,
    answers: impl IntoIterator<Item = Asked<'c>>,
    stop: &AtomicBool,
) {
    let values = job.declared();
    for (keys, answer) in answers {
        let Ok(StateValues { accounts, slots, .. }) = answer() else {
            stop.store(true, Ordering::Relaxed);
            return;
        };
        for (id, account) in keys.accounts.iter().zip(accounts) {
            values.accounts.put(*id as usize, account);
        }
        for (id, slot) in keys.slots.iter().zip(slots) {
            values.slots.put(*id as usize, slot);
        }
    }
}

/// The state at the coordinator, for keys that the list declares.
struct Remote<'c> {
    coordinator: &'c dyn Coordinator,
    list: &'c ListIndex,
    times: &'c Mutex<ShardTimes>,
}

impl Remote<'_> {
    fn fetch(&self, keys: Wanted) -> Result<StateValues, StoreError> {
        let start = Instant::now();
        let fetched = self.coordinator.fetch(keys).map_err(|ShardError(reason)| failed(reason));
        let mut times = lock(self.times);
        times.value_wait += start.elapsed();
        times.demand_request_count += 1;
        fetched
    }
}

fn failed(reason: String) -> StoreError {
    StoreError::Failed { store: "coordinator", action: "fetch values".to_owned(), reason }
}

impl Reader for Remote<'_> {
    const IS_TIMED: bool = true;

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let id = self.list.account_id(address);
        let id = id.ok_or_else(|| failed(format!("account {address} is not in the list")))?;
        let values = self.fetch(Wanted { accounts: vec![id.0], ..Wanted::default() })?;
        Ok(values.accounts[0])
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        let account = self.list.account_id(address);
        let id = account.and_then(|account| self.list.slot_id(account, key));
        let id =
            id.ok_or_else(|| failed(format!("slot {key:#x} of {address} is not in the list")))?;
        let values = self.fetch(Wanted { slots: vec![id.0], ..Wanted::default() })?;
        Ok(values.slots[0])
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let mut values = self.fetch(Wanted { codes: vec![*hash], ..Wanted::default() })?;
        Ok(values.codes.remove(0))
    }

    fn counters(&self) -> ReadCounters {
        ReadCounters::default()
    }
}
