//! The coordinator's connection to one shard of a batch: it
//! answers requests for values, checks each step's writes against the list, and adds the results as a
//! worker's. It runs a step that is wrong itself, before it blames the list or the shard.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use evm::Runner;
use variant::Phase;
use workload::{BlockAccessIndex, StepKind};

use super::{Failure, Job, Part, StepResult, WorkerCounts, execution::WorkerState};
use crate::{
    engine::{
        bal::{
            bitset::Bitset,
            check,
            feasible::Ended,
            prestate::Declared,
            view::{Touched, View},
        },
        error::EngineError,
        tally::Reading,
        task::Task,
    },
    lock::lock,
    process,
    shards::{
        Assignment, Finished, Met, Report, ShardError, ShardStep, ShardTimes, Shards, StateValues,
        Wanted,
    },
    span::Span,
    store::Reader,
    trace::add_part,
};

mod message;
mod source;

use message::RequestedKeys;
use source::Source;

/// A connection to a shard.
pub(in crate::engine::bal) struct ShardConnection<'a> {
    pub(in crate::engine::bal) task: &'a Task<'a>,
    pub(in crate::engine::bal) stop: &'a AtomicBool,
    pub(in crate::engine::bal) shards: &'a dyn Shards,
    /// Index of the shard.
    pub(in crate::engine::bal) shard: usize,
    /// Its part of the batch.
    pub(in crate::engine::bal) assignment: &'a Assignment,
    pub(in crate::engine::bal) reader: &'a mut dyn Reader,
    pub(in crate::engine::bal) counts: &'a mut WorkerCounts,
}

/// Results so far.
struct ShardResults {
    /// For each assigned step, whether it has a result.
    has_result: Vec<bool>,
    steps: Vec<StepResult>,
    state: WorkerState,
    /// Slots that the shard's threads have met.
    met_slot_count: u64,
    /// When the shard was ready, since the start of the clock.
    ready: Option<Duration>,
    requested: RequestedKeys,
}

