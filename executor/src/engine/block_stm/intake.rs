//! The connection of a shard to the coordinator of an optimistic batch, for `shard.rs`. One thread
//! applies the coordinator's orders to the shard's memory in the order of arrival. The threads that
//! run steps request keys, and wait until the values are in the memory.

use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use workload::{BlockAccessIndex, genesis::AccountState};

use super::{
    cell::{Cell, Retained},
    deferred_fees::BatchFees,
    memory::{Account, CellId, Memory},
    shared_scheduler::SharedScheduler,
};
use crate::{
    engine::{on_shards::coordinator_failed as failed, send_queue::SendQueue},
    error::StoreError,
    lock::lock,
    shards::{
        OptimisticCoordinator, ShardError,
        versions::{KeyValues, OptimisticStep, Order, RemoteWrites, RequestedKeys, Version},
    },
    store::{ReadCounters, Reader},
};

/// Longest sleep of a thread that waits for a code.
const CODE_CHECK: Duration = Duration::from_millis(1);

/// Codes that the coordinator has sent and no step has taken.
#[derive(Debug, Default)]
pub(super) struct Codes {
    arrived: Mutex<HashMap<B256, Option<Bytes>>>,
    changed: Condvar,
}

/// State of the thread that applies the coordinator's orders.
#[derive(Clone, Copy)]
pub(super) struct Intake<'a> {
    pub(super) coordinator: &'a dyn OptimisticCoordinator,
    pub(super) memory: &'a Memory,
    pub(super) fees: &'a BatchFees,
    pub(super) scheduler: &'a SharedScheduler<'a>,
    pub(super) codes: &'a Codes,
    /// Results that wait to be sent.
    pub(super) results: &'a SendQueue<OptimisticStep>,
    pub(super) step_count: BlockAccessIndex,
    /// Nanoseconds from `ready` to the arrival of the last value that was requested ahead.
    pub(super) ahead_ns: &'a AtomicU64,
    pub(super) ready: Instant,
}

impl Intake<'_> {
    /// Applies orders until all steps are committed, `stop` or `over` is set, or the coordinator
    /// fails. Then sets `over`, which ends the shard's other threads. Returns whether all steps are
    /// committed.
    pub(super) fn run(&self, stop: &AtomicBool, over: &AtomicBool) -> bool {
        let mut is_committed = false;
        while !is_committed && !stop.load(Ordering::Relaxed) && !over.load(Ordering::Relaxed) {
            match self.coordinator.next() {
                Ok(Some(Order::Values(values))) => self.apply_values(values),
                Ok(Some(Order::Writes(writes))) => self.apply_writes(&writes),
                Ok(Some(Order::Committed { to, fees })) => {
                    self.apply_commit(to, &fees);
                    is_committed = to == self.step_count;
                }
                Ok(Some(Order::Hurry)) => self.results.hurry(),
                Ok(None) => {}
                Err(ShardError(_)) => break,
            }
        }
        over.store(true, Ordering::Relaxed);
        is_committed
    }

    fn apply_values(&self, values: KeyValues) {
        let KeyValues { request, accounts, slots, codes } = values;
        let retained = Retained::From(self.scheduler.committed());
        let mut changes = Vec::new();
        for value in accounts {
            let id = self.memory.accounts.id(&value.key);
            let mut cell = self.memory.accounts.cell(id);
            cell.cell.set_base(value.base);
            for version in value.versions {
                changes.push(add_version(&mut cell.cell, version, retained, Account::from));
            }
            drop(cell);
            self.memory.gates.open(id as usize);
        }
        for value in slots {
            let (address, key) = value.key;
            let id = self.memory.slot_id(&address, &key);
            let mut cell = self.memory.slots.cell(id);
            cell.cell.set_base(value.base);
            for version in value.versions {
                changes.push(add_version(&mut cell.cell, version, retained, |value| value));
            }
            drop(cell);
            self.memory.gates.open(id as usize);
        }
        if !codes.is_empty() {
            lock(&self.codes.arrived).extend(codes);
            self.codes.changed.notify_all();
        }
        if request > 0 {
            let ns = u64::try_from(self.ready.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.ahead_ns.store(ns, Ordering::Relaxed);
        }
        if !changes.is_empty() {
            self.scheduler.change(|scheduler| {
                changes.iter().for_each(|(index, to)| scheduler.apply_remote(*index, *to));
            });
        }
    }

    fn apply_writes(&self, writes: &RemoteWrites) {
        let RemoteWrites { index, incarnation, accounts, slots } = writes;
        let retained = Retained::From(self.scheduler.committed());
        let mut last_reader = None;
        for (address, value) in accounts {
            let id = self.memory.accounts.id(address);
            let mut cell = self.memory.accounts.cell(id);
            last_reader = last_reader.max(match value {
                Some(value) => {
                    cell.cell.write(*index, *incarnation, Account::from(*value), retained)
                }
                None => cell.cell.remove_older(*index, *incarnation),
            });
        }
        for (address, key, value) in slots {
            let id = self.memory.slot_id(address, key);
            let mut cell = self.memory.slots.cell(id);
            last_reader = last_reader.max(match value {
                Some(value) => cell.cell.write(*index, *incarnation, *value, retained),
                None => cell.cell.remove_older(*index, *incarnation),
            });
        }
        self.scheduler.change(|scheduler| scheduler.apply_remote(*index, last_reader));
    }

    fn apply_commit(&self, to: BlockAccessIndex, fees: &[u128]) {
        let first = to.saturating_sub(fees.len() as BlockAccessIndex);
        for (index, fee) in (first..to).zip(fees) {
            self.fees.set(index, U256::from(*fee));
        }
        self.scheduler.change(|scheduler| scheduler.finalize(to));
    }
}

