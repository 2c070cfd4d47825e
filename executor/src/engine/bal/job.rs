//! One batch of `bal`: the state that its workers share, the work of threads that only read, and
//! the joined results of all workers. `bal.rs` and `sharded.rs` make a job for each batch.

use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use evm::TxResult;
use variant::Phase;
use workload::{
    BlockAccessIndex, Layout, Steps,
    list::{self, ListBounds, ListIndex},
};

use super::{
    check,
    feasible::Feasibility,
    join::{self, Written},
    prefetch::{Lane, ReadAhead, Target},
    prestate::{PreState, Reads},
    verify::{Verifier, WrongValue},
    view::{CodeRows, Shared, Touched},
};
use crate::{
    engine::{
        error::{EngineError, ListFault},
        executed::{BatchResult, Executed},
        tally::{Reading, WorkerCounts},
        task::Task,
    },
    lock::lock,
    schedule,
    single_flight::SingleFlight,
    span::Spans,
    store::Reader,
    trace::close_part,
};

mod execution;
mod on_shard;
pub(super) mod remote;

/// The result of one step.
#[derive(Debug)]
struct StepResult {
    index: BlockAccessIndex,
    result: Option<TxResult>,
    latency: Duration,
}

/// The results of one worker for a batch.
#[derive(Debug, Default)]
struct WorkerResults {
    steps: Vec<StepResult>,
    written: Written,
    touched: Touched,
}

/// A failure of a worker. The batch reports the first one by rank.
#[derive(Debug)]
pub(super) struct Failure {
    /// Rank among failures of one kind: the number of the chunk with the wrong value, or the failed
    /// step's position in the workers' order. A failed read by a reading thread, or of a value to
    /// verify, has rank 0. A failure on a shard has the index of its step as its rank, or `usize::MAX` without
    /// a step.
    position: usize,
    error: EngineError,
}

impl Failure {
    /// Returns the rank; the batch reports the failure with the lowest rank. A wrong value in the
    /// list ranks before the failures that it may cause, and a cancellation ranks last. Failures of
    /// one kind rank by `position`.
    ///
    /// Workers finish each step or chunk that they have taken, also after a failure of another
    /// worker. So the reported step or wrong value does not depend on timing. Of several failed
    /// reads ahead, the first in time is reported.
    const fn rank(&self) -> (u8, usize) {
        let kind = match &self.error {
            EngineError::List { fault: ListFault::WrongValue { .. }, .. } => 0,
            EngineError::Cancelled => 2,
            _ => 1,
        };
        (kind, self.position)
    }
}

/// One batch, shared by its workers.
#[derive(Debug)]
pub(crate) struct Job<P> {
    shared: Shared<P>,
    steps: Steps,
    /// Number of steps to run: the length of `order`, or all steps.
    run_count: u32,
    /// Indices of the steps to run, in the order in which workers take them; on a shard, its own
    /// steps. `None` if all steps run, in the order of their indices.
    order: Option<Vec<BlockAccessIndex>>,
    batch_index: usize,
    spans: Arc<Spans>,
    /// Position in the order of the next step to take.
    next_step: AtomicU32,
    ahead: ReadAhead,
    /// Checks that the remaining steps can touch all declared slots.
    feasible: Feasibility,
    /// Time from the start of the clock to the end of the last step.
    executed_ns: AtomicU64,
    /// Time from the start of the clock to the end of the last verification.
    verified_ns: AtomicU64,
    /// Opens when executing threads may begin.
    barrier: PrefetchBarrier,
    /// Results of the workers that are done.
    worker_results: Mutex<Vec<WorkerResults>>,
    pub(super) failures: Mutex<Vec<Failure>>,
}

