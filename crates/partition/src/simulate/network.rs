//! Messages between the coordinator and shards, and from shard to shard.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::cpu::Ns;

/// A message of a shard to the coordinator.
#[derive(Clone, Debug)]
pub(super) enum Report {
    /// The shard wants the values of these keys.
    Wanted(Vec<u32>),
    /// Number of results in the message.
    Results(u64),
    /// The shard has sent all.
    Done,
}

/// A message that comes in.
#[derive(Clone, Debug)]
pub(super) enum Arrival {
    /// The part of a shard.
    Part(u32),
    /// A message of a shard.
    Report(u32, Report),
    /// Values for a shard.
    Values(u32, Vec<u32>),
    /// A shard learns that another has run this step, with the values that it wrote.
    Step(u32, u32),
    /// No message: results of a shard have waited for others long enough.
    Due(u32),
}

/// Messages on their way, the next one to come in first.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Arrival time of each, and its index.
    order: BinaryHeap<Reverse<(Ns, usize)>>,
    messages: Vec<Option<Arrival>>,
}

impl Network {
    pub(super) fn send(&mut self, at: f64, message: Arrival) {
        self.order.push(Reverse((Ns(at), self.messages.len())));
        self.messages.push(Some(message));
    }

    pub(super) fn next(&self) -> Option<Ns> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn take(&mut self) -> Option<Arrival> {
        let Reverse((_, index)) = self.order.pop()?;
        self.messages[index].take()
    }
}
