//! Errors of calls between coordinator and shards, as texts for the user. Also the waits of a
//! thread for a call, with a deadline and a stop flag.

use std::{
    error::Error,
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use executor::shards::ShardError;
use tokio::{runtime::Runtime, time::timeout};
use tonic::{Code, Status};

/// Polling interval for the stop flag while a thread waits.
pub(crate) const STOP_CHECK: Duration = Duration::from_millis(20);

/// Waits for `call` on this thread, which must not be a thread of the runtime. Returns `None` if
/// the call takes longer than `limit`.
pub(crate) fn within<T>(
    runtime: &Runtime,
    limit: Duration,
    call: impl Future<Output = T>,
) -> Option<T> {
    // `timeout` must be called inside the runtime, because it needs the runtime's timer.
    runtime.block_on(async { timeout(limit, call).await.ok() })
}

/// Limits of a thread's wait for a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitLimits<'a> {
    /// Longest time without progress.
    pub(crate) max_wait: Duration,
    /// Flag that ends the wait when it is set.
    pub(crate) stop: &'a AtomicBool,
    /// A count that grows whenever the call makes progress. `None`: `max_wait` limits the whole
    /// wait.
    pub(crate) progress: Option<&'a AtomicU64>,
}

impl WaitLimits<'_> {
    fn progress(&self) -> u64 {
        self.progress.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Waits for `call` on this thread, which must not be a thread of the runtime.
    ///
    /// # Errors
    /// The wait was stopped, or there was no progress for too long.
    pub(crate) fn wait<T>(
        self,
        runtime: &Runtime,
        call: impl Future<Output = T>,
    ) -> Result<T, ShardError> {
        let mut call = pin!(call);
        let (mut since, mut progress) = (Instant::now(), self.progress());
        loop {
            if let Some(done) = within(runtime, STOP_CHECK.min(self.max_wait), call.as_mut()) {
                return Ok(done);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(ShardError("the sample was stopped".to_owned()));
            }
            let now = self.progress();
            if std::mem::replace(&mut progress, now) != now {
                since = Instant::now();
            }
            if since.elapsed() >= self.max_wait {
                return Err(silent(self.max_wait));
            }
        }
    }
}

/// Returns the text of the innermost cause of an error, such as the operating system's message.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// Returns the text of a status, with its innermost cause.
pub(crate) fn status_text(status: &Status) -> String {
    match status.source() {
        Some(cause) => format!("{} ({})", status.message(), root_cause(cause)),
        None => status.message().to_owned(),
    }
}

/// Makes the error of a shard that has sent nothing for `deadline`.
pub(crate) fn silent(deadline: Duration) -> ShardError {
    let seconds = deadline.as_secs_f64();
    ShardError(format!("it says nothing for {seconds} s: it hangs, or the network is cut"))
}

/// Makes the error of a shard whose connection to the coordinator is closed.
pub(crate) fn coordinator_gone() -> ShardError {
    ShardError("the coordinator has gone".to_owned())
}

/// Makes the error of a shard that refuses a call, or whose connection has ended.
pub(crate) fn ended(status: &Status) -> ShardError {
    let text = status_text(status);
    ShardError(match status.code() {
        Code::InvalidArgument | Code::FailedPrecondition => format!("it refuses the call: {text}"),
        _ => format!("it ended, or the connection did: {text}"),
    })
}

#[cfg(test)]
mod tests {
    use std::{future, thread};

    use tokio::runtime::Builder;

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    #[test]
    fn a_wait_ends_once_it_is_stopped_however_long_it_may_last() {
        let stop = AtomicBool::new(true);
        let limits = WaitLimits { max_wait: Duration::from_secs(600), stop: &stop, progress: None };
        let ended = limits.wait(&runtime(), future::pending::<()>());
        assert_eq!(ended.unwrap_err().0, "the sample was stopped");
        assert_eq!(limits.wait(&runtime(), future::ready(7)), Ok(7), "what is there is taken");
    }

    #[test]
    fn a_wait_lasts_as_long_as_there_is_progress_and_no_longer() {
        let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
        let max_wait = Duration::from_millis(100);
        let limits = WaitLimits { max_wait, stop: &stop, progress: Some(&progress) };
        let start = Instant::now();
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..10 {
                    thread::sleep(Duration::from_millis(30));
                    progress.fetch_add(1, Ordering::Relaxed);
                }
            });
            limits.wait(&runtime(), future::pending::<()>())
        });
        assert!(ended.unwrap_err().0.contains("says nothing for 0.1 s"));
        // A silence before the last progress can be no reason to end: only one after it.
        assert!(start.elapsed() >= max_wait, "{:?}", start.elapsed());
    }
}
