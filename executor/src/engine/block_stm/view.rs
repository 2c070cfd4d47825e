//! The state that one run of a step reads: the writes of lower steps of the batch, or else the
//! state before the batch. Keeps the run's reads, which are validated later, and its writes, which
//! `publish.rs` publishes.

use std::sync::atomic::Ordering;

use alloy_primitives::{
    Address, B256, U256,
    map::{HashMap, HashSet},
};
use revm::{
    Database,
    context::DBErrorMarker,
    state::{AccountInfo, Bytecode},
};
use workload::{BlockAccessIndex, genesis::AccountState};

use super::{
    cell::{Cell, Found},
    memory::{Account, CellId, SeenAccount},
    shared::{Log, Results, Shared},
    shared_scheduler::WaitResult,
    task::{Finality, Until},
};
use crate::{
    engine::{
        error::ViewError,
        row,
        tally::{ReadTally, Reading},
    },
    error::StoreError,
    single_flight::Arrival,
    store::Reader,
    trace::{KeyKind, Recorder},
};

/// A read that gave no value.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// A missing or invalid value, an error of the store, or a cancellation.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The run is given up: a lower step must come first.
    #[error("a lower step must come first")]
    GivenUp(Until),
}

impl DBErrorMarker for ReadError {}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::View(error.into())
    }
}

/// State that the current step of a worker reads.
pub(super) struct StepView<'a> {
    pub(super) shared: Shared<'a>,
    reader: &'a mut dyn Reader,
    tally: &'a mut ReadTally,
    /// Codes that this worker has read, for later reads without a lock.
    codes: HashMap<B256, Bytecode>,
    pub(super) index: BlockAccessIndex,
    pub(super) finality: Finality,
    pub(super) log: Log,
    /// Writes of the step so far, which later parts of the step read.
    pub(super) accounts: Vec<(CellId, Account)>,
    pub(super) slots: Vec<(CellId, U256)>,
    /// True on a shard if a part of the step changed the code of an account.
    pub(super) has_new_code: bool,
    /// Accounts that the step has read, in the order of the reads.
    read_accounts: Vec<(Address, CellId)>,
    /// Accounts that the step has read and the batch created.
    born: HashSet<CellId>,
}

/// Number of the last entries of `read_accounts` that are searched before the table is searched.
const RECENT: usize = 8;

impl<'a> StepView<'a> {
    /// Makes a view that reads and counts with `reading`.
    pub(super) fn new(shared: Shared<'a>, reading: Reading<'a>) -> Self {
        let Reading { reader, tally } = reading;
        Self {
            shared,
            reader,
            tally,
            codes: HashMap::default(),
            index: 0,
            finality: Finality::Final,
            log: Log::default(),
            accounts: Vec::new(),
            slots: Vec::new(),
            has_new_code: false,
            read_accounts: Vec::new(),
            born: HashSet::default(),
        }
    }

    /// Makes this the state before the step at `index`.
    pub(super) fn begin(&mut self, index: BlockAccessIndex, finality: Finality) {
        (self.index, self.finality) = (index, finality);
        self.log.clear();
        self.accounts.clear();
        self.slots.clear();
        self.has_new_code = false;
        self.read_accounts.clear();
        self.born.clear();
    }

    /// Reads a key for the current step.
    fn read<B: Clone, V: Clone + PartialEq>(
        &self,
        cell: &mut Cell<B, V>,
        finality: Finality,
    ) -> Found<B, V> {
        match self.shared.results {
            Results::Kept(_) => cell.read(self.index, finality),
            Results::Sent(_) => cell.read_on_shard(self.index, finality),
        }
    }

    /// Returns whether this run keeps its reads.
    fn logs_reads(&self) -> bool {
        self.finality == Finality::Speculative || self.shared.is_on_shard()
    }

    /// Returns the id of the account at `address`.
    pub(super) fn account_id(&self, address: &Address) -> CellId {
        let recent = self.read_accounts.iter().rev().take(RECENT);
        let found = recent.copied().find(|(read, _)| read == address);
        found.map_or_else(|| self.shared.memory.accounts.id(address), |(_, id)| id)
    }

