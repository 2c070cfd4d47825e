//! Ctrl-C: the first asks everything to stop and keeps what is finished, the second ends the
//! process at once. State databases and workload files are never half written either way.

use std::{
    io,
    ops::ControlFlow,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use crate::exit::Code;

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Begins to listen for SIGINT (Ctrl-C) and SIGTERM.
///
/// # Errors
/// Where the system refuses a handler.
pub fn listen() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // In this order: the flag is down when the first signal comes, and up at the second.
        let ends_at_second = Arc::clone(&INTERRUPTED);
        flag::register_conditional_shutdown(signal, Code::Interrupted as i32, ends_at_second)?;
        flag::register(signal, Arc::clone(&INTERRUPTED))?;
    }
    Ok(())
}

/// Set once the user has interrupted.
pub fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Whether the user has interrupted.
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Whether to go on, for whoever asks now and then.
pub fn answer() -> ControlFlow<()> {
    if happened() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
