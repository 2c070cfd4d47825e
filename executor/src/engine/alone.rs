//! Engines of one thread: a batch runs on the leading thread, over a database that reads the store.

use std::marker::PhantomData;

use variant::Phase;

use super::{
    clock::{Engine, Execution, Turn},
    database::StoreDatabase,
    error::EngineError,
    executed::{BatchResult, Executed},
    in_order::Ran,
    task::Task,
};
use crate::{error::StoreError, pool::WorkerPool};

/// A way to run a batch in order.
pub(super) trait Loop {
    /// Its name.
    const NAME: &'static str;

    /// Runs the batch at `batch_index`.
    fn run(
        database: &mut StoreDatabase<'_>,
        task: &Task<'_>,
        batch_index: usize,
        executed: &mut Executed,
    ) -> Result<Ran, EngineError>;
}

/// The engine of a loop.
pub(super) struct Alone<'a, L> {
    at: Execution<'a>,
    how: PhantomData<L>,
}

impl<'a, L> Alone<'a, L> {
    pub(super) const fn new(at: Execution<'a>) -> Self {
        Self { at, how: PhantomData }
    }
}

impl<'a, L: Loop + Sync> Engine for Alone<'a, L> {
    type Job = ();
    type Lead = StoreDatabase<'a>;
    type WorkerCounts = ();

    const NAME: &'static str = L::NAME;

    fn work(&self, _worker: usize, _pool: &WorkerPool<'_, ()>) -> Result<(), StoreError> {
        Ok(())
    }

    fn lead(&self) -> Result<Self::Lead, EngineError> {
        Ok(StoreDatabase::recording(self.at.sample, self.at.task)?)
    }

    fn run_batch(
        &self,
        database: &mut Self::Lead,
        turn: &Turn<'_, ()>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let start = turn.spans.elapsed();
        let ran = L::run(database, self.at.task, turn.index, executed)?;
        turn.spans.close(Phase::Execute, start);
        ran.close(self.at.task, turn.index, turn.spans)
    }

    fn leave(&self, database: Self::Lead, executed: &mut Executed) {
        database.close(self.at.task, executed);
    }

    fn gather(&self, _workers: Vec<()>, _executed: &mut Executed) {}
}
