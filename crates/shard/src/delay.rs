//! A delay line: messages leave it in order, each a fixed time after it came. Threads wait by the
//! system's clock, as timers of the runtime have whole milliseconds. It delays alone: neither the rate nor the
//! number of messages on their way has a limit.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The entry of a line. The line ends once this is dropped and all messages have left.
#[derive(Debug)]
pub(crate) struct Line<T>(mpsc::Sender<(Instant, T)>);

impl<T: Send + 'static> Line<T> {
    /// A line of this delay. `leave` takes each message, and returns `None` once nobody wants more.
    pub(crate) fn new(
        delay: Duration,
        mut leave: impl FnMut(T) -> Option<()> + Send + 'static,
    ) -> Self {
        let (to, from) = mpsc::channel::<(Instant, T)>();
        thread::spawn(move || {
            for (came, message) in from {
                thread::sleep((came + delay).saturating_duration_since(Instant::now()));
                if leave(message).is_none() {
                    return;
                }
            }
        });
        Self(to)
    }

    /// Takes a message. Returns `None` once nobody wants more.
    pub(crate) fn enter(&self, message: T) -> Option<()> {
        self.0.send((Instant::now(), message)).ok()
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
    fn a_line_whose_messages_nobody_wants_says_so() {
        let line = Line::new(Duration::ZERO, |_: u32| None);
        let ended = (0..1_000).any(|number| {
            thread::sleep(Duration::from_millis(1));
            line.enter(number).is_none()
        });
        assert!(ended);
    }
}
