//! Executes steps of a batch on threads of this process. Each step is taken by one thread, run on
//! the EVM and checked against the list.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use evm::{Runner, StepError, StepOutput, StepWrites};
use variant::Phase;
use workload::{Block, BlockAccessIndex, Step, StepKind};

use super::{Failure, Job, StepResult, WorkerResults};
use crate::{
    engine::{
        bal::{
            check,
            feasible::{EndedTx, UnreportedWork},
            join::Written,
            prefetch::Lane,
            prestate::{PreState, Reads},
            view::View,
        },
        error::{EngineError, ListFault},
        tally::{Reading, WorkerCounts},
        task::Task,
    },
    lock::lock,
    store::Reader,
    trace::{EventKind, close_part},
};

/// State of a worker from step to step.
#[derive(Debug, Default)]
pub(super) struct WorkerState {
    pub(super) unreported: UnreportedWork,
    /// Writes of the current step. They are kept here so that each step reuses the memory.
    pub(super) writes: StepWrites,
    /// Writes of all steps so far.
    pub(super) written: Written,
}

/// A step that the EVM has run.
pub(super) struct StepRun<'w> {
    pub(super) step: Step,
    pub(super) block: &'w Block,
    pub(super) output: StepOutput,
    pub(super) latency: Duration,
    /// Time at which the step ended.
    pub(super) end: Instant,
}

impl<P: PreState> Job<P> {
    /// Runs the part of an executing thread: takes and runs steps until no step is left. Without
    /// threads that only read, also reads ahead before the first step, or verifies the list's
    /// values after the last step.
    ///
    /// # Errors
    /// The failure that ends the batch.
    pub(in crate::engine::bal) fn execute(
        &self,
        reader: &mut dyn Reader,
        counts: &mut WorkerCounts,
        task: &Task<'_>,
        worker: usize,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let lane = Lane { number: worker, count: task.variant.thread_count };
        if task.variant.executors_prefetch() {
            self.prefetch(reader, counts, lane, stop)?;
        }
        let wait_start = counts.on_demand.trace.is_some().then(Instant::now);
        self.barrier.wait();
        if let (Some(trace), Some(start)) = (&mut counts.on_demand.trace, wait_start) {
            trace.record_rare(EventKind::Gate, start, Instant::now());
        }
        let start = self.spans.elapsed();
        let view = View::new(
            &self.shared,
            task.workload,
            stop,
            Reading { reader, tally: &mut counts.on_demand },
        );
        let mut runner = Runner::new(task.workload, view);
        let mut steps = Vec::new();
        let mut state = WorkerState::default();
        while !stop.load(Ordering::Relaxed)
            && let Some((position, index)) = self.take_step()
        {
            match self.run_step(&mut runner, task, index, &mut state) {
                Ok(step) => steps.push(step),
                Err(error) => self.step_failed(Failure { position, error })?,
            }
        }
        let WorkerState { mut written, .. } = state;
        written.keep_last();
        self.executed_ns.fetch_max(self.now_ns(), Ordering::Relaxed);
        self.ahead.executor_ended();
        close_part(&self.spans, Phase::Execute, start, runner.db().trace());
        let touched = runner.into_db().into_touched();
        lock(&self.worker_results).push(WorkerResults { steps, written, touched });
        // Without threads that only read, executing threads verify the list's values.
        match task.variant.io_thread_count {
            0 => self.verify(reader, counts, lane, stop),
            _ => Ok(()),
        }
    }

    /// Takes the next step. Returns its position in the workers' order and its index; `None` once
    /// all steps are taken.
    pub(super) fn take_step(&self) -> Option<(usize, BlockAccessIndex)> {
        let position = self.next_step.fetch_add(1, Ordering::Relaxed);
        let index = || self.order.as_ref().map_or(position, |order| order[position as usize]);
        (position < self.run_count).then(|| (position as usize, index()))
    }

