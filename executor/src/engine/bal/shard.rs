//! Executes a shard's part of a batch by its list, for the server in `crates/shard/`. The shard's
//! threads run steps like the workers of `bal`, on values that the coordinator sends.
//!
//! Keys that the shard will probably need are requested ahead (see `PrefetchKeys::find`), in
//! micro-batches, without waiting for the answers to earlier ones. An account's code is requested
//! once the account has arrived. Other keys are fetched on demand. A list does not say which step
//! reads a key (EIP-7928), so some slots are requested ahead that only other shards need.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use evm::system::{self, SystemCall};
use variant::{Design, Io, Variant};
use workload::{
    BlockAccessIndex, StepKind, Steps, Workload,
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use super::{bitset::Bitset, job::Job, prestate::Declared, view::Shared};
use crate::{
    engine::{
        error::EngineError,
        on_shards::coordinator_failed as failed,
        send_queue::{Limits, Producer, SendQueue},
        tally::{ReadTally, Reading},
        task::Task,
    },
    error::StoreError,
    lock::lock,
    process,
    shards::{
        Answer, Assignment, Coordinator, Finished, KeyRequest, ShardError, ShardStep, ShardTimes,
        StateValues,
    },
    span::Spans,
    store::{ReadCounters, Reader},
};

/// Executes a shard's part of a batch. `stop` ends it early.
///
/// # Errors
/// [`EngineError`]: a step contradicts the list, or the coordinator does not answer.
///
/// # Panics
/// Panics on a batch or a step that the workload does not have.
pub fn run_shard(
    workload: &Workload,
    assignment: &Assignment,
    coordinator: &dyn Coordinator,
    stop: &AtomicBool,
) -> Result<Finished, EngineError> {
    let Assignment { batch: batch_index, ref list, ref steps, thread_count, .. } = *assignment;
    let mut lists = vec![Bytes::new(); workload.batches.len()];
    lists[batch_index] = list.clone();
    let threads = NonZeroUsize::new(thread_count).unwrap_or(NonZeroUsize::MIN);
    let variant = Variant::of(Design::BatchedIo, threads, NonZeroUsize::MIN);
    let variant = Variant { io: Io::OnDemand, io_thread_count: 0, ..variant };
    let task = &Task::new(workload, &lists, variant, stop);
    let spans = &Arc::new(Spans::start());
    let job = &Job::<Declared>::new(task, batch_index, spans, None, Some(steps.clone()))?;
    let mut ahead = PrefetchKeys::find(workload, assignment, job.list(), job.steps());
    ahead.claim(&job.shared().pre_state);
    // If the coordinator is gone, the threads below end at once.
    stop.fetch_or(coordinator.ready().is_err(), Ordering::Relaxed);
    let ready = Instant::now();
    let process_cpu = process::cpu_time_of(std::process::id());
    let times = &Mutex::new(ShardTimes::default());
    let failure = &FirstFailure::default();
    let results = &SendQueue::<ShardStep>::new(Limits::OF_A_SHARD);
    let (requested, answers) = mpsc::channel();
    let run = ShardRun { job, coordinator, stop, times, ready };
    thread::scope(|scope| {
        let key_count = assignment.micro_batch_key_count;
        scope.spawn(move || {
            failure.note(run.request_ahead(&ahead, key_count, &requested), stop);
            lock(times).cpu.asking += process::thread_cpu_time().unwrap_or_default();
        });
        scope.spawn(move || {
            failure.note(run.take_in(answers), stop);
            let mut times = lock(times);
            times.ahead = ready.elapsed();
            times.cpu.asking += process::thread_cpu_time().unwrap_or_default();
        });
        for _ in 0..threads.get() {
            let producer = results.producer();
            scope.spawn(move || run.run_steps(task, &producer));
        }
        failure.note(run.send_results(results), stop);
    });
    failure.result()?;
    let mut times = *lock(times);
    let cpu = process::cpu_time_of(std::process::id()).zip(process_cpu);
    times.cpu.all = cpu.map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before));
    Ok(Finished { accessed_keys: job.accessed_keys()?, times })
}

/// Reason why the connection to the coordinator failed, from the first thread that noticed it.
#[derive(Debug, Default)]
struct FirstFailure(Mutex<Option<ShardError>>);

