//! The coordinator's thread for one shard, during one batch. The thread answers the shard's
//! requests for values. As a local worker does, it checks each step's writes against the list and
//! adds the results to the job. If a step differs from the list, the thread runs the step itself,
//! to learn whether the list or the shard is wrong.

use std::{sync::atomic::Ordering, time::Duration};

use evm::Runner;
use workload::{BlockAccessIndex, list::ListIndex};

use super::{Failure, Job, StepResult, WorkerResults, execution::WorkerState};
use crate::{
    engine::{
        bal::{
            bitset::Bitset,
            check,
            feasible::EndedTx,
            prestate::Declared,
            view::{Touched, View},
        },
        error::EngineError,
        on_shards::Connection,
    },
    lock::lock,
    process,
    shards::{AccessedKeys, Assignment, Finished, KeyRequest, Report, ShardStep, StateValues},
};

mod message;
mod source;

use message::RequestHistory;
use source::Source;

/// A shard that executes its part of a batch.
pub(in crate::engine::bal) struct ShardBatch<'c, 'a> {
    pub(in crate::engine::bal) connection: &'c mut Connection<'a>,
    pub(in crate::engine::bal) job: &'c Job<Declared>,
    /// The shard's part of the batch.
    pub(in crate::engine::bal) assignment: &'c Assignment,
}

/// Results that the shard has sent so far.
struct ShardResults {
    /// For each assigned step, whether it has a result.
    has_result: Vec<bool>,
    steps: Vec<StepResult>,
    state: WorkerState,
    /// Number of slots that a thread of the shard has touched, summed over the threads.
    touched_slot_count: u64,
    /// Time from the start of the clock until the shard was ready.
    ready: Option<Duration>,
    requested: RequestHistory,
}

impl ShardBatch<'_, '_> {
    /// Has the shard execute its part, and adds the results to the job.
    ///
    /// # Errors
    /// The list is wrong, or the shard or the store failed.
    pub(in crate::engine::bal) fn run(&mut self) -> Result<(), Failure> {
        self.converse().map_err(|error| {
            // The failure of the lowest step ranks first, as it does among local threads.
            let position = error.step_index().map_or(usize::MAX, |index| index as usize);
            Failure { position, error }
        })
    }

    fn converse(&mut self) -> Result<(), EngineError> {
        let (job, assignment) = (self.job, self.assignment);
        let start = job.spans.elapsed();
        let Connection { shards, shard, stop, .. } = *self.connection;
        let begun = shards.begin(shard, assignment, stop);
        let mut conversation = begun.map_err(|error| self.blame(error.0))?;
        let mut received = ShardResults {
            has_result: vec![false; assignment.steps.len()],
            steps: Vec::with_capacity(assignment.steps.len()),
            state: WorkerState::default(),
            touched_slot_count: 0,
            ready: None,
            requested: RequestHistory::new(&job.shared.list),
        };
        let Finished { accessed_keys, times } = loop {
            let cpu_before = process::thread_cpu_time();
            let report = conversation.receive(stop).map_err(|error| self.blame(error.0))?;
            if let Some(reason) = message::untimely(&report, received.ready) {
                return Err(self.blame(reason));
            }
            match report {
                Report::Ready => {
                    let ready = self.connection.ready(&job.spans, start, assignment.delay);
                    received.ready = Some(ready);
                }
                Report::Request { request, keys } => {
                    let values = self.values(&keys, &mut received.requested)?;
                    let answered = conversation.answer(request, values);
                    answered.map_err(|error| self.blame(error.0))?;
                    let times = &mut self.connection.counts.coordinator_times;
                    times.message_count += 1;
                    times.answering += process::thread_cpu_since(cpu_before);
                }
                Report::Steps(steps) => {
                    for step in steps {
                        self.add_result(step, &mut received)?;
                    }
                    let times = &mut self.connection.counts.coordinator_times;
                    times.message_count += 1;
                    times.taking += process::thread_cpu_since(cpu_before);
                }
                Report::Failed { index, reason } => {
                    let reason = format!("it cannot go on: {reason}");
                    return Err(match index {
                        Some(index) => self.judge(index, reason),
                        None => self.blame(reason),
                    });
                }
                Report::Done(finished) => break finished,
            }
        };
        if let Some(position) = received.has_result.iter().position(|has_result| !has_result) {
            let index = assignment.steps[position];
            let reason = format!("it says that all is done, and sent no result of step {index}");
            return Err(self.blame(reason));
        }
        let touched =
            touched(&job.shared.list, accessed_keys).map_err(|reason| self.blame(reason))?;
        self.connection.add_times(&job.spans, received.ready.unwrap_or(start), &times);
        let ShardResults { steps, mut state, .. } = received;
        state.written.keep_last();
        job.executed_ns.fetch_max(job.now_ns(), Ordering::Relaxed);
        lock(&job.worker_results).push(WorkerResults { steps, written: state.written, touched });
        Ok(())
    }

