//! Counts of the runs of a batch's steps.

use super::scheduler::Scheduler;
use crate::{engine::executed::Speculation, shards::ShardRuns};

/// The runs of one scheduler's steps.
pub(super) fn of(scheduler: &Scheduler) -> ShardRuns {
    let counts = scheduler.counts();
    let mut runs = ShardRuns {
        executions: counts.executions,
        validations: counts.validations,
        aborts: counts.aborts,
        waits: counts.waits,
        ..ShardRuns::default()
    };
    for incarnation in scheduler.incarnations() {
        let aborts = incarnation.saturating_sub(1);
        runs.aborted_steps += u64::from(aborts > 0);
        runs.most_aborts_of_a_step = runs.most_aborts_of_a_step.max(u64::from(aborts));
    }
    runs
}

/// The runs of a shard as part of an execution's.
pub(super) fn speculation(runs: &ShardRuns) -> Speculation {
    Speculation {
        steps: 0,
        executions: runs.executions,
        validations: runs.validations,
        aborts: runs.aborts,
        waits: runs.waits,
        aborted_steps: runs.aborted_steps,
        most_aborts_of_a_step: runs.most_aborts_of_a_step,
    }
}
