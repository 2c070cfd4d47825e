//! Queue of results from a shard's executing threads to its thread that sends them to the
//! coordinator. A message costs both sides several wake-ups of threads, so results share messages.
//!
//! A message is sent once it has many results or bytes. It is also sent once its first result has
//! waited for a while, or an executing thread is idle. If other shards read values of this shard,
//! the coordinator sends an order to hurry. Then the next results are sent at once.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    lock::lock,
    shards::{
        ShardStep,
        versions::{HURRIED_RESULT_COUNT, OptimisticStep},
    },
};

/// Limit of the queue, in messages of full size. A thread that adds a result waits while the queue
/// is at this limit.
const WAITING_MESSAGES: usize = 64;
/// Approximate bytes of a result without its logs, output and keys.
const RESULT_BYTES: usize = 96;
/// Approximate bytes of an account or a slot that was read or written.
const KEY_BYTES: usize = 90;

/// Limits of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Largest number of results in a message.
    pub(super) result_count: usize,
    /// Number of bytes from which on a message gets no further result.
    pub(super) bytes: usize,
    /// Longest time for which a result waits for other results.
    pub(super) wait: Duration,
}

impl Limits {
    /// Limits of a shard. The results of one message keep the coordinator busy for less than a
    /// millisecond. So its serial work after the last message of a batch stays short.
    pub(super) const OF_A_SHARD: Self =
        Self { result_count: 128, bytes: 64 << 10, wait: Duration::from_micros(500) };
}

/// A result whose size in a message can be estimated.
pub(super) trait Sendable {
    /// Estimates the bytes of the result in a message.
    fn wire_bytes(&self) -> usize;
}

fn result_bytes(result: Option<&evm::TxResult>) -> usize {
    let logs = result.iter().flat_map(|result| &result.logs);
    let logs = logs.map(|log| KEY_BYTES + 32 * log.topics().len() + log.data.data.len());
    RESULT_BYTES + result.map_or(0, |result| result.output.len()) + logs.sum::<usize>()
}

impl Sendable for ShardStep {
    fn wire_bytes(&self) -> usize {
        let codes = self.writes.accounts.iter().filter_map(|write| write.code.as_ref());
        let codes: usize = codes.map(|(_, code)| code.len()).sum();
        let key_count = self.writes.accounts.len() + self.writes.slots.len();
        result_bytes(self.result.as_ref()) + codes + key_count * KEY_BYTES
    }
}

impl Sendable for OptimisticStep {
    fn wire_bytes(&self) -> usize {
        let Self { reads, writes, .. } = self;
        let codes: usize = writes.codes.iter().map(|(_, code)| code.len()).sum();
        let read_count = reads.accounts.len() + reads.slots.len() + reads.beneficiaries.len();
        let key_count = read_count + writes.accounts.len() + writes.slots.len();
        result_bytes(self.result.as_ref()) + codes + key_count * KEY_BYTES
    }
}

#[derive(Debug)]
struct State<T> {
    /// Results that wait, each with its estimated bytes.
    waiting: VecDeque<(usize, T)>,
    bytes: usize,
    /// Time from which on the first result in `waiting` has waited.
    since: Instant,
    /// True if the results in `waiting` are to be sent at once.
    is_due: bool,
    /// Number of further results that are to be sent at once.
    hurried_count: usize,
    producer_count: usize,
    /// True once results are dropped, because no thread sends them any more.
    is_closed: bool,
}

/// Results that wait to be sent: threads add them, and one thread sends them.
#[derive(Debug)]
pub(super) struct SendQueue<T> {
    limits: Limits,
    state: Mutex<State<T>>,
    /// Signals that the sender may have a message to send, or is to end.
    changed: Condvar,
    /// Signals that the queue has room again.
    taken: Condvar,
}