    /// Returns the values of the keys that the shard requests. Its repeated request for a key is an
    /// error.
    fn values(
        &mut self,
        keys: &KeyRequest,
        requested: &mut RequestHistory,
    ) -> Result<StateValues, EngineError> {
        if let Some(reason) = requested.add(keys) {
            return Err(self.blame(reason));
        }
        let (job, stop) = (self.job, self.connection.stop);
        let reading = self.connection.reading();
        let values = Source { shared: &job.shared, reading, stop }.answer_to(keys);
        let values = values
            .map_err(|error| EngineError::of_read(job.batch_index, job.steps.count(), error))?;
        requested.answered(&values);
        Ok(values)
    }

    /// Checks and adds a step's result. The step must be assigned to the shard and have no result
    /// yet, and its writes must be those of the list.
    fn add_result(
        &mut self,
        step: ShardStep,
        received: &mut ShardResults,
    ) -> Result<(), EngineError> {
        let (job, task, index) = (self.job, self.connection.task, step.index);
        let position = self.assignment.steps.binary_search(&index);
        let is_due = position
            .is_ok_and(|position| !std::mem::replace(&mut received.has_result[position], true));
        if !is_due {
            let reason =
                format!("it sent a result of step {index}, which it was not to run, or twice");
            return Err(self.blame(reason));
        }
        let tx = self.connection.transaction(job.batch_index, job.steps.at(index));
        if step.result.is_some() != tx.is_some() {
            return Err(
                self.blame(format!("its result of step {index} is of another kind of step"))
            );
        }
        if let Some(reason) = message::fault(&step, tx) {
            return Err(self.blame(reason));
        }
        let ShardStep { result, writes, latency, new_slot_count, .. } = step;
        let WorkerState { written, unreported, .. } = &mut received.state;
        if let Err(fault) = check::check_writes(&job.shared.list, index, &writes, written) {
            return Err(self.judge(index, fault.to_string()));
        }
        if let Some(keys) = task.root.written {
            keys.add_writes(&writes);
        }
        received.touched_slot_count = received.touched_slot_count.saturating_add(new_slot_count);
        if let (Some(result), Some(tx)) = (&result, tx) {
            let block = &task.workload.batches[job.batch_index].blocks[job.steps.at(index).block];
            let fork = task.workload.rules_of(block).fork;
            let ended = EndedTx { tx, gas: &result.gas, fork };
            let ended = job.feasible.ended(ended, received.touched_slot_count, unreported);
            ended.map_err(|fault| job.rejected(fault))?;
        }
        received.steps.push(StepResult { index, result, latency });
        Ok(())
    }

    /// Decides whose fault it is that a step failed on the shard, or that its writes differ from
    /// the list. Runs the step here. Returns the step's failure here, if any, or else the error of
    /// a faulty shard.
    fn judge(&mut self, index: BlockAccessIndex, reason: String) -> EngineError {
        if self.assignment.steps.binary_search(&index).is_err() {
            return self.blame(format!("step {index}, which it was not to run: {reason}"));
        }
        let Connection { task, stop, .. } = *self.connection;
        let view = View::new(&self.job.shared, task.workload, stop, self.connection.reading());
        let mut runner = Runner::new(task.workload, view);
        match self.job.run_step(&mut runner, task, index, &mut WorkerState::default()) {
            Err(error) => error,
            Ok(_) => {
                self.blame(format!("{reason}; the coordinator runs this step without a fault"))
            }
        }
    }

    /// Makes the error of a faulty shard.
    fn blame(&self, reason: impl Into<String>) -> EngineError {
        self.connection.blame(self.job.batch_index, reason)
    }
}

/// Returns the keys of `list` that a shard's steps touched.
fn touched(list: &ListIndex, accessed_keys: AccessedKeys) -> Result<Touched, String> {
    Ok(Touched {
        accounts: accessed_bits(accessed_keys.accounts, list.account_count(), "accounts")?,
        slots: accessed_bits(accessed_keys.slots, list.slot_count(), "slots")?,
    })
}

/// Returns the touched keys of one kind. The list has `count` keys of this kind.
fn accessed_bits(words: Vec<u64>, count: u32, what: &str) -> Result<Bitset, String> {
    let found = words.len();
    Bitset::from_words(words, count as usize)
        .ok_or_else(|| format!("it met {what} in {found} words of bits, and the list has {count}"))
}
