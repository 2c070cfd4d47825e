//! The threads of a shard and the coordinator of a batch without a list: orders in, requests and runs out.

use std::{
    sync::{Mutex, PoisonError, mpsc as threads},
    time::Duration,
};

use executor::shards::{
    OptimisticCoordinator, ShardError,
    versions::{Keys, OptimisticStep, Order},
};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{
    optimistic,
    wire::proto::{self, FromShard, from_shard::Message},
};

/// Interval in which a thread that waits for orders looks whether it is to stop.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// A shard's side of a batch without a list.
#[derive(Debug)]
pub(crate) struct Orders {
    to: mpsc::Sender<Result<FromShard, Status>>,
    /// Orders that came; the end is dropped once the coordinator has gone. They are as many as steps and
    /// requests of the batch at most, and seldom wait.
    entry: Mutex<Option<threads::Sender<Order>>>,
    came: Mutex<threads::Receiver<Order>>,
}

fn gone() -> ShardError {
    ShardError("the coordinator has gone".to_owned())
}

impl Orders {
    /// A link whose messages go to `to`.
    pub(crate) fn new(to: mpsc::Sender<Result<FromShard, Status>>) -> Self {
        let (entry, came) = threads::channel();
        Self { to, entry: Mutex::new(Some(entry)), came: Mutex::new(came) }
    }

    /// Sends a message, and waits while the coordinator is behind. Not for threads of the runtime.
    fn post(&self, message: Message) -> Result<(), ShardError> {
        let message = FromShard { message: Some(message) };
        self.to.blocking_send(Ok(message)).map_err(|_| gone())
    }

    /// Takes orders that came, without waiting.
    ///
    /// # Errors
    /// Words for orders that are malformed.
    pub(crate) fn take(&self, orders: proto::Orders) -> Result<(), String> {
        let orders = optimistic::orders_of_wire(orders)?;
        let entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        for order in orders {
            // The batch may be over here before its last orders have come.
            drop(entry.as_ref().map(|entry| entry.send(order)));
        }
        Ok(())
    }

    /// The coordinator has gone: no thread waits any longer.
    pub(crate) fn close(&self) {
        *self.entry.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl OptimisticCoordinator for Orders {
    fn ready(&self) -> Result<(), ShardError> {
        self.post(Message::Ready(proto::Ready {}))
    }

    fn want(&self, request: u64, keys: Keys) -> Result<(), ShardError> {
        self.post(Message::WantedKeys(optimistic::wanted_to_wire(request, &keys)))
    }

    fn send(&self, steps: Vec<OptimisticStep>) -> Result<(), ShardError> {
        let runs = steps.into_iter().map(optimistic::run_to_wire).collect();
        self.post(Message::Runs(proto::Runs { runs }))
    }

    fn next(&self) -> Result<Option<Order>, ShardError> {
        let came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        match came.recv_timeout(STOP_CHECK) {
            Ok(order) => Ok(Some(order)),
            Err(threads::RecvTimeoutError::Timeout) => Ok(None),
            Err(threads::RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}
