//! The store as revm's database, for engines that execute on the leading thread alone (`alone.rs`).
//! It has no cache. Each read is counted, and timed if the store's reads are timed.

use alloy_primitives::{Address, B256, U256};
use revm::{
    Database,
    state::{AccountInfo, Bytecode},
};
use workload::Workload;

use super::{error::ViewError, executed::Executed, row, tally::ReadTally, task::Task};
use crate::{
    error::StoreError,
    store::{Reader, Sample},
    trace::{KeyKind, Recorder, Track},
};

/// The store as revm's database, with the counts and times of the reads.
#[derive(Debug)]
pub(super) struct StoreDatabase<'a> {
    workload: &'a Workload,
    reader: Box<dyn Reader + 'a>,
    tally: ReadTally,
}

impl<'a> StoreDatabase<'a> {
    /// Opens the database of the calling thread.
    pub(super) fn open(sample: &'a dyn Sample, workload: &'a Workload) -> Result<Self, StoreError> {
        let reader = sample.reader()?;
        let tally = ReadTally::new(reader.as_ref(), None);
        Ok(Self { workload, reader, tally })
    }

    /// Opens the database like [`Self::open`], with a recorder if the sample is traced.
    pub(super) fn recording(sample: &'a dyn Sample, task: &Task<'a>) -> Result<Self, StoreError> {
        let mut database = Self::open(sample, task.workload)?;
        database.tally.trace = task.trace.map(|trace| trace.recorder(1));
        Ok(database)
    }

    /// Returns the recorder, if the sample is traced.
    pub(super) fn recorder(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }

    /// Adds the counts and times of the reads to `executed`, and the events to the trace.
    pub(super) fn close(mut self, task: &Task<'_>, executed: &mut Executed) {
        executed.counters = self.reader.counters();
        if let Some(trace) = task.trace {
            trace.add(Track::Main, self.tally.trace.take());
        }
        executed.on_demand = self.tally;
    }
}

impl Database for StoreDatabase<'_> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        let reader = &mut self.reader;
        let row = self.tally.read(KeyKind::Account, || reader.account(&address))?;
        Ok(row.map(row::info))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, ViewError> {
        let reader = &mut self.reader;
        let code = self.tally.read(KeyKind::Code, || reader.code(&code_hash))?;
        row::bytecode(code_hash, code)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let reader = &mut self.reader;
        Ok(self.tally.read(KeyKind::Slot, || reader.slot(&address, &key))?)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}
