//! A worker's part of a batch: it carries out the board's tasks until none is left.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use evm::{Fees, Runner, StepError, StepOutput, TxResult};
use workload::{BlockAccessIndex, Steps};

use super::{
    publish,
    scheduler::MOST_UNCOMMITTED,
    task::{Finality, Report, Task, Until},
    view::{Ground, Log, ReadError, StepView},
};
use crate::{
    engine::{
        error::{EngineError, ViewError},
        tally::Reading,
    },
    lock::lock,
    shards::versions::OptimisticStep,
    trace::What,
};

/// A log that was longer than this gives its memory back.
const LONG_LOG: usize = 1 << 12;

/// A run that came to its end.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) result: Option<TxResult>,
    pub(super) latency: Duration,
}

/// The last run of each step that came to its end. The step's next run replaces it, which frees its
/// logs and its return data.
#[derive(Debug)]
pub(super) struct LastRuns(Vec<Mutex<Option<Run>>>);

impl LastRuns {
    pub(super) fn new(step_count: BlockAccessIndex) -> Self {
        Self((0..step_count).map(|_| Mutex::default()).collect())
    }

    fn replace(&self, index: BlockAccessIndex, run: Run) {
        // The replaced run is freed once the lock is open again.
        let _replaced = lock(&self.0[index as usize]).replace(run);
    }

    /// The runs in the order of their steps, once all workers are gone.
    pub(super) fn into_runs(self) -> impl Iterator<Item = Run> {
        let run = |last: Mutex<_>| last.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.0.into_iter().filter_map(run)
    }
}

/// Logs of the last runs of all steps that are not committed.
#[derive(Debug)]
pub(super) struct Logs(Vec<Mutex<Log>>);

impl Logs {
    pub(super) fn new(step_count: BlockAccessIndex) -> Self {
        Self((0..step_count.min(MOST_UNCOMMITTED)).map(|_| Mutex::default()).collect())
    }

    /// A log for each step: on a shard steps run far ahead of the commit.
    pub(super) fn of_all(step_count: BlockAccessIndex) -> Self {
        Self((0..step_count).map(|_| Mutex::default()).collect())
    }

    fn of(&self, index: BlockAccessIndex) -> MutexGuard<'_, Log> {
        let log = &self.0[index as usize % self.0.len()];
        log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place where results of runs go.
#[derive(Clone, Copy)]
pub(super) enum Results<'a> {
    /// Here, until all is done.
    Kept(&'a LastRuns),
    /// To the coordinator of this shard, with the reads of the run.
    Sent(&'a (dyn Fn(OptimisticStep) + Sync)),
}

/// The input of a worker.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) ground: Ground<'a>,
    pub(super) steps: &'a Steps,
    pub(super) logs: &'a Logs,
    pub(super) results: Results<'a>,
    /// Place of the batch.
    pub(super) batch_index: usize,
}

/// Works until nothing is left, or all is given up.
///
/// # Errors
/// The error that ends the execution, with its step.
pub(super) fn work<'a>(
    work: &'a Work<'_>,
    reading: Reading<'a>,
) -> Result<(), (BlockAccessIndex, EngineError)> {
    let view = StepView::new(work.ground, reading);
    let runner = Runner::new(work.ground.workload, view).with_fees(Fees::Apart);
    let mut worker = Worker { work, runner, entered: None };
    let mut report = None;
    while let Some(task) = work.ground.board.turn(report.take()) {
        report = match task {
            Task::Execute { index, incarnation, finality } => {
                Some(worker.execute(index, incarnation, finality)?)
            }
            Task::Validate { index } => Some(worker.validate(index)),
            Task::Idle | Task::Done => None,
        };
    }
    Ok(())
}

/// The output of a run, and its time.
struct Output {
    output: StepOutput,
    latency: Duration,
}

struct Worker<'w, 'a> {
    work: &'w Work<'a>,
    runner: Runner<StepView<'a>>,
    entered: Option<usize>,
}

impl Worker<'_, '_> {
    fn execute(
        &mut self,
        index: BlockAccessIndex,
        incarnation: u32,
        finality: Finality,
    ) -> Result<Report, (BlockAccessIndex, EngineError)> {
        let step = self.work.steps.at(index);
        let ground = &self.work.ground;
        let block = &ground.workload.batches[self.work.batch_index].blocks[step.block];
        if self.entered.replace(step.block) != Some(step.block) {
            self.runner.enter(block);
        }
        self.runner.db().begin(index, finality);
        let start = Instant::now();
        let ran = self.runner.run(block, step.kind, |view, state| view.take_in(&state));
        let end = Instant::now();
        let latency = end - start;
        let batch_index = self.work.batch_index;
        if let Some(trace) = self.runner.db().trace() {
            let gas = ran.as_ref().ok().and_then(StepOutput::receipt_gas);
            trace.seldom(What::Step { batch: batch_index, index, step, gas }, start, end);
        }
        match ran {
            Ok(output) => {
                ground.deferred_fees.set(index, output.fee_apart);
                let output = Output { output, latency };
                Ok(self.end(index, incarnation, finality, output))
            }
            Err(StepError::Database(ReadError::GivenUp(until))) => {
                Ok(Report::GivenUp { index, until })
            }
            Err(StepError::Database(ReadError::View(
                error @ (ViewError::Store(_) | ViewError::Cancelled),
            ))) => Err((index, EngineError::of_read(batch_index, index, error))),
            // On values that lower steps may still change, no step can be judged.
            Err(_) if finality == Finality::Speculative => {
                Ok(Report::GivenUp { index, until: Until::Lowest })
            }
            Err(error) => {
                let reason = error.to_string();
                Err((index, EngineError::Step { batch: batch_index, index, reason }))
            }
        }
    }

    /// Ends a run: its writes can be read, and its result goes where results go.
    fn end(
        &mut self,
        index: BlockAccessIndex,
        incarnation: u32,
        finality: Finality,
        output: Output,
    ) -> Report {
        let Output { output, latency } = output;
        match self.work.results {
            Results::Kept(last_runs) => {
                last_runs.replace(index, Run { result: output.result, latency });
                self.finish(index, incarnation)
            }
            Results::Sent(send) => {
                let view = self.runner.db();
                let step = OptimisticStep {
                    index,
                    incarnation,
                    is_final: finality == Finality::Final,
                    result: output.result,
                    fee: output.fee_apart.saturating_to(),
                    latency,
                    reads: publish::reads(view.ground.memory, &view.log),
                    writes: view.writes(),
                };
                let report = self.finish(index, incarnation);
                // Not before the writes are published: word of its commit must find them.
                send(step);
                report
            }
        }
    }

    /// Publishes the step's writes and keeps its log.
    fn finish(&mut self, index: BlockAccessIndex, incarnation: u32) -> Report {
        let mut kept = self.work.logs.of(index);
        if incarnation == 1 {
            // It is of a step that is long committed.
            kept.clear();
        }
        let view = self.runner.db();
        let readers_to = view.publish(incarnation, &kept);
        let logged = u32::try_from(view.log.len()).unwrap_or(u32::MAX);
        mem::swap(&mut *kept, &mut view.log);
        if view.log.len() > LONG_LOG {
            view.log = Log::default();
        }
        Report::Finished { index, readers_to, logged }
    }

    fn validate(&self, index: BlockAccessIndex) -> Report {
        let memory = self.work.ground.memory;
        let log = self.work.logs.of(index);
        if publish::is_valid(memory, index, &log) {
            return Report::Valid { index };
        }
        publish::mark_estimates(memory, index, &log);
        Report::Invalid { index }
    }
}
