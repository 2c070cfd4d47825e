//! A delay line, which simulates the delay of a network on both ways of the coordinator's
//! connection to a shard. Messages leave it in order, each a fixed time after it entered. Threads
//! wait by the operating system's timers, because tokio's timers have a resolution of a
//! millisecond.
//!
//! A message is on its way until its delay is over, and then due. A due message stays in the line
//! until the receiver takes it. The number of due messages is limited like the queue of a
//! connection without a delay. So the sender waits for a slow receiver in both cases.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::wire::DELAYED_COUNT_MAX;

#[derive(Debug)]
struct Queue<T> {
    /// Messages, each with the time at which it entered.
    messages: VecDeque<(Instant, T)>,
    /// True after the entry was dropped: no more message can enter.
    is_closed: bool,
    /// True after the receiver was dropped.
    has_no_receiver: bool,
}

#[derive(Debug)]
struct DelayLine<T> {
    delay: Duration,
    /// Maximum number of due messages that the receiver has not taken.
    due_max: usize,
    queue: Mutex<Queue<T>>,
    has_entered: Condvar,
    has_left: Notify,
}

impl<T> DelayLine<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, queue: &Queue<T>) -> bool {
        // Delays end in the order of the messages: if the message at this index is due, `due_max`
        // messages are.
        let last_allowed = queue.messages.get(self.due_max.saturating_sub(1));
        let is_due = last_allowed.is_some_and(|(entered, _)| entered.elapsed() >= self.delay);
        !is_due && queue.messages.len() < DELAYED_COUNT_MAX
    }
}

/// Makes a line with this delay, in which at most `due_max` due messages wait for the receiver.
pub(crate) fn delay_line<T>(delay: Duration, due_max: usize) -> (Entry<T>, Exit<T>) {
    let queue = Queue { messages: VecDeque::new(), is_closed: false, has_no_receiver: false };
    let (has_entered, has_left) = (Condvar::new(), Notify::new());
    let line = DelayLine { delay, due_max, queue: Mutex::new(queue), has_entered, has_left };
    let line = Arc::new(line);
    (Entry(Arc::clone(&line)), Exit(line))
}

/// The end of a line at which messages enter. After the entry is dropped and all messages have
/// left, the line has ended.
#[derive(Debug)]
pub(crate) struct Entry<T>(Arc<DelayLine<T>>);

/// Result of putting a message into a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EnterResult<T> {
    /// The message is in the line.
    Queued,
    /// The line has no room for this message.
    Full(T),
    /// The receiver is gone.
    Closed,
}

impl<T> Entry<T> {
    /// Puts a message into the line if there is room for it.
    pub(crate) fn enter(&self, message: T) -> EnterResult<T> {
        let mut queue = self.0.lock();
        if queue.has_no_receiver {
            return EnterResult::Closed;
        }
        if !self.0.has_room(&queue) {
            return EnterResult::Full(message);
        }
        queue.messages.push_back((Instant::now(), message));
        drop(queue);
        self.0.has_entered.notify_one();
        EnterResult::Queued
    }

    /// Puts a message into the line as soon as there is room for it. Returns false if the receiver
    /// is gone. Only one task at a time may call it.
    pub(crate) async fn enter_with_room(&self, mut message: T) -> bool {
        loop {
            message = match self.enter(message) {
                EnterResult::Queued => return true,
                EnterResult::Closed => return false,
                EnterResult::Full(message) => message,
            };
            // Only a message that leaves makes room: time alone makes more messages due.
            self.0.has_left.notified().await;
        }
    }
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.has_entered.notify_all();
    }
}

/// The end of a line at which messages leave.
#[derive(Debug)]
pub(crate) struct Exit<T>(Arc<DelayLine<T>>);

/// Result of taking a message from a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LeaveResult<T> {
    /// A message.
    Message(T),
    /// No message was due within the time.
    Nothing,
    /// The line has ended: no more message will come.
    End,
}

