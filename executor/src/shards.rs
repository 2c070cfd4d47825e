//! Shards of execution for an engine: other processes that execute steps of a batch, by its list or
//! optimistically. `crates/shard/` implements the transport.

use std::{fmt, sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::{B256, Bytes, U256};
use evm::{StepWrites, TxResult};
use workload::{BlockAccessIndex, Workload, genesis::AccountState};

use self::versions::{Keys, OptimisticStep, Order};

pub mod versions;

/// The part of a batch that a shard executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// 0-based index of the batch.
    pub batch: usize,
    /// The list of the batch, in the form `batched-io`; empty where shards execute optimistically.
    pub list: Bytes,
    /// The steps, ascending.
    pub steps: Vec<BlockAccessIndex>,
    /// Threads to execute with.
    pub thread_count: usize,
    /// Keys of a request that is made ahead.
    pub micro_batch_key_count: u32,
    /// Delay that the transport adds to each message of the batch, in one direction.
    pub delay: Duration,
}

/// Declared keys whose values before the batch a shard wants: accounts and slots by their numbers in
/// the list, codes by their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Accounts.
    pub accounts: Vec<u32>,
    /// Slots.
    pub slots: Vec<u32>,
    /// Codes.
    pub codes: Vec<B256>,
}

/// Values of the keys, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateValues {
    /// Values of accounts; `None` where there is no account.
    pub accounts: Vec<Option<AccountState>>,
    /// Values of slots.
    pub slots: Vec<U256>,
    /// Codes; `None` where the state has no such code.
    pub codes: Vec<Option<Bytes>>,
}

/// The result of a step on a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStep {
    /// The step.
    pub index: BlockAccessIndex,
    /// Result of the step; `None` for a system step.
    pub result: Option<TxResult>,
    /// Writes of the step.
    pub writes: StepWrites,
    /// Duration of the step on the shard, with reads.
    pub latency: Duration,
    /// Declared slots that the step accessed first on its thread.
    pub met_slot_count: u64,
}

/// Declared keys that the steps of a shard accessed. Each key has the bit of its number in the
/// list, in words of 64 bits, lowest bit first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Accounts.
    pub accounts: Vec<u64>,
    /// Slots.
    pub slots: Vec<u64>,
}

/// CPU time of a shard's process in its part of a batch, from its readiness on. It is independent
/// of processes that share its cores. Zero where the system does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardCpu {
    /// CPU time of the executing threads.
    pub executing: Duration,
    /// CPU time of the thread that sends results.
    pub sending: Duration,
    /// CPU time of the threads that request values ahead and store the answers.
    pub asking: Duration,
    /// CPU time of all threads, those of the transport included.
    pub all: Duration,
}

/// Times of a shard's part of a batch, by its own clock, and its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardTimes {
    /// Time from readiness until the last value that was requested ahead had arrived.
    pub ahead: Duration,
    /// Time from readiness until the last step had ended.
    pub executed: Duration,
    /// Time that its threads waited for values, summed.
    pub value_wait: Duration,
    /// Requests ahead: micro-batches.
    pub ahead_request_count: u64,
    /// Keys of the requests ahead.
    pub ahead_key_count: u64,
    /// Requests that a step waited for: one key each.
    pub demand_request_count: u64,
    /// CPU time; zero without a list.
    pub cpu: ShardCpu,
}

impl ShardTimes {
    /// Adds the times of another shard or batch. A shard may send nonsense, so sums saturate.
    pub fn add(&mut self, other: &Self) {
        let times = [(&mut self.ahead, other.ahead), (&mut self.executed, other.executed)];
        let (cpu, others) = (&mut self.cpu, &other.cpu);
        let times = times.into_iter().chain([
            (&mut self.value_wait, other.value_wait),
            (&mut cpu.executing, others.executing),
            (&mut cpu.sending, others.sending),
            (&mut cpu.asking, others.asking),
            (&mut cpu.all, others.all),
        ]);
        times.for_each(|(sum, time)| *sum = sum.saturating_add(time));
        for (sum, count) in [
            (&mut self.ahead_request_count, other.ahead_request_count),
            (&mut self.ahead_key_count, other.ahead_key_count),
            (&mut self.demand_request_count, other.demand_request_count),
        ] {
            *sum = sum.saturating_add(count);
        }
    }
}

