//! Errors of a state in Redis: reasons why it cannot be opened or filled, and errors of commands.

use std::fmt::Display;

use redis::ServerErrorKind;

use crate::{error::StoreError, state::StateError};

/// The store's name in variants and errors.
pub(super) const NAME: &str = "redis";

/// Remedy for a damaged state, as the end of a sentence.
const REMEDY: &str = "empty the cluster (FLUSHALL on each node) and run again";

/// A state in Redis that cannot be opened or filled.
#[derive(Debug, thiserror::Error)]
pub enum RedisError {
    /// The program `redis-server` is not installed.
    #[error(
        "redis store: there is no redis-server on PATH: install it (apt-get install \
         redis-server), or say where a cluster listens (--set run.redis_addresses=HOST:PORT,…)"
    )]
    NoServer,
    /// Servers cannot be started here.
    #[error("redis store: cannot {action}: {reason}")]
    NotStarted {
        /// The action that failed, as a phrase that follows "cannot".
        action: String,
        /// The reason.
        reason: String,
    },
    /// No server answers at an address.
    #[error(
        "redis store: no Redis server answers at {address}: {reason}; correct run.redis_addresses"
    )]
    Unreachable {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// A server answers, but is no node of a complete cluster.
    #[error(
        "redis store: {address} is no node of a Redis Cluster that works: {reason}; name nodes of \
         one in run.redis_addresses, or leave it out"
    )]
    NoCluster {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The cluster holds keys that `stress` has not written.
    #[error(
        "redis store: the cluster of {address} holds keys of others, such as {key}, which stay; \
         give `stress` a cluster of its own"
    )]
    Foreign {
        /// Address of a node with such keys.
        address: String,
        /// Such a key, as text.
        key: String,
    },
    /// Another process uses the cluster.
    #[error(
        "redis store: the cluster holds {holds}, and another `stress` is connected to it from \
         {user}; wait for that, or take another cluster"
    )]
    InUse {
        /// Description of the cluster's content.
        holds: String,
        /// The address of the other process's connection.
        user: String,
    },
    /// The state needs more memory than the servers may use.
    #[error(
        "redis store: {row_count} rows need about {} of memory, and {} are there; lower \
         state.slots, or take a store on disk",
        workload::size(*need_bytes), workload::size(*limit_bytes)
    )]
    TooLarge {
        /// Number of rows.
        row_count: u64,
        /// Number of bytes that the rows would need.
        need_bytes: u64,
        /// Number of bytes that the servers may use.
        limit_bytes: u64,
    },
    /// The servers may drop rows.
    #[error(
        "redis store: the server at {address} drops keys when its memory is full (maxmemory-policy \
         {policy}); set it to noeviction"
    )]
    Evicts {
        /// The address.
        address: String,
        /// The server's `maxmemory-policy`.
        policy: String,
    },
    /// The rows cannot be made, or the user has interrupted the run.
    #[error(transparent)]
    State(#[from] StateError),
    /// A server failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the text of an error of the Redis library.
pub(super) fn error_text(error: &redis::RedisError) -> String {
    if error.is_timeout() {
        return "it does not answer in time".to_owned();
    }
    let moves = [ServerErrorKind::Moved, ServerErrorKind::Ask, ServerErrorKind::TryAgain];
    if moves.iter().any(|kind| error.kind() == redis::ErrorKind::Server(*kind)) {
        return format!("the cluster moves slots between its nodes meanwhile ({error})");
    }
    error.to_string()
}

/// Returns a function for `map_err` that makes the error of a command to the server at `address`.
pub(super) fn failed<'a>(
    action: &'a str,
    address: &'a str,
) -> impl FnOnce(redis::RedisError) -> StoreError + use<'a> {
    move |error| fault(format!("{action} {address}"), error_text(&error))
}

/// Makes the error of an action that failed.
pub(super) fn fault(action: impl Into<String>, reason: impl Display) -> StoreError {
    StoreError::failed(NAME, action, reason)
}

/// Makes the error of a value that differs from the value that was written.
pub(super) fn damaged(what: &str, address: &str, reason: &str) -> StoreError {
    fault(format!("read {what} from {address}"), format!("it is damaged: {reason}; {REMEDY}"))
}
