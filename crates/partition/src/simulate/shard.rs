//! The state of a shard while a batch is simulated: its threads, its values, and the results that
//! wait to be sent.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
};

/// State of a key's value on a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    /// The value was not requested.
    #[default]
    Unknown,
    /// The request is under way.
    Asked,
    /// The value is on the shard.
    Here,
}

/// An executing thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thread {
    /// Step that the thread executes.
    pub(super) step: u32,
    /// Number of the step's values that the thread has found present: the first ones in the order
    /// in which the step requests them.
    pub(super) value_count: usize,
    /// Time at which the thread took the step.
    pub(super) waits_since: f64,
}

/// State of a shard while a batch is simulated.
#[derive(Clone, Debug, Default)]
pub(super) struct ShardState {
    /// Whether the shard has its part of the batch.
    pub(super) is_ready: bool,
    /// State of the value of each key.
    pub(super) values: Vec<Value>,
    /// Answers with values that have arrived, in their order; the first is being taken in.
    pub(super) answers: VecDeque<Vec<u32>>,
    /// For each key, the threads (with a list) or the steps (without one) that wait for its value.
    pub(super) waiting: HashMap<u32, Vec<u32>>,
    /// The executing threads.
    pub(super) threads: Vec<Thread>,
    /// Threads without a step.
    pub(super) idle: Vec<u32>,
    /// Steps that can begin, the lowest first.
    pub(super) runnable: BinaryHeap<Reverse<u32>>,
    /// Number of results that wait to be sent.
    pub(super) unsent_count: u64,
    /// Time at which unsent results must be sent: the first of them has waited long enough then.
    pub(super) send_at: f64,
    /// Number of steps that have ended.
    pub(super) ended_count: u64,
    /// Number of results that the sending thread is sending; 0 if that thread is free.
    pub(super) sending_count: u64,
    /// Number of results that were sent.
    pub(super) sent_count: u64,
}

impl ShardState {
    pub(super) fn new(thread_count: u32, key_count: usize) -> Self {
        Self {
            values: vec![Value::Unknown; key_count],
            threads: vec![Thread::default(); thread_count as usize],
            // Popped from the end: the first thread comes first.
            idle: (0..thread_count).rev().collect(),
            ..Self::default()
        }
    }

    /// Returns whether unsent results have waited long enough.
    pub(super) fn has_due_results(&self, now: f64) -> bool {
        self.unsent_count > 0 && now >= self.send_at
    }
}