impl<P: PreState> Job<P> {
    /// Checks the length and the hash of the list of the batch at `batch_index`, decodes the list,
    /// and makes the batch's job. Workers take the steps in `known_order`, if it is given.
    pub(super) fn new(
        task: &Task<'_>,
        batch_index: usize,
        spans: &Arc<Spans>,
        layout: Option<Layout>,
        known_order: Option<Vec<BlockAccessIndex>>,
    ) -> Result<Self, EngineError> {
        let batch = &task.workload.batches[batch_index];
        let start = spans.elapsed();
        let bounds = ListBounds::new(batch, &task.workload.rules);
        // An overlong list is rejected before it is hashed.
        list::check_length(&task.lists[batch_index], P::max_bytes(&bounds))
            .map_err(|error| EngineError::rejected(batch_index, error))?;
        let start = spans.close(Phase::Decode, start).end;
        task.check_hash(batch_index, &task.lists[batch_index])?;
        let start = spans.close(Phase::Hash, start).end;
        let (list, pre_state) = P::decode(&task.lists[batch_index], &bounds)
            .map_err(|fault| EngineError::rejected(batch_index, fault))?;
        let declared_count = u64::from(list.slot_count());
        let feasible = Feasibility::new(declared_count, batch, &task.workload.rules, &bounds)
            .map_err(|fault| EngineError::rejected(batch_index, fault))?;
        let steps = Steps::of(batch);
        spans.close(Phase::Decode, start);
        let start = spans.elapsed();
        let order =
            known_order.or_else(|| schedule::order(task.variant.schedule, batch, &steps, &list));
        if order.is_some() {
            spans.close(Phase::Schedule, start);
        }
        Ok(Self {
            feasible,
            shared: Shared {
                pre_state,
                list,
                codes: SingleFlight::default(),
                code_rows: CodeRows::default(),
            },
            run_count: order.as_ref().map_or(steps.count(), |order| order.len() as u32),
            steps,
            order,
            batch_index,
            spans: Arc::clone(spans),
            next_step: AtomicU32::new(0),
            ahead: ReadAhead::new(
                task.variant.io.prefetch().unwrap_or_default(),
                layout,
                Arc::clone(spans),
                task.variant.thread_count,
            ),
            executed_ns: AtomicU64::new(0),
            verified_ns: AtomicU64::new(0),
            barrier: PrefetchBarrier::new(task.variant.upfront_reader_count()),
            worker_results: Mutex::default(),
            failures: Mutex::default(),
        })
    }

    /// Runs the part of a reading thread: verifies the list's values, or reads ahead.
    pub(super) fn read(
        &self,
        reader: &mut dyn Reader,
        counts: &mut WorkerCounts,
        lane: Lane,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        match self.shared.pre_state.listed() {
            Some(_) => self.verify(reader, counts, lane, stop),
            None => self.prefetch(reader, counts, lane, stop),
        }
    }

    fn verify(
        &self,
        reader: &mut dyn Reader,
        counts: &mut WorkerCounts,
        lane: Lane,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let Shared { list, pre_state, code_rows, .. } = &self.shared;
        let Some(listed) = pre_state.listed() else { return Ok(()) };
        self.ahead.arrange(list);
        let start = self.spans.elapsed();
        let verifier = Verifier::new(list, listed);
        let target = Target { list, values: &verifier, codes: code_rows };
        let to = Reading { reader, tally: &mut counts.prefetched };
        let done = self.ahead.read(target, lane, to, stop);
        self.verified_ns.fetch_max(self.now_ns(), Ordering::Relaxed);
        let recorder = counts.prefetched.trace.as_deref_mut();
        close_part(&self.spans, Phase::Verify, start, recorder);
        done.map_err(|error| Failure { position: 0, error: EngineError::Store(error) })?;
        let Some(WrongValue { chunk, fault }) = verifier.into_first_wrong() else { return Ok(()) };
        Err(Failure { position: chunk, error: self.rejected(fault) })
    }

