//! Engines: ways to bring a batch from the state below it to its outcome. Each one executes a
//! whole workload inside the clock and says what came out; none knows what should have.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use alloy_primitives::B256;
use workload::{BlockAccessIndex, NetChanges, TxOutcome, Workload};

use crate::{
    check::ListFault,
    latency::Latencies,
    process,
    span::{Span, Spans},
    store::{ReadCounters, Sample, StoreError},
    trace::Trace,
    view::{ReadTally, ViewError},
};
use variant::{Engine, ListForm, Phase, Variant};

pub mod bal;
pub mod block_stm;
pub mod prewarm;
pub mod sequential;

/// Execution that gave no result.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The list is rejected.
    #[error("batch {batch}: list rejected: {fault}")]
    List {
        /// 0-based place of the batch.
        batch: usize,
        /// Why.
        fault: ListFault,
        /// What it had cost by then.
        spent: Box<Spent>,
    },
    /// A step is not valid, without a list being involved.
    #[error("batch {batch}, index {index}: {reason}")]
    Step {
        /// 0-based place of the batch.
        batch: usize,
        /// The step.
        index: BlockAccessIndex,
        /// Why.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Someone asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// What an execution had cost when it ended without a result. All zero for a list that is
/// rejected outside any clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// From the start of the clock until all threads had stopped.
    pub wall: Duration,
    /// What the process did in that time.
    pub process: process::Delta,
    /// What the store counted.
    pub counters: ReadCounters,
}

impl EngineError {
    /// The list of the batch at `batch` is rejected.
    pub fn rejected(batch: usize, fault: impl Into<ListFault>) -> Self {
        Self::List { batch, fault: fault.into(), spent: Box::default() }
    }

    /// Says what a rejection has cost.
    fn spending(mut self, add: impl FnOnce(&mut Spent)) -> Self {
        if let Self::List { spent, .. } = &mut self {
            add(spent);
        }
        self
    }

    /// A read that failed at a step and is not the list's fault.
    fn of_read(batch: usize, index: BlockAccessIndex, error: ViewError) -> Self {
        match error {
            ViewError::Store(error) => Self::Store(error),
            ViewError::Cancelled => Self::Cancelled,
            other => Self::Step { batch, index, reason: other.to_string() },
        }
    }
}

/// What is executed and how.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Encoded list of each batch, in the form that the variant takes; empty where it takes
    /// none.
    pub lists: &'a [alloy_primitives::Bytes],
    /// The variant.
    pub variant: Variant,
    /// Set from outside to stop.
    pub cancel: &'a AtomicBool,
    /// Time of each step of each batch, as measured before: what [`Schedule::KnownCost`] goes
    /// by. No other schedule looks at it.
    ///
    /// [`Schedule::KnownCost`]: crate::schedule::Schedule::KnownCost
    pub known_costs: &'a [Vec<Duration>],
    /// Where the threads record what they do; `None` costs nothing.
    pub trace: Option<&'a Trace>,
}

impl<'a> Task<'a> {
    /// A task with no costs known and no trace.
    pub const fn new(
        workload: &'a Workload,
        lists: &'a [alloy_primitives::Bytes],
        variant: Variant,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self { workload, lists, variant, cancel, known_costs: &[], trace: None }
    }
}

/// What a batch came to.
#[derive(Clone, Debug, Default)]
pub struct BatchResult {
    /// Of each transaction, in order.
    pub outcomes: Vec<TxOutcome>,
    /// Of the state, from what the transactions wrote.
    pub net_changes: NetChanges,
}

/// What running steps before their turn cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speculation {
    /// Steps: transactions, and the system steps of each block.
    pub steps: u64,
    /// Times that a step was run, in vain or not.
    pub executions: u64,
    /// Times that what a step had read was looked at again.
    pub validations: u64,
    /// Runs in vain: given up, or invalid when looked at.
    pub aborts: u64,
    /// Runs that waited for a lower step.
    pub waits: u64,
    /// Steps with one run in vain or more.
    pub aborted_steps: u64,
    /// The most runs in vain of one step.
    pub most_aborts_of_a_step: u64,
}

/// What an execution came to and what it cost.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    /// From the start of the clock to the last commit.
    pub wall: Duration,
    /// What the process did in that time.
    pub process: process::Delta,
    /// Phases.
    pub spans: Vec<Span>,
    /// Results by batch.
    pub batches: Vec<BatchResult>,
    /// Time per transaction, reads included.
    pub tx_latencies: Latencies,
    /// Time of each step of each batch, by index; empty for an engine that keeps none.
    pub step_times: Vec<Vec<Duration>>,
    /// The longest transaction of each batch, summed: no order of transactions makes the
    /// workload shorter.
    pub longest_txs: Duration,
    /// Time in which execution had ended and only verification was going on; zero where the
    /// list has no values.
    pub verification_wait: Duration,
    /// How the scheduler treated the threads that verify, where there are some.
    pub verifier_priority: Option<process::Priority>,
    /// What the speculative pass was good for, where there was one.
    pub warm_up: Option<prewarm::WarmUp>,
    /// Reads by threads that execute.
    pub on_demand: ReadTally,
    /// Reads by threads that only read.
    pub prefetched: ReadTally,
    /// Whether the latencies of `prefetched` are of whole batches of reads.
    pub prefetch_reads_together: bool,
    /// What the store counted.
    pub counters: ReadCounters,
    /// Digest of each batch's net changes.
    pub digests: Vec<B256>,
    /// What running before their turn cost, of an engine that does.
    pub speculation: Option<Speculation>,
}

/// Executes a workload once.
///
/// # Errors
/// [`EngineError`].
///
/// # Panics
/// When the schedule goes by known costs and the task has not one for each step.
pub fn execute<S: Sample>(sample: &S, task: &Task<'_>) -> Result<Executed, EngineError> {
    let variant = &task.variant;
    let mut executed = match (variant.engine, variant.list) {
        (Engine::Sequential, _) => sequential::execute(sample, task)?,
        (Engine::BlockStm, _) => block_stm::execute(sample, task)?,
        (Engine::Prewarm(cache), _) => prewarm::execute(sample, task, cache)?,
        (Engine::Bal, Some(ListForm::ParallelIo)) => {
            bal::execute::<S, crate::prestate::Undeclared>(sample, task)?
        }
        (Engine::Bal, Some(ListForm::Full)) => {
            bal::execute::<S, crate::prestate::Listed>(sample, task)?
        }
        (Engine::Bal, _) => bal::execute::<S, crate::prestate::Declared>(sample, task)?,
    };
    if task.cancel.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    executed.digests = executed.batches.iter().map(|batch| batch.net_changes.digest()).collect();
    Ok(executed)
}

/// Commits the changes of a batch inside the clock.
fn commit<S: Sample>(sample: &S, spans: &Spans, changes: &NetChanges) -> Result<(), StoreError> {
    let start = spans.elapsed();
    sample.commit(changes)?;
    spans.close(Phase::Commit, start);
    Ok(())
}
