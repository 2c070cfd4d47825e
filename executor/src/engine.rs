//! Engines: ways to execute the batches of a workload. Each engine implements `clock::Engine`, and
//! `clock::run` runs it. No engine knows the expected outcome.
//!
//! A new engine needs a file here, an arm in [`execute`], and a value and a preset in the crate
//! `variant`. The file implements the trait. If one thread runs the steps in order, the file gives
//! a function to `Alone` instead.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use evm::TxResult;
use variant::{Engine, ListForm, RootTime};

use self::{
    alone::Alone,
    bal::{Bal, Declared, Listed, Undeclared},
    block_stm::BlockStm,
    clock::Execution,
    on_shards::OnShards,
    prewarm::Prewarm,
};
use crate::{
    root::{RootInputs, WrittenKeys},
    store::Sample,
};

mod alone;
pub(crate) mod bal;
mod bare_revm;
mod block_stm;
mod clock;
mod database;
mod error;
mod executed;
mod gates;
mod in_order;
mod laps;
mod message;
mod on_shards;
mod prewarm;
mod row;
mod send_queue;
mod tally;
mod task;
mod writes;

pub(crate) use alone::rebuild_lists;
pub use bal::{run_shard, shard_of_steps};
pub use block_stm::run_optimistic_shard;
pub use error::{EngineError, ListFault, Spent, ViewError};
pub use executed::{BatchResult, CrossShard, Executed, SpeculativePassCounts};
pub use tally::ReadTally;
pub(crate) use tally::Reading;
pub use task::Task;
pub use writes::{BackgroundWrites, Space, Writes};

/// Executes a workload once.
///
/// # Errors
/// [`EngineError`].
///
/// # Panics
/// Panics if the schedule orders steps by known costs, and the task does not have a cost for each
/// step.
pub fn execute(sample: &dyn Sample, task: &Task<'_>) -> Result<Executed, EngineError> {
    let stop = AtomicBool::new(false);
    let written = WrittenKeys::default();
    let is_pipelined = task.variant.root.time == RootTime::Pipelined;
    let root = RootInputs { written: is_pipelined.then_some(&written), ..task.root };
    let task = &Task { root, ..*task };
    let execution = Execution { sample, task, stop: &stop };
    let mut executed = match task.variant.engine {
        Engine::Sequential => clock::run(&Alone { execution, run: alone::sequential }, execution)?,
        Engine::BareRevm => clock::run(&Alone { execution, run: bare_revm::run }, execution)?,
        Engine::BlockStm if !task.variant.sharding.is_none() => {
            clock::run(&block_stm::Sharded(OnShards::new(execution)?), execution)?
        }
        Engine::BlockStm => clock::run(&BlockStm(execution), execution)?,
        Engine::Prewarm(warming) => clock::run(&Prewarm::new(execution, warming), execution)?,
        Engine::Bal if !task.variant.sharding.is_none() => {
            clock::run(&bal::Sharded(OnShards::new(execution)?), execution)?
        }
        Engine::Bal => match task.variant.list {
            Some(ListForm::ParallelIo) => {
                clock::run(&Bal::<Undeclared>::new(execution), execution)?
            }
            Some(ListForm::Full) => clock::run(&Bal::<Listed>::new(execution), execution)?,
            Some(ListForm::BatchedIo) | None => {
                clock::run(&Bal::<Declared>::new(execution), execution)?
            }
        },
    };
    if task.cancel.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    digest(&mut executed);
    let committed =
        executed.batches.iter().map(|batch| batch.committed_bytes(task.workload.layout));
    executed.writes.committed_bytes = committed.sum();
    Ok(executed)
}

/// Digests the results for the comparison with the reference. No client makes these digests, so
/// they are made outside the clock. Their time is `digesting`.
fn digest(executed: &mut Executed) {
    let start = Instant::now();
    for batch in &mut executed.batches {
        let results = std::mem::take(&mut batch.results);
        batch.outcomes = results.iter().map(TxResult::outcome).collect();
        executed.digests.push(batch.net_changes.digest());
    }
    executed.digesting = start.elapsed();
}
