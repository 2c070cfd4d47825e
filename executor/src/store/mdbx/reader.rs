//! One thread's reads, in a read transaction of its own.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256, map::B256Set};
use signet_libmdbx::{Ro, tx::Tx};
use workload::{
    AccountState, Layout, NetChanges, Table,
    layout::{RowKey, decode_account},
};

use super::{
    environment, faults::fault_counters, sample::MdbxSample, settings::NAME, slots,
    tables::TableKey, tries::MdbxTries,
};
use crate::{
    error::StoreError,
    place::{self, AskedRow, BlockPlace, Places},
    process::thread_major_fault_count,
    store::{Background, ReadCounters, Reader, Sample},
    tries::Tries,
};

/// One thread's reads of a sample.
///
/// Blocks are counted as major page faults of the thread: a page that another thread is fetching
/// already counts for that one, a page in memory for none. Two readers on one thread each see
/// the reads of both.
pub(super) struct MdbxReader<'a> {
    sample: &'a MdbxSample<'a>,
    tx: Tx<Ro>,
    /// Batches that had been committed when `tx` began.
    commit_count: u64,
    /// The account asked for last, and its key: slots come in runs of one account.
    last_account: Option<(Address, RowKey)>,
    /// Second parts of the keys of one call, with the places where the caller has them.
    parts: Vec<([u8; 32], u32)>,
    unsorted: Vec<[u8; 32]>,
    /// Codes whose bytes have been hashed.
    checked_codes: B256Set,
    key_count: u64,
    start_fault_count: u64,
}

impl fmt::Debug for MdbxReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MdbxReader").field("key_count", &self.key_count).finish_non_exhaustive()
    }
}

impl<'a> MdbxReader<'a> {
    fn new(sample: &'a MdbxSample<'a>) -> Result<Self, StoreError> {
        // Before the transaction: a commit between the two only makes it begin again.
        let commit_count = sample.commit_count();
        Ok(Self {
            sample,
            tx: sample.begin_read()?,
            commit_count,
            last_account: None,
            parts: Vec::new(),
            unsorted: Vec::new(),
            checked_codes: B256Set::default(),
            key_count: 0,
            start_fault_count: thread_major_fault_count().unwrap_or(0),
        })
    }

    fn account_key(&mut self, address: &Address) -> RowKey {
        match self.last_account {
            Some((last, key)) if last == *address => key,
            _ => {
                let key = self.sample.layout().account_key(address);
                self.last_account = Some((*address, key));
                key
            }
        }
    }

    /// The row with `key` after all batches committed so far. Nothing is borrowed from the
    /// transaction between two calls, so here it can begin again.
    #[inline]
    fn get<T>(
        &mut self,
        key: TableKey<'_>,
        what: impl Fn() -> String,
        decode: impl FnOnce(&[u8]) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let commit_count = self.sample.commit_count();
        if commit_count != self.commit_count {
            self.tx = self.sample.begin_read()?;
            self.commit_count = commit_count;
        }
        self.key_count += 1;
        self.sample.tables().get(&self.tx, key, what, decode)
    }

    fn slot_row(&mut self, key: &RowKey, what: impl Fn() -> String) -> Result<U256, StoreError> {
        let form = self.sample.tables().form().slots;
        let decode = |value: &[u8]| {
            slots::decode(form, value).ok_or_else(|| wrong_length(what(), value.len()))
        };
        let value =
            self.get(TableKey { table: Table::Slots, key: key.as_slice() }, &what, decode)?;
        Ok(value.unwrap_or_default())
    }
}

impl Sample for MdbxSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        Ok(Box::new(MdbxReader::new(self)?))
    }

    fn row_layout(&self) -> Option<Layout> {
        Some(self.layout())
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.write(changes, &[])
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sync_commits()
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        let format = self.tables().form().tries?;
        Some(Box::new(MdbxTries { sample: self, format }))
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn file_bytes(&self) -> Option<u64> {
        self.length()
    }

    fn locate(&self, rows: &[AskedRow]) -> Result<Places, String> {
        let base = self.base();
        let leaves = base.leaves(&place::keys(rows, self.layout()));
        let block = |page: u32| BlockPlace {
            file: 0,
            offset: u64::from(page) * environment::PAGE_BYTES as u64,
            byte_count: environment::PAGE_BYTES as u32,
            block_count: 1,
        };
        let mut places = Places { files: vec![base.path().to_owned()], ..Places::default() };
        for (row, path) in leaves.map_err(|error| error.to_string())?.iter().enumerate() {
            let mut pages = path.pages().map(block);
            places.blocks.push(pages.next_back());
            places.before.extend(pages.map(|block| (row, block)));
        }
        Ok(places)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        (*self).close()
    }
}

impl Reader for MdbxReader<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let key = self.account_key(address);
        let what = || format!("account {address}");
        let decode =
            |value: &[u8]| decode_account(value).ok_or_else(|| wrong_length(what(), value.len()));
        self.get(TableKey { table: Table::Accounts, key: key.as_slice() }, what, decode)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        let account = self.account_key(address);
        let row = self.sample.layout().slot_key(&account, key);
        self.slot_row(&row, || format!("slot {key:#x} of {address}"))
    }

    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let (account, layout) = (self.account_key(address), self.sample.layout());
        self.unsorted.resize(keys.len(), [0; 32]);
        layout.slot_key_parts(keys, &mut self.unsorted);
        self.parts.clear();
        self.parts
            .extend(self.unsorted.iter().enumerate().map(|(place, part)| (*part, place as u32)));
        // Neighbours lie on one leaf.
        self.parts.sort_unstable();
        for index in 0..self.parts.len() {
            let (part, place) = self.parts[index];
            let row = layout.slot_key_of_part(&account, &part);
            let value = self.slot_row(&row, || {
                format!("slot row {}", alloy_primitives::hex::encode_prefixed(row))
            })?;
            sink(place as usize, value);
        }
        Ok(())
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let what = || format!("code {hash}");
        let decode = |value: &[u8]| Ok(Bytes::copy_from_slice(value));
        let Some(code) =
            self.get(TableKey { table: Table::Codes, key: hash.as_slice() }, what, decode)?
        else {
            return Ok(None);
        };
        // MDBX has no checksums; a code is its own. Hashing 24 KiB takes some 50 us, so a code
        // is checked when it is first met.
        if !self.checked_codes.contains(hash) {
            let found = keccak256(&code);
            if found != *hash {
                let reason = format!("its {} bytes have hash {found}", code.len());
                return Err(StoreError::Damaged { store: NAME, what: what(), reason });
            }
            self.checked_codes.insert(*hash);
        }
        Ok(Some(code))
    }

    fn counters(&self) -> ReadCounters {
        fault_counters(self.start_fault_count, self.key_count)
    }
}

fn wrong_length(what: String, len: usize) -> StoreError {
    StoreError::Damaged { store: NAME, what, reason: format!("its value has {len} bytes") }
}
