//! Interrupts: Ctrl-C, SIGTERM or the end of the terminal. The first signal asks all work to stop,
//! and the finished part is kept. The program ends within a second, also during long work; a
//! [`Hold`] delays the end by ten seconds at most. A second signal, half a second later or more,
//! ends the process at once. State databases and workload files are never half written.

use std::{
    fs,
    io::{self, Read},
    ops::ControlFlow,
    os::unix::net::UnixStream,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
    low_level::{self, pipe},
};

use crate::terminal::exit::{Code, Failure, fail};

/// Signals within this time count as one. `timeout` sends two signals, to the process and to its
/// group.
const SAME_SIGNAL_TIME: Duration = Duration::from_millis(500);
/// Time after `SAME_SIGNAL_TIME` for all work to stop by itself.
const GRACE: Duration = Duration::from_millis(100);
/// Maximal time for which holds delay the end: to write the finished part, or to wait for children.
const HOLD_MAX: Duration = Duration::from_secs(10);
/// Interval at which the end of all holds is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Number of living holds, and one more after [`hold_to_end`].
static HOLD_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Set by [`keep`].
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);
/// Set by [`at_end`].
static AT_END: Mutex<Option<fn()>> = Mutex::new(None);

/// A function that shows the finished part, if the process is ended before it could do so.
type Kept = Box<dyn FnOnce() + Send>;

/// Begins to listen for SIGINT (Ctrl-C), SIGTERM and SIGHUP. SIGHUP stays ignored if the parent
/// ignores it (`nohup`). If the program does not end soon after the first signal, `note` gets a
/// line for the user, and the process ends.
///
/// # Errors
/// The system refuses a handler or a thread.
pub fn listen(note: fn(&str)) -> io::Result<()> {
    let (mut signals, notify) = UnixStream::pair()?;
    let ends_at_next = Arc::<AtomicBool>::default();
    let hangup = Some(SIGHUP).filter(|signal| !is_ignored(*signal));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        let ends_at_next = Arc::clone(&ends_at_next);
        flag::register_conditional_shutdown(signal, Code::Interrupted as i32, ends_at_next)?;
        flag::register(signal, Arc::clone(&INTERRUPTED))?;
        pipe::register(signal, notify.try_clone()?)?;
    }
    let waiting = thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        // The thread blocks until the first signal, so no thread polls beside a sample.
        if signals.read_exact(&mut [0]).is_ok() {
            thread::sleep(SAME_SIGNAL_TIME);
            ends_at_next.store(true, Ordering::SeqCst);
            thread::sleep(GRACE);
            end(note);
        }
    });
    waiting.map(drop)
}

/// Whether this process has ignored `signal` since it began.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Returns the flag that an interrupt of the user sets.
pub fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns an error if the user has interrupted.
///
/// # Errors
/// The user has interrupted.
pub fn check() -> Result<(), Failure> {
    if happened() {
        fail!(Code::Interrupted, "interrupted");
    }
    Ok(())
}

/// Returns whether work that polls should continue.
pub fn control_flow() -> ControlFlow<()> {
    if happened() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Delays the end of an interrupted process until the hold is dropped, for at most ten seconds. The
/// process writes finished samples meanwhile, or waits for a child that writes them.
#[derive(Debug)]
#[must_use = "the process may be ended once it is dropped"]
pub struct Hold(());

/// Delays the end of the process until the hold is dropped.
pub fn hold() -> Hold {
    HOLD_COUNT.fetch_add(1, Ordering::SeqCst);
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLD_COUNT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Delays the end of the process from now on: the program only writes and shows the finished part,
/// and ends by itself.
pub fn hold_to_end() {
    HOLD_COUNT.fetch_add(1, Ordering::SeqCst);
}

/// Keeps `show`, which shows the finished part if the process cannot stop in time. It replaces an
/// earlier `show`.
pub fn keep(show: impl FnOnce() + Send + 'static) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(show));
}

/// Registers `act` as the last action of a process that cannot stop in time. It replaces an earlier
/// `act`.
pub fn at_end(act: fn()) {
    *AT_END.lock().unwrap_or_else(PoisonError::into_inner) = Some(act);
}

/// Ends a process that has not stopped by itself.
fn end(note: fn(&str)) {
    let begun = Instant::now();
    while HOLD_COUNT.load(Ordering::SeqCst) > 0 && begun.elapsed() < HOLD_MAX {
        thread::sleep(POLL_INTERVAL);
    }
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
    match kept {
        Some(show) => {
            show();
            note("interrupted: work under way is given up, finished work is kept");
        }
        None => note("interrupted: nothing had finished"),
    }
    let act = AT_END.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(act) = act {
        act();
    }
    low_level::exit(Code::Interrupted as i32);
}
