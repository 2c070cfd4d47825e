//! The user's request to stop: reads its flag, and ends a wait for other work once it is set.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

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
    let stopped = async {
        while !is_stop_requested(stop) {
            sleep(POLL_INTERVAL).await;
        }
    };
    tokio::select! {
        biased;
        done = work => Some(done),
        () = stopped => None,
    }
}