impl<T: Sendable> SendQueue<T> {
    /// Makes an empty queue.
    pub(super) fn new(limits: Limits) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            bytes: 0,
            since: Instant::now(),
            is_due: false,
            hurried_count: 0,
            producer_count: 0,
            is_closed: false,
        };
        Self { limits, state: Mutex::new(state), changed: Condvar::new(), taken: Condvar::new() }
    }

    /// Makes the producer of a thread that adds results. The sender ends once all producers are
    /// dropped.
    pub(super) fn producer(&self) -> Producer<'_, T> {
        lock(&self.state).producer_count += 1;
        Producer(self)
    }

    /// Has all waiting results sent at once. An idle thread calls this.
    pub(super) fn flush(&self) {
        let mut state = lock(&self.state);
        if !state.waiting.is_empty() && !std::mem::replace(&mut state.is_due, true) {
            self.changed.notify_one();
        }
    }

    /// Has the next [`HURRIED_RESULT_COUNT`] results sent without waiting for others.
    pub(super) fn hurry(&self) {
        lock(&self.state).hurried_count = HURRIED_RESULT_COUNT;
        self.flush();
    }

    /// Drops all waiting results, and all later ones.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_one();
        self.taken.notify_all();
    }

    fn is_full(&self, state: &State<T>) -> bool {
        state.waiting.len() >= self.limits.result_count || state.bytes >= self.limits.bytes
    }

    fn is_ahead(&self, state: &State<T>) -> bool {
        state.waiting.len() >= self.limits.result_count.saturating_mul(WAITING_MESSAGES)
            || state.bytes >= self.limits.bytes.saturating_mul(WAITING_MESSAGES)
    }

    /// Waits for the next message. Returns `None` once all producers are dropped and no result
    /// waits, or the queue is closed.
    pub(super) fn next(&self) -> Option<Vec<T>> {
        let mut state = lock(&self.state);
        loop {
            let is_last = state.producer_count == 0;
            if state.is_closed || (state.waiting.is_empty() && is_last) {
                return None;
            }
            if state.waiting.is_empty() {
                state = slept(self.changed.wait(state));
                continue;
            }
            let waited = state.since.elapsed();
            let is_hurried = state.hurried_count > 0;
            let is_due = is_last || state.is_due || is_hurried || self.is_full(&state);
            if is_due || waited >= self.limits.wait {
                return Some(self.take(&mut state));
            }
            let left = self.limits.wait - waited;
            state = slept(self.changed.wait_timeout(state, left)).0;
        }
    }

    /// Takes the results of the next message, at least one.
    fn take(&self, state: &mut State<T>) -> Vec<T> {
        let was_ahead = self.is_ahead(state);
        let mut results = Vec::with_capacity(state.waiting.len().min(self.limits.result_count));
        let mut bytes = 0;
        while results.is_empty()
            || (results.len() < self.limits.result_count && bytes < self.limits.bytes)
        {
            let Some((result_bytes, result)) = state.waiting.pop_front() else { break };
            bytes += result_bytes;
            state.bytes = state.bytes.saturating_sub(result_bytes);
            results.push(result);
        }
        state.is_due &= !state.waiting.is_empty();
        state.hurried_count = state.hurried_count.saturating_sub(results.len());
        state.since = Instant::now();
        if was_ahead {
            self.taken.notify_all();
        }
        results
    }
}

fn slept<G>(woken: Result<G, PoisonError<G>>) -> G {
    woken.unwrap_or_else(PoisonError::into_inner)
}

/// Adds the results of one thread to a queue.
#[derive(Debug)]
pub(super) struct Producer<'q, T: Sendable>(&'q SendQueue<T>);

impl<T: Sendable> Producer<'_, T> {
    /// Adds a result. Waits while the queue is at its limit.
    pub(super) fn push(&self, result: T) {
        let Self(queue) = self;
        let result_bytes = result.wire_bytes();
        let mut state = lock(&queue.state);
        while queue.is_ahead(&state) && !state.is_closed {
            state = slept(queue.taken.wait(state));
        }
        if state.is_closed {
            return;
        }
        let was_full = queue.is_full(&state);
        if state.waiting.is_empty() {
            state.since = Instant::now();
        }
        state.waiting.push_back((result_bytes, result));
        state.bytes = state.bytes.saturating_add(result_bytes);
        let wakes_sender = state.waiting.len() == 1 || (queue.is_full(&state) && !was_full);
        drop(state);
        if wakes_sender {
            queue.changed.notify_one();
        }
    }
}

