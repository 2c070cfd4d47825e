//! In order on one thread; reads as the EVM asks.

use alloy_primitives::Bytes;

use super::{
    alone::Loop,
    database::StoreDatabase,
    error::EngineError,
    executed::Executed,
    in_order::{self, Below, Purpose, Ran},
    task::Task,
};
use crate::{store::Sample, trace::Recorder};

/// The loop.
pub(super) struct Sequential;

impl Loop for Sequential {
    const NAME: &'static str = "sequential";

    fn run(
        database: &mut StoreDatabase<'_>,
        task: &Task<'_>,
        batch_index: usize,
        executed: &mut Executed,
    ) -> Result<Ran, EngineError> {
        in_order::run_batch(database, task, batch_index, Purpose::of(&task.variant), executed)
    }
}

/// Rebuilds the list of each batch by executing in order (EIP-7928), outside any clock: how an
/// engine that takes no list checks one.
///
/// # Errors
/// [`EngineError`].
pub(crate) fn rebuild_lists(
    sample: &dyn Sample,
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

impl Below for StoreDatabase<'_> {
    fn trace(&mut self) -> Option<&mut Recorder> {
        self.recorder()
    }
}