impl FirstFailure {
    /// Keeps the first failure, and stops all threads, so that no thread waits for the coordinator
    /// for ever.
    fn note(&self, done: Result<(), ShardError>, stop: &AtomicBool) {
        if let Err(error) = done {
            lock(&self.0).get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the first failure, if any, as an error.
    fn result(&self) -> Result<(), EngineError> {
        let failure = lock(&self.0).take();
        failure.map_or(Ok(()), |ShardError(reason)| Err(EngineError::Store(failed(reason))))
    }
}

/// Keys to request ahead. The accounts that transactions, withdrawals and system calls name come
/// first, in the order of the shard's steps.
struct PrefetchKeys {
    accounts: Vec<AccountId>,
    slots: Vec<SlotId>,
}

impl PrefetchKeys {
    /// Finds the keys that the shard will probably need.
    ///
    /// Accounts: senders, recipients, fee recipients, receivers of withdrawals, and contracts of
    /// system calls. Also accounts whose first write in the list is by a step of the shard.
    ///
    /// Slots: slots whose first write in the list is by a step of the shard. Also slots that no
    /// step writes, of the accounts that the shard's steps call.
    fn find(workload: &Workload, assignment: &Assignment, list: &ListIndex, steps: &Steps) -> Self {
        let batch = &workload.batches[assignment.batch];
        let (mut accounts, mut callees) = (Vec::new(), Vec::new());
        for index in &assignment.steps {
            let step = steps.at(*index);
            let block = &batch.blocks[step.block];
            let fork = workload.rules_of(block).fork;
            let called: Vec<Address> = match step.kind {
                StepKind::Transaction(tx_index) => {
                    let tx = &block.transactions[tx_index];
                    let paid = [tx.sender, block.env.beneficiary];
                    accounts.extend(paid.iter().filter_map(|address| list.account_id(address)));
                    tx.to.into_iter().collect()
                }
                StepKind::BeforeTransactions => {
                    contracts(system::before_transactions(fork, &block.env))
                }
                StepKind::AfterTransactions => {
                    let paid = block.withdrawals.iter().map(|withdrawal| withdrawal.address);
                    accounts.extend(paid.filter_map(|address| list.account_id(&address)));
                    contracts(system::after_transactions(fork))
                }
            };
            let called = called.iter().filter_map(|address| list.account_id(address));
            callees.extend(called.clone());
            accounts.extend(called);
        }
        let is_own = |index: BlockAccessIndex| assignment.steps.binary_search(&index).is_ok();
        let is_first = |id: &AccountId| list.first_account_change(*id).is_some_and(is_own);
        accounts.extend(list.accounts().filter(is_first));
        let written = list.slots().filter(|id| list.first_slot_change(*id).is_some_and(is_own));
        let mut slots: Vec<SlotId> = written.collect();
        let mut known = Bitset::new(list.account_count() as usize);
        callees.retain(|id: &AccountId| known.insert(id.get()));
        let of_callees = callees.iter().flat_map(|id| list.slots_of(*id)).map(SlotId);
        slots.extend(of_callees.filter(|id| !list.has_changes(*id)));
        Self { accounts, slots }
    }

    /// Claims the keys, each once, so that a step that needs a key waits for the key's micro-batch.
    fn claim(&mut self, values: &Declared) {
        self.accounts.retain(|id| values.accounts.claims().claim(id.get()));
        self.slots.retain(|id| values.slots.claims().claim(id.get()));
    }
}

fn contracts(calls: impl IntoIterator<Item = SystemCall>) -> Vec<Address> {
    calls.into_iter().map(|call| call.contract).collect()
}

/// A requested micro-batch, and the function that waits for its answer.
type Requested<'c> = (KeyRequest, Answer<'c>);

/// State that a shard's threads share. The threads request keys ahead, take in the answers, run
/// steps, and send results.
#[derive(Clone, Copy)]
struct ShardRun<'c> {
    job: &'c Job<Declared>,
    coordinator: &'c dyn Coordinator,
    stop: &'c AtomicBool,
    times: &'c Mutex<ShardTimes>,
    /// Time at which the shard was ready.
    ready: Instant,
}

impl<'c> ShardRun<'c> {
    /// Runs steps until no step is left, on a thread that does nothing else.
    fn run_steps(&self, task: &Task<'_>, results: &Producer<'_, ShardStep>) {
        let Self { job, coordinator, stop, times, ready } = *self;
        let mut reader = RemoteState { coordinator, list: job.list(), times };
        let mut tally = ReadTally::new(&reader, None);
        let reading = Reading { reader: &mut reader, tally: &mut tally };
        let done = job.execute_on_shard(reading, task, results, stop);
        let mut times = lock(times);
        times.value_wait += tally.wait;
        times.cpu.executing += process::thread_cpu_time().unwrap_or_default();
        match done {
            Ok(end) => times.executed = times.executed.max(end.duration_since(ready)),
            Err(failure) => {
                stop.store(true, Ordering::Relaxed);
                lock(&job.failures).push(failure);
            }
        }
    }

    /// Sends results until the threads that execute have ended.
    ///
    /// # Errors
    /// The coordinator failed. Further results are then discarded.
    fn send_results(&self, results: &SendQueue<ShardStep>) -> Result<(), ShardError> {
        let cpu_before = process::thread_cpu_time();
        let mut sent = Ok(());
        while sent.is_ok()
            && let Some(steps) = results.next()
        {
            sent = self.coordinator.send(steps);
        }
        if sent.is_err() {
            results.close();
        }
        lock(self.times).cpu.sending += process::thread_cpu_since(cpu_before);
        sent
    }

