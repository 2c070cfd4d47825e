//! The coordinator's queue of messages from a shard during a batch. Without a delay, it is the
//! connection itself, and the thread that takes a message decodes it. With a delay, it is a delay
//! line behind the connection, and the task that fills the line decodes the messages.

use std::time::Duration;

use tokio::{runtime::Runtime, task::AbortHandle};
use tokio_stream::{Stream, StreamExt};
use tonic::{Status, Streaming};

use crate::{
    delay::{Entry, Exit, LeaveResult, delay_line},
    error::within,
    wire::{WINDOW, proto::FromShard},
};

/// The next message of a shard; `None` at the end of the stream.
pub(crate) type NextMessage = Result<Option<FromShard>, Status>;

/// Messages of a shard, in the order in which the shard sent them.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Messages come directly from the connection.
    Direct(Box<Streaming<FromShard>>),
    /// Messages come from a delay line behind the connection.
    Delayed { queue: Exit<NextMessage>, _reader: ReaderTask },
}

/// The task that reads the connection. It is aborted on drop, since it may wait for a message that
/// never comes.
#[derive(Debug)]
pub(crate) struct ReaderTask(AbortHandle);

impl Drop for ReaderTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ReaderTask {
    /// Starts the task, which puts the messages of a connection into a delay line.
    fn start<S>(runtime: &Runtime, mut from: S, to: Entry<NextMessage>) -> Self
    where
        S: Stream<Item = Result<FromShard, Status>> + Send + Unpin + 'static,
    {
        let task = runtime.spawn(async move {
            loop {
                let message = from.next().await.transpose();
                let is_last = !matches!(message, Ok(Some(_)));
                if !to.enter_with_room(message).await || is_last {
                    return;
                }
            }
        });
        Self(task.abort_handle())
    }
}

impl Incoming {
    /// Makes the queue of the messages of a connection, each delayed by `delay`.
    pub(crate) fn new(runtime: &Runtime, from: Streaming<FromShard>, delay: Duration) -> Self {
        if delay.is_zero() {
            return Self::Direct(Box::new(from));
        }
        let (entry, queue) = delay_line(delay, WINDOW);
        Self::Delayed { queue, _reader: ReaderTask::start(runtime, from, entry) }
    }

    /// Waits for the next message, for at most `limit`; `None` if no message came.
    pub(crate) fn next_within(
        &mut self,
        runtime: &Runtime,
        limit: Duration,
    ) -> Option<NextMessage> {
        match self {
            Self::Direct(from) => within(runtime, limit, from.message()),
            Self::Delayed { queue, .. } => match queue.next(limit) {
                LeaveResult::Message(message) => Some(message),
                LeaveResult::Nothing => None,
                LeaveResult::End => Some(Ok(None)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        sync::Arc,
        task::{Context, Poll},
        thread,
    };

    use tokio::runtime::Builder;

    use super::*;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(1_000);

    /// A connection that has this number of messages and is then silent, like a shard that hangs.
    struct Silent {
        message_count: usize,
        _is_alive: Arc<()>,
    }

    impl Stream for Silent {
        type Item = Result<FromShard, Status>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            if self.message_count == 0 {
                return Poll::Pending;
            }
            self.message_count -= 1;
            Poll::Ready(Some(Ok(FromShard::default())))
        }
    }

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    fn ends(alive: &Arc<()>) {
        // If the task never ends, the test hangs.
        while Arc::strong_count(alive) > 1 {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_reading_of_a_connection_ends_with_the_batch_though_the_shard_hangs() {
        let runtime = runtime();
        let alive = Arc::new(());
        let silent = Silent { message_count: 2, _is_alive: Arc::clone(&alive) };
        let (entry, queue) = delay_line(Duration::from_micros(1), WINDOW);
        let reader = ReaderTask::start(&runtime, silent, entry);
        for _ in 0..2 {
            assert!(matches!(queue.next(LONG), LeaveResult::Message(Ok(Some(_)))));
        }
        assert!(matches!(queue.next(Duration::from_millis(20)), LeaveResult::Nothing));
        assert_eq!(Arc::strong_count(&alive), 2, "it waits for the shard");
        drop(reader);
        ends(&alive);
    }

    #[test]
    fn a_connection_is_read_no_further_than_the_line_has_room() {
        let runtime = runtime();
        let alive = Arc::new(());
        let silent = Silent { message_count: 10 * WINDOW, _is_alive: Arc::clone(&alive) };
        let (entry, queue) = delay_line(Duration::ZERO, WINDOW);
        let reader = ReaderTask::start(&runtime, silent, entry);
        for _ in 0..10 * WINDOW {
            assert!(matches!(queue.next(LONG), LeaveResult::Message(Ok(Some(_)))));
        }
        // This task waits for room in a full line, and ends when the line's exit is dropped.
        let silent = Silent { message_count: 10 * WINDOW, _is_alive: Arc::clone(&alive) };
        let (entry, full) = delay_line(Duration::ZERO, WINDOW);
        let other = ReaderTask::start(&runtime, silent, entry);
        assert!(matches!(full.next(LONG), LeaveResult::Message(Ok(Some(_)))));
        drop((reader, full));
        ends(&alive);
        drop((other, queue));
    }
}
