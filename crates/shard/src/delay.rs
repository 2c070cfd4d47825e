//! A delay line: messages leave it in order, each a fixed time after it came. Threads wait by the
//! system's clock, as timers of the runtime have whole milliseconds. It delays alone: the rate of messages has no
//! limit, and their number one that bounds memory, which is far above that of a real network.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use crate::wire::HELD_MAX;

/// Interval in which one who waits for room looks for it.
const ROOM_CHECK: Duration = Duration::from_millis(1);

/// The entry of a line. The line ends once this is dropped and all messages have left.
#[derive(Debug)]
pub(crate) struct Line<T> {
    to: mpsc::Sender<(Instant, T)>,
    /// Messages that have not left.
    held: Arc<AtomicUsize>,
}

impl<T: Send + 'static> Line<T> {
    /// A line of this delay. `leave` takes each message, and returns `None` once nobody wants more.
    pub(crate) fn new(
        delay: Duration,
        mut leave: impl FnMut(T) -> Option<()> + Send + 'static,
    ) -> Self {
        let (to, from) = mpsc::channel::<(Instant, T)>();
        let held = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&held);
        thread::spawn(move || {
            for (came, message) in from {
                thread::sleep((came + delay).saturating_duration_since(Instant::now()));
                if leave(message).is_none() {
                    return;
                }
                left.fetch_sub(1, Ordering::Relaxed);
            }
        });
        Self { to, held }
    }

    /// Takes a message, however many there are. Returns `None` once nobody wants more.
    pub(crate) fn enter(&self, message: T) -> Option<()> {
        self.held.fetch_add(1, Ordering::Relaxed);
        self.to.send((Instant::now(), message)).ok()
    }

    /// Takes a message once there is room for it. Returns `None` once nobody wants more.
    pub(crate) async fn enter_with_room(&self, message: T) -> Option<()> {
        while self.held.load(Ordering::Relaxed) >= HELD_MAX && Arc::strong_count(&self.held) > 1 {
            tokio::time::sleep(ROOM_CHECK).await;
        }
        self.enter(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_in_order_and_none_before_its_time() {
        let delay = Duration::from_millis(3);
        let (to, from) = mpsc::channel();
        let line = Line::new(delay, move |sent: (u32, Instant)| to.send(sent).ok());
        (0..100).for_each(|number| line.enter((number, Instant::now())).unwrap());
        drop(line);
        let left: Vec<_> = from.iter().map(|(number, sent)| (number, sent.elapsed())).collect();
        assert_eq!(
            left.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            Vec::from_iter(0..100)
        );
        assert!(left.iter().all(|(_, time)| *time >= delay), "{left:?}");
    }

    #[test]
    fn a_line_that_is_full_makes_one_wait_until_a_message_leaves() {
        let (to, from) = mpsc::sync_channel(0);
        let line = Line::new(Duration::ZERO, move |number: usize| to.send(number).ok());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for number in 0..HELD_MAX {
                line.enter_with_room(number).await.unwrap();
            }
            let waits = line.enter_with_room(HELD_MAX);
            let waited = tokio::time::timeout(Duration::from_millis(50), waits).await;
            assert!(waited.is_err(), "there is no room before one has left");
            assert_eq!(from.recv(), Ok(0));
            line.enter_with_room(HELD_MAX).await.unwrap();
            drop(from);
            // A line that has ended makes nobody wait.
            while line.enter_with_room(0).await.is_some() {}
        });
    }

    #[test]
    fn a_line_whose_messages_nobody_wants_says_so() {
        let line = Line::new(Duration::ZERO, |_: u32| None);
        let ended = (0..1_000).any(|number| {
            thread::sleep(Duration::from_millis(1));
            line.enter(number).is_none()
        });
        assert!(ended);
    }
}