impl ShardConnection<'_> {
    /// Has the shard execute its part, and adds the results to the job's.
    ///
    /// # Errors
    /// The failure of the list, of the shard or of the store.
    pub(in crate::engine::bal) fn run(&mut self, job: &Job<Declared>) -> Result<(), Failure> {
        let done = self.talk(job);
        done.map_err(|error| {
            // As threads here do: the fault of the lowest step comes first. Others have none.
            let taken = error.index().map_or(usize::MAX, |index| index as usize);
            Failure { taken, error }
        })
    }

    fn talk(&mut self, job: &Job<Declared>) -> Result<(), EngineError> {
        let start = job.spans.elapsed();
        let begun = self.shards.begin(self.shard, self.assignment, self.stop);
        let mut conversation = begun.map_err(|error| self.blame(job, error))?;
        let mut taken = ShardResults {
            has_result: vec![false; self.assignment.steps.len()],
            steps: Vec::with_capacity(self.assignment.steps.len()),
            state: WorkerState::default(),
            met_slot_count: 0,
            ready: None,
            requested: RequestedKeys::new(&job.shared.list),
        };
        let Finished { met, times } = loop {
            let cpu_before = process::thread_cpu_time();
            let received = conversation.receive(self.stop);
            let report = received.map_err(|error| self.blame(job, error))?;
            if let Some(reason) = message::untimely(&report, taken.ready) {
                return Err(self.blame_for(job, reason));
            }
            match report {
                Report::Ready => {
                    let now = job.spans.elapsed();
                    let end = now.saturating_sub(self.assignment.delay).max(start);
                    taken.ready = Some(end);
                    let span = Span { phase: Phase::ShardSend, start, end };
                    let recorder = self.counts.on_demand.trace.as_deref_mut();
                    add_part(&job.spans, span, recorder);
                }
                Report::Wanted { request, keys } => {
                    let values = self.values(job, &keys, &mut taken.requested)?;
                    let answered = conversation.answer(request, values);
                    answered.map_err(|error| self.blame(job, error))?;
                    self.counts.coordinator_times.message_count += 1;
                    self.counts.coordinator_times.answering +=
                        process::thread_cpu_since(cpu_before);
                }
                Report::Steps(steps) => {
                    for step in steps {
                        self.take(job, step, &mut taken)?;
                    }
                    self.counts.coordinator_times.message_count += 1;
                    self.counts.coordinator_times.taking += process::thread_cpu_since(cpu_before);
                }
                Report::Failed { index, reason } => {
                    let reason = format!("it cannot go on: {reason}");
                    return Err(match index {
                        Some(index) => self.judge(job, index, reason),
                        None => self.blame(job, ShardError(reason)),
                    });
                }
                Report::Done(finished) => break finished,
            }
        };
        if let Some(position) = taken.has_result.iter().position(|has_result| !has_result) {
            let index = self.assignment.steps[position];
            let reason = format!("it says that all is done, and sent no result of step {index}");
            return Err(self.blame(job, ShardError(reason)));
        }
        let ready = taken.ready.unwrap_or(start);
        let touched = touched(job, met).map_err(|error| self.blame(job, error))?;
        let ShardResults { steps, mut state, .. } = taken;
        self.add_times(job, ready, &times);
        state.written.keep_last();
        job.executed_ns.fetch_max(job.now_ns(), Ordering::Relaxed);
        lock(&job.parts).push(Part { steps, written: state.written, touched });
        Ok(())
    }

    /// Adds the shard's times. Its clock is compared with this one when it says that it is ready: they lie
    /// later here than there by the way of that message, without the delay that is added to it. They overlap, so
    /// no track of a trace shows them.
    fn add_times(&mut self, job: &Job<Declared>, ready: Duration, times: &ShardTimes) {
        let now = job.spans.elapsed();
        let executed = (ready + times.executed).min(now);
        for (phase, start, end) in [
            (Phase::Prefetch, ready, (ready + times.ahead).min(now)),
            (Phase::Execute, ready, executed),
            (Phase::ShardResults, executed, now),
        ] {
            job.spans.add_on_own_track(Span { phase, start, end });
        }
        self.counts.shard_times.add(times);
    }

    /// Values that the shard wants: each key once.
    fn values(
        &mut self,
        job: &Job<Declared>,
        keys: &Wanted,
        requested: &mut RequestedKeys,
    ) -> Result<StateValues, EngineError> {
        if let Some(reason) = requested.fault(keys) {
            return Err(self.blame(job, ShardError(reason)));
        }
        let reading = Reading { reader: &mut *self.reader, tally: &mut self.counts.on_demand };
        let mut source = Source { shared: &job.shared, reading, stop: self.stop };
        let values = source.answer_to(keys);
        let values = values
            .map_err(|error| EngineError::of_read(job.batch_index, job.steps.count(), error))?;
        requested.answered(&values);
        Ok(values)
    }

    /// Takes in a step's result: one that was assigned, once, with the writes of the list.
    fn take(
        &mut self,
        job: &Job<Declared>,
        step: ShardStep,
        taken: &mut ShardResults,
    ) -> Result<(), EngineError> {
        let index = step.index;
        let position = self.assignment.steps.binary_search(&index);
        let is_due = position
            .is_ok_and(|position| !std::mem::replace(&mut taken.has_result[position], true));
        if !is_due {
            let reason =
                format!("it sent a result of step {index}, which it was not to run, or twice");
            return Err(self.blame(job, ShardError(reason)));
        }
        let at = job.steps.at(index);
        let tx = match at.kind {
            StepKind::Transaction(tx_index) => Some(
                &self.task.workload.batches[job.batch_index].blocks[at.block].transactions
                    [tx_index],
            ),
            _ => None,
        };
        if step.result.is_some() != tx.is_some() {
            let reason = format!("its result of step {index} is of another kind of step");
            return Err(self.blame(job, ShardError(reason)));
        }
        if let Some(reason) = message::fault(&step, tx) {
            return Err(self.blame(job, ShardError(reason)));
        }
        let ShardStep { result, writes, latency, met_slot_count, .. } = step;
        let WorkerState { written, unreported, .. } = &mut taken.state;
        if let Err(fault) = check::check_writes(&job.shared.list, index, &writes, written) {
            return Err(self.judge(job, index, fault.to_string()));
        }
        if let Some(keys) = self.task.root.written {
            keys.add_writes(&writes);
        }
        taken.met_slot_count = taken.met_slot_count.saturating_add(met_slot_count);
        if let (Some(result), Some(tx)) = (&result, tx) {
            let ended = Ended { tx, gas: &result.gas(), fork: self.task.workload.fork() };
            let ended = job.feasible.ended(ended, taken.met_slot_count, unreported);
            ended.map_err(|fault| job.rejected(fault))?;
        }
        taken.steps.push(StepResult { index, result, latency });
        Ok(())
    }

    /// Runs a step here, of which the shard says or shows that it differs from the list. Blames the
    /// list if it is wrong here too, else the shard.
    fn judge(
        &mut self,
        job: &Job<Declared>,
        index: BlockAccessIndex,
        reason: String,
    ) -> EngineError {
        if self.assignment.steps.binary_search(&index).is_err() {
            let reason = format!("step {index}, which it was not to run: {reason}");
            return self.blame(job, ShardError(reason));
        }
        let reading = Reading { reader: &mut *self.reader, tally: &mut self.counts.on_demand };
        let view = View::new(&job.shared, self.task.workload, self.stop, reading);
        let mut runner = Runner::new(self.task.workload, view);
        let ran = job.run_step(&mut runner, self.task, index, &mut WorkerState::default());
        match ran {
            Err(error) => error,
            Ok(_) => {
                let reason = format!("{reason}; the coordinator runs this step without a fault");
                self.blame(job, ShardError(reason))
            }
        }
    }

    fn blame_for(&self, job: &Job<Declared>, reason: &str) -> EngineError {
        self.blame(job, ShardError(reason.to_owned()))
    }

    fn blame(&self, job: &Job<Declared>, error: ShardError) -> EngineError {
        if self.stop.load(Ordering::Relaxed) || self.task.cancel.load(Ordering::Relaxed) {
            // Another thread has failed, or the user interrupted: that is the cause.
            return EngineError::Cancelled;
        }
        let (batch, shard) = (job.batch_index, self.shards.name(self.shard));
        EngineError::Shard { batch, shard, reason: error.0 }
    }
}

/// The keys that a shard's steps met.
fn touched(job: &Job<Declared>, met: Met) -> Result<Touched, ShardError> {
    let list = &job.shared.list;
    Ok(Touched {
        accounts: met_keys(met.accounts, list.account_count(), "accounts")?,
        slots: met_keys(met.slots, list.slot_count(), "slots")?,
    })
}

/// The keys of one kind that a shard's steps met, of which the list has `count`.
fn met_keys(words: Vec<u64>, count: u32, what: &str) -> Result<Bitset, ShardError> {
    let found = words.len();
    Bitset::from_words(words, count as usize).ok_or_else(|| {
        ShardError(format!("it met {what} in {found} words of bits, and the list has {count}"))
    })
}
