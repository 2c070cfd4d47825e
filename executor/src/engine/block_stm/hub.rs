//! The coordinator's state of an optimistic batch on shards: the last run of each step, and the
//! commits. The connections to all shards share it behind one lock (`shard_connection.rs`). Steps
//! are committed in order. A run is committed if it read the values that committed steps left. The
//! versions of keys and the fees are in the engine's own structures (`memory.rs`,
//! `deferred_fees.rs`).
//!
//! Each shard gets all commits, and all writes of other shards' steps to keys that it has
//! requested. So a step with a wrong read becomes dirty on its shard, and runs again. A run that
//! began after all lower steps were committed is *final*. If its reads are wrong, its shard is at
//! fault.

use std::sync::mpsc::Sender;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256, map::HashMap};
use evm::TxResult;
use revm::state::Bytecode;
use workload::{BlockAccessIndex, Transaction, genesis::AccountState};

use super::{
    cell::{Cell, Retained},
    deferred_fees::BatchFees,
    memory::{Account, CellId, Memory, SeenAccount},
    publish,
    shared::Log,
    view,
};
use crate::{
    engine::{executed::CrossShard, message, row},
    shards::versions::{
        AccountVersion, HURRIED_RESULT_COUNT, KeyValue, KeyValues, OptimisticStep, Order, Reads,
        RemoteWrites, RequestedKeys, Version, VersionWrites,
    },
};

#[cfg(test)]
mod tests;

/// Cells of all keys of a batch, and the batch's fees. The connections to all shards share them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger<'a> {
    pub(super) memory: &'a Memory,
    pub(super) fees: &'a BatchFees,
}

/// The last run of a step.
#[derive(Debug, Default)]
pub(super) struct LastRun {
    pub(super) result: Option<TxResult>,
    pub(super) latency: std::time::Duration,
    /// Number of the step's last run; 0 before the first run.
    incarnation: u32,
    fee: u128,
    log: Log,
    /// True once the run's reads were found wrong, with all lower steps committed.
    is_stale: bool,
}

/// Orders to one shard. `None` ends the thread that sends them.
pub(super) type Outbox = Sender<Option<Order>>;

/// The coordinator's state of a batch.
#[derive(Debug)]
pub(super) struct Hub {
    /// The shard of each step.
    owner: Vec<u32>,
    /// The last run of each step.
    runs: Vec<LastRun>,
    /// The lowest uncommitted step.
    committed: BlockAccessIndex,
    /// Fees of the committed steps whose commits are not announced to the shards yet.
    fees: Vec<u128>,
    /// For each account, by its id: a bit for each shard that has requested it.
    account_readers: Vec<u64>,
    /// For each slot, by its id: a bit for each shard that has requested it.
    slot_readers: Vec<u64>,
    /// Codes that steps of the batch created, by hash.
    codes: HashMap<B256, Bytecode>,
    outboxes: Vec<Outbox>,
    /// For each shard, the number of further results that it sends at once ([`Order::Hurry`]).
    hurried_counts: Vec<usize>,
    counts: CrossShard,
}

impl Hub {
    /// Prepares a batch; `owner` has the shard of each step.
    pub(super) fn new(owner: Vec<u32>, outboxes: Vec<Outbox>) -> Self {
        Self {
            runs: owner.iter().map(|_| LastRun::default()).collect(),
            owner,
            committed: 0,
            fees: Vec::new(),
            account_readers: Vec::new(),
            slot_readers: Vec::new(),
            codes: HashMap::default(),
            hurried_counts: vec![0; outboxes.len()],
            outboxes,
            counts: CrossShard::default(),
        }
    }

    /// Returns the shard of the lowest uncommitted step; `None` once all steps are committed.
    pub(super) fn next_owner(&self) -> Option<u32> {
        self.owner.get(self.committed as usize).copied()
    }

    /// Returns the lowest uncommitted step.
    pub(super) const fn committed(&self) -> BlockAccessIndex {
        self.committed
    }

