//! The state that one transaction reads under a block-level access list: the state before the
//! batch, with the list's writes at lower indices (EIP-7928). Refuses keys that a complete list
//! does not declare. Records the declared keys that were touched.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use revm::{
    Database,
    state::{AccountInfo, Bytecode, EvmState},
};
use workload::{
    BlockAccessIndex, Workload,
    genesis::AccountState,
    list::{AccountId, ListIndex},
};

use super::{
    bitset::Bitset,
    prestate::{PreState, Reads},
};
use crate::{
    engine::{
        error::ViewError,
        row::{bytecode, info},
        tally::{ReadTally, Reading},
    },
    single_flight::SingleFlight,
    store::Reader,
    trace::{KeyKind, Recorder},
};

/// Rows of codes by hash; each row is read once.
pub(crate) type CodeRows = SingleFlight<B256, Option<Bytes>>;

/// The state that all workers of a batch share.
#[derive(Debug)]
pub(crate) struct Shared<P> {
    pub(crate) list: ListIndex,
    /// The state before the batch.
    pub(crate) pre_state: P,
    /// Codes by hash; each code is analysed once.
    pub(crate) codes: SingleFlight<B256, Bytecode>,
    /// Rows of codes; each row is read once.
    pub(crate) code_rows: CodeRows,
}

/// The declared keys that steps touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Accounts by account id.
    pub(crate) accounts: Bitset,
    /// Slots by slot id.
    pub(crate) slots: Bitset,
}

impl Touched {
    /// Makes an empty set of the keys of `list`.
    pub(crate) fn new(list: &ListIndex) -> Self {
        Self {
            accounts: Bitset::new(list.account_count() as usize),
            slots: Bitset::new(list.slot_count() as usize),
        }
    }

    /// Adds the keys that another worker touched.
    pub(crate) fn union(&mut self, other: &Self) {
        self.accounts.union(&other.accounts);
        self.slots.union(&other.slots);
    }
}

/// The state that a worker's current step reads: the state as of the step's index.
#[derive(Debug)]
pub(crate) struct View<'a, P> {
    shared: &'a Shared<P>,
    workload: &'a Workload,
    cancel: &'a AtomicBool,
    reader: &'a mut dyn Reader,
    /// Index of the current step.
    pub(super) index: BlockAccessIndex,
    touched: Touched,
    /// Number of slots in `touched`.
    touched_slot_count: u64,
    tally: &'a mut ReadTally,
    /// Codes that this worker has read, for later reads without a lock.
    codes: HashMap<B256, Bytecode>,
    /// The account of the last read. Most reads of slots are of the same account as the read
    /// before.
    last: Option<(Address, AccountId)>,
}

impl<'a, P: PreState> View<'a, P> {
    /// Makes a view that reads and counts with `reading`.
    pub(crate) fn new(
        shared: &'a Shared<P>,
        workload: &'a Workload,
        cancel: &'a AtomicBool,
        reading: Reading<'a>,
    ) -> Self {
        let Reading { reader, tally } = reading;
        Self {
            touched: Touched::new(&shared.list),
            touched_slot_count: 0,
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

    /// Returns the number of declared slots that this view has touched.
    pub(crate) const fn touched_slot_count(&self) -> u64 {
        self.touched_slot_count
    }

    /// Returns the recorder of this worker, if the sample is traced.
    pub(crate) fn trace(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }

    /// Marks slots that a step touched without a read. revm does not read slots of a contract in
    /// creation, because they are empty. After a revert, the account does not show that it was in
    /// creation. So the slots of all accounts in `state` that had no code before are marked.
    ///
    /// # Errors
    /// [`ViewError::UndeclaredSlot`] if a complete list does not have such a slot.
    pub(crate) fn mark_unread(&mut self, state: &EvmState) -> Result<(), ViewError> {
        for (address, account) in state {
            if account.storage.is_empty() || !account.original_info().is_empty_code_hash() {
                continue;
            }
            let list = &self.shared.list;
            let id = list.account_id(address);
            for key in account.storage.keys() {
                match id.and_then(|id| list.slot_id(id, key)) {
                    Some(slot) => {
                        self.touched_slot_count += u64::from(self.touched.slots.insert(slot.get()));
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

    /// Ends the view, and returns the touched keys.
    pub(crate) fn into_touched(self) -> Touched {
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
        let since = tally.now();
        let (row, arrival) = self.shared.pre_state.account(id, address, self.cancel, || {
            tally.timed(KeyKind::Account, || reader.account(address)).map_err(ViewError::from)
        })?;
        self.tally.note(KeyKind::Account, arrival, since);
        Ok(row)
    }
}

impl<P: PreState> Database for View<'_, P> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        let id = self.account_id(&address)?;
        let row = self.row(id, &address)?;
        let Some(id) = id else { return Ok(row.map(info)) };
        // `storage` need not mark the account, because revm loads the account before its slots.
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
            // Registers the code for `code_by_hash`; the value is not needed here.
            let analyse = || bytecode(code.hash, Some(code.bytes.clone()));
            self.shared.codes.get_or_read(code.hash, self.cancel, analyse)?;
        }
        // An account that a lower index left empty does not exist (EIP-161).
        Ok((after != AccountState::default()).then(|| info(after)))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ViewError> {
        if let Some(code) = self.codes.get(&hash) {
            return Ok(code.clone());
        }
        let (reader, tally) = (&mut *self.reader, &mut *self.tally);
        let Shared { codes, code_rows, .. } = self.shared;
        let (code, _) = codes.get_or_read(hash, self.cancel, || {
            let since = tally.now();
            let (row, arrival) = code_rows.get_or_read(hash, self.cancel, || {
                tally.timed(KeyKind::Code, || reader.code(&hash)).map_err(ViewError::from)
            })?;
            tally.note(KeyKind::Code, arrival, since);
            bytecode(hash, row)
        })?;
        self.codes.insert(hash, code.clone());
        Ok(code)
    }

    #[inline]
    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let account = self.account_id(&address)?;
        let Shared { list, pre_state, .. } = self.shared;
        let announce = |id| pre_state.announce(id);
        let id = account.and_then(|account| list.slot_id_announced(account, &key, announce));
        if let Some(id) = id {
            self.touched_slot_count += u64::from(self.touched.slots.insert(id.get()));
            if let Some(value) = self.shared.list.slot_before(id, self.index) {
                return Ok(value);
            }
        } else if P::READS == Reads::Declared {
            return Err(ViewError::UndeclaredSlot { address, key });
        }
        let (reader, tally) = (&mut *self.reader, &mut *self.tally);
        let since = tally.now();
        let (value, arrival) =
            self.shared.pre_state.slot(id, &address, &key, self.cancel, || {
                tally.timed(KeyKind::Slot, || reader.slot(&address, &key)).map_err(ViewError::from)
            })?;
        self.tally.note(KeyKind::Slot, arrival, since);
        Ok(value)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}