/// Adds a version to a cell. Returns the version's step, and the highest step that may have read
/// another value.
fn add_version<B: Clone, V: Clone + PartialEq, W>(
    cell: &mut Cell<B, V>,
    version: Version<W>,
    retained: Retained,
    convert: impl Fn(W) -> V,
) -> (BlockAccessIndex, Option<BlockAccessIndex>) {
    let Version { index, incarnation, value } = version;
    (index, cell.write(index, incarnation, convert(value), retained))
}

/// Reads the coordinator's state before the batch. A requested value arrives in the memory,
/// together with the writes of other shards' steps.
#[derive(Debug)]
pub(super) struct RemoteState<'a> {
    pub(super) coordinator: &'a dyn OptimisticCoordinator,
    pub(super) memory: &'a Memory,
    pub(super) codes: &'a Codes,
    pub(super) over: &'a AtomicBool,
    /// Number of requests that steps waited for.
    pub(super) request_count: u64,
    /// Sum of the times of these waits.
    pub(super) wait: Duration,
}

impl RemoteState<'_> {
    fn fetch<T>(
        &mut self,
        keys: RequestedKeys,
        wait: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        self.request_count += 1;
        let requested = self.coordinator.request(0, keys);
        requested.map_err(|ShardError(reason)| failed(reason))?;
        let waited = wait(self);
        self.wait += start.elapsed();
        waited
    }

    fn wait_for(&self, id: CellId, has_come: impl Fn() -> bool) -> Result<(), StoreError> {
        let waited = self.memory.gates.wait(id as usize, self.over, has_come);
        waited.map_err(|_| failed("the batch has ended".to_owned()))
    }
}

impl Reader for RemoteState<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let memory = self.memory;
        let id = memory.accounts.id(address);
        self.fetch(
            RequestedKeys { accounts: vec![*address], ..RequestedKeys::default() },
            |values| {
                values.wait_for(id, || memory.accounts.has_base(id))?;
                Ok(memory.accounts.cell(id).cell.base().copied().flatten())
            },
        )
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        let memory = self.memory;
        let id = memory.slot_id(address, key);
        self.fetch(
            RequestedKeys { slots: vec![(*address, *key)], ..RequestedKeys::default() },
            |values| {
                values.wait_for(id, || memory.slots.has_base(id))?;
                Ok(memory.slots.cell(id).cell.base().copied().unwrap_or_default())
            },
        )
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.fetch(RequestedKeys { codes: vec![*hash], ..RequestedKeys::default() }, |values| {
            let Codes { arrived, changed } = values.codes;
            let mut arrived = lock(arrived);
            while !values.over.load(Ordering::Relaxed) {
                if let Some(code) = arrived.remove(hash) {
                    return Ok(code);
                }
                let slept = changed.wait_timeout(arrived, CODE_CHECK);
                arrived = slept.unwrap_or_else(PoisonError::into_inner).0;
            }
            Err(failed("the batch has ended".to_owned()))
        })
    }

    fn counters(&self) -> ReadCounters {
        ReadCounters::default()
    }
}
