//! Runs the steps of a batch in order on one thread, over stock revm's own caching state.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use alloy_primitives::Bytes;
use evm::{Parts, Runner, StepError};
use revm::{
    Database, DatabaseCommit,
    database::{State, states::bundle_state::BundleRetention},
    database_interface::bal::EvmDatabaseError,
};
use workload::{Steps, list};

use super::{
    error::{EngineError, ViewError},
    executed::{BatchResult, Executed},
    task::Task,
};
use crate::trace::{Recorder, What};

/// Purpose of a run in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Its time.
    Measure,
    /// The list that it makes.
    RebuildList,
}

/// A batch that ran.
pub(super) struct Ran {
    pub(super) result: BatchResult,
    /// The list's encoding; empty where it was not rebuilt.
    pub(super) list: Bytes,
}

/// A database that may record the work of its thread.
pub(super) trait Traced {
    /// The recorder, if the sample is traced.
    fn trace(&mut self) -> Option<&mut Recorder>;
}

/// Runs the batch at `place` in order over `database`.
pub(super) fn run_batch<D: Database<Error = ViewError> + Traced>(
    database: &mut D,
    task: &Task<'_>,
    place: usize,
    purpose: Purpose,
    executed: &mut Executed,
) -> Result<Ran, EngineError> {
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
        if task.cancel.load(Ordering::Relaxed) {
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
    Ok(Ran { result, list })
}
