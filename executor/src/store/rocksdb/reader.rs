//! Reads of one thread from RocksDB, by `Get` or `MultiGet`.

use std::fmt;

use ::rocksdb::{
    ColumnFamily, DB, DBPinnableSlice, ReadOptions,
    perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use workload::{
    AccountState, Layout,
    layout::{RowKey, decode_slot},
};

use super::{
    options::{ACCOUNTS, CODE, STORAGE},
    sample::RocksSample,
    settings::{IoUring, NAME, READS_AT_ONCE, effective_read_method, failed, io_uring_state},
};
use crate::{
    error::StoreError,
    place::AccountKeys,
    store::{
        CallSizes, ReadCounters, Reader, SlotRow,
        lookup::{self, CheckedCodes, RowName, SortedParts},
    },
};
use variant::ReadMethod;

/// One thread's reads of a sample.
///
/// RocksDB counts reads by thread. If two readers run on one thread, each counts the reads of both.
pub(super) struct RocksReader<'a> {
    pub(super) db: &'a DB,
    pub(super) accounts: &'a ColumnFamily,
    pub(super) storage: &'a ColumnFamily,
    code: &'a ColumnFamily,
    /// Options of reads of one key.
    pub(super) single: ReadOptions,
    /// Options of reads of many keys.
    pub(super) many: ReadOptions,
    layout: Layout,
    /// Maximal number of keys in a call of `MultiGet`. `None` if each key is read by a `Get`.
    pub(super) keys_per_call: Option<usize>,
    account_keys: AccountKeys,
    buffers: CallBuffers,
    checked_codes: CheckedCodes,
    pub(super) key_count: u64,
    /// The thread's counters when the reader was made.
    start: ReadCounters,
}

/// A function that takes a row: the caller's index, the row's name for errors, and its value or
/// `None` for an absent row.
type RowSink<'s> = dyn FnMut(u32, RowName<'_>, Option<&[u8]>) -> Result<(), StoreError> + 's;

/// Memory for the keys of one call, reused by the next call.
#[derive(Default)]
struct CallBuffers {
    sorted: SortedParts,
    /// Keys to read, with the caller's indices.
    rows: Vec<(RowKey, u32)>,
    unsorted: Vec<[u8; 32]>,
}

impl fmt::Debug for RocksReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksReader").field("key_count", &self.key_count).finish_non_exhaustive()
    }
}

impl<'a> RocksReader<'a> {
    pub(super) fn new(sample: &'a RocksSample<'a>) -> Result<Self, StoreError> {
        // Counts but no times, which would cost two reads of the clock for each block.
        set_perf_stats(PerfStatsLevel::EnableCount);
        let (single, many) = sample.read_options();
        Ok(Self {
            db: sample.db(),
            accounts: sample.family(ACCOUNTS)?,
            storage: sample.family(STORAGE)?,
            code: sample.family(CODE)?,
            single,
            many,
            layout: sample.layout(),
            keys_per_call: match effective_read_method(sample.settings().read_method) {
                ReadMethod::Get => None,
                ReadMethod::MultiGet => Some(sample.settings().multi_get_key_count),
            },
            account_keys: AccountKeys::default(),
            buffers: CallBuffers::default(),
            checked_codes: CheckedCodes::default(),
            key_count: 0,
            start: thread_counters(),
        })
    }

    fn account_key(&mut self, address: &Address) -> RowKey {
        self.account_keys.key(self.layout, address)
    }

