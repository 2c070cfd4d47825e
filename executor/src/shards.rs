//! The interface of engines to shards of execution, which are processes that execute steps of a
//! batch, with its list or optimistically. Defines the traits of the coordinator and of the shard,
//! and the types of their messages. `crates/shard/` implements the traits over gRPC.

use std::{fmt, sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::{B256, Bytes, U256};
use evm::{StepWrites, TxResult};
use workload::{BlockAccessIndex, Workload, genesis::AccountState};

use self::versions::{OptimisticStep, Order, RequestedKeys};

pub mod versions;

/// The part of a batch that a shard executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// 0-based index of the batch.
    pub batch: usize,
    /// The list of the batch, in the form `batched-io`; empty if shards execute optimistically.
    pub list: Bytes,
    /// Block access indices of the shard's steps, ascending.
    pub steps: Vec<BlockAccessIndex>,
    /// Number of the shard's executing threads.
    pub thread_count: usize,
    /// Maximal number of keys in a request ahead (micro-batch), which a shard sends before its
    /// steps need the values.
    pub micro_batch_key_count: u32,
    /// Delay that the transport adds to each message of the batch, in either direction.
    pub delay: Duration,
}

/// A shard's request for the values of declared keys before the batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRequest {
    /// Accounts, by their 0-based indices in the list.
    pub accounts: Vec<u32>,
    /// Slots, by their 0-based indices in the list.
    pub slots: Vec<u32>,
    /// Codes, by their hashes.
    pub codes: Vec<B256>,
}

/// The answer to a [`KeyRequest`], with the values in the order of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateValues {
    /// Values of accounts; `None` for an account that does not exist.
    pub accounts: Vec<Option<AccountState>>,
    /// Values of slots.
    pub slots: Vec<U256>,
    /// Codes; `None` for a code that the state does not have.
    pub codes: Vec<Option<Bytes>>,
}

/// The result of a step on a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStep {
    /// The step.
    pub index: BlockAccessIndex,
    /// Result of the transaction; `None` for a step of system calls and withdrawals.
    pub result: Option<TxResult>,
    /// Writes of the step.
    pub writes: StepWrites,
    /// Duration of the step on the shard, with reads.
    pub latency: Duration,
    /// Number of declared slots that no earlier step on the same thread had accessed.
    pub new_slot_count: u64,
}

/// The declared keys that the steps of a shard accessed, as bitmaps. Bit `n` is set if the key with
/// index `n` in the list was accessed. The words have 64 bits, lowest bit first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessedKeys {
    /// Bits of the accounts.
    pub accounts: Vec<u64>,
    /// Bits of the slots.
    pub slots: Vec<u64>,
}

/// CPU time of a shard's process for its part of a batch, after the shard was ready. Other
/// processes on the same cores do not change it. Zero if the system does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardCpu {
    /// CPU time of the executing threads.
    pub executing: Duration,
    /// CPU time of the thread that sends results.
    pub sending: Duration,
    /// CPU time of the threads that request values ahead and store the answers.
    pub asking: Duration,
    /// CPU time of all threads of the process, with the threads of the transport.
    pub all: Duration,
}

/// Times of a shard's part of a batch, by the shard's clock, and the counts of the shard's
/// requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardTimes {
    /// Time from the shard's readiness to the arrival of the last value that was requested ahead.
    pub ahead: Duration,
    /// Time from the shard's readiness to the end of its last step.
    pub executed: Duration,
    /// Sum of the times that the shard's threads waited for values.
    pub value_wait: Duration,
    /// Number of requests ahead (micro-batches).
    pub ahead_request_count: u64,
    /// Number of keys in all requests ahead.
    pub ahead_key_count: u64,
    /// Number of requests, of one key each, that a step waited for.
    pub demand_request_count: u64,
    /// CPU time of the shard; zero if it executes optimistically.
    pub cpu: ShardCpu,
}