    /// Runs a step on the EVM. Leaves the step's writes in `state`, unchecked.
    pub(super) fn run_evm<'w>(
        &self,
        runner: &mut Runner<View<'_, P>>,
        task: &Task<'w>,
        index: BlockAccessIndex,
        state: &mut WorkerState,
    ) -> Result<StepRun<'w>, EngineError> {
        let step = self.steps.at(index);
        let block = runner.switch_to(&task.workload.batches[self.batch_index].blocks, step.block);
        let writes = &mut state.writes;
        runner.db().index = index;
        writes.clear();
        let mut marked = Ok(());
        let start = Instant::now();
        let output = runner.run(block, step.kind, |view, evm_state| {
            if marked.is_ok() {
                marked = view.mark_unread(&evm_state);
            }
            writes.add(&evm_state);
        });
        let end = Instant::now();
        let latency = end - start;
        if let Some(trace) = runner.db().trace() {
            let gas = output.as_ref().ok().and_then(StepOutput::receipt_gas);
            let batch = self.batch_index;
            trace.record_rare(EventKind::Step { batch, index, step, gas }, start, end);
        }
        let output = output.and_then(|output| marked.map(|()| output).map_err(StepError::Database));
        let output = output.map_err(|error| match error {
            StepError::Database(read) if read.is_undeclared() => {
                self.rejected(ListFault::Undeclared { index, read })
            }
            StepError::Database(read) => EngineError::of_read(self.batch_index, index, read),
            other => self.rejected(ListFault::InvalidStep { index, reason: other.to_string() }),
        })?;
        Ok(StepRun { step, block, output, latency, end })
    }

    /// Runs a step, and checks that it makes exactly the changes of the list.
    pub(super) fn run_step(
        &self,
        runner: &mut Runner<View<'_, P>>,
        task: &Task<'_>,
        index: BlockAccessIndex,
        state: &mut WorkerState,
    ) -> Result<StepResult, EngineError> {
        let StepRun { step, block, output, latency, .. } =
            self.run_evm(runner, task, index, state)?;
        let WorkerState { unreported, writes, written, .. } = state;
        check::check_writes(&self.shared.list, index, writes, written)
            .map_err(|fault| self.rejected(fault))?;
        if let Some(keys) = task.root.written {
            keys.add_writes(writes);
        }
        if let (Reads::Declared, StepKind::Transaction(tx_index), Some(result)) =
            (P::READS, step.kind, &output.result)
        {
            let (tx, fork) = (&block.transactions[tx_index], task.workload.rules_of(block).fork);
            let ended = EndedTx { tx, gas: &result.gas, fork };
            let touched_slot_count = runner.db().touched_slot_count();
            self.feasible
                .ended(ended, touched_slot_count, unreported)
                .map_err(|fault| self.rejected(fault))?;
        }
        Ok(StepResult { index, result: output.result, latency })
    }

    /// Handles a failed step. If a wrong value of a full list may be the cause, no further step
    /// begins. The failure is kept until all values are verified. An infeasible list ends the batch
    /// at once, because verification would make the reads that its rejection saves (EIP-7928).
    ///
    /// # Errors
    /// The failure, if it ends the batch at once.
    fn step_failed(&self, failure: Failure) -> Result<(), Failure> {
        let may_be_an_effect = match &failure.error {
            EngineError::Step { .. } => true,
            EngineError::List { fault, .. } => !matches!(fault, ListFault::Infeasible { .. }),
            EngineError::Block { .. }
            | EngineError::Root { .. }
            | EngineError::Shard { .. }
            | EngineError::Store(_)
            | EngineError::Cancelled => false,
        };
        if !may_be_an_effect || self.shared.pre_state.listed().is_none() {
            return Err(failure);
        }
        self.next_step.store(self.run_count, Ordering::Relaxed);
        lock(&self.failures).push(failure);
        Ok(())
    }
}
