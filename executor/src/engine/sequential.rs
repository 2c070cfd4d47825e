//! In order on one thread, over stock revm's own caching state; reads as the EVM asks.

use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::{Parts, Runner, StepError};
use revm::{
    Database, DatabaseCommit,
    database::{State, states::bundle_state::BundleRetention},
    database_interface::bal::EvmDatabaseError,
    state::{AccountInfo, Bytecode},
};
use workload::{Steps, Workload, list};

use super::{BatchResult, EngineError, Executed, Task, commit};
use crate::{
    process,
    span::Spans,
    store::{Reader, Sample},
    trace::{Key, Recorder, Track, What},
    view::{self, ReadTally, ViewError},
};
use variant::Phase;

/// The store as revm's database, each read timed.
#[derive(Debug)]
struct StoreDatabase<'a, R> {
    workload: &'a Workload,
    reader: R,
    tally: ReadTally,
}

impl<R: Reader> Database for StoreDatabase<'_, R> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        let reader = &mut self.reader;
        let row = self.tally.read::<R, _>(Key::Account, || reader.account(&address))?;
        Ok(row.map(view::info))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, ViewError> {
        let reader = &mut self.reader;
        let code = self.tally.read::<R, _>(Key::Code, || reader.code(&code_hash))?;
        view::bytecode(code_hash, code)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let reader = &mut self.reader;
        Ok(self.tally.read::<R, _>(Key::Slot, || reader.slot(&address, &key))?)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}

/// What a run in order is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Its time.
    Measure,
    /// The list that it makes.
    RebuildList,
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
    let mut executed = Executed::default();
    let mut database = StoreDatabase {
        workload: task.workload,
        reader: sample.reader()?,
        tally: ReadTally::default(),
    };
    let mut lists = Vec::with_capacity(task.workload.batches.len());
    for place in 0..task.workload.batches.len() {
        let ran = run_batch(database, task, place, Purpose::RebuildList, &mut executed)?;
        database = ran.database;
        sample.commit(&ran.result.net_changes)?;
        lists.push(ran.list);
    }
    Ok(lists)
}

/// Executes all batches in order.
///
/// # Errors
/// [`EngineError`].
pub(super) fn execute<S: Sample>(sample: &S, task: &Task<'_>) -> Result<Executed, EngineError> {
    let mut executed = Executed::default();
    let mut database = StoreDatabase {
        workload: task.workload,
        reader: sample.reader()?,
        tally: ReadTally::default(),
    };
    database.tally.trace = task.trace.map(|trace| trace.recorder(1));
    let before = process::Snapshot::now();
    let spans = Spans::start();
    for place in 0..task.workload.batches.len() {
        let start = spans.elapsed();
        let ran = run_batch(database, task, place, Purpose::Measure, &mut executed)?;
        database = ran.database;
        spans.close(Phase::Execute, start);
        commit(sample, &spans, &ran.result.net_changes)?;
        executed.batches.push(ran.result);
    }
    executed.wall = spans.elapsed();
    executed.process = process::Snapshot::now().since(&before);
    executed.counters = database.reader.counters();
    if let Some(trace) = task.trace {
        trace.give(Track::Main, database.tally.trace.take());
        trace.clock(&spans, &[Phase::Execute, Phase::Commit]);
    }
    executed.on_demand = database.tally;
    executed.spans = spans.spans();
    Ok(executed)
}

/// A batch that ran.
pub(super) struct Ran<D> {
    pub(super) result: BatchResult,
    /// The list's encoding; empty where it was not rebuilt.
    list: Bytes,
    pub(super) database: D,
}

/// A database that knows where its thread records what it does.
pub(super) trait Traced {
    /// The recorder, if the sample is traced.
    fn trace(&mut self) -> Option<&mut Recorder>;
}

impl<R> Traced for StoreDatabase<'_, R> {
    fn trace(&mut self) -> Option<&mut Recorder> {
        self.tally.trace.as_deref_mut()
    }
}

/// Runs the batch at `place` in order over `database`.
pub(super) fn run_batch<D: Database<Error = ViewError> + Traced>(
    database: D,
    task: &Task<'_>,
    place: usize,
    purpose: Purpose,
    executed: &mut Executed,
) -> Result<Ran<D>, EngineError> {
    let batch = &task.workload.batches[place];
    let state = State::builder()
        .with_database(database)
        .with_bundle_update()
        .with_bal_builder_if(purpose == Purpose::RebuildList)
        .build();
    let mut runner = Runner::new(task.workload, state);
    let mut result = BatchResult::default();
    let mut longest = Duration::ZERO;
    let mut entered = None;
    for (index, step) in Steps::of(batch).iter() {
        if task.cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        let block = &batch.blocks[step.block];
        if entered.replace(step.block) != Some(step.block) {
            runner.enter(block);
        }
        let start = Instant::now();
        let mut parts = Parts::default();
        let output = runner.run(block, step.kind, |state, mut changes| {
            if purpose == Purpose::RebuildList {
                parts.join(&mut changes);
            }
            state.commit(changes);
        });
        let end = Instant::now();
        let output = output.map_err(|error| match error {
            StepError::Database(EvmDatabaseError::Database(error)) => {
                EngineError::of_read(place, index, error)
            }
            other => EngineError::Step { batch: place, index, reason: other.to_string() },
        })?;
        runner.db().bump_bal_index();
        if let Some(trace) = runner.db().database.trace() {
            let gas = output.outcome.map(|outcome| outcome.gas_used);
            trace.seldom(What::Step { batch: place, index, step, gas }, start, end);
        }
        if let Some(outcome) = output.outcome {
            let latency = end - start;
            executed.tx_latencies.record(latency);
            longest = longest.max(latency);
            result.outcomes.push(outcome);
        }
    }
    executed.longest_txs += longest;
    let mut state = runner.into_db();
    state.merge_transitions(BundleRetention::PlainState);
    result.net_changes = evm::net_changes(&state.take_bundle());
    let built = state.take_built_alloy_bal();
    let list = built.map_or_else(Bytes::new, |built| list::encode(&built));
    Ok(Ran { result, list, database: state.database })
}