impl ShardTimes {
    /// Adds the times of another shard or batch. A shard may send nonsense, so sums saturate.
    pub fn add(&mut self, other: &Self) {
        for (sum, time) in [
            (&mut self.ahead, other.ahead),
            (&mut self.executed, other.executed),
            (&mut self.value_wait, other.value_wait),
            (&mut self.cpu.executing, other.cpu.executing),
            (&mut self.cpu.sending, other.cpu.sending),
            (&mut self.cpu.asking, other.cpu.asking),
            (&mut self.cpu.all, other.cpu.all),
        ] {
            *sum = sum.saturating_add(time);
        }
        for (sum, count) in [
            (&mut self.ahead_request_count, other.ahead_request_count),
            (&mut self.ahead_key_count, other.ahead_key_count),
            (&mut self.demand_request_count, other.demand_request_count),
        ] {
            *sum = sum.saturating_add(count);
        }
    }
}

/// Messages and CPU times of the coordinator's threads that serve shards, for shards that execute
/// with a list. The times are zero if the system does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoordinatorTimes {
    /// Number of messages from shards: requests for values, and results.
    pub message_count: u64,
    /// CPU time for requests for values: decoding, reads, and sending of answers.
    pub answering: Duration,
    /// CPU time for messages with results: decoding, adding and checking.
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

/// The last message of a shard about its part of a batch with a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The keys that the shard accessed.
    pub accessed_keys: AccessedKeys,
    /// Times of the shard's part.
    pub times: ShardTimes,
}

/// A message from a shard to the coordinator. `K` is the type of requested keys, `S` that of a
/// step's result, and `F` that of the last message's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report<K = KeyRequest, S = ShardStep, F = Finished> {
    /// The shard has received its assignment, and begins.
    Ready,
    /// The shard requests values.
    Request {
        /// Number of the request, which the answer repeats. An optimistic shard sends 0 if a step
        /// waits for the answer.
        request: u64,
        /// The requested keys.
        keys: K,
    },
    /// Results of steps. Without a list, results of executions of steps.
    Steps(Vec<S>),
    /// The shard failed.
    Failed {
        /// The step that failed; `None` if the failure belongs to no step.
        index: Option<BlockAccessIndex>,
        /// The reason.
        reason: String,
    },
    /// All steps of the shard have ended, and all their results were sent before. Without a list,
    /// the shard also knows that all steps of the batch are committed.
    Done(F),
}

/// Counts of optimistic executions, validations and aborts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Speculation {
    /// Number of steps: transactions, and each block's steps of system calls and withdrawals.
    pub step_count: u64,
    /// Number of executions of steps, with aborted executions.
    pub execution_count: u64,
    /// Number of validations of an execution's reads.
    pub validation_count: u64,
    /// Number of aborted executions: given up, or found invalid by a validation.
    pub abort_count: u64,
    /// Number of executions that waited for a lower step.
    pub wait_count: u64,
    /// Number of steps with at least one aborted execution.
    pub aborted_step_count: u64,
    /// Maximal number of aborted executions of one step.
    pub most_aborts_of_a_step: u64,
}

impl Speculation {
    /// Adds the counts of another shard or batch. A shard may send nonsense, so sums saturate.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in [
            (&mut self.step_count, other.step_count),
            (&mut self.execution_count, other.execution_count),
            (&mut self.validation_count, other.validation_count),
            (&mut self.abort_count, other.abort_count),
            (&mut self.wait_count, other.wait_count),
            (&mut self.aborted_step_count, other.aborted_step_count),
        ] {
            *sum = sum.saturating_add(count);
        }
        self.most_aborts_of_a_step = self.most_aborts_of_a_step.max(other.most_aborts_of_a_step);
    }
}

/// The last message of a shard about its part of an optimistic batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptimisticFinished {
    /// Times of the shard's part.
    pub times: ShardTimes,
    /// Counts of the shard's executions. The number of steps is zero, since the coordinator knows
    /// it.
    pub runs: Speculation,
}

/// A message from a shard that executes optimistically.
pub type OptimisticReport = Report<RequestedKeys, OptimisticStep, OptimisticFinished>;

/// Reason why a shard gives no result, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShardError(pub String);

/// The coordinator's connections to shards.
pub trait Shards: fmt::Debug + Sync {
    /// Returns the number of shards.
    fn count(&self) -> usize;

    /// Returns the name of a shard in errors: its number and its address.
    fn name(&self, shard: usize) -> String;

    /// Sends the workload to a shard before any clock, unless the shard has it already. Ends early
    /// if `stop` is set.
    ///
    /// # Errors
    /// [`ShardError`].
    fn load(&self, shard: usize, workload: &Workload, stop: &AtomicBool) -> Result<(), ShardError>;

