//! A shard's connection to the coordinator during a batch without a list. The shard's threads
//! receive orders through it, and send requests and results of executions. The server passes
//! received messages to it.

use std::sync::{Mutex, PoisonError, mpsc as threads};

use executor::shards::{
    OptimisticCoordinator, ShardError,
    versions::{OptimisticStep, Order, RequestedKeys},
};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{
    error::{STOP_CHECK, coordinator_gone},
    optimistic_messages,
    wire::proto::{self, FromShard, from_shard::Message},
};

/// The connection during one batch without a list.
#[derive(Debug)]
pub(crate) struct OptimisticLink {
    to: mpsc::Sender<Result<FromShard, Status>>,
    /// Sender of the queue of received orders; `None` after the connection is closed. The queue
    /// needs no limit: each order follows from a request, a run of another shard's step or a
    /// commit, and seldom waits.
    entry: Mutex<Option<threads::Sender<Order>>>,
    queue: Mutex<threads::Receiver<Order>>,
}

impl OptimisticLink {
    /// Makes a connection that sends its messages to `to`.
    pub(crate) fn new(to: mpsc::Sender<Result<FromShard, Status>>) -> Self {
        let (entry, queue) = threads::channel();
        Self { to, entry: Mutex::new(Some(entry)), queue: Mutex::new(queue) }
    }

    /// Sends a message. Waits while the channel to the coordinator is full. Must not be called on a
    /// thread of the runtime.
    fn post(&self, message: Message) -> Result<(), ShardError> {
        let message = FromShard { message: Some(message) };
        self.to.blocking_send(Ok(message)).map_err(|_| coordinator_gone())
    }

    /// Puts received orders into the queue, without waiting.
    ///
    /// # Errors
    /// The orders are invalid. The error is a text.
    pub(crate) fn take(&self, orders: proto::Orders) -> Result<(), String> {
        let orders = optimistic_messages::orders_of_wire(orders)?;
        let entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        for order in orders {
            // The shard may have ended its part before the last orders come. They are then dropped.
            drop(entry.as_ref().map(|entry| entry.send(order)));
        }
        Ok(())
    }

    /// Closes the connection. A thread that waits for orders gets an error.
    pub(crate) fn close(&self) {
        *self.entry.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl OptimisticCoordinator for OptimisticLink {
    fn ready(&self) -> Result<(), ShardError> {
        self.post(Message::Ready(proto::Ready {}))
    }

    fn request(&self, request: u64, keys: RequestedKeys) -> Result<(), ShardError> {
        self.post(Message::WantedKeys(optimistic_messages::wanted_to_wire(request, &keys)))
    }

    fn send(&self, steps: Vec<OptimisticStep>) -> Result<(), ShardError> {
        let runs = steps.into_iter().map(optimistic_messages::run_to_wire).collect();
        self.post(Message::Runs(proto::Runs { runs }))
    }

    fn next(&self) -> Result<Option<Order>, ShardError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // The waiting thread polls its stop flag between two calls.
        match queue.recv_timeout(STOP_CHECK) {
            Ok(order) => Ok(Some(order)),
            Err(threads::RecvTimeoutError::Timeout) => Ok(None),
            Err(threads::RecvTimeoutError::Disconnected) => Err(coordinator_gone()),
        }
    }
}