    /// Returns the last runs of all steps, and the counts.
    pub(super) fn into_runs(self) -> (Vec<LastRun>, CrossShard) {
        (self.runs, self.counts)
    }

    /// Records a run of a step, and commits the steps that can be committed. `tx` is the step's
    /// transaction; `None` for a step that is no transaction.
    ///
    /// # Errors
    /// The fault of the shard, which sent a run that no correct shard makes.
    pub(super) fn add_run(
        &mut self,
        ledger: Ledger<'_>,
        shard: u32,
        step: OptimisticStep,
        tx: Option<&Transaction>,
    ) -> Result<(), String> {
        let index = step.index;
        if self.owner.get(index as usize) != Some(&shard) {
            return Err(format!("it sent a run of step {index}, which it was not to run"));
        }
        if step.result.is_some() != tx.is_some() {
            return Err(format!("its result of step {index} is of another kind of step"));
        }
        if let Some(reason) = fault(&step, tx) {
            return Err(reason);
        }
        let hurried_count = &mut self.hurried_counts[shard as usize];
        *hurried_count = hurried_count.saturating_sub(1);
        let last = &mut self.runs[index as usize];
        let (incarnation, before) = (step.incarnation, last.incarnation);
        if incarnation <= before {
            return Err(format!("it sent run {incarnation} of step {index} after run {before}"));
        }
        last.incarnation = incarnation;
        self.counts.replaced_result_count += u64::from(before > 0);
        if index < self.committed {
            // A remote write, which was removed before the commit, made the shard run the step
            // again.
            return Ok(());
        }
        if step.is_final && index > self.committed {
            let lower = self.committed;
            return Err(format!(
                "it says that all steps below {index} are committed, and step {lower} is not"
            ));
        }
        self.add_codes(index, &step.writes.codes)?;
        let written = self.write(ledger, shard, &step);
        let last = &mut self.runs[index as usize];
        last.log = log_of(ledger.memory, &step.reads, written);
        (last.result, last.latency, last.fee) = (step.result, step.latency, step.fee);
        last.is_stale = false;
        self.commit(ledger);
        if step.is_final && index == self.committed {
            let different = self.difference(ledger).unwrap_or_default();
            return Err(format!(
                "run {incarnation} of step {index} had all to go by, and {different}"
            ));
        }
        Ok(())
    }

    fn add_codes(
        &mut self,
        index: BlockAccessIndex,
        codes: &[(B256, Bytes)],
    ) -> Result<(), String> {
        for (hash, code) in codes {
            let code = row::bytecode(*hash, Some(code.clone()));
            let code = code.map_err(|error| format!("step {index}: {error}"))?;
            self.codes.insert(*hash, code);
        }
        Ok(())
    }

