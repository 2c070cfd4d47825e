//! The coordinator's connection to a shard during a batch, for the engines of the executor. It
//! delays each message, in both directions, by the delay of the run (`run.shard_delay_us`).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use executor::shards::{
    Channel, Conversation, OptimisticReport, Receiver, Report, Sender, ShardError, StateValues,
    versions::Order,
};
use tokio::{
    runtime::Runtime,
    sync::mpsc::{self, error::TrySendError},
};
use tonic::Streaming;

use crate::{
    delay::{EnterResult, Entry, LeaveResult, delay_line},
    error::{STOP_CHECK, WaitLimits, ended, silent},
    incoming::Incoming,
    list_messages, optimistic_messages,
    wire::{
        WINDOW,
        proto::{FromCoordinator, FromShard, from_coordinator::Message},
    },
};

/// The coordinator's queue of messages to a shard.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Messages go directly to the connection.
    Direct(mpsc::Sender<FromCoordinator>),
    /// Messages go to a delay line, from which a thread passes them to the connection.
    Delayed(Entry<FromCoordinator>),
}

impl Outgoing {
    /// Makes a queue of messages to the connection `to`, each delayed by `delay`.
    pub(crate) fn new(to: mpsc::Sender<FromCoordinator>, delay: Duration) -> Self {
        if delay.is_zero() {
            return Self::Direct(to);
        }
        let (entry, exit) = delay_line(delay, WINDOW);
        thread::spawn(move || {
            loop {
                let is_open = match exit.next(STOP_CHECK) {
                    LeaveResult::Message(message) => to.blocking_send(message).is_ok(),
                    LeaveResult::Nothing => !to.is_closed(),
                    LeaveResult::End => false,
                };
                if !is_open {
                    return;
                }
            }
        });
        Self::Delayed(entry)
    }

    /// Sends a message without waiting. If there is no room, the error is the message.
    pub(crate) fn post(&self, message: Message) -> Result<(), Message> {
        let wrapped = FromCoordinator { message: Some(message) };
        let unsent = match self {
            Self::Direct(to) => match to.try_send(wrapped) {
                Err(TrySendError::Full(wrapped)) => wrapped.message,
                // If the receiver is gone, that is no error here: the shard's status, which is
                // received next, gives the reason.
                Ok(()) | Err(TrySendError::Closed(_)) => None,
            },
            Self::Delayed(line) => match line.enter(wrapped) {
                EnterResult::Full(wrapped) => wrapped.message,
                // The same holds for the receiver behind the delay line.
                EnterResult::Queued | EnterResult::Closed => None,
            },
        };
        unsent.map_or(Ok(()), Err)
    }

    /// Sends a message, and waits for room. Returns false if the receiver is gone.
    async fn send(&self, message: Message) -> bool {
        let message = FromCoordinator { message: Some(message) };
        match self {
            Self::Direct(to) => to.send(message).await.is_ok(),
            Self::Delayed(line) => line.enter_with_room(message).await,
        }
    }
}

/// The connection to a shard during one batch.
#[derive(Debug)]
pub(crate) struct BatchConnection<'c> {
    sender: MessageSender<'c>,
    receiver: MessageReceiver<'c>,
}

/// Sends messages to the shard, and waits while its queue is full.
#[derive(Debug)]
struct MessageSender<'c> {
    runtime: &'c Runtime,
    limits: WaitLimits<'c>,
    to: Outgoing,
}

impl MessageSender<'_> {
    /// Sends a message. Waits while too many messages to the shard are under way. Returns false if
    /// the receiver is gone.
    fn send(&self, message: Message) -> Result<bool, ShardError> {
        self.limits.wait(self.runtime, self.to.send(message))
    }
}

impl<'c> BatchConnection<'c> {
    /// Makes the connection. Messages to the shard go to `to`. Messages from the shard come from
    /// `from`, each delayed by `delay`.
    pub(crate) fn new(
        runtime: &'c Runtime,
        limits: WaitLimits<'c>,
        to: Outgoing,
        from: Streaming<FromShard>,
        delay: Duration,
    ) -> Self {
        let from = Incoming::new(runtime, from, delay);
        Self {
            sender: MessageSender { runtime, limits, to },
            receiver: MessageReceiver { runtime, limits, from },
        }
    }

    /// Splits the connection into its two directions, for a thread each.
    pub(crate) fn into_channel(self) -> Channel<'c> {
        Channel { sender: Box::new(self.sender), receiver: Box::new(self.receiver) }
    }

    /// Sends a message. Waits while too many messages to the shard are under way.
    ///
    /// # Errors
    /// [`ShardError`]: the shard takes no more messages.
    pub(crate) fn send(&mut self, message: Message) -> Result<(), ShardError> {
        if self.sender.send(message)? {
            return Ok(());
        }
        // The shard's last message gives the reason why it closed the stream.
        Err(match self.receiver.from.next_within(self.receiver.runtime, STOP_CHECK) {
            Some(Err(status)) => ended(&status),
            _ => {
                ShardError("it ended, or the connection did: it takes no more messages".to_owned())
            }
        })
    }
}

/// Receives messages of the shard.
#[derive(Debug)]
struct MessageReceiver<'c> {
    runtime: &'c Runtime,
    limits: WaitLimits<'c>,
    from: Incoming,
}

impl MessageReceiver<'_> {
    /// Waits for the next message. Fails if `stop` is set, or if the shard is silent for too long
    /// while it owes a message. `owes` returns whether it does.
    fn receive(
        &mut self,
        stop: &AtomicBool,
        owes: &dyn Fn() -> bool,
    ) -> Result<FromShard, ShardError> {
        let mut waits_since = Instant::now();
        loop {
            match self.from.next_within(self.runtime, STOP_CHECK) {
                Some(Ok(Some(message))) => return Ok(message),
                Some(Ok(None)) => {
                    return Err(ShardError("it ended before its last result".to_owned()));
                }
                Some(Err(status)) => return Err(ended(&status)),
                None if stop.load(Ordering::Relaxed) => {
                    return Err(ShardError("the sample was stopped".to_owned()));
                }
                None if !owes() => waits_since = Instant::now(),
                None if waits_since.elapsed() >= self.limits.max_wait => {
                    return Err(silent(self.limits.max_wait));
                }
                None => {}
            }
        }
    }
}

fn nonsense(what: String) -> ShardError {
    ShardError(format!("it sent nonsense: {what}"))
}

impl Conversation for BatchConnection<'_> {
    fn receive(&mut self, stop: &AtomicBool) -> Result<Report, ShardError> {
        list_messages::report(self.receiver.receive(stop, &|| true)?).map_err(nonsense)
    }

    fn answer(&mut self, request: u64, values: StateValues) -> Result<(), ShardError> {
        self.send(Message::Values(list_messages::values_to_wire(request, values)))
    }
}

impl Sender for MessageSender<'_> {
    fn send(&mut self, orders: Vec<Order>) -> Result<(), ShardError> {
        let message = Message::Orders(optimistic_messages::orders_to_wire(orders));
        match MessageSender::send(self, message)? {
            true => Ok(()),
            // The thread that receives messages gets the reason.
            false => Err(ShardError("it takes no more messages".to_owned())),
        }
    }
}

impl Receiver for MessageReceiver<'_> {
    fn receive(
        &mut self,
        stop: &AtomicBool,
        owes: &dyn Fn() -> bool,
    ) -> Result<OptimisticReport, ShardError> {
        optimistic_messages::report(self.receive(stop, owes)?).map_err(nonsense)
    }
}
