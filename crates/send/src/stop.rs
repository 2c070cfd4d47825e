//! The user's request to stop: reads its flag, and ends a wait for other work once it is set.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use futures::future::{Either, select};
use tokio::time::sleep;

/// Polling interval for the flag of a requested stop.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Whether the user has requested a stop.
pub(crate) fn is_stop_requested(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// The result of `work`; `None` once the user has requested a stop.
pub(crate) async fn unless_stopped<T>(
    stop: &AtomicBool,
    work: impl Future<Output = T>,
) -> Option<T> {
    let asked = async {
        while !is_stop_requested(stop) {
            sleep(POLL_INTERVAL).await;
        }
    };
    match select(pin!(work), pin!(asked)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}