    /// Replaces the writes of the step's last run by those of this run. Sends each changed value to
    /// the other shards that have requested its key. Returns a log with the run's writes.
    fn write(&mut self, ledger: Ledger<'_>, shard: u32, step: &OptimisticStep) -> Log {
        let memory = ledger.memory;
        let (index, incarnation) = (step.index, step.incarnation);
        let old = std::mem::take(&mut self.runs[index as usize].log);
        let VersionWrites { accounts, slots, .. } = &step.writes;
        let mut log = Log::default();
        let mut updates = UpdatesByShard::new(self.outboxes.len(), index, incarnation);
        let run = Run { index, incarnation, retained: Retained::From(self.committed) };
        for (address, version) in accounts {
            let id = memory.accounts.id(address);
            let hash = version.state.map_or(B256::ZERO, |state| state.code_hash);
            let code = self.codes.get(&hash).cloned();
            let account = Account { code, ..Account::from(*version) };
            if run.write(&mut memory.accounts.cell(id).cell, account) {
                let readers = other_readers(&self.account_readers, id, shard);
                updates.account(readers, *address, Some(*version));
            }
            log.written_accounts.push(id);
        }
        for (address, key, value) in slots {
            let id = memory.slot_id(address, key);
            if run.write(&mut memory.slots.cell(id).cell, *value) {
                let readers = other_readers(&self.slot_readers, id, shard);
                updates.slot(readers, *address, *key, Some(*value));
            }
            log.written_slots.push(id);
        }
        for id in &old.written_accounts {
            let mut cell = memory.accounts.cell(*id);
            if run.remove_stale_write(&mut cell.cell) {
                let readers = other_readers(&self.account_readers, *id, shard);
                updates.account(readers, cell.key, None);
            }
        }
        for id in &old.written_slots {
            let mut cell = memory.slots.cell(*id);
            if run.remove_stale_write(&mut cell.cell) {
                let (account, key) = cell.key;
                let readers = other_readers(&self.slot_readers, *id, shard);
                updates.slot(readers, memory.address(account), key, None);
            }
        }
        let mut is_read_by_others = false;
        for (outbox, writes) in self.outboxes.iter().zip(updates.0) {
            if !writes.is_empty() {
                is_read_by_others = true;
                self.counts.value_count += writes.len() as u64;
                // If the shard is gone, the thread that receives from it reports this.
                drop(outbox.send(Some(Order::Writes(writes))));
            }
        }
        if is_read_by_others {
            self.hurry(shard);
        }
        log
    }

    /// Orders a shard to send results at once, because other shards read the writes of its steps.
    /// The order holds for the shard's next [`HURRIED_RESULT_COUNT`] results. It is repeated at the
    /// earliest after half of these results.
    fn hurry(&mut self, shard: u32) {
        let shard = shard as usize;
        if self.hurried_counts[shard] <= HURRIED_RESULT_COUNT / 2 {
            self.hurried_counts[shard] = HURRIED_RESULT_COUNT;
            drop(self.outboxes[shard].send(Some(Order::Hurry)));
        }
    }

    /// Commits steps in order, up to the first step without a run or with a wrong read.
    fn commit(&mut self, ledger: Ledger<'_>) {
        while let Some(run) = self.runs.get_mut(self.committed as usize)
            && run.incarnation > 0
        {
            if !is_valid(ledger, self.committed, &run.log) {
                self.counts.stale_result_count += u64::from(!run.is_stale);
                run.is_stale = true;
                return;
            }
            run.log = Log::default();
            ledger.fees.set(self.committed, U256::from(run.fee));
            self.fees.push(run.fee);
            self.committed += 1;
        }
    }

    /// Tells all shards which steps were committed since the last announcement, if any.
    pub(super) fn announce(&mut self) {
        if self.fees.is_empty() {
            return;
        }
        let fees = std::mem::take(&mut self.fees);
        for outbox in &self.outboxes {
            let fees = fees.clone();
            drop(outbox.send(Some(Order::Committed { to: self.committed, fees })));
        }
    }

    /// Describes the first wrong read in the last run of the lowest uncommitted step: the value has
    /// changed since the read.
    pub(super) fn difference(&self, ledger: Ledger<'_>) -> Option<String> {
        let index = self.committed;
        let log = &self.runs.get(index as usize)?.log;
        let Ledger { memory, .. } = ledger;
        for (id, seen) in &log.accounts {
            let cell = memory.accounts.cell(*id);
            if !cell.cell.would_read(index, *seen) {
                let now = cell.cell.written_below(index).map(|(_, now)| SeenAccount::from(now));
                let address = cell.key;
                return Some(format!("read account {address} as {seen:?}, where it is {now:?}"));
            }
        }
        for (id, seen) in &log.slots {
            let cell = memory.slots.cell(*id);
            if !cell.cell.would_read(index, *seen) {
                let now = cell.cell.written_below(index).map(|(_, now)| *now);
                let (account, key) = cell.key;
                let address = memory.address(account);
                return Some(format!(
                    "read slot {key:#x} of {address} as {seen:?}, where it is {now:?}"
                ));
            }
        }
        let paid =
            log.beneficiaries.iter().find(|(id, seen)| !is_paid(ledger, index, *id, seen))?;
        let address = memory.address(paid.0);
        Some(format!("read the beneficiary {address} with other fees than lower steps owe to it"))
    }