impl<T: Sendable> Drop for Producer<'_, T> {
    fn drop(&mut self) {
        lock(&self.0.state).producer_count -= 1;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    impl Sendable for usize {
        fn wire_bytes(&self) -> usize {
            100
        }
    }

    /// Never reached: a test that needs the end of this wait hangs.
    const FOR_EVER: Duration = Duration::from_secs(100_000);

    fn queue(result_count: usize, bytes: usize, wait: Duration) -> SendQueue<usize> {
        SendQueue::new(Limits { result_count, bytes, wait })
    }

    /// Three threads add results while another one sends them.
    #[test]
    fn all_results_are_sent_once_in_messages_of_every_size() {
        for result_count in (1..=70).chain([1_000]) {
            for wait in [Duration::ZERO, Duration::from_micros(50), FOR_EVER] {
                let queue = &queue(result_count, usize::MAX, wait);
                let mut sent = Vec::new();
                thread::scope(|scope| {
                    for first in 0..3 {
                        let producer = queue.producer();
                        scope.spawn(move || {
                            (first..300).step_by(3).for_each(|n| producer.push(n));
                        });
                    }
                    while let Some(results) = queue.next() {
                        assert!((1..=result_count).contains(&results.len()), "{results:?}");
                        sent.extend(results);
                    }
                });
                for first in 0..3 {
                    let of_thread = sent.iter().copied().filter(|n| n % 3 == first);
                    let wanted = (first..300).step_by(3);
                    assert!(of_thread.eq(wanted), "in the order of their thread: {sent:?}");
                }
            }
        }
    }

    #[test]
    fn a_message_ends_with_the_result_that_reaches_its_bytes() {
        let queue = queue(50, 250, FOR_EVER);
        let producer = queue.producer();
        (0..7).for_each(|n| producer.push(n));
        assert_eq!(queue.next(), Some(vec![0, 1, 2]));
        assert_eq!(queue.next(), Some(vec![3, 4, 5]));
        drop(producer);
        assert_eq!((queue.next(), queue.next()), (Some(vec![6]), None));
    }

    #[test]
    fn a_result_waits_no_longer_than_it_may_nor_when_others_are_due_or_in_a_hurry() {
        let hurried = queue(50, usize::MAX, Duration::from_millis(2));
        let producer = hurried.producer();
        producer.push(1);
        assert_eq!(hurried.next(), Some(vec![1]), "its time is over");
        let hurried = queue(50, usize::MAX, FOR_EVER);
        let producer = hurried.producer();
        producer.push(1);
        producer.push(2);
        hurried.flush();
        assert_eq!(hurried.next(), Some(vec![1, 2]), "no thread has more to do");
        producer.push(3);
        hurried.hurry();
        assert_eq!(hurried.next(), Some(vec![3]), "others wait for it");
        for number in 1..HURRIED_RESULT_COUNT {
            producer.push(number);
            assert_eq!(hurried.next(), Some(vec![number]), "and for the next ones");
        }
        assert_eq!(lock(&hurried.state).hurried_count, 0, "and for no others");
    }

    #[test]
    fn a_flush_of_nothing_lets_later_results_wait() {
        let queue = queue(2, usize::MAX, FOR_EVER);
        let producer = queue.producer();
        queue.flush();
        producer.push(1);
        producer.push(2);
        assert_eq!(queue.next(), Some(vec![1, 2]));
    }

    #[test]
    fn a_thread_that_is_far_ahead_waits_until_results_are_taken_or_nobody_wants_them() {
        for is_closed in [false, true] {
            let queue = &queue(1, usize::MAX, FOR_EVER);
            let most = WAITING_MESSAGES;
            thread::scope(|scope| {
                let producer = queue.producer();
                let ahead = scope.spawn(move || (0..=most).for_each(|n| producer.push(n)));
                while lock(&queue.state).waiting.len() < most {
                    thread::yield_now();
                }
                assert!(!ahead.is_finished(), "there is no room for the last one");
                if is_closed {
                    queue.close();
                    assert_eq!(queue.next(), None);
                } else {
                    let sent = std::iter::from_fn(|| queue.next()).flatten();
                    assert!(sent.eq(0..=most));
                }
            });
        }
    }
}
