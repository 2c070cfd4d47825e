//! The only module that writes to standard output and standard error. It records whether all output
//! has arrived.

pub mod exit;
pub mod interrupt;
pub mod progress;

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};
use rustix::io::{Errno, fcntl_getfd};
use terminal_size::terminal_size;

use report::Paint;

use progress::visible;

pub use exit::{Code, Failure, UndecidedCodes, WithExitCode};
pub use progress::{Live, Progress, ProgressForm};

/// Whether the user wants no notes and no progress (`--quiet`).
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Minimal number of columns, and the number for a pipe.
const WIDTH_MIN: usize = 80;

/// Whether standard output was closed when the process began. The standard library opens the null
/// device in its place before `main`.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// The first failure to write to standard output.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

#[used]
#[expect(
    unsafe_code,
    reason = "the loader calls functions of this section before `main`; this one asks the kernel and \
              stores a flag"
)]
#[unsafe(link_section = ".init_array")]
static CHECK_OUTPUT: extern "C" fn() = check_output;

extern "C" fn check_output() {
    WAS_CLOSED.store(fcntl_getfd(io::stdout()) == Err(Errno::BADF), Ordering::Relaxed);
}

/// Writes `text` to standard output, or to standard error if an option writes a file to standard
/// output. [`delivered`] reports a failure to write at the end.
pub fn out(text: &str) {
    drop(stream().write_all(text.as_bytes()));
}

/// Returns standard output, for a text that is written in large pieces as it is made.
pub fn stream() -> impl Write {
    Output
}

/// Standard output without a buffer, as a buffer could be lost at the end.
struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The bytes of a file must not mix with text.
        if report::has_standard_output() {
            return io::stderr().write(bytes);
        }
        let written = match WAS_CLOSED.load(Ordering::Relaxed) {
            true => Err(Errno::BADF),
            // The standard library reports success for a descriptor that cannot be written.
            false => rustix::io::write(io::stdout(), bytes),
        };
        written.map_err(|errno| {
            // A reader that closed the pipe (`stress list | head -1`) wants no more output.
            if !matches!(errno, Errno::PIPE | Errno::INTR) {
                let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
                lost.get_or_insert_with(|| errno.into());
            }
            errno.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Checks that all of standard output has arrived, or that its reader closed the pipe.
///
/// # Errors
/// A part of the output is lost.
pub fn delivered() -> Result<()> {
    let closed = report::has_standard_output() && WAS_CLOSED.load(Ordering::Relaxed);
    let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner).take();
    match lost.or_else(|| closed.then(|| Errno::BADF.into())) {
        Some(error) => Err(error).context("standard output is lost, whole or in part"),
        None => Ok(()),
    }
}

/// Turns off notes and progress, as `--quiet` asks.
pub fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Whether notes and progress are off.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Writes a line to standard error, unless notes are off.
pub fn note(text: &str) {
    if !is_quiet() {
        error(text);
    }
}

/// Writes a line to standard error that the user must see.
pub fn error(text: &str) {
    drop(writeln!(io::stderr(), "{}", visible(text)));
}

/// Returns the number of columns by `COLUMNS` or by the terminal, at least [`WIDTH_MIN`].
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = columns.or_else(|| Some(usize::from(terminal_size()?.0.0)));
    columns.unwrap_or(WIDTH_MIN).max(WIDTH_MIN)
}

/// Returns the number of columns for a list. `None` if standard output is no terminal, as another
/// program may read the list line by line.
pub fn list_width() -> Option<usize> {
    io::stdout().is_terminal().then(width)
}

/// Returns the form of progress on standard error.
pub fn progress_form() -> ProgressForm {
    match (is_quiet(), io::stderr().is_terminal()) {
        (true, _) => ProgressForm::Nothing,
        (false, true) => ProgressForm::Figures,
        (false, false) => ProgressForm::Lines,
    }
}

/// Returns the form of progress if the result goes to standard output as JSON. On a terminal it has
/// no figures, which would mix with the result.
pub fn progress_form_beside_json() -> ProgressForm {
    if io::stdout().is_terminal() { progress_form().without_figures() } else { progress_form() }
}

/// Returns whether standard output gets colours: on a terminal, unless `NO_COLOR` is set.
pub fn paint() -> Paint {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stdout().is_terminal() && !refused { Paint::Ansi } else { Paint::Plain }
}