    /// Returns the code with this hash, if a step of the batch created it.
    pub(super) fn code(&self, hash: &B256) -> Option<Bytes> {
        self.codes.get(hash).map(Bytecode::original_bytes)
    }

    /// Sends a shard the values of `keys`, which it has requested. From then on the shard gets all
    /// writes of other shards' steps to these keys. The caller has added the codes to `values`, and
    /// the values before the batch to the cells.
    pub(super) fn answer(
        &mut self,
        ledger: Ledger<'_>,
        shard: u32,
        keys: &RequestedKeys,
        mut values: KeyValues,
    ) {
        let memory = ledger.memory;
        for address in &keys.accounts {
            let id = memory.accounts.id(address);
            subscribe(&mut self.account_readers, id, shard);
            let cell = memory.accounts.cell(id);
            let base = cell.cell.base().copied().flatten();
            let versions = self.versions(&cell.cell, shard, |account| SeenAccount::from(account));
            values.accounts.push(KeyValue { key: *address, base, versions });
        }
        for (address, key) in &keys.slots {
            let id = memory.slot_id(address, key);
            subscribe(&mut self.slot_readers, id, shard);
            let cell = memory.slots.cell(id);
            let base = cell.cell.base().copied().unwrap_or_default();
            let versions = self.versions(&cell.cell, shard, |value| *value);
            values.slots.push(KeyValue { key: (*address, *key), base, versions });
        }
        let accounts = values.accounts.iter().flat_map(|value| &value.versions);
        let slots = values.slots.iter().flat_map(|value| &value.versions);
        let writers = accounts.map(|version| version.index);
        for index in writers.chain(slots.map(|version| version.index)) {
            self.counts.value_count += 1;
            self.hurry(self.owner[index as usize]);
        }
        drop(self.outboxes[shard as usize].send(Some(Order::Values(values))));
    }

    /// Returns the versions that steps of other shards than `shard` wrote, without the committed
    /// versions before the last one. `copy` converts a value for the message.
    fn versions<B: Clone, V: Clone + PartialEq, W>(
        &self,
        cell: &Cell<B, V>,
        shard: u32,
        copy: impl Fn(&V) -> W,
    ) -> Vec<Version<W>> {
        let old = cell.versions().filter(|version| version.0 < self.committed).count();
        let needed = cell.versions().skip(old.saturating_sub(1));
        let of_others = needed.filter(|version| self.owner[version.0 as usize] != shard);
        of_others
            .map(|(index, incarnation, value)| Version { index, incarnation, value: copy(value) })
            .collect()
    }
}

/// A run that writes.
struct Run {
    index: BlockAccessIndex,
    incarnation: u32,
    retained: Retained,
}

impl Run {
    /// Writes a key. Returns whether the value changes: the step's last run did not write the same
    /// value.
    fn write<B: Clone, V: Clone + PartialEq>(&self, cell: &mut Cell<B, V>, value: V) -> bool {
        let is_same = cell.written_by(self.index) == Some(&value);
        cell.write(self.index, self.incarnation, value, self.retained);
        !is_same
    }

    /// Removes the write of the step's last run, unless this run wrote the key, too. Returns
    /// whether the step's write is gone.
    fn remove_stale_write<B: Clone, V: Clone + PartialEq>(&self, cell: &mut Cell<B, V>) -> bool {
        cell.remove_older(self.index, self.incarnation);
        cell.written_by(self.index).is_none()
    }
}

/// The changed values of a run, as a message to each shard.
struct UpdatesByShard(Vec<RemoteWrites>);

impl UpdatesByShard {
    fn new(shard_count: usize, index: BlockAccessIndex, incarnation: u32) -> Self {
        let empty = RemoteWrites { index, incarnation, ..RemoteWrites::default() };
        Self(vec![empty; shard_count])
    }

