//! Runs the steps of a batch in order on one thread, and builds its list if that is a duty. For
//! `sequential`, for `prewarm`, and for the rebuilt lists of a workload.

mod state;

use std::sync::atomic::Ordering;

use alloy_primitives::Bytes;
use evm::{Parts, Runner, StepError};
use revm::{Database, state::bal::Bal};
use variant::{ListDuty, Phase};
use workload::{Steps, list};

use self::state::BatchState;
use super::{
    error::{EngineError, ViewError},
    executed::{BatchResult, Executed},
    laps::Laps,
    task::Task,
};
use crate::{span::Spans, trace::Recorder};

/// Result of a batch that ran in order.
pub(super) struct BatchRun {
    pub(super) result: BatchResult,
    /// The list, if it was built.
    list: Option<Bal>,
}

impl BatchRun {
    /// Makes the result of a batch whose list was not built.
    pub(super) const fn without_list(result: BatchResult) -> Self {
        Self { result, list: None }
    }

    /// Encodes the list; empty if no list was built.
    pub(super) fn encoded_list(self) -> Bytes {
        self.list.map_or_else(Bytes::new, |list| list::encode(&list.into_alloy_bal()))
    }

    /// Ends a batch inside the clock. If a list was built, encodes and hashes it, and compares the
    /// hash with that of the header.
    pub(super) fn close(
        mut self,
        task: &Task<'_>,
        batch_index: usize,
        spans: &Spans,
    ) -> Result<BatchResult, EngineError> {
        let result = std::mem::take(&mut self.result);
        if self.list.is_some() {
            let start = spans.elapsed();
            task.check_hash(batch_index, &self.encoded_list())?;
            spans.close(Phase::Build, start);
        }
        Ok(result)
    }
}

/// The state before a batch that runs in order.
pub(super) trait BatchDatabase: Database<Error = ViewError> {
    /// Returns the recorder of the thread, if the sample is traced.
    fn trace(&mut self) -> Option<&mut Recorder>;

    /// Notes that the first `step_count` steps of the batch have run.
    fn steps_passed(&mut self, _step_count: u32) {}
}

/// Runs the batch at `batch_index` in order over `database`.
pub(super) fn run_batch<D: BatchDatabase>(
    database: &mut D,
    task: &Task<'_>,
    batch_index: usize,
    list_duty: ListDuty,
    executed: &mut Executed,
) -> Result<BatchRun, EngineError> {
    let batch = &task.workload.batches[batch_index];
    let mut runner = Runner::new(task.workload, BatchState::new(database, list_duty));
    let mut laps = Laps::start(batch_index, executed);
    for (index, step) in Steps::of(batch).iter() {
        if task.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        let block = runner.switch_to(&batch.blocks, step.block);
        let mut parts = Parts::default();
        let output = runner.run(block, step.kind, |state, mut changes| {
            if let Some(written) = task.root.written {
                written.add(&changes);
            }
            if list_duty == ListDuty::Build {
                parts.join(&mut changes);
            }
            state.commit(changes);
        });
        let output = output.map_err(|error| match error {
            StepError::Database(error) => EngineError::of_read(batch_index, index, error),
            other => EngineError::Step { batch: batch_index, index, reason: other.to_string() },
        })?;
        laps.next(index, step, output.result, runner.db().database().trace());
        runner.db().next_step();
        runner.db().database().steps_passed(index + 1);
    }
    let mut result = laps.finish();
    let (net_changes, list) = runner.into_db().finish();
    result.net_changes = net_changes;
    Ok(BatchRun { result, list })
}