    /// Returns whether the batch created the account, by the reads of this step.
    pub(super) fn is_born(&self, id: CellId) -> bool {
        self.born.contains(&id)
    }

    /// Returns the recorder of this worker, if the sample is traced.
    pub(super) fn trace(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }

    /// Waits for an event, if the scheduler allows the wait. Otherwise the run is given up, and the
    /// step runs again after `restart`.
    fn wait_for_event(&self, event: Until, restart: Until) -> Result<(), ReadError> {
        match self.shared.scheduler.wait_for(self.index, event) {
            WaitResult::GoOn => Ok(()),
            WaitResult::GiveUp => Err(ReadError::GivenUp(restart)),
            WaitResult::Stopped => Err(ViewError::Cancelled.into()),
        }
    }

    /// Returns the account as lower steps left it.
    fn account(&mut self, id: CellId, address: &Address) -> Result<Account, ReadError> {
        let memory = self.shared.memory;
        loop {
            let found = self.read(&mut memory.accounts.cell(id).cell, self.finality);
            let (seen, account) = match found {
                Found::Written(_, account) => (Some(SeenAccount::from(&account)), account),
                Found::Base(state) => {
                    self.tally.note(KeyKind::Account, Arrival::Ready, None);
                    (None, Account::from_base(state))
                }
                Found::ToRead => {
                    let state = self.read_account(id, address)?;
                    if self.shared.is_on_shard() {
                        continue;
                    }
                    (None, Account::from_base(state))
                }
                Found::BeingRead => {
                    self.wait(KeyKind::Account, id, || memory.accounts.has_base(id))?;
                    continue;
                }
                Found::Estimate(of) => {
                    self.wait_for_event(Until::Executed(of), Until::Executed(of))?;
                    continue;
                }
            };
            if self.logs_reads() {
                self.log.accounts.push((id, seen));
            }
            return Ok(account);
        }
    }

    fn read_account(
        &mut self,
        id: CellId,
        address: &Address,
    ) -> Result<Option<AccountState>, ReadError> {
        let reader = &mut *self.reader;
        let state = self.tally.timed(KeyKind::Account, || reader.account(address))?;
        self.tally.note(KeyKind::Account, Arrival::Read, None);
        self.shared.memory.accounts.cell(id).cell.set_base(state);
        self.shared.memory.gates.open(id as usize);
        Ok(state)
    }

    /// Returns a beneficiary's account: its last written value plus all fees since. Needs all lower
    /// steps committed, so that no write can change the account. Only a shard logs this read, for
    /// the coordinator.
    fn beneficiary(&mut self, id: CellId, address: &Address) -> Result<Account, ReadError> {
        if self.finality == Finality::Speculative {
            self.wait_for_event(Until::Lowest, Until::Lowest)?;
        }
        let memory = self.shared.memory;
        let (since, mut account) = loop {
            // A statement of its own: in the match, the arms would hold the cell's lock.
            let found = self.read(&mut memory.accounts.cell(id).cell, Finality::Final);
            match found {
                Found::Written(index, account) => break (index + 1, account),
                Found::Base(state) => break (0, Account::from_base(state)),
                Found::ToRead => {}
                Found::BeingRead => {
                    self.wait(KeyKind::Account, id, || memory.accounts.has_base(id))?;
                    continue;
                }
                Found::Estimate(of) => {
                    self.wait_for_event(Until::Executed(of), Until::Lowest)?;
                    continue;
                }
            }
            let state = self.read_account(id, address)?;
            if !self.shared.is_on_shard() {
                break (0, Account::from_base(state));
            }
        };
        pay(&mut account, self.shared.fees.sum(id, since, self.index));
        if self.shared.is_on_shard() {
            self.log.beneficiaries.push((id, SeenAccount::from(&account)));
        }
        Ok(account)
    }

    /// Waits for the value of a key, which another worker reads.
    fn wait(
        &mut self,
        key: KeyKind,
        id: CellId,
        has_come: impl Fn() -> bool,
    ) -> Result<(), ReadError> {
        let since = std::time::Instant::now();
        let waited = self.shared.memory.gates.wait(id as usize, self.shared.stop, has_come);
        self.tally.note(key, Arrival::Waited, Some(since));
        waited.map_err(|cancelled| ViewError::from(cancelled).into())
    }