    fn get(
        &mut self,
        family: &ColumnFamily,
        key: &[u8],
        name: RowName<'_>,
    ) -> Result<Option<DBPinnableSlice<'a>>, StoreError> {
        self.key_count += 1;
        let found = self.db.get_pinned_cf_opt(family, key, &self.single);
        found.map_err(|error| failed(name.to_string())(error))
    }

    fn row_key(&mut self, row: &SlotRow<'_>) -> RowKey {
        row.row.unwrap_or_else(|| {
            let account = self.account_key(row.address);
            self.layout.slot_key(&account, &row.key)
        })
    }

    fn slot_of_row(&mut self, key: &RowKey) -> Result<U256, StoreError> {
        let name = RowName::Row(key.as_slice());
        let value = self.get(self.storage, key.as_slice(), name)?;
        slot_value(value.as_deref(), name)
    }

    /// Reads the rows of `self.buffers.rows` in calls of `keys_per_call`
    /// keys, and passes each to `sink`.
    fn multi_get(
        &mut self,
        family: &ColumnFamily,
        keys_per_call: usize,
        sink: &mut RowSink<'_>,
    ) -> Result<(), StoreError> {
        let rows = &mut self.buffers.rows;
        if !rows.is_sorted_by(|a, b| a.0 <= b.0) {
            rows.sort_unstable_by_key(|row| row.0);
        }
        for chunk in rows.chunks(keys_per_call.max(1)) {
            self.key_count += chunk.len() as u64;
            let keys = chunk.iter().map(|(key, _)| key);
            let found = self.db.batched_multi_get_cf_opt(family, keys, true, &self.many);
            for (value, (key, index)) in found.into_iter().zip(chunk) {
                let name = RowName::Row(key.as_slice());
                let value = value.map_err(|error| failed(name.to_string())(error))?;
                sink(*index, name, value.as_deref())?;
            }
        }
        Ok(())
    }

    /// Reads the slots of `self.buffers.rows` by [`Self::multi_get`].
    fn multi_get_slots(
        &mut self,
        keys_per_call: usize,
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        self.multi_get(self.storage, keys_per_call, &mut |index, name, value| {
            sink(index as usize, slot_value(value, name)?);
            Ok(())
        })
    }
}

impl Reader for RocksReader<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let key = self.account_key(address);
        let name = RowName::Account(address);
        let value = self.get(self.accounts, key.as_slice(), name)?;
        account_state(value.as_deref(), name)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        let account = self.account_key(address);
        let row = self.layout.slot_key(&account, key);
        let name = RowName::Slot(address, key);
        let value = self.get(self.storage, row.as_slice(), name)?;
        slot_value(value.as_deref(), name)
    }

    fn call_sizes(&self) -> CallSizes {
        let one_by_one = CallSizes::ONE_BY_ONE;
        CallSizes {
            // All keys of a call have their values only at its end, and a transaction may wait for
            // one of them. So the user limits the number of keys.
            slots_per_call: self.keys_per_call.unwrap_or(one_by_one.slots_per_call),
            // More keys would not help: RocksDB splits them into groups of this size, and reads one
            // group after the other.
            rows_per_call: READS_AT_ONCE,
            reads_accounts_together: self.keys_per_call.is_some(),
            reads_at_once: self.keys_per_call.map(|_| READS_AT_ONCE),
        }
    }

    fn reads_in_flight(&self, key_count: usize, block_count: u64) -> f64 {
        match io_uring_state() {
            // RocksDB reads groups of keys, one group after the other.
            IoUring::Available => {
                let groups = group_count(key_count, self.keys_per_call.unwrap_or(1));
                block_count as f64 / groups.max(1) as f64
            }
            IoUring::NotBuilt | IoUring::Refused => block_count.min(1) as f64,
        }
    }

    fn accounts(
        &mut self,
        addresses: &[Address],
        sink: &mut dyn FnMut(usize, Option<AccountState>),
    ) -> Result<(), StoreError> {
        let Some(keys_per_call) = self.keys_per_call else {
            for (index, address) in addresses.iter().enumerate() {
                sink(index, self.account(address)?);
            }
            return Ok(());
        };
        let CallBuffers { rows, unsorted, .. } = &mut self.buffers;
        unsorted.resize(addresses.len(), [0; 32]);
        self.layout.account_key_parts(addresses, unsorted);
        rows.clear();
        let keys = unsorted.iter().map(|part| self.layout.account_key_of_part(part));
        rows.extend(keys.zip(0..));
        self.multi_get(self.accounts, keys_per_call, &mut |index, name, value| {
            sink(index as usize, account_state(value, name)?);
            Ok(())
        })
    }

    fn slot_rows(
        &mut self,
        rows: &[SlotRow<'_>],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let Some(keys_per_call) = self.keys_per_call else {
            for (index, row) in rows.iter().enumerate() {
                let key = self.row_key(row);
                sink(index, self.slot_of_row(&key)?);
            }
            return Ok(());
        };
        self.buffers.rows.clear();
        for (row, index) in rows.iter().zip(0..) {
            let key = self.row_key(row);
            self.buffers.rows.push((key, index));
        }
        self.multi_get_slots(keys_per_call, sink)
    }

    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let account = self.account_key(address);
        let layout = self.layout;
        self.buffers.sorted.fill(layout, keys, 0..);
        let Some(keys_per_call) = self.keys_per_call else {
            for at in 0..keys.len() {
                let (part, index) = self.buffers.sorted.parts[at];
                let key = layout.slot_key_of_part(&account, &part);
                sink(index as usize, self.slot_of_row(&key)?);
            }
            return Ok(());
        };
        let CallBuffers { sorted, rows, .. } = &mut self.buffers;
        rows.clear();
        let parts = sorted.parts.iter();
        rows.extend(parts.map(|(part, index)| (layout.slot_key_of_part(&account, part), *index)));
        self.multi_get_slots(keys_per_call, sink)
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let value = self.get(self.code, hash.as_slice(), RowName::Code(hash))?;
        let Some(value) = value else { return Ok(None) };
        // The block's checksum covers the row. The hash also shows that the row is of this key.
        self.checked_codes.check(NAME, hash, &value)?;
        Ok(Some(Bytes::copy_from_slice(&value)))
    }

    fn counters(&self) -> ReadCounters {
        let counters = thread_counters().since(&self.start);
        ReadCounters { key_count: self.key_count, ..counters }
    }
}

