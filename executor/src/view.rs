//! The state that one transaction runs on under a block-level access list: the state below the
//! batch, overlaid with what the list says was written at lower indices (EIP-7928). Refuses a
//! key that a complete list does not declare, and remembers which declared keys were met.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use revm::{
    Database,
    context::DBErrorMarker,
    state::{AccountInfo, Bytecode, EvmState},
};
use workload::{
    BlockAccessIndex, Workload,
    genesis::AccountState,
    list::{AccountId, ListIndex},
};

use crate::{
    bitset::Bitset,
    call::CallClock,
    handover::{Arrival, Cancelled},
    latency::Latencies,
    prestate::{PreState, Reads},
    single_flight::SingleFlight,
    store::{Reader, StoreError},
    trace::{Key, Recorder, What},
};

/// A read that gave no value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ViewError {
    /// The list does not declare the account.
    #[error("account {0} is read and not in the list")]
    UndeclaredAccount(Address),
    /// The list does not declare the slot.
    #[error("slot {key:#x} of {address} is read and not in the list")]
    UndeclaredSlot {
        /// Whose slot.
        address: Address,
        /// Which.
        key: U256,
    },
    /// The state has no code with this hash.
    #[error("no code with hash {0} in the state")]
    MissingCode(B256),
    /// What the state has as code is none (a delegation that is not whole, EIP-7702).
    #[error("the code with hash {hash} is none: {reason}")]
    InvalidCode {
        /// Its hash.
        hash: B256,
        /// What is wrong with it.
        reason: String,
    },
    /// BLOCKHASH of a block whose hash the workload does not carry.
    #[error("the workload has no hash of block {0}")]
    MissingBlockHash(u64),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run was cancelled while this read waited.
    #[error("cancelled")]
    Cancelled,
}

impl ViewError {
    /// Whether the list is at fault: a step reads what it does not declare.
    pub const fn is_undeclared(&self) -> bool {
        matches!(self, Self::UndeclaredAccount(_) | Self::UndeclaredSlot { .. })
    }
}

impl DBErrorMarker for ViewError {}

impl From<Cancelled> for ViewError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// What one worker's reads came to.
#[derive(Clone, Debug, Default)]
pub struct ReadTally {
    /// Reads that this worker made itself, where its store's reads are timed.
    pub latencies: Latencies,
    /// Reads that this worker made itself.
    pub read_count: u64,
    /// Values that were there when asked for.
    pub ready_count: u64,
    /// Values that another thread was reading.
    pub waited_count: u64,
    /// Time spent waiting for those.
    pub wait: Duration,
    /// When the first read began and the last one ended, where reads are timed.
    pub window: Option<(Instant, Instant)>,
    /// Where reads and steps are recorded one by one, if they are.
    pub(crate) trace: Option<Box<Recorder>>,
}

impl ReadTally {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.read_count += other.read_count;
        self.ready_count += other.ready_count;
        self.waited_count += other.waited_count;
        self.wait += other.wait;
        if let Some((start, end)) = other.window {
            self.widen(start, end);
        }
    }

    /// Extends the window to a read that lasted from `start` to `end`.
    pub(crate) fn widen(&mut self, start: Instant, end: Instant) {
        self.window = Some(match self.window {
            None => (start, end),
            Some((first, last)) => (first.min(start), last.max(end)),
        });
    }

    #[inline]
    pub(crate) fn note(&mut self, key: Key, arrival: Arrival, waited_since: Option<Instant>) {
        match arrival {
            Arrival::Ready => self.ready_count += 1,
            Arrival::Read => self.read_count += 1,
            Arrival::Waited => {
                self.waited_count += 1;
                let Some(since) = waited_since else { return };
                let now = Instant::now();
                self.wait += now - since;
                if let Some(trace) = &mut self.trace {
                    trace.frequent(What::Wait { key }, since, now);
                }
            }
        }
    }

    /// Makes one read and counts it.
    pub(crate) fn read<R: Reader, T>(&mut self, key: Key, read: impl FnOnce() -> T) -> T {
        self.read_count += 1;
        self.timed::<R, T>(key, read)
    }

    /// Now, where reads of this store are timed or traced.
    #[inline]
    pub(crate) fn now<R: Reader>(&self) -> Option<Instant> {
        (R::IS_TIMED || self.trace.is_some()).then(Instant::now)
    }

    /// Counts the time of a read of one key or of several together.
    pub(crate) fn lasted<R: Reader>(&mut self, what: What, start: Instant, end: Instant) {
        if R::IS_TIMED {
            let count = if let What::Read { count, .. } = what { count as u64 } else { 1 };
            self.latencies.record_batch(end - start, count);
            self.widen(start, end);
        }
        if let Some(trace) = &mut self.trace {
            trace.frequent(what, start, end);
        }
    }

    /// Reads `keys` of one account as [`Reader::slots`] does, and counts and times each.
    pub(crate) fn read_slots<R: Reader>(
        &mut self,
        reader: &mut R,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let mut clock = CallClock::start(reader, Key::Slot, self);
        reader.slots(address, keys, &mut |place, value| {
            sink(place, value);
            clock.arrived::<R>();
        })?;
        clock.stop::<R>(keys.len());
        Ok(())
    }

    /// Makes `read` and records how long it took, where reads of this store are timed.
    #[inline]
    pub(crate) fn timed<R: Reader, T>(&mut self, key: Key, read: impl FnOnce() -> T) -> T {
        let Some(start) = self.now::<R>() else { return read() };
        let value = read();
        self.lasted::<R>(What::Read { key, count: 1 }, start, Instant::now());
        value
    }
}

