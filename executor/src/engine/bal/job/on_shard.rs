//! A job on a shard (`engine/bal/shard.rs`). The shard's threads run steps and send each result to the
//! coordinator, which checks the result against the list. The shard itself refuses reads of
//! undeclared keys, and keeps only the set of touched keys.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use evm::Runner;

use super::{
    Failure, Job, WorkerResults,
    execution::{StepRun, WorkerState},
};
use crate::{
    engine::{
        bal::{
            prestate::Declared,
            view::{Shared, Touched, View},
        },
        error::EngineError,
        send_queue::Producer,
        tally::Reading,
        task::Task,
    },
    lock::lock,
    shards::{AccessedKeys, ShardStep},
};

impl Job<Declared> {
    /// Returns the state that the shard's threads share.
    pub(in crate::engine::bal) const fn shared(&self) -> &Shared<Declared> {
        &self.shared
    }

    /// Runs steps until no step is left, and pushes each result to `results`. Returns the time at
    /// which the last step ended.
    ///
    /// # Errors
    /// The failure of a step: the step contradicts the list, or a value could not be read.
    pub(in crate::engine::bal) fn execute_on_shard<'a>(
        &'a self,
        reading: Reading<'a>,
        task: &'a Task<'_>,
        results: &Producer<'_, ShardStep>,
        stop: &'a AtomicBool,
    ) -> Result<Instant, Failure> {
        let mut last_end = Instant::now();
        let view = View::new(&self.shared, task.workload, stop, reading);
        let mut runner = Runner::new(task.workload, view);
        let mut state = WorkerState::default();
        let mut sent_touched_slot_count = 0;
        while !stop.load(Ordering::Relaxed)
            && let Some((position, index)) = self.take_step()
        {
            let ran = self.run_evm(&mut runner, task, index, &mut state);
            let ran = ran.map_err(|error| Failure { position, error })?;
            let StepRun { output, latency, end, .. } = ran;
            last_end = end;
            let touched_slot_count = runner.db().touched_slot_count();
            let new_slot_count = touched_slot_count
                - std::mem::replace(&mut sent_touched_slot_count, touched_slot_count);
            let writes = std::mem::take(&mut state.writes);
            let result = output.result;
            results.push(ShardStep { index, result, writes, latency, new_slot_count });
        }
        let touched = runner.into_db().into_touched();
        lock(&self.worker_results).push(WorkerResults { touched, ..WorkerResults::default() });
        Ok(last_end)
    }

    /// Returns the keys that the shard's steps touched.
    ///
    /// # Errors
    /// The failure of a step.
    pub(in crate::engine::bal) fn accessed_keys(&self) -> Result<AccessedKeys, EngineError> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let mut touched = Touched::new(&self.shared.list);
        lock(&self.worker_results).iter().for_each(|results| touched.union(&results.touched));
        let Touched { accounts, slots } = touched;
        Ok(AccessedKeys { accounts: accounts.into_words(), slots: slots.into_words() })
    }
}