/// Returns RocksDB's counters of the calling thread.
fn thread_counters() -> ReadCounters {
    let context = PerfContext::default();
    ReadCounters {
        block_count: context.metric(PerfMetric::BlockReadCount),
        block_bytes: context.metric(PerfMetric::BlockReadByte),
        key_count: 0,
        cache_hit_count: context.metric(PerfMetric::BlockCacheHitCount),
    }
}

fn slot_value(value: Option<&[u8]>, name: RowName<'_>) -> Result<U256, StoreError> {
    let Some(value) = value else { return Ok(U256::ZERO) };
    decode_slot(value).ok_or_else(|| lookup::wrong_length(NAME, name, value))
}

fn account_state(
    value: Option<&[u8]>,
    name: RowName<'_>,
) -> Result<Option<AccountState>, StoreError> {
    value.map(|value| lookup::account_state(NAME, name, value)).transpose()
}

/// Returns the number of groups of at most [`READS_AT_ONCE`] keys in which RocksDB reads. The
/// reader passes `key_count` keys, in calls of `keys_per_call`.
const fn group_count(key_count: usize, keys_per_call: usize) -> usize {
    let per_call = if keys_per_call == 0 { 1 } else { keys_per_call };
    let whole = key_count / per_call * per_call.div_ceil(READS_AT_ONCE);
    whole + (key_count % per_call).div_ceil(READS_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::group_count;

    #[test]
    fn groups_do_not_reach_across_calls() {
        for (keys, per_call, groups) in [
            (0, 8, 0),
            (1, 8, 1),
            (32, 8, 4),
            (32, 1024, 1),
            (33, 1024, 2),
            (1030, 1024, 33),
            (70, 40, 3),
        ] {
            assert_eq!(group_count(keys, per_call), groups, "{keys} in calls of {per_call}");
        }
    }
}
