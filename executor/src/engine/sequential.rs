//! In order on one thread; reads as the EVM asks.

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{
    Database,
    state::{AccountInfo, Bytecode},
};
use variant::Phase;
use workload::Workload;

use super::{
    clock::{Engine, Execution, Turn},
    error::{EngineError, ViewError},
    executed::{BatchResult, Executed},
    in_order::{self, Below, Purpose},
    row,
    tally::ReadTally,
    task::Task,
};
use crate::{
    error::StoreError,
    pool::WorkerPool,
    store::{Reader, Sample},
    trace::{Key, Recorder, Track},
};

/// The engine.
pub(super) struct Sequential<'a, S>(pub(super) Execution<'a, S>);

impl<'a, S: Sample> Engine for Sequential<'a, S> {
    type Job = ();
    type Lead = StoreDatabase<'a, S::Reader<'a>>;
    type Leavings = ();

    const NAME: &'static str = "sequential";

    fn work(&self, _worker: usize, _pool: &WorkerPool<'_, ()>) -> Result<(), StoreError> {
        Ok(())
    }

    fn lead(&self) -> Result<Self::Lead, EngineError> {
        let mut database = StoreDatabase::open(self.0.sample, self.0.task.workload)?;
        database.tally.trace = self.0.task.trace.map(|trace| trace.recorder(1));
        Ok(database)
    }

    fn run_batch(
        &self,
        database: &mut Self::Lead,
        turn: &Turn<'_, ()>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let start = turn.spans.elapsed();
        let (task, index) = (self.0.task, turn.index);
        let purpose = Purpose::of(&task.variant);
        let ran = in_order::run_batch(database, task, index, purpose, executed)?;
        turn.spans.close(Phase::Execute, start);
        ran.close(task, index, turn.spans)
    }

    fn leave(&self, mut database: Self::Lead, executed: &mut Executed) {
        executed.counters = database.reader.counters();
        if let Some(trace) = self.0.task.trace {
            trace.give(Track::Main, database.tally.trace.take());
        }
        executed.on_demand = database.tally;
    }

    fn gather(&self, _left: Vec<()>, _executed: &mut Executed) {}
}

/// Rebuilds the list of each batch by executing in order (EIP-7928), outside any clock: how an
/// engine that takes no list checks one.
///
/// # Errors
/// [`EngineError`].
pub(crate) fn rebuild_lists<S: Sample>(
    sample: &S,
    task: &Task<'_>,
) -> Result<Vec<Bytes>, EngineError> {
    let mut database = StoreDatabase::open(sample, task.workload)?;
    // Its times are those of a run that nobody measures.
    let mut unmeasured = Executed::default();
    let rebuild = |index| {
        let purpose = Purpose::BuildList;
        let ran = in_order::run_batch(&mut database, task, index, purpose, &mut unmeasured)?;
        sample.commit(&ran.result.net_changes)?;
        Ok(ran.encoded_list())
    };
    (0..task.workload.batches.len()).map(rebuild).collect()
}

/// The store as revm's database, each read timed.
#[derive(Debug)]
pub(super) struct StoreDatabase<'a, R> {
    workload: &'a Workload,
    reader: R,
    tally: ReadTally,
}

impl<'a, R: Reader> StoreDatabase<'a, R> {
    fn open<S: Sample<Reader<'a> = R>>(
        sample: &'a S,
        workload: &'a Workload,
    ) -> Result<Self, StoreError> {
        Ok(Self { workload, reader: sample.reader()?, tally: ReadTally::default() })
    }
}

impl<R: Reader> Below for StoreDatabase<'_, R> {
    fn trace(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }
}

impl<R: Reader> Database for StoreDatabase<'_, R> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        let reader = &mut self.reader;
        let row = self.tally.read::<R, _>(Key::Account, || reader.account(&address))?;
        Ok(row.map(row::info))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, ViewError> {
        let reader = &mut self.reader;
        let code = self.tally.read::<R, _>(Key::Code, || reader.code(&code_hash))?;
        row::bytecode(code_hash, code)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let reader = &mut self.reader;
        Ok(self.tally.read::<R, _>(Key::Slot, || reader.slot(&address, &key))?)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}
