//! The state of a batch that all runs of its steps share, with the logs and results of the runs.
//! The engine (`block_stm.rs`) and a shard (`shard.rs`) make it; `worker.rs` and `view.rs` use it.

use std::{
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use alloy_primitives::U256;
use evm::TxResult;
use workload::{BlockAccessIndex, Steps, Workload};

use super::{
    deferred_fees::BatchFees,
    memory::{CellId, Memory, SeenAccount},
    shared_scheduler::SharedScheduler,
    window::MAX_DISTANCE,
};
use crate::{lock::lock, root::WrittenKeys, shards::versions::OptimisticStep};

/// The state of a batch, shared by all runs of its steps.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) workload: &'a Workload,
    pub(super) batch_index: usize,
    pub(super) steps: &'a Steps,
    pub(super) memory: &'a Memory,
    pub(super) fees: &'a BatchFees,
    pub(super) scheduler: &'a SharedScheduler<'a>,
    pub(super) logs: &'a Logs,
    pub(super) results: Results<'a>,
    /// Takes the keys that runs write, also of runs that are aborted later.
    pub(super) written: Option<&'a WrittenKeys>,
    pub(super) stop: &'a AtomicBool,
}

impl Shared<'_> {
    /// Returns whether this process is a shard. The coordinator sends a shard the values of the
    /// state before the batch and the writes of other shards, and validates all reads.
    pub(super) const fn is_on_shard(&self) -> bool {
        matches!(self.results, Results::Sent(_))
    }
}

/// The destination of a run's result.
#[derive(Clone, Copy)]
pub(super) enum Results<'a> {
    /// Kept in this process until the batch ends.
    Kept(&'a LastRuns),
    /// Sent to the coordinator of this shard, with the reads of the run.
    Sent(&'a (dyn Fn(OptimisticStep) + Sync)),
}

/// A completed run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) result: Option<TxResult>,
    pub(super) latency: Duration,
}

/// The last completed run of each step. The step's next run replaces it, and so frees the
/// transaction's EVM logs and return data.
#[derive(Debug)]
pub(super) struct LastRuns(Vec<Mutex<Option<Run>>>);

impl LastRuns {
    pub(super) fn new(step_count: BlockAccessIndex) -> Self {
        Self((0..step_count).map(|_| Mutex::default()).collect())
    }

    pub(super) fn replace(&self, index: BlockAccessIndex, run: Run) {
        // The replaced run is freed after the lock is released.
        let _replaced = lock(&self.0[index as usize]).replace(run);
    }

    /// Returns the runs in the order of their steps, after all workers have ended.
    pub(super) fn into_runs(self) -> impl Iterator<Item = Run> {
        let runs = self.0.into_iter();
        runs.filter_map(|last| last.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Keys that a run read and wrote, for the validation of the step and for its next run.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Accounts that were read, as lower steps left them; `None` if the run read the value before
    /// the batch.
    pub(super) accounts: Vec<(CellId, Option<SeenAccount>)>,
    /// Slots that were read, in the same form.
    pub(super) slots: Vec<(CellId, Option<U256>)>,
    /// On a shard: beneficiaries' accounts that were read, with the fees of all lower steps. All
    /// lower steps were committed by then.
    pub(super) beneficiaries: Vec<(CellId, SeenAccount)>,
    /// Accounts that were written.
    pub(super) written_accounts: Vec<CellId>,
    /// Slots that were written.
    pub(super) written_slots: Vec<CellId>,
}

impl Log {
    /// Returns the number of entries, without those of `beneficiaries`.
    pub(super) const fn len(&self) -> usize {
        self.accounts.len()
            + self.slots.len()
            + self.written_accounts.len()
            + self.written_slots.len()
    }

    pub(super) fn clear(&mut self) {
        self.accounts.clear();
        self.slots.clear();
        self.beneficiaries.clear();
        self.written_accounts.clear();
        self.written_slots.clear();
    }
}

/// Logs of the last runs of all steps that are not committed. If there are fewer logs than steps, a
/// step uses the log of a committed step again.
#[derive(Debug)]
pub(super) struct Logs(Vec<Mutex<Log>>);

impl Logs {
    /// Makes a log for each step that can be uncommitted at the same time.
    pub(super) fn new(step_count: BlockAccessIndex) -> Self {
        Self::for_each_step(step_count.min(MAX_DISTANCE))
    }

    /// Makes a log for each step, because on a shard steps run far ahead of the commit.
    pub(super) fn for_each_step(step_count: BlockAccessIndex) -> Self {
        Self((0..step_count).map(|_| Mutex::default()).collect())
    }

    pub(super) fn log(&self, index: BlockAccessIndex) -> MutexGuard<'_, Log> {
        lock(&self.0[index as usize % self.0.len()])
    }
}
