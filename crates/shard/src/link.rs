//! The threads of a shard and the coordinator: requests for values and their answers, and results.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc as threads,
    },
};

use executor::shards::{Answer, Coordinator, ShardError, ShardStep, StateValues, Wanted};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{
    convert,
    wire::proto::{self, FromShard, from_shard::Message},
};

/// A shard's side of a batch.
#[derive(Debug)]
pub(crate) struct Link {
    to: mpsc::Sender<Result<FromShard, Status>>,
    next_request: AtomicU64,
    /// Threads that wait, by request; `None` once the coordinator has gone.
    waiting: Mutex<Option<HashMap<u64, threads::SyncSender<StateValues>>>>,
}

fn gone() -> ShardError {
    ShardError("the coordinator has gone".to_owned())
}

impl Link {
    /// A link whose messages go to `to`.
    pub(crate) fn new(to: mpsc::Sender<Result<FromShard, Status>>) -> Self {
        Self { to, next_request: AtomicU64::new(0), waiting: Mutex::new(Some(HashMap::new())) }
    }

    /// Sends a message, and waits while the coordinator is behind. Not for threads of the runtime.
    fn post(&self, message: Message) -> Result<(), ShardError> {
        let message = FromShard { message: Some(message) };
        self.to.blocking_send(Ok(message)).map_err(|_| gone())
    }

    /// Hands an answer to the thread that waits for it.
    ///
    /// # Errors
    /// Words for an answer without a request, or for a malformed one.
    pub(crate) fn answered(&self, values: proto::Values) -> Result<(), String> {
        let request = values.request;
        let values = convert::values_of_wire(values)?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiter = waiting.as_mut().and_then(|waiting| waiting.remove(&request));
        let waiter =
            waiter.ok_or_else(|| format!("an answer to request {request}, which is none"))?;
        // A thread that no longer waits has failed for another reason.
        drop(waiter.try_send(values));
        Ok(())
    }

    /// The coordinator has gone: no thread waits any longer.
    pub(crate) fn close(&self) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Coordinator for Link {
    fn ready(&self) -> Result<(), ShardError> {
        self.post(Message::Ready(proto::Ready {}))
    }

    fn ask(&self, keys: Wanted) -> Result<Answer<'_>, ShardError> {
        let wanted = [keys.accounts.len(), keys.slots.len(), keys.codes.len()];
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = threads::sync_channel(1);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().ok_or_else(gone)?.insert(request, answer);
        drop(waiting);
        self.post(Message::Wanted(convert::wanted_to_wire(request, keys)))?;
        Ok(Box::new(move || {
            let values = answered.recv().map_err(|_| gone())?;
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
        let steps = steps.into_iter().map(convert::step_to_wire).collect();
        self.post(Message::Steps(proto::Steps { steps }))
    }
}