    /// Makes the error of the batch's rejected list.
    fn rejected(&self, fault: ListFault) -> EngineError {
        EngineError::rejected(self.batch_index, fault)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.spans.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn prefetch(
        &self,
        reader: &mut dyn Reader,
        counts: &mut WorkerCounts,
        lane: Lane,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let _guard = ReaderGuard(&self.barrier);
        let Shared { list, pre_state, code_rows, .. } = &self.shared;
        let Some(values) = pre_state.declared() else { return Ok(()) };
        self.ahead.arrange(list);
        let start = self.spans.elapsed();
        let target = Target { list, values, codes: code_rows };
        self.ahead
            .read(target, lane, Reading { reader, tally: &mut counts.prefetched }, stop)
            .map_err(|error| Failure { position: 0, error: EngineError::Store(error) })?;
        let recorder = counts.prefetched.trace.as_deref_mut();
        close_part(&self.spans, Phase::Prefetch, start, recorder);
        Ok(())
    }

    pub(super) const fn list(&self) -> &ListIndex {
        &self.shared.list
    }

    pub(super) const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Returns the failure that the batch reports, if any.
    fn failure(&self) -> Option<EngineError> {
        let mut failures = std::mem::take(&mut *lock(&self.failures));
        failures.sort_by_key(Failure::rank);
        failures.into_iter().next().map(|failure| failure.error)
    }

    /// Checks and joins the workers' results, after all workers have ended.
    pub(super) fn finish(
        &self,
        task: &Task<'_>,
        reader: &mut dyn Reader,
        stop: &AtomicBool,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        if task.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        let mut touched = Touched::new(&self.shared.list);
        let mut steps = Vec::with_capacity(self.steps.count() as usize);
        let mut written = Vec::new();
        for results in std::mem::take(&mut *lock(&self.worker_results)) {
            touched.union(&results.touched);
            steps.extend(results.steps);
            written.push(results.written);
        }
        if P::READS == Reads::Declared {
            check::check_touched(&self.shared.list, &touched)
                .map_err(|fault| self.rejected(fault))?;
        }
        let verified_ns = self.verified_ns.load(Ordering::Relaxed);
        let wait_ns = verified_ns.saturating_sub(self.executed_ns.load(Ordering::Relaxed));
        executed.verification_wait += Duration::from_nanos(wait_ns);
        // A stable sort, which is fast here: each worker's steps are mostly in order already.
        steps.sort_by_key(|step: &StepResult| step.index);
        executed.step_times.push(steps.iter().map(|step| step.latency).collect());
        let net_changes = join::net_changes(&self.shared, reader, stop, written)
            .map_err(|error| EngineError::of_read(self.batch_index, self.steps.count(), error))?;
        let steps = steps.into_iter().map(|step| (step.result, step.latency));
        let results = executed.add_transactions(steps);
        Ok(BatchResult { results, net_changes, ..BatchResult::default() })
    }
}

/// Holds executing threads until the threads that read before them have read the declared keys.
#[derive(Debug)]
struct PrefetchBarrier {
    /// Number of threads that have not ended their reads.
    reader_count: Mutex<usize>,
    opened: Condvar,
}

impl PrefetchBarrier {
    /// Makes a barrier that opens once `count` threads have ended their reads.
    const fn new(count: usize) -> Self {
        Self { reader_count: Mutex::new(count), opened: Condvar::new() }
    }

    /// Waits until the barrier is open.
    fn wait(&self) {
        let mut reader_count = lock(&self.reader_count);
        while *reader_count > 0 {
            reader_count = self.opened.wait(reader_count).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Counts one thread's reads as ended on drop, also while unwinding.
#[derive(Debug)]
struct ReaderGuard<'a>(&'a PrefetchBarrier);

impl Drop for ReaderGuard<'_> {
    fn drop(&mut self) {
        let mut reader_count = lock(&self.0.reader_count);
        *reader_count = reader_count.saturating_sub(1);
        if *reader_count == 0 {
            self.0.opened.notify_all();
        }
    }
}
