//! A worker's part of a batch, in the engine or on a shard: carries out the scheduler's tasks until
//! no task is left.

use std::{
    mem,
    time::{Duration, Instant},
};

use evm::{Fees, Runner, StepError, StepOutput};
use workload::BlockAccessIndex;

use super::{
    publish,
    shared::{Log, Results, Run, Shared},
    task::{Finality, Report, Task, Until},
    view::{ReadError, StepView},
};
use crate::{
    engine::{
        error::{EngineError, ViewError},
        tally::Reading,
    },
    shards::versions::OptimisticStep,
    trace::EventKind,
};

/// Number of entries of a log above which the log's memory is freed and not reused.
const LONG_LOG: usize = 1 << 12;

/// Carries out tasks until no task is left, or the whole batch is given up.
///
/// # Errors
/// The error that ends the execution, with its step.
pub(super) fn work<'a>(
    shared: Shared<'a>,
    reading: Reading<'a>,
) -> Result<(), (BlockAccessIndex, EngineError)> {
    let view = StepView::new(shared, reading);
    let runner = Runner::new(shared.workload, view).with_fees(Fees::Apart);
    let mut worker = Worker { shared, runner };
    let mut report = None;
    while let Some(task) = shared.scheduler.next_task(report.take()) {
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

struct Worker<'a> {
    shared: Shared<'a>,
    runner: Runner<StepView<'a>>,
}

impl Worker<'_> {
    fn execute(
        &mut self,
        index: BlockAccessIndex,
        incarnation: u32,
        finality: Finality,
    ) -> Result<Report, (BlockAccessIndex, EngineError)> {
        let Shared { workload, batch_index, steps, fees, .. } = self.shared;
        let step = steps.at(index);
        let block = self.runner.switch_to(&workload.batches[batch_index].blocks, step.block);
        self.runner.db().begin(index, finality);
        let start = Instant::now();
        let ran = self.runner.run(block, step.kind, |view, state| view.add_writes(&state));
        let end = Instant::now();
        if let Some(trace) = self.runner.db().trace() {
            let gas = ran.as_ref().ok().and_then(StepOutput::receipt_gas);
            trace.record_rare(EventKind::Step { batch: batch_index, index, step, gas }, start, end);
        }
        match ran {
            Ok(output) => {
                fees.set(index, output.fee_apart);
                Ok(self.finish_run(incarnation, output, end - start))
            }
            Err(StepError::Database(ReadError::GivenUp(until))) => {
                Ok(Report::GivenUp { index, until })
            }
            Err(StepError::Database(ReadError::View(
                error @ (ViewError::Store(_) | ViewError::Cancelled),
            ))) => Err((index, EngineError::of_read(batch_index, index, error))),
            // Lower steps may still change the values that the run read, so the step need not be
            // invalid.
            Err(_) if finality == Finality::Speculative => {
                Ok(Report::GivenUp { index, until: Until::Lowest })
            }
            Err(error) => {
                let reason = error.to_string();
                Err((index, EngineError::Step { batch: batch_index, index, reason }))
            }
        }
    }

    /// Ends the run of the view's step: publishes its writes, and keeps or sends its result.
    fn finish_run(&mut self, incarnation: u32, output: StepOutput, latency: Duration) -> Report {
        let view = self.runner.db();
        match self.shared.results {
            Results::Kept(last_runs) => {
                last_runs.replace(view.index, Run { result: output.result, latency });
                self.publish(incarnation)
            }
            Results::Sent(send) => {
                let step = OptimisticStep {
                    index: view.index,
                    incarnation,
                    is_final: view.finality == Finality::Final,
                    result: output.result,
                    fee: output.fee_apart.saturating_to(),
                    latency,
                    reads: publish::reads(self.shared.memory, &view.log),
                    writes: view.writes(),
                };
                let report = self.publish(incarnation);
                // The result is sent after the writes are published. The coordinator commits the
                // step once it has the result, and the commit must find the writes.
                send(step);
                report
            }
        }
    }

    /// Publishes the step's writes and keeps its log.
    fn publish(&mut self, incarnation: u32) -> Report {
        let view = self.runner.db();
        let index = view.index;
        let mut kept = self.shared.logs.log(index);
        if incarnation == 1 {
            // In the first run, the kept log is that of a committed step, or empty.
            kept.clear();
        }
        let last_reader = view.publish(incarnation, &kept);
        let logged = u32::try_from(view.log.len()).unwrap_or(u32::MAX);
        mem::swap(&mut *kept, &mut view.log);
        if view.log.len() > LONG_LOG {
            view.log = Log::default();
        }
        Report::Finished { index, last_reader, logged }
    }

    fn validate(&self, index: BlockAccessIndex) -> Report {
        let Shared { memory, logs, .. } = self.shared;
        let log = logs.log(index);
        if publish::is_valid(memory, index, &log) {
            return Report::Valid { index };
        }
        publish::mark_estimates(memory, index, &log);
        Report::Invalid { index }
    }
}