    fn slot(&mut self, account: CellId, address: &Address, key: U256) -> Result<U256, ReadError> {
        let memory = self.shared.memory;
        let id = memory.slots.id(&(account, key));
        if let Some((_, value)) = self.slots.iter().rev().find(|(slot, _)| *slot == id) {
            return Ok(*value);
        }
        let is_born = self.is_born(account);
        loop {
            let found = if is_born && !self.shared.is_on_shard() {
                let mut slot = memory.slots.cell(id);
                match slot.cell.read_written(self.index, self.finality) {
                    Ok(Some(value)) => Found::Written(0, value),
                    Ok(None) => Found::Base(U256::ZERO),
                    Err(of) => Found::Estimate(of),
                }
            } else {
                self.read(&mut memory.slots.cell(id).cell, self.finality)
            };
            let (seen, value) = match found {
                Found::Written(_, value) => (Some(value), value),
                Found::Base(value) => {
                    self.tally.note(KeyKind::Slot, Arrival::Ready, None);
                    (None, if is_born { U256::ZERO } else { value })
                }
                Found::ToRead => {
                    let value = self.read_slot(id, address, &key)?;
                    if self.shared.is_on_shard() {
                        continue;
                    }
                    (None, value)
                }
                Found::BeingRead => {
                    self.wait(KeyKind::Slot, id, || memory.slots.has_base(id))?;
                    continue;
                }
                Found::Estimate(of) => {
                    self.wait_for_event(Until::Executed(of), Until::Executed(of))?;
                    continue;
                }
            };
            if self.logs_reads() {
                self.log.slots.push((id, seen));
            }
            return Ok(value);
        }
    }

    fn read_slot(&mut self, id: CellId, address: &Address, key: &U256) -> Result<U256, ReadError> {
        let reader = &mut *self.reader;
        let value = self.tally.timed(KeyKind::Slot, || reader.slot(address, key))?;
        self.tally.note(KeyKind::Slot, Arrival::Read, None);
        self.shared.memory.slots.cell(id).cell.set_base(value);
        self.shared.memory.gates.open(id as usize);
        Ok(value)
    }
}

/// Adds `owed` wei to the account. A missing account comes into existence unless `owed` is zero.
pub(super) fn pay(account: &mut Account, owed: U256) {
    if !owed.is_zero() {
        let mut state = account.state.unwrap_or_default();
        // Like revm, pays nothing if the balance would overflow.
        state.balance = state.balance.checked_add(owed).unwrap_or(state.balance);
        account.state = Some(state);
    }
}

impl Database for StepView<'_> {
    type Error = ReadError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ReadError> {
        if self.shared.stop.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled.into());
        }
        let id = self.account_id(&address);
        let own = self.accounts.iter().rev().find(|(account, _)| *account == id);
        let account = match own {
            Some((_, account)) => account.clone(),
            None if self.shared.fees.has(id) => self.beneficiary(id, &address)?,
            None => self.account(id, &address)?,
        };
        self.read_accounts.push((address, id));
        if account.is_born {
            self.born.insert(id);
        }
        Ok(account.state.map(|state| AccountInfo { code: account.code, ..row::info(state) }))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, ReadError> {
        if let Some(code) = self.codes.get(&code_hash) {
            return Ok(code.clone());
        }
        let (reader, tally) = (&mut *self.reader, &mut *self.tally);
        let codes = &self.shared.memory.codes;
        let (code, _) = codes.get_or_read(code_hash, self.shared.stop, || {
            let code = tally.timed(KeyKind::Code, || reader.code(&code_hash))?;
            row::bytecode(code_hash, code)
        })?;
        self.codes.insert(code_hash, code.clone());
        Ok(code)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ReadError> {
        let account = self.account_id(&address);
        self.slot(account, &address, key)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ReadError> {
        let hash = self.shared.workload.block_hash(number);
        hash.ok_or_else(|| ViewError::MissingBlockHash(number).into())
    }
}
