//! In order on one thread; reads as the EVM asks.

use alloy_primitives::Bytes;
use variant::Phase;

use super::{
    clock::{Engine, Execution, Turn},
    database::StoreDatabase,
    error::EngineError,
    executed::{BatchResult, Executed},
    in_order::{self, Below, Purpose},
    task::Task,
};
use crate::{
    error::StoreError,
    pool::WorkerPool,
    store::{Reader, Sample},
    trace::Recorder,
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
        Ok(StoreDatabase::recording(self.0.sample, self.0.task)?)
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

    fn leave(&self, database: Self::Lead, executed: &mut Executed) {
        database.close(self.0.task, executed);
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

impl<R: Reader> Below for StoreDatabase<'_, R> {
    fn trace(&mut self) -> Option<&mut Recorder> {
        self.recorder()
    }
}
