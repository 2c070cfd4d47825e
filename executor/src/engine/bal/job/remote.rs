//! A batch whose steps are executed by shards, as the thread sees it that talks to one of them: it
//! answers requests for values, checks each step's writes against the list, and adds the results as a
//! worker's. It runs a step that is wrong itself, before it blames the list or the shard.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use evm::Runner;
use variant::Phase;
use workload::{BlockAccessIndex, StepKind};

use super::{Failure, Job, Part, StepResult, Tallies, execution::Course};
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

use message::Wishes;
use source::Source;

/// A thread that talks to a shard.
pub(in crate::engine::bal) struct Side<'a> {
    pub(in crate::engine::bal) task: &'a Task<'a>,
    pub(in crate::engine::bal) stop: &'a AtomicBool,
    pub(in crate::engine::bal) shards: &'a dyn Shards,
    /// Index of the shard.
    pub(in crate::engine::bal) shard: usize,
    /// Its part of the batch.
    pub(in crate::engine::bal) assignment: &'a Assignment,
    pub(in crate::engine::bal) reader: &'a mut dyn Reader,
    pub(in crate::engine::bal) tallies: &'a mut Tallies,
}

/// Results so far.
struct Taken {
    /// Which of the assigned steps have a result.
    has_result: Vec<bool>,
    steps: Vec<StepResult>,
    course: Course,
    /// Slots that the shard's threads have met.
    met_slot_count: u64,
    /// When the shard was ready, since the start of the clock.
    ready: Option<Duration>,
    wishes: Wishes,
}

impl Side<'_> {
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
        let mut taken = Taken {
            has_result: vec![false; self.assignment.steps.len()],
            steps: Vec::with_capacity(self.assignment.steps.len()),
            course: Course::default(),
            met_slot_count: 0,
            ready: None,
            wishes: Wishes::new(&job.shared.list),
        };
        let Finished { met, times } = loop {
            let cpu_before = process::thread_cpu_time();
            let heard = conversation.hear(self.stop);
            let report = heard.map_err(|error| self.blame(job, error))?;
            if let Some(reason) = message::untimely(&report, taken.ready) {
                return Err(self.blame_for(job, reason));
            }
            match report {
                Report::Ready => {
                    let heard = job.spans.elapsed();
                    let end = heard.saturating_sub(self.assignment.delay).max(start);
                    taken.ready = Some(end);
                    let span = Span { phase: Phase::ShardSend, start, end };
                    let recorder = self.tallies.on_demand.trace.as_deref_mut();
                    add_part(&job.spans, span, recorder);
                }
                Report::Wanted { request, keys } => {
                    let values = self.values(job, &keys, &mut taken.wishes)?;
                    let answered = conversation.answer(request, values);
                    answered.map_err(|error| self.blame(job, error))?;
                    self.tallies.side_times.message_count += 1;
                    self.tallies.side_times.answering += process::thread_cpu_since(cpu_before);
                }
                Report::Steps(steps) => {
                    for step in steps {
                        self.take(job, step, &mut taken)?;
                    }
                    self.tallies.side_times.message_count += 1;
                    self.tallies.side_times.taking += process::thread_cpu_since(cpu_before);
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
        if let Some(place) = taken.has_result.iter().position(|has_result| !has_result) {
            let index = self.assignment.steps[place];
            let reason = format!("it says that all is done, and sent no result of step {index}");
            return Err(self.blame(job, ShardError(reason)));
        }
        let ready = taken.ready.unwrap_or(start);
        let touched = touched(job, met).map_err(|error| self.blame(job, error))?;
        let Taken { steps, mut course, .. } = taken;
        self.add_times(job, ready, &times);
        course.written.keep_last();
        job.executed_ns.fetch_max(job.now_ns(), Ordering::Relaxed);
        lock(&job.parts).push(Part { steps, written: course.written, touched });
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
        self.tallies.shard_times.add(times);
    }

    /// Values that the shard wants: each key once.
    fn values(
        &mut self,
        job: &Job<Declared>,
        keys: &Wanted,
        wishes: &mut Wishes,
    ) -> Result<StateValues, EngineError> {
        if let Some(reason) = wishes.fault(keys) {
            return Err(self.blame(job, ShardError(reason)));
        }
        let reading = Reading { reader: &mut *self.reader, tally: &mut self.tallies.on_demand };
        let mut source = Source { shared: &job.shared, reading, stop: self.stop };
        let values = source.answer_to(keys);
        let values =
            values.map_err(|error| EngineError::of_read(job.place, job.steps.count(), error))?;
        wishes.answered(&values);
        Ok(values)
    }

    /// Takes in a step's result: one that was assigned, once, with the writes of the list.
    fn take(
        &mut self,
        job: &Job<Declared>,
        step: ShardStep,
        taken: &mut Taken,
    ) -> Result<(), EngineError> {
        let index = step.index;
        let place = self.assignment.steps.binary_search(&index);
        let is_due =
            place.is_ok_and(|place| !std::mem::replace(&mut taken.has_result[place], true));
        if !is_due {
            let reason =
                format!("it sent a result of step {index}, which it was not to run, or twice");
            return Err(self.blame(job, ShardError(reason)));
        }
        let at = job.steps.at(index);
        let tx = match at.kind {
            StepKind::Transaction(tx_index) => {
                Some(&self.task.workload.batches[job.place].blocks[at.block].transactions[tx_index])
            }
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
        let Course { written, unreported, .. } = &mut taken.course;
        if let Err(fault) = check::check_writes(&job.shared.list, index, &writes, written) {
            return Err(self.judge(job, index, fault.to_string()));
        }
        if let Some(keys) = self.task.root.written {
            keys.add_writes(&writes);
        }
        taken.met_slot_count = taken.met_slot_count.saturating_add(met_slot_count);
        if let (Some(result), Some(tx)) = (&result, tx) {
            let ended = Ended { tx, gas: &result.gas(), fork: self.task.workload.fork };
            let ended = job.feasible.ended(ended, taken.met_slot_count, unreported);
            ended.map_err(|fault| EngineError::rejected(job.place, fault))?;
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
        let reading = Reading { reader: &mut *self.reader, tally: &mut self.tallies.on_demand };
        let view = View::new(&job.shared, self.task.workload, self.stop, reading);
        let mut runner = Runner::new(self.task.workload, view);
        let ran = job.run_step(&mut runner, self.task, index, &mut Course::default());
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
        let (batch, shard) = (job.place, self.shards.name(self.shard));
        EngineError::Shard { batch, shard, reason: error.0 }
    }
}

/// The keys that a shard's steps met.
fn touched(job: &Job<Declared>, met: Met) -> Result<Touched, ShardError> {
    let list = &job.shared.list;
    let set = |words: Vec<u64>, count: u32, what: &str| {
        let found = words.len();
        Bitset::from_words(words, count as usize).ok_or_else(|| {
            ShardError(format!("it met {what} in {found} words of bits, and the list has {count}"))
        })
    };
    Ok(Touched {
        accounts: set(met.accounts, list.account_count(), "accounts")?,
        slots: set(met.slots, list.slot_count(), "slots")?,
    })
}