    fn account(&mut self, readers: u64, address: Address, version: Option<AccountVersion>) {
        let to = self.0.iter_mut().zip(0..).filter(|(_, shard)| readers >> shard & 1 == 1);
        to.for_each(|(writes, _)| writes.accounts.push((address, version)));
    }

    fn slot(&mut self, readers: u64, address: Address, key: U256, value: Option<U256>) {
        let to = self.0.iter_mut().zip(0..).filter(|(_, shard)| readers >> shard & 1 == 1);
        to.for_each(|(writes, _)| writes.slots.push((address, key, value)));
    }
}

/// Returns a bit for each shard but `shard` that has requested the key `id`.
fn other_readers(readers: &[u64], id: CellId, shard: u32) -> u64 {
    readers.get(id as usize).copied().unwrap_or(0) & !(1 << shard)
}

/// Sets the bit of `shard` for the key `id`.
fn subscribe(readers: &mut Vec<u64>, id: CellId, shard: u32) {
    let id = id as usize;
    if readers.len() <= id {
        readers.resize(id + 1, 0);
    }
    readers[id] |= 1 << shard;
}

/// Adds the reads of a run to the log `written`, with the ids of the keys.
fn log_of(memory: &Memory, reads: &Reads, written: Log) -> Log {
    let accounts =
        reads.accounts.iter().map(|(address, seen)| (memory.accounts.id(address), *seen));
    let slots =
        reads.slots.iter().map(|(address, key, seen)| (memory.slot_id(address, key), *seen));
    let beneficiaries =
        reads.beneficiaries.iter().map(|(address, seen)| (memory.accounts.id(address), *seen));
    Log {
        accounts: accounts.collect(),
        slots: slots.collect(),
        beneficiaries: beneficiaries.collect(),
        ..written
    }
}

/// Returns whether the step at `index` would now read the values of `log`. All lower steps must be
/// committed.
fn is_valid(ledger: Ledger<'_>, index: BlockAccessIndex, log: &Log) -> bool {
    publish::is_valid(ledger.memory, index, log)
        && log.beneficiaries.iter().all(|(id, seen)| is_paid(ledger, index, *id, seen))
}

/// Returns whether the step at `index` would now read `seen` as the account of the beneficiary
/// `id`. All lower steps must be committed.
fn is_paid(ledger: Ledger<'_>, index: BlockAccessIndex, id: CellId, seen: &SeenAccount) -> bool {
    if !ledger.fees.has(id) {
        return false;
    }
    let cell = ledger.memory.accounts.cell(id);
    let (since, mut account) = match (cell.cell.written_below(index), cell.cell.base()) {
        (Some((written, account)), _) => (written + 1, account.clone()),
        (None, Some(base)) => (0, Account::from_base(*base)),
        (None, None) => return false,
    };
    view::pay(&mut account, ledger.fees.sum(id, since, index));
    *seen == account
}

/// Returns the fault of a run that no execution can produce. `tx` is the step's transaction; `None`
/// for a step that is no transaction.
fn fault(step: &OptimisticStep, tx: Option<&Transaction>) -> Option<String> {
    let index = step.index;
    let VersionWrites { accounts, slots, codes } = &step.writes;
    let written = accounts.iter().map(|(address, _)| *address);
    if let Some(fault) = message::repeated_write(index, written, slots) {
        return Some(fault);
    }
    let empty = Some(AccountState::default());
    if let Some((address, _)) = accounts.iter().find(|(_, version)| version.state == empty) {
        return Some(format!("step {index} leaves {address} empty and existing (EIP-161)"));
    }
    if let Some((hash, _)) = codes.iter().find(|(hash, code)| keccak256(code) != *hash) {
        return Some(format!("a code in step {index} has not the hash {hash}"));
    }
    message::excess_gas(index, step.result.as_ref(), tx)
}
