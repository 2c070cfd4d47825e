//! The simulated network: messages in transit between the coordinator and shards, and from shard to
//! shard, by their time of arrival.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::cpu::Ns;

/// A message of a shard to the coordinator.
#[derive(Clone, Debug)]
pub(super) enum Report {
    /// A request of the shard for the values of the keys with these numbers.
    Wanted(Vec<u32>),
    /// A message with this number of step results.
    Results(u64),
    /// The shard has sent all results.
    Done,
}

/// A message that arrives, or an event that is due. The first number is that of the shard.
#[derive(Clone, Debug)]
pub(super) enum Arrival {
    /// The shard gets its part of the batch.
    Part(u32),
    /// The coordinator gets a message of the shard.
    Report(u32, Report),
    /// The shard gets the values of these keys.
    Values(u32, Vec<u32>),
    /// The shard learns that another shard has run this step, with the values that the step wrote.
    Step(u32, u32),
    /// Not a message: unsent results of the shard may have waited long enough.
    Due(u32),
}

/// Messages in transit; the message that arrives next is the first.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Arrival time and index of each message.
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