/// Rows of codes by hash, each read once.
pub type CodeRows = SingleFlight<B256, Option<Bytes>>;

/// What all workers of a batch share.
#[derive(Debug)]
pub struct Shared<P> {
    /// The list.
    pub list: ListIndex,
    /// The state below the batch.
    pub pre_state: P,
    /// Codes, analysed once.
    pub codes: SingleFlight<B256, Bytecode>,
    /// Their rows, read once.
    pub code_rows: CodeRows,
}

/// Which declared keys were met.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// By account id.
    pub accounts: Bitset,
    /// By slot id.
    pub slots: Bitset,
}

impl Touched {
    /// None of the keys of `list`.
    pub fn new(list: &ListIndex) -> Self {
        Self {
            accounts: Bitset::new(list.account_count() as usize),
            slots: Bitset::new(list.slot_count() as usize),
        }
    }

    /// Adds another worker's.
    pub fn union(&mut self, other: &Self) {
        self.accounts.union(&other.accounts);
        self.slots.union(&other.slots);
    }
}

/// A worker's state as of one index at a time.
#[derive(Debug)]
pub struct View<'a, R, P> {
    shared: &'a Shared<P>,
    workload: &'a Workload,
    cancel: &'a AtomicBool,
    reader: &'a mut R,
    index: BlockAccessIndex,
    touched: Touched,
    /// How many slots are in `touched`.
    met_slot_count: u64,
    tally: &'a mut ReadTally,
    /// Codes this worker has met, without a lock.
    codes: HashMap<B256, Bytecode>,
    /// The account asked for last; most reads of slots stay in it.
    last: Option<(Address, AccountId)>,
}

impl<'a, R: Reader, P: PreState> View<'a, R, P> {
    /// A view that reads through `reader` and counts in `tally`.
    pub fn new(
        shared: &'a Shared<P>,
        workload: &'a Workload,
        cancel: &'a AtomicBool,
        (reader, tally): (&'a mut R, &'a mut ReadTally),
    ) -> Self {
        Self {
            touched: Touched::new(&shared.list),
            met_slot_count: 0,
            shared,
            workload,
            cancel,
            reader,
            index: 0,
            tally,
            codes: HashMap::default(),
            last: None,
        }
    }

    /// Makes this the state before the step at `index`.
    pub const fn set_index(&mut self, index: BlockAccessIndex) {
        self.index = index;
    }

    /// Number of declared slots that this view has met.
    pub(crate) const fn met_slot_count(&self) -> u64 {
        self.met_slot_count
    }

    /// Where this worker records what it does, if it does.
    pub(crate) fn trace(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }

