//! The frame of engines that execute on the leading thread alone, over a database that reads the
//! store on demand: `sequential` (here) and `bare-revm`. Also rebuilds the lists of a workload.

use alloy_primitives::Bytes;
use variant::{ListDuty, Phase};

use super::{
    clock::{CurrentBatch, Engine, Execution},
    database::StoreDatabase,
    error::EngineError,
    executed::{BatchResult, Executed},
    in_order::{self, BatchDatabase, BatchRun},
    task::Task,
};
use crate::{store::Sample, trace::Recorder};

/// An engine that executes each batch by a call of `run` with the batch's index.
pub(super) struct Alone<'a, F> {
    pub(super) execution: Execution<'a>,
    pub(super) run: F,
}

impl<'a, F> Engine for Alone<'a, F>
where
    F: Fn(&mut StoreDatabase<'a>, &Task<'a>, usize, &mut Executed) -> Result<BatchRun, EngineError>
        + Sync,
{
    type Job = ();
    type Lead = StoreDatabase<'a>;

    const NAME: &'static str = "alone";

    fn prepare_lead(&self) -> Result<Self::Lead, EngineError> {
        Ok(StoreDatabase::recording(self.execution.sample, self.execution.task)?)
    }

    fn run_batch(
        &self,
        database: &mut Self::Lead,
        current: &CurrentBatch<'_, ()>,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let start = current.spans.elapsed();
        let ran = (self.run)(database, self.execution.task, current.index, executed)?;
        current.spans.close(Phase::Execute, start);
        ran.close(self.execution.task, current.index, current.spans)
    }

    fn add_lead_counts(&self, database: Self::Lead, executed: &mut Executed) {
        database.close(self.execution.task, executed);
    }
}

/// Runs the steps of a batch in order.
pub(super) fn sequential(
    database: &mut StoreDatabase<'_>,
    task: &Task<'_>,
    batch_index: usize,
    executed: &mut Executed,
) -> Result<BatchRun, EngineError> {
    in_order::run_batch(database, task, batch_index, task.variant.list_duty, executed)
}

/// Rebuilds the list of each batch by executing in order (EIP-7928), outside any clock. A
/// workload's lists are compared with the rebuilt ones, because an engine that takes no list checks
/// none.
///
/// # Errors
/// [`EngineError`].
pub(crate) fn rebuild_lists(
    sample: &dyn Sample,
    task: &Task<'_>,
) -> Result<Vec<Bytes>, EngineError> {
    let mut database = StoreDatabase::open(sample, task.workload)?;
    // The times of this run are not reported.
    let mut unmeasured = Executed::default();
    let lists = (0..task.workload.batches.len()).map(|index| {
        let duty = ListDuty::Build;
        let ran = in_order::run_batch(&mut database, task, index, duty, &mut unmeasured)?;
        sample.commit(&ran.result.net_changes)?;
        Ok(ran.encoded_list())
    });
    lists.collect()
}

impl BatchDatabase for StoreDatabase<'_> {
    fn trace(&mut self) -> Option<&mut Recorder> {
        self.recorder()
    }
}