    /// Requests one micro-batch of `key_count` keys after the other, without waiting for answers.
    ///
    /// # Errors
    /// The coordinator failed.
    fn request_ahead(
        &self,
        ahead: &PrefetchKeys,
        key_count: u32,
        requested: &mpsc::Sender<Requested<'c>>,
    ) -> Result<(), ShardError> {
        let key_count = key_count.max(1) as usize;
        let accounts = ahead.accounts.chunks(key_count).map(|ids| KeyRequest {
            accounts: ids.iter().map(|id| id.0).collect(),
            ..KeyRequest::default()
        });
        let slots = ahead.slots.chunks(key_count).map(|ids| KeyRequest {
            slots: ids.iter().map(|id| id.0).collect(),
            ..KeyRequest::default()
        });
        for keys in accounts.chain(slots) {
            // `send` fails if the thread that takes values in has ended. It has reported the
            // reason.
            if self.stop.load(Ordering::Relaxed) || requested.send(self.request(keys)?).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Requests claimed keys.
    fn request(&self, keys: KeyRequest) -> Result<Requested<'c>, ShardError> {
        let mut sums = lock(self.times);
        sums.ahead_request_count += 1;
        sums.ahead_key_count += (keys.accounts.len() + keys.slots.len() + keys.codes.len()) as u64;
        drop(sums);
        let answer = self.coordinator.request(keys.clone())?;
        Ok((keys, answer))
    }

    /// Takes values in as they come, and requests the codes of accounts.
    ///
    /// # Errors
    /// The coordinator failed.
    fn take_in(&self, answers: impl IntoIterator<Item = Requested<'c>>) -> Result<(), ShardError> {
        let mut code_requests = Vec::new();
        for requested in answers {
            let codes = self.put(requested)?;
            if !codes.is_empty() {
                code_requests.push(self.request(KeyRequest { codes, ..KeyRequest::default() })?);
            }
        }
        code_requests.into_iter().try_for_each(|requested| self.put(requested).map(drop))
    }

    /// Waits for values, and hands them over to the steps. Claims the codes of the accounts among
    /// the values, and returns the hashes of the claimed codes.
    fn put(&self, (keys, answer): Requested<'c>) -> Result<Vec<B256>, ShardError> {
        let StateValues { accounts, slots, codes } = answer()?;
        let Shared { pre_state: values, code_rows, .. } = self.job.shared();
        let hashes = accounts.iter().flatten().map(|account| account.code_hash);
        let hashes = hashes.filter(|hash| *hash != KECCAK256_EMPTY);
        // Codes are claimed before the accounts are handed over, so that no step requests a code
        // itself.
        let claimed = hashes.filter(|hash| code_rows.claim(*hash)).collect();
        for (id, account) in keys.accounts.iter().zip(accounts) {
            values.accounts.put(*id as usize, account);
        }
        for (id, slot) in keys.slots.iter().zip(slots) {
            values.slots.put(*id as usize, slot);
        }
        for (hash, code) in keys.codes.iter().zip(codes) {
            code_rows.put(*hash, code);
        }
        Ok(claimed)
    }
}

/// Reads declared keys from the coordinator on demand: one request for each key.
#[derive(Debug)]
struct RemoteState<'c> {
    coordinator: &'c dyn Coordinator,
    list: &'c ListIndex,
    times: &'c Mutex<ShardTimes>,
}

impl RemoteState<'_> {
    fn fetch(&self, keys: KeyRequest) -> Result<StateValues, StoreError> {
        let start = Instant::now();
        let fetched = self.coordinator.fetch(keys).map_err(|ShardError(reason)| failed(reason));
        let mut times = lock(self.times);
        times.value_wait += start.elapsed();
        times.demand_request_count += 1;
        fetched
    }
}

impl Reader for RemoteState<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let id = self.list.account_id(address);
        let id = id.ok_or_else(|| failed(format!("account {address} is not in the list")))?;
        let values = self.fetch(KeyRequest { accounts: vec![id.0], ..KeyRequest::default() })?;
        Ok(values.accounts[0])
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        let account = self.list.account_id(address);
        let id = account.and_then(|account| self.list.slot_id(account, key));
        let id =
            id.ok_or_else(|| failed(format!("slot {key:#x} of {address} is not in the list")))?;
        let values = self.fetch(KeyRequest { slots: vec![id.0], ..KeyRequest::default() })?;
        Ok(values.slots[0])
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let mut values = self.fetch(KeyRequest { codes: vec![*hash], ..KeyRequest::default() })?;
        Ok(values.codes.remove(0))
    }

    fn counters(&self) -> ReadCounters {
        ReadCounters::default()
    }
}
