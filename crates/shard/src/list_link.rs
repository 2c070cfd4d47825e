//! A shard's connection to the coordinator during a batch with a list. The shard's threads send
//! results of steps and requests for values through it, and wait for the answers. The server passes
//! received messages to it.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc as threads,
    },
};

use executor::shards::{Answer, Coordinator, KeyRequest, ShardError, ShardStep, StateValues};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{
    error::coordinator_gone,
    list_messages,
    wire::proto::{self, FromShard, from_shard::Message},
};

/// The connection during one batch.
#[derive(Debug)]
pub(crate) struct ListLink {
    to: mpsc::Sender<Result<FromShard, Status>>,
    next_request: AtomicU64,
    /// Channels to the threads that wait for answers, by the number of the request; `None` after
    /// the connection is closed.
    waiting: Mutex<Option<HashMap<u64, threads::SyncSender<StateValues>>>>,
}

impl ListLink {
    /// Makes a connection that sends its messages to `to`.
    pub(crate) fn new(to: mpsc::Sender<Result<FromShard, Status>>) -> Self {
        Self { to, next_request: AtomicU64::new(0), waiting: Mutex::new(Some(HashMap::new())) }
    }

    /// Sends a message. Waits while the channel to the coordinator is full. Must not be called on a
    /// thread of the runtime.
    fn post(&self, message: Message) -> Result<(), ShardError> {
        let message = FromShard { message: Some(message) };
        self.to.blocking_send(Ok(message)).map_err(|_| coordinator_gone())
    }

    /// Passes an answer to the thread that waits for it.
    ///
    /// # Errors
    /// No waiting request has the answer's number, or the answer is invalid. The error is a text.
    pub(crate) fn answered(&self, values: proto::Values) -> Result<(), String> {
        let request = values.request;
        let values = list_messages::values_of_wire(values)?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiter = waiting.as_mut().and_then(|waiting| waiting.remove(&request));
        let waiter =
            waiter.ok_or_else(|| format!("an answer to request {request}, which is none"))?;
        // If the thread no longer waits, it has failed for another reason.
        drop(waiter.try_send(values));
        Ok(())
    }

    /// Closes the connection. Threads that wait for answers get an error.
    pub(crate) fn close(&self) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Coordinator for ListLink {
    fn ready(&self) -> Result<(), ShardError> {
        self.post(Message::Ready(proto::Ready {}))
    }

    fn request(&self, keys: KeyRequest) -> Result<Answer<'_>, ShardError> {
        let wanted = [keys.accounts.len(), keys.slots.len(), keys.codes.len()];
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = threads::sync_channel(1);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().ok_or_else(coordinator_gone)?.insert(request, answer);
        drop(waiting);
        self.post(Message::Wanted(list_messages::wanted_to_wire(request, keys)))?;
        Ok(Box::new(move || {
            let values = answered.recv().map_err(|_| coordinator_gone())?;
            let found = [values.accounts.len(), values.slots.len(), values.codes.len()];
            if found == wanted {
                return Ok(values);
            }
            Err(ShardError(format!(
                "the coordinator answered {found:?} accounts, slots and codes where {wanted:?} are wanted"
            )))
        }))
    }

    fn send(&self, steps: Vec<ShardStep>) -> Result<(), ShardError> {
        let steps = steps.into_iter().map(list_messages::step_to_wire).collect();
        self.post(Message::Steps(proto::Steps { steps }))
    }
}
