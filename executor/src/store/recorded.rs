//! A sample that records the reads that an engine requests: rows, calls and order. `replay.rs`
//! repeats these reads to measure the device's rate for exactly this sample.
//!
//! `sample.rs` wraps only cold samples of stores with files, whose reads take several microseconds
//! at least. The recording is part of the sample's measured time. In 300,000 single reads of a
//! store in memory, it took 0.09 to 0.22 µs a read. Joining the threads' logs took another 0.05 µs
//! a read.

use std::{
    mem,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::{AccountState, Layout, NetChanges};

use super::{Background, CallSizes, ReadCounters, Reader, Sample, SlotRow, StoreError};
use crate::{
    lock::lock,
    place::{Places, RequestedRow},
    tries::Tries,
};

/// The reads of a sample.
#[derive(Clone, Debug, Default)]
pub struct ReadLog {
    /// All rows; rows of one call are adjacent.
    pub rows: Vec<RequestedRow>,
    /// Whether each row of `rows` exists.
    pub present: Vec<bool>,
    /// Calls, in the order of their start.
    pub calls: Vec<RecordedCall>,
}

/// One call of a reader.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCall {
    /// Start of the call.
    pub at: Instant,
    /// Index of the call's first row in [`ReadLog::rows`].
    pub first_row: usize,
    /// Number of the call's rows.
    pub row_count: usize,
}

impl ReadLog {
    /// Records a call. Returns the flags of the call's rows in `present`, which the caller must
    /// set.
    fn record(&mut self, rows: impl IntoIterator<Item = RequestedRow>) -> &mut [bool] {
        let (at, first_row) = (Instant::now(), self.rows.len());
        self.rows.extend(rows);
        self.present.resize(self.rows.len(), false);
        self.calls.push(RecordedCall { at, first_row, row_count: self.rows.len() - first_row });
        &mut self.present[first_row..]
    }

    fn merge(&mut self, other: Self) {
        let shift = self.rows.len();
        self.rows.extend(other.rows);
        self.present.extend(other.present);
        let calls = other.calls.into_iter();
        self.calls
            .extend(calls.map(|call| RecordedCall { first_row: shift + call.first_row, ..call }));
    }
}

/// A sample that records its reads.
#[derive(Debug)]
pub struct Recorded<'s> {
    sample: &'s dyn Sample,
    log: Mutex<ReadLog>,
}

impl<'s> Recorded<'s> {
    /// Wraps `sample`, with an empty log.
    pub fn new(sample: &'s dyn Sample) -> Self {
        Self { sample, log: Mutex::default() }
    }

    fn wrap<'a>(&'a self, reader: Box<dyn Reader + 'a>) -> Box<dyn Reader + 'a> {
        Box::new(RecordedReader { reader, own: ReadLog::default(), all: &self.log })
    }

    /// Returns the log, after all readers are dropped.
    pub fn into_log(self) -> ReadLog {
        let mut log = self.log.into_inner().unwrap_or_else(PoisonError::into_inner);
        log.calls.sort_by_key(|call| call.at);
        log
    }
}

impl Sample for Recorded<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        Ok(self.wrap(self.sample.reader()?))
    }

    fn fiber_readers(&self, count: usize) -> Result<Vec<Box<dyn Reader + '_>>, StoreError> {
        let readers = self.sample.fiber_readers(count)?;
        Ok(readers.into_iter().map(|reader| self.wrap(reader)).collect())
    }

    fn row_layout(&self) -> Option<Layout> {
        self.sample.row_layout()
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.sample.commit(changes)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sample.sync()
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        self.sample.tries()
    }

    fn background(&self) -> Option<&dyn Background> {
        self.sample.background()
    }

    fn file_bytes(&self) -> Option<u64> {
        self.sample.file_bytes()
    }

    fn locate(&self, rows: &[RequestedRow]) -> Result<Places, String> {
        self.sample.locate(rows)
    }

    /// Does not close the sample that is recorded.
    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// One thread's reads, and their log. The drop of the reader joins its log to the sample's log.
#[derive(Debug)]
struct RecordedReader<'a> {
    reader: Box<dyn Reader + 'a>,
    own: ReadLog,
    all: &'a Mutex<ReadLog>,
}

impl Drop for RecordedReader<'_> {
    fn drop(&mut self) {
        let mut all = lock(self.all);
        all.merge(mem::take(&mut self.own));
    }
}

impl Reader for RecordedReader<'_> {
    fn is_timed(&self) -> bool {
        self.reader.is_timed()
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let present = self.own.record([RequestedRow::Account(*address)]);
        let found = self.reader.account(address)?;
        present.fill(found.is_some());
        Ok(found)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        let present = self.own.record([RequestedRow::Slot(*address, *key)]);
        let found = self.reader.slot(address, key)?;
        present.fill(!found.is_zero());
        Ok(found)
    }

    fn accounts(
        &mut self,
        addresses: &[Address],
        sink: &mut dyn FnMut(usize, Option<AccountState>),
    ) -> Result<(), StoreError> {
        let present = self.own.record(addresses.iter().copied().map(RequestedRow::Account));
        self.reader.accounts(addresses, &mut |index, found| {
            present[index] = found.is_some();
            sink(index, found);
        })
    }

    fn slot_rows(
        &mut self,
        rows: &[SlotRow<'_>],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let requested = rows.iter().map(|row| RequestedRow::Slot(*row.address, row.key));
        let present = self.own.record(requested);
        self.reader.slot_rows(rows, &mut |index, found| {
            present[index] = !found.is_zero();
            sink(index, found);
        })
    }

    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let present = self.own.record(keys.iter().map(|key| RequestedRow::Slot(*address, *key)));
        self.reader.slots(address, keys, &mut |index, found| {
            present[index] = !found.is_zero();
            sink(index, found);
        })
    }

    fn call_sizes(&self) -> CallSizes {
        self.reader.call_sizes()
    }

    fn reads_in_flight(&self, key_count: usize, block_count: u64) -> f64 {
        self.reader.reads_in_flight(key_count, block_count)
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let present = self.own.record([RequestedRow::Code(*hash)]);
        let found = self.reader.code(hash)?;
        present.fill(found.is_some());
        Ok(found)
    }

    fn counters(&self) -> ReadCounters {
        self.reader.counters()
    }
}