/// CPU time of the coordinator's threads that talk to shards by a list; zero where the system does
/// not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoordinatorTimes {
    /// Messages of shards: requests for values, and results.
    pub message_count: u64,
    /// Time for requests for values: decoding them, reads, and sending the answers.
    pub answering: Duration,
    /// Time for messages with results: decoding them, adding them, and the checks.
    pub taking: Duration,
}

impl CoordinatorTimes {
    /// Adds the times of another thread or batch.
    pub fn add(&mut self, other: &Self) {
        self.message_count += other.message_count;
        self.answering += other.answering;
        self.taking += other.taking;
    }
}

/// The end of a shard's part of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The keys that the shard accessed.
    pub met: Met,
    /// Times of the shard's part.
    pub times: ShardTimes,
}

/// A message from a shard. Its parameters are the requested keys `K`, ended steps `S`, and the end
/// of its part `F`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report<K = Wanted, S = ShardStep, F = Finished> {
    /// The shard has its steps, and the list if there is one, and begins.
    Ready,
    /// The shard wants values.
    Wanted {
        /// Number of the request, which the answer repeats. Without a list, 0 means that a step
        /// waits for it.
        request: u64,
        /// The keys.
        keys: K,
    },
    /// Results of steps, or of runs of steps.
    Steps(Vec<S>),
    /// The shard failed.
    Failed {
        /// The step in execution, if any.
        index: Option<BlockAccessIndex>,
        /// The reason.
        reason: String,
    },
    /// All steps have ended, and their results were sent before. Without a list, the shard knows
    /// that all steps are committed.
    Done(F),
}

/// Cost of running steps before their turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Speculation {
    /// Steps: transactions, and the system steps of each block.
    pub steps: u64,
    /// Executions of steps, aborted ones included.
    pub executions: u64,
    /// Validations of a step's reads.
    pub validations: u64,
    /// Aborted executions: given up, or invalid when validated.
    pub aborts: u64,
    /// Runs that waited for a lower step.
    pub waits: u64,
    /// Steps with at least one aborted execution.
    pub aborted_steps: u64,
    /// The most aborted executions of one step.
    pub most_aborts_of_a_step: u64,
}

impl Speculation {
    /// Adds the counts of another shard or batch. A shard may send nonsense, so sums saturate.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in [
            (&mut self.steps, other.steps),
            (&mut self.executions, other.executions),
            (&mut self.validations, other.validations),
            (&mut self.aborts, other.aborts),
            (&mut self.waits, other.waits),
            (&mut self.aborted_steps, other.aborted_steps),
        ] {
            *sum = sum.saturating_add(count);
        }
        self.most_aborts_of_a_step = self.most_aborts_of_a_step.max(other.most_aborts_of_a_step);
    }
}

/// The end of a shard's part of an optimistic batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptimisticFinished {
    /// Times of the shard's part.
    pub times: ShardTimes,
    /// Cost of its runs. The number of steps is zero: the coordinator knows it.
    pub runs: Speculation,
}

/// A message of a shard that executes optimistically.
pub type OptimisticReport = Report<Keys, OptimisticStep, OptimisticFinished>;

/// Reason for a missing result of a shard, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShardError(pub String);

/// Shards that are connected.
pub trait Shards: fmt::Debug + Sync {
    /// Number of shards.
    fn count(&self) -> usize;

    /// Name of a shard in errors: its number and its address.
    fn name(&self, shard: usize) -> String;

    /// Sends the workload to a shard, before any clock, unless the shard has it. Ends early once
    /// `stop` is set.
    ///
    /// # Errors
    /// [`ShardError`].
    fn load(&self, shard: usize, workload: &Workload, stop: &AtomicBool) -> Result<(), ShardError>;

