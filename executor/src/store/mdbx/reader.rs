//! Reads of one thread from MDBX, in a read transaction of its own.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256};
use signet_libmdbx::{Ro, tx::Tx};
use workload::{AccountState, Table, layout::RowKey};

use super::{
    environment::{NAME, PAGE_BYTES},
    sample::MdbxSample,
    slots,
    tables::TableKey,
};
use crate::{
    error::StoreError,
    place::AccountKeys,
    process::thread_major_fault_count,
    store::{
        ReadCounters, Reader,
        lookup::{self, CheckedCodes, RowName, SortedParts},
    },
};

/// One thread's reads of a sample.
///
/// The block count is the number of the thread's major page faults. A page that several threads
/// wait for counts only for the thread that fetches it. A page in memory does not count. If two
/// readers run on one thread, each counts the page faults of both.
pub(super) struct MdbxReader<'a> {
    pub(super) sample: &'a MdbxSample<'a>,
    pub(super) tx: Tx<Ro>,
    /// Number of batches that were committed when `tx` began.
    commit_count: u64,
    account_keys: AccountKeys,
    sorted: SortedParts,
    checked_codes: CheckedCodes,
    pub(super) key_count: u64,
    /// The thread's major page faults when the reader was made.
    start_fault_count: u64,
}

impl fmt::Debug for MdbxReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MdbxReader").field("key_count", &self.key_count).finish_non_exhaustive()
    }
}

impl<'a> MdbxReader<'a> {
    pub(super) fn new(sample: &'a MdbxSample<'a>) -> Result<Self, StoreError> {
        // The count is taken before the transaction begins. So a commit between the two lines only
        // makes the next read restart the transaction.
        let commit_count = sample.commit_count();
        Ok(Self {
            sample,
            tx: sample.begin_read()?,
            commit_count,
            account_keys: AccountKeys::default(),
            sorted: SortedParts::default(),
            checked_codes: CheckedCodes::default(),
            key_count: 0,
            start_fault_count: thread_major_fault_count().unwrap_or(0),
        })
    }

    fn account_key(&mut self, address: &Address) -> RowKey {
        self.account_keys.key(self.sample.layout(), address)
    }

    /// Restarts the transaction if a batch was committed. Between two calls, nothing borrows from
    /// the transaction.
    #[inline]
    pub(super) fn renew(&mut self) -> Result<(), StoreError> {
        let commit_count = self.sample.commit_count();
        if commit_count != self.commit_count {
            self.tx = self.sample.begin_read()?;
            self.commit_count = commit_count;
        }
        Ok(())
    }

    /// Reads the row with `key`, as of the last committed batch.
    #[inline]
    pub(super) fn get<T>(
        &mut self,
        key: TableKey<'_>,
        name: RowName<'_>,
        decode: impl FnOnce(&[u8]) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.renew()?;
        self.key_count += 1;
        self.sample.tables().get(&self.tx, key, name, decode)
    }

    fn slot_row(&mut self, key: &RowKey, name: RowName<'_>) -> Result<U256, StoreError> {
        let form = self.sample.tables().form().slots;
        let key = TableKey { table: Table::Slots, key: key.as_slice() };
        let value = self.get(key, name, |value| {
            slots::decode(form, value).ok_or_else(|| lookup::wrong_length(NAME, name, value))
        });
        Ok(value?.unwrap_or_default())
    }
}

impl Reader for MdbxReader<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let key = self.account_key(address);
        let key = TableKey { table: Table::Accounts, key: key.as_slice() };
        let name = RowName::Account(address);
        self.get(key, name, |value| lookup::account_state(NAME, name, value))
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        let account = self.account_key(address);
        let row = self.sample.layout().slot_key(&account, key);
        self.slot_row(&row, RowName::Slot(address, key))
    }

    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let (account, layout) = (self.account_key(address), self.sample.layout());
        // Neighbouring keys are often on the same leaf.
        self.sorted.fill(layout, keys, 0..);
        for at in 0..keys.len() {
            let (part, index) = self.sorted.parts[at];
            let row = layout.slot_key_of_part(&account, &part);
            sink(index as usize, self.slot_row(&row, RowName::SlotRow(row.as_slice()))?);
        }
        Ok(())
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let key = TableKey { table: Table::Codes, key: hash.as_slice() };
        let code = self.get(key, RowName::Code(hash), |value| Ok(Bytes::copy_from_slice(value)))?;
        let Some(code) = code else { return Ok(None) };
        // MDBX has no checksums, so the code's hash serves as one.
        self.checked_codes.check(NAME, hash, &code)?;
        Ok(Some(code))
    }

    fn counters(&self) -> ReadCounters {
        let fault_count = thread_major_fault_count().unwrap_or(0);
        let block_count = fault_count.saturating_sub(self.start_fault_count);
        let block_bytes = block_count * PAGE_BYTES as u64;
        ReadCounters { key_count: self.key_count, block_count, block_bytes, cache_hit_count: 0 }
    }
}
