//! The one place that writes to standard output and standard error.

use std::{
    io::{IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use terminal_size::{Width, terminal_size};

use report::Paint;

use crate::progress::Look;

/// Whether the user wants quiet.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Width where the terminal does not tell, as in a pipe.
const DEFAULT_WIDTH: usize = 80;

/// Writes `text` to standard output. A reader that went away (`stress list | head -1`) is no
/// error.
pub fn out(text: &str) {
    drop(std::io::stdout().write_all(text.as_bytes()));
}

/// Standard output for a text that is written as it is made.
pub fn stream() -> impl Write {
    std::io::stdout().lock()
}

/// From now on neither notes nor progress are written.
pub fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Writes a line to standard error, unless the user wants quiet.
pub fn note(text: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        error(text);
    }
}

/// Writes a line to standard error that the user must see.
pub fn error(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Columns of the terminal that standard output goes to.
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked = || terminal_size().map(|(Width(columns), _)| usize::from(columns));
    columns.or_else(asked).unwrap_or(DEFAULT_WIDTH).max(DEFAULT_WIDTH)
}

/// Columns of a list for a reader; `None` where standard output is no terminal, as another program may
/// read a list line by line.
pub fn list_width() -> Option<usize> {
    std::io::stdout().is_terminal().then(width)
}

/// How progress looks on standard error.
pub fn look() -> Look {
    match (IS_QUIET.load(Ordering::Relaxed), std::io::stderr().is_terminal()) {
        (true, _) => Look::Nothing,
        (false, true) => Look::Figures,
        (false, false) => Look::Lines,
    }
}

/// The same where the result goes to standard output as JSON: no figure stands beside it on one
/// terminal.
pub fn look_beside_json() -> Look {
    if std::io::stdout().is_terminal() { look().without_figures() } else { look() }
}

/// Whether standard output takes colour: a terminal, and nobody said no (`NO_COLOR`).
pub fn paint() -> Paint {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !refused { Paint::Ansi } else { Paint::Plain }
}
