//! The input of a simulation as plain values, and its result.

use crate::transactions::Access;

/// The kind of a key, which decides when a shard must have its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// An account's row. With a list each shard needs it once, whoever writes it.
    Account,
    /// The row of a recipient of fees: each shard needs it once. Without a list payments to it are
    /// deltas, summed at the end, and no step waits for them.
    Recipient,
    /// A slot of the account of this key. With a list a step that comes after a write of it takes its value from
    /// the list.
    Slot {
        /// Number of the account's key.
        account: u32,
    },
    /// A contract's code. With a list it is asked for ahead, as if its hash were known from the start.
    Code,
}

/// A step of a batch: a transaction, or system calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepWork {
    /// Time of its execution where all values are there.
    pub time_ns: u64,
    /// Whether the step is system calls. All keys of such a step are foreseen.
    pub is_system: bool,
    /// Key of the sender's account.
    pub sender: Option<u32>,
    /// Key of the called account.
    pub callee: Option<u32>,
    /// All keys that it touches, each once, in the order in which it asks for them.
    pub accesses: Vec<Access>,
}

/// The work of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchWork {
    /// The kind of each key, by its number.
    pub keys: Vec<KeyKind>,
    /// The steps in block order.
    pub steps: Vec<StepWork>,
}

/// Whether shards have the list of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Shards have the list: a step waits for no other step. Its thread waits for missing values.
    List,
    /// Shards have no list. A step begins after the steps that it depends on, and one delay later
    /// for steps of other shards. Threads take the lowest step that can begin, like Block-STM
    /// without aborted executions.
    NoList,
}

/// The processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Each shard has its own host, with a core for each of its threads. The coordinator has another
    /// host.
    Apart {
        /// Cores of the coordinator.
        coordinator_core_count: u32,
    },
    /// All processes are on one host, whose cores they share equally.
    One {
        /// Cores of the host.
        core_count: u32,
    },
}

/// Costs beside the execution of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Work of the coordinator before shards are given their parts: decoding the list, and the partition
    /// where it is inside the clock.
    pub before_ns: u64,
    /// Work of a shard until it is ready: decoding the list.
    pub start_ns: u64,
    /// Work of the coordinator for a message of a shard, whatever is in it.
    pub message_ns: u64,
    /// Work of the coordinator for a value that it sends.
    pub value_ns: u64,
    /// Work of the coordinator for the result of a step: taking it in, and the checks.
    pub result_ns: u64,
    /// Work of a shard for a message, whatever is in it: results, or a request with its answer.
    pub shard_message_ns: u64,
    /// Work of a shard for a value that it takes in.
    pub shard_value_ns: u64,
    /// Work of a shard for a result that it sends, by one thread beside those that execute.
    pub shard_result_ns: u64,
    /// Work of the coordinator after the last result: join and commit.
    pub after_ns: u64,
}

/// Shards and the network between them and the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Shards.
    pub shard_count: u32,
    /// Threads of each shard.
    pub thread_count: u32,
    /// The processors.
    pub hosts: Hosts,
    /// Time of a message in one direction.
    pub delay_ns: u64,
    /// Keys of a request that is made ahead.
    pub micro_batch_key_count: u32,
    /// Whether shards have the list.
    pub knowledge: Knowledge,
    /// Costs beside the steps.
    pub costs: Costs,
}

/// The simulated time of a batch and its parts. The times of batches add up, since batches follow
/// one another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Simulated {
    /// From the start of the batch to the end of its commit.
    pub time_ns: f64,
    /// Work of the steps, summed.
    pub step_work_ns: f64,
    /// Work of the steps of the shard that has most.
    pub fullest_work_ns: f64,
    /// The longest sequence of steps of which each waits for the one before, with the delays between shards;
    /// with a list the longest step.
    pub chain_ns: f64,
    /// Time that threads of shards waited for values, summed; 0 without a list, where they take another step.
    pub value_wait_ns: f64,
    /// Work of the coordinator before, after and for its messages, summed over its threads.
    pub coordinator_work_ns: f64,
    /// Work of the coordinator's busiest thread, for the messages of one shard.
    pub busiest_thread_work_ns: f64,
    /// Work of shards for their messages, summed.
    pub shard_message_work_ns: f64,
    /// Requests that shards made ahead.
    pub ahead_request_count: u64,
    /// Keys of these requests.
    pub ahead_key_count: u64,
    /// Requests that a step waited for, of one key each.
    pub demand_request_count: u64,
    /// Messages with results.
    pub result_message_count: u64,
    /// Messages between shards: one of each step to each other shard that waits for it.
    pub shard_message_count: u64,
}

impl Simulated {
    /// Adds the times of the next batch.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in [
            (&mut self.time_ns, other.time_ns),
            (&mut self.step_work_ns, other.step_work_ns),
            (&mut self.fullest_work_ns, other.fullest_work_ns),
            (&mut self.chain_ns, other.chain_ns),
            (&mut self.value_wait_ns, other.value_wait_ns),
            (&mut self.coordinator_work_ns, other.coordinator_work_ns),
            (&mut self.busiest_thread_work_ns, other.busiest_thread_work_ns),
            (&mut self.shard_message_work_ns, other.shard_message_work_ns),
        ] {
            *sum += part;
        }
        self.ahead_request_count += other.ahead_request_count;
        self.ahead_key_count += other.ahead_key_count;
        self.demand_request_count += other.demand_request_count;
        self.result_message_count += other.result_message_count;
        self.shard_message_count += other.shard_message_count;
    }
}