    /// Makes a shard begin its part of a batch of the workload that it has. Sending waits at most
    /// until `stop` is set.
    ///
    /// # Errors
    /// [`ShardError`].
    fn begin<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Box<dyn Conversation + 'a>, ShardError>;

    /// Makes a shard begin its part of a batch optimistically, of the workload that it has. Sending
    /// waits at most until `stop` is set.
    ///
    /// # Errors
    /// [`ShardError`].
    fn begin_optimistic<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Channel<'a>, ShardError>;
}

/// The two directions of an optimistic batch on a shard, one thread each.
pub struct Channel<'s> {
    /// Messages to the shard.
    pub sender: Box<dyn Sender + 's>,
    /// Messages from the shard.
    pub receiver: Box<dyn Receiver + 's>,
}

impl fmt::Debug for Channel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}

/// Messages to a shard.
pub trait Sender: Send {
    /// Sends orders. Waits while the shard lags behind.
    ///
    /// # Errors
    /// [`ShardError`].
    fn send(&mut self, orders: Vec<Order>) -> Result<(), ShardError>;
}

/// Messages of a shard.
pub trait Receiver {
    /// Waits for the shard's next message. Ends when `stop` is set, or when a shard that `owes` a
    /// message is silent until its deadline.
    ///
    /// # Errors
    /// [`ShardError`].
    fn receive(
        &mut self,
        stop: &AtomicBool,
        owes: &dyn Fn() -> bool,
    ) -> Result<OptimisticReport, ShardError>;
}

/// A batch in execution on a shard.
pub trait Conversation {
    /// Waits for the shard's next message, until its deadline, or until `stop` is set.
    ///
    /// # Errors
    /// [`ShardError`].
    fn receive(&mut self, stop: &AtomicBool) -> Result<Report, ShardError>;

    /// Answers the request of this number.
    ///
    /// # Errors
    /// [`ShardError`].
    fn answer(&mut self, request: u64, values: StateValues) -> Result<(), ShardError>;
}

/// Waits for the requested values.
pub type Answer<'c> = Box<dyn FnOnce() -> Result<StateValues, ShardError> + Send + 'c>;

/// The coordinator, for the threads of a shard.
pub trait Coordinator: fmt::Debug + Sync {
    /// Reports that the shard begins.
    ///
    /// # Errors
    /// [`ShardError`].
    fn ready(&self) -> Result<(), ShardError>;

    /// Requests values. Further requests can be made before the answer.
    ///
    /// # Errors
    /// [`ShardError`].
    fn ask(&self, keys: Wanted) -> Result<Answer<'_>, ShardError>;

    /// Requests values, and waits for them.
    ///
    /// # Errors
    /// [`ShardError`].
    fn fetch(&self, keys: Wanted) -> Result<StateValues, ShardError> {
        self.ask(keys)?()
    }

    /// Sends results of steps. Waits while the coordinator lags behind.
    ///
    /// # Errors
    /// [`ShardError`].
    fn send(&self, steps: Vec<ShardStep>) -> Result<(), ShardError>;
}

/// The coordinator of an optimistic batch, for the threads of a shard.
pub trait OptimisticCoordinator: fmt::Debug + Sync {
    /// Reports that the shard begins.
    ///
    /// # Errors
    /// [`ShardError`].
    fn ready(&self) -> Result<(), ShardError>;

    /// Requests keys. Their values come among the orders.
    ///
    /// # Errors
    /// [`ShardError`].
    fn want(&self, request: u64, keys: Keys) -> Result<(), ShardError>;

    /// Sends results of steps. Waits while the coordinator lags behind.
    ///
    /// # Errors
    /// [`ShardError`].
    fn send(&self, steps: Vec<OptimisticStep>) -> Result<(), ShardError>;

    /// Returns the next order, for one thread; `None` where none came for a while.
    ///
    /// # Errors
    /// [`ShardError`]: the coordinator has gone.
    fn next(&self) -> Result<Option<Order>, ShardError>;
}