    /// Marks what `state` met without asking for it: slots of a contract in creation are known
    /// to be empty. A creation that was reverted leaves no mark on the account but for its
    /// slots, so all accounts that had no code before are looked at.
    ///
    /// # Errors
    /// [`ViewError::UndeclaredSlot`] where a complete list does not have such a slot.
    pub fn mark_unasked(&mut self, state: &EvmState) -> Result<(), ViewError> {
        for (address, account) in state {
            if account.storage.is_empty() || !account.original_info().is_empty_code_hash() {
                continue;
            }
            let list = &self.shared.list;
            let id = list.account_id(address);
            for key in account.storage.keys() {
                match id.and_then(|id| list.slot_id(id, key)) {
                    Some(slot) => {
                        self.met_slot_count += u64::from(self.touched.slots.insert(slot.get()));
                    }
                    None if P::READS == Reads::Declared => {
                        return Err(ViewError::UndeclaredSlot { address: *address, key: *key });
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Ends the view.
    pub fn finish(self) -> Touched {
        self.touched
    }

    #[inline]
    fn account_id(&mut self, address: &Address) -> Result<Option<AccountId>, ViewError> {
        if let Some((last, id)) = self.last
            && last == *address
        {
            return Ok(Some(id));
        }
        let id = self.shared.list.account_id(address);
        match id {
            Some(id) => self.last = Some((*address, id)),
            None if P::READS == Reads::Declared => {
                return Err(ViewError::UndeclaredAccount(*address));
            }
            None => {}
        }
        Ok(id)
    }

    fn row(
        &mut self,
        id: Option<AccountId>,
        address: &Address,
    ) -> Result<Option<AccountState>, ViewError> {
        let (reader, tally) = (&mut *self.reader, &mut *self.tally);
        let since = tally.now::<R>();
        let (row, arrival) = self.shared.pre_state.account(id, address, self.cancel, || {
            tally.timed::<R, _>(Key::Account, || reader.account(address)).map_err(ViewError::from)
        })?;
        self.tally.note(Key::Account, arrival, since);
        Ok(row)
    }

    fn code(&mut self, hash: B256) -> Result<Bytecode, ViewError> {
        if let Some(code) = self.codes.get(&hash) {
            return Ok(code.clone());
        }
        let (reader, tally) = (&mut *self.reader, &mut *self.tally);
        let Shared { codes, code_rows, .. } = self.shared;
        let (code, _) = codes.get_or_read(hash, self.cancel, || {
            let since = tally.now::<R>();
            let (row, arrival) = code_rows.get_or_read(hash, self.cancel, || {
                tally.timed::<R, _>(Key::Code, || reader.code(&hash)).map_err(ViewError::from)
            })?;
            tally.note(Key::Code, arrival, since);
            bytecode(hash, row)
        })?;
        self.codes.insert(hash, code.clone());
        Ok(code)
    }
}

impl<R: Reader, P: PreState> Database for View<'_, R, P> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        let id = self.account_id(&address)?;
        let row = self.row(id, &address)?;
        let Some(id) = id else { return Ok(row.map(info)) };
        self.touched.accounts.insert(id.get());
        let (list, index) = (&self.shared.list, self.index);
        let nonce = list.nonce_before(id, index);
        let balance = list.balance_before(id, index);
        let code = list.code_before(id, index);
        if row.is_none() && nonce.is_none() && balance.is_none() && code.is_none() {
            return Ok(None);
        }
        let mut after = row.unwrap_or_default();
        after.nonce = nonce.unwrap_or(after.nonce);
        after.balance = balance.unwrap_or(after.balance);
        if let Some(code) = code {
            after.code_hash = code.hash;
            let fresh = || bytecode(code.hash, Some(code.bytes.clone()));
            self.shared.codes.get_or_read(code.hash, self.cancel, fresh)?;
        }
        // An account that a lower index left empty does not exist (EIP-161).
        let gone = after == AccountState::default();
        Ok((!gone).then(|| info(after)))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, ViewError> {
        self.code(code_hash)
    }

    #[inline]
    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let account = self.account_id(&address)?;
        let Shared { list, pre_state, .. } = self.shared;
        let announce = |id| pre_state.announce(id);
        let id = account.and_then(|account| list.slot_id_announced(account, &key, announce));
        if let Some(id) = id {
            self.met_slot_count += u64::from(self.touched.slots.insert(id.get()));
            if let Some(value) = self.shared.list.slot_before(id, self.index) {
                return Ok(value);
            }
        } else if P::READS == Reads::Declared {
            return Err(ViewError::UndeclaredSlot { address, key });
        }
        let (reader, tally) = (&mut *self.reader, &mut *self.tally);
        let since = tally.now::<R>();
        let (value, arrival) =
            self.shared.pre_state.slot(id, &address, &key, self.cancel, || {
                tally
                    .timed::<R, _>(Key::Slot, || reader.slot(&address, &key))
                    .map_err(ViewError::from)
            })?;
        self.tally.note(Key::Slot, arrival, since);
        Ok(value)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}

/// A code as revm wants it.
pub(crate) fn bytecode(hash: B256, code: Option<Bytes>) -> Result<Bytecode, ViewError> {
    let code = code.ok_or(ViewError::MissingCode(hash))?;
    Bytecode::new_raw_checked(code)
        .map_err(|error| ViewError::InvalidCode { hash, reason: error.to_string() })
}

/// A row as revm wants it; the code comes when it is asked for.
pub(crate) fn info(row: AccountState) -> AccountInfo {
    AccountInfo {
        balance: row.balance,
        nonce: row.nonce,
        code_hash: row.code_hash,
        code: None,
        ..AccountInfo::default()
    }
}