impl<T> Exit<T> {
    /// Waits on this thread for the next message, for at most `limit`.
    pub(crate) fn next(&self, limit: Duration) -> LeaveResult<T> {
        let until = Instant::now() + limit;
        let mut queue = self.0.lock();
        loop {
            let now = Instant::now();
            let due = queue.messages.front().map(|(entered, _)| *entered + self.0.delay);
            match due {
                Some(due) if due <= now => break,
                None if queue.is_closed => return LeaveResult::End,
                _ if now >= until => return LeaveResult::Nothing,
                Some(due) => {
                    drop(queue);
                    thread::sleep(due.min(until) - now);
                    queue = self.0.lock();
                }
                None => {
                    let woken = self.0.has_entered.wait_timeout(queue, until - now);
                    queue = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        let message = queue.messages.pop_front();
        drop(queue);
        self.0.has_left.notify_one();
        message.map_or(LeaveResult::Nothing, |(_, message)| LeaveResult::Message(message))
    }
}

impl<T> Drop for Exit<T> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.has_no_receiver = true;
        queue.messages.clear();
        drop(queue);
        self.0.has_left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(1_000);

    fn within(most: Duration, call: impl Future<Output = bool>) -> Option<bool> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(most, call).await.ok() })
    }

    #[test]
    fn messages_leave_in_order_and_none_before_its_time() {
        let delay = Duration::from_millis(3);
        let (entry, exit) = delay_line(delay, 1_000);
        for number in 0..100 {
            assert_eq!(entry.enter((number, Instant::now())), EnterResult::Queued);
        }
        drop(entry);
        for wanted in 0..100 {
            let LeaveResult::Message((number, sent)) = exit.next(LONG) else {
                panic!("{wanted} is gone")
            };
            assert_eq!(number, wanted);
            assert!(sent.elapsed() >= delay);
        }
        assert_eq!(exit.next(LONG), LeaveResult::End);
    }

    #[test]
    fn what_is_on_its_way_counts_no_less_than_the_most_and_what_is_due_as_without_a_delay() {
        let (entry, _exit) = delay_line(LONG, 3);
        assert!((0..DELAYED_COUNT_MAX).all(|number| entry.enter(number) == EnterResult::Queued));
        assert_eq!(entry.enter(DELAYED_COUNT_MAX), EnterResult::Full(DELAYED_COUNT_MAX));
        for delay in [Duration::ZERO, Duration::from_micros(1)] {
            let (entry, exit) = delay_line(delay, 3);
            for number in 0..3 {
                assert_eq!(entry.enter(number), EnterResult::Queued);
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(entry.enter(3), EnterResult::Full(3), "{delay:?}");
            assert_eq!(exit.next(LONG), LeaveResult::Message(0));
            assert_eq!(entry.enter(3), EnterResult::Queued, "{delay:?}");
        }
    }

    #[test]
    fn one_who_waits_for_room_goes_on_once_a_message_has_left_or_nobody_wants_more() {
        let (entry, exit) = delay_line(Duration::ZERO, 1);
        assert_eq!(within(LONG, entry.enter_with_room(1)), Some(true));
        let short = Duration::from_millis(50);
        assert_eq!(within(short, entry.enter_with_room(2)), None, "there is no room");
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(exit.next(LONG), LeaveResult::Message(1)));
            assert_eq!(within(LONG, entry.enter_with_room(2)), Some(true));
        });
        thread::scope(|scope| {
            scope.spawn(move || drop(exit));
            assert_eq!(within(LONG, entry.enter_with_room(3)), Some(false));
        });
        assert_eq!(entry.enter(4), EnterResult::Closed);
    }

    #[test]
    fn a_line_in_which_nothing_is_due_is_waited_for_no_longer_than_was_said() {
        let (entry, exit) = delay_line::<u32>(LONG, 1);
        let short = Duration::from_millis(2);
        assert_eq!(exit.next(short), LeaveResult::Nothing);
        assert_eq!(entry.enter(1), EnterResult::Queued);
        assert_eq!(exit.next(short), LeaveResult::Nothing);
    }
}
