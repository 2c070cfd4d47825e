//! Input and result of a simulation, as plain values. The program fills them from a workload.

use crate::transactions::Access;

/// The kind of a key, which decides when a shard must have its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// An account's row. With a list, each shard needs the row's value once, whichever shard writes
    /// it.
    Account,
    /// The row of a recipient of fees: each shard needs the row's value once. Without a list,
    /// payments to the recipient are deltas that are summed at the end, and no step waits for them.
    Recipient,
    /// A slot of an account. With a list, a step that comes after a write of the slot takes the
    /// value from the list.
    Slot {
        /// Number of the key of the slot's account.
        account: u32,
    },
    /// A contract's code. With a list, the code is requested ahead, as if its hash were known from
    /// the start.
    Code,
}

/// A step of a batch: a transaction, or system calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepWork {
    /// Time of the step's execution when all values are present.
    pub time_ns: u64,
    /// Whether the step is system calls. All keys of such a step are foreseen.
    pub is_system: bool,
    /// Number of the key of the sender's account; `None` if there is no sender.
    pub sender: Option<u32>,
    /// Number of the key of the called account; `None` if there is none.
    pub callee: Option<u32>,
    /// All keys that the step touches, each once, in the order in which the step requests them.
    pub accesses: Vec<Access>,
}

/// The work of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchWork {
    /// The kind of each key, by the key's number.
    pub keys: Vec<KeyKind>,
    /// The steps in block order.
    pub steps: Vec<StepWork>,
}

/// Whether shards have the list of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Shards have the list: a step waits for no other step. Its thread waits for missing values.
    List,
    /// Shards have no list. A step begins after all steps that it depends on; the end of a step on
    /// another shard becomes known one delay later. Threads take the lowest step that can begin,
    /// like Block-STM without aborted executions.
    NoList,
}

/// The hosts of all processes, with their cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Each shard has its own host, with a core for each thread. The coordinator has another host.
    Apart {
        /// Number of the coordinator's cores.
        coordinator_core_count: u32,
    },
    /// All processes are on one host, whose cores they share equally.
    One {
        /// Number of the host's cores.
        core_count: u32,
    },
}

/// Costs beside the execution of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Work of the coordinator before shards get their parts: decoding the list, and the partition
    /// where it is inside the clock.
    pub before_ns: u64,
    /// Work of a shard until it is ready: decoding the list.
    pub start_ns: u64,
    /// Fixed work of the coordinator for each message of a shard.
    pub message_ns: u64,
    /// Work of the coordinator for each value that it sends.
    pub value_ns: u64,
    /// Work of the coordinator for the result of a step: taking it in, and checks.
    pub result_ns: u64,
    /// Fixed work of a shard for each message with results, and for each request with its answer.
    pub shard_message_ns: u64,
    /// Work of a shard for each value that it takes in.
    pub shard_value_ns: u64,
    /// Work of a shard for each result that it sends, on one thread beside the executing threads.
    pub shard_result_ns: u64,
    /// Work of the coordinator after the last result: join and commit.
    pub after_ns: u64,
}

/// Shards and the network between them and the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Number of shards.
    pub shard_count: u32,
    /// Number of threads of each shard.
    pub thread_count: u32,
    /// The hosts of all processes.
    pub hosts: Hosts,
    /// Time that a message takes in one direction.
    pub delay_ns: u64,
    /// Maximum number of keys of a request ahead (micro-batch).
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
    /// Time from the start of the batch to the end of its commit.
    pub time_ns: f64,
    /// Execution time of all steps, summed.
    pub step_work_ns: f64,
    /// Execution time of the steps of the shard with the most work.
    pub fullest_work_ns: f64,
    /// Time of the longest sequence of steps in which each step waits for the step before it, with
    /// the delays between shards. With a list, no step waits: the time of the longest step.
    pub chain_ns: f64,
    /// Time that threads of shards waited for values, summed; 0 without a list, where threads take
    /// another step instead.
    pub value_wait_ns: f64,
    /// Work of the coordinator before and after execution and for messages, summed over its
    /// threads.
    pub coordinator_work_ns: f64,
    /// Work of the coordinator's busiest thread, which takes in the messages of one shard.
    pub busiest_thread_work_ns: f64,
    /// Work of shards for their messages to and from the coordinator, summed.
    pub shard_message_work_ns: f64,
    /// Number of requests that shards made ahead of their steps.
    pub ahead_request_count: u64,
    /// Number of keys of the requests ahead.
    pub ahead_key_count: u64,
    /// Number of requests that a step waited for, of one key each.
    pub demand_request_count: u64,
    /// Number of messages with results.
    pub result_message_count: u64,
    /// Number of messages between shards. The end of a step is sent once to each other shard that
    /// has a step that waits for it.
    pub shard_message_count: u64,
}

impl Simulated {
    /// Adds the times and counts of the next batch.
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
