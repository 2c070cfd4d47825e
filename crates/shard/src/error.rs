//! Failures of connections in words, and calls with a deadline.

use std::{error::Error, future::Future, time::Duration};

use executor::shards::ShardError;
use tokio::{runtime::Runtime, time::timeout};
use tonic::Status;

/// Waits for `call` on this thread, which is none of the runtime's. `None` once it has lasted `most`.
pub(crate) fn within<T>(
    runtime: &Runtime,
    most: Duration,
    call: impl Future<Output = T>,
) -> Option<T> {
    // The clock of a runtime is known within it alone.
    runtime.block_on(async { timeout(most, call).await.ok() })
}

/// The innermost cause, which is the system's word.
pub(crate) fn root(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// A status in words.
pub(crate) fn words(status: &Status) -> String {
    match status.source() {
        Some(cause) => format!("{} ({})", status.message(), root(cause)),
        None => status.message().to_owned(),
    }
}

/// A shard that says nothing.
pub(crate) fn silent(deadline: Duration) -> ShardError {
    let seconds = deadline.as_secs_f64();
    ShardError(format!("it says nothing for {seconds} s: it hangs, or the network is cut"))
}

/// A shard whose connection ended.
pub(crate) fn ended(status: &Status) -> ShardError {
    ShardError(format!("it ended, or the connection did: {}", words(status)))
}