    /// Makes a shard begin its part of a batch. The shard must have the workload. Waits for the
    /// connection at most until `stop` is set.
    ///
    /// # Errors
    /// [`ShardError`].
    fn begin<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Box<dyn Conversation + 'a>, ShardError>;

    /// Makes a shard begin its part of a batch, to execute it optimistically. The shard must have
    /// the workload. Waits for the connection at most until `stop` is set.
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

/// The two directions of a connection to a shard during an optimistic batch. Each direction has a
/// thread of its own.
pub struct Channel<'s> {
    /// Sends messages to the shard.
    pub sender: Box<dyn Sender + 's>,
    /// Receives messages from the shard.
    pub receiver: Box<dyn Receiver + 's>,
}

impl fmt::Debug for Channel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}

/// Sends messages to a shard.
pub trait Sender: Send {
    /// Sends orders. Waits while too many messages to the shard are under way.
    ///
    /// # Errors
    /// [`ShardError`].
    fn send(&mut self, orders: Vec<Order>) -> Result<(), ShardError>;
}

/// Receives messages from a shard.
pub trait Receiver {
    /// Waits for the shard's next message. Fails if `stop` is set. `owes` returns whether the shard
    /// must send a message. If it must, and no message comes until the deadline, the call fails.
    ///
    /// # Errors
    /// [`ShardError`].
    fn receive(
        &mut self,
        stop: &AtomicBool,
        owes: &dyn Fn() -> bool,
    ) -> Result<OptimisticReport, ShardError>;
}

/// The coordinator's connection to a shard that executes its part of a batch with a list.
pub trait Conversation {
    /// Waits for the shard's next message. Fails at the deadline, or if `stop` is set.
    ///
    /// # Errors
    /// [`ShardError`].
    fn receive(&mut self, stop: &AtomicBool) -> Result<Report, ShardError>;

    /// Sends the answer to the request with this number.
    ///
    /// # Errors
    /// [`ShardError`].
    fn answer(&mut self, request: u64, values: StateValues) -> Result<(), ShardError>;
}

/// A function that waits for the requested values.
pub type Answer<'c> = Box<dyn FnOnce() -> Result<StateValues, ShardError> + Send + 'c>;

/// A shard's connection to the coordinator, for a batch with a list. All threads of the shard use
/// it.
pub trait Coordinator: fmt::Debug + Sync {
    /// Reports that the shard begins.
    ///
    /// # Errors
    /// [`ShardError`].
    fn ready(&self) -> Result<(), ShardError>;

    /// Requests values without waiting for them. The shard can make more requests before the answer
    /// comes.
    ///
    /// # Errors
    /// [`ShardError`].
    fn request(&self, keys: KeyRequest) -> Result<Answer<'_>, ShardError>;

    /// Requests values, and waits for them.
    ///
    /// # Errors
    /// [`ShardError`].
    fn fetch(&self, keys: KeyRequest) -> Result<StateValues, ShardError> {
        self.request(keys)?()
    }

    /// Sends results of steps. Waits while too many messages to the coordinator are under way.
    ///
    /// # Errors
    /// [`ShardError`].
    fn send(&self, steps: Vec<ShardStep>) -> Result<(), ShardError>;
}

/// A shard's connection to the coordinator, for an optimistic batch. All threads of the shard use
/// it.
pub trait OptimisticCoordinator: fmt::Debug + Sync {
    /// Reports that the shard begins.
    ///
    /// # Errors
    /// [`ShardError`].
    fn ready(&self) -> Result<(), ShardError>;

    /// Requests the values of keys. The values come as an [`Order::Values`].
    ///
    /// # Errors
    /// [`ShardError`].
    fn request(&self, request: u64, keys: RequestedKeys) -> Result<(), ShardError>;

    /// Sends results of steps. Waits while too many messages to the coordinator are under way.
    ///
    /// # Errors
    /// [`ShardError`].
    fn send(&self, steps: Vec<OptimisticStep>) -> Result<(), ShardError>;

    /// Returns the next order; `None` if no order came within a short time. Only one thread may
    /// call it.
    ///
    /// # Errors
    /// [`ShardError`]: the connection to the coordinator is lost.
    fn next(&self) -> Result<Option<Order>, ShardError>;
}
