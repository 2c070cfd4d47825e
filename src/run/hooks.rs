//! Commands that a user has run around the samples of a run, outside any clock: one before each
//! sample, one after the last. A shell runs them.
//!
//! **Invariant**: once samples are begun, the command after the last one runs once, however the run
//! ends, unless a second signal ends the process.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
    process::{Child, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use crate::{
    machine::child::{self, Reach},
    terminal::{self, interrupt},
};

const SHELL: &str = "/bin/sh";
/// Shortest and longest time between two looks whether a command has ended.
const LOOK_INTERVAL: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];
/// Time that a command has to end once it is asked to.
const GRACE: Duration = Duration::from_millis(200);
/// Most time for the last command once the user has interrupted: results are written after it.
const LAST_MAX: Duration = Duration::from_secs(5);
/// Bytes of a failed command's standard error in its message.
const TOLD_BYTES: u64 = 1_000;
const PREPARE: &str = "--prepare";
const CLEANUP: &str = "--cleanup";

/// The command after the last sample, until it runs. Whoever runs it holds the lock: nobody ends
/// the program meanwhile.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// The commands of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Before each sample.
    pub prepare: Option<String>,
    /// After the last one.
    pub cleanup: Option<String>,
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The command ended.
    Done,
    /// The command was stopped: the user has interrupted.
    Stopped,
}

/// Runs the command before a sample.
///
/// # Errors
/// It fails, or cannot be started.
pub fn prepare(command: &str) -> Result<Ran> {
    run(PREPARE, command, interrupt::happened)
}

/// The command after the last sample, to be run when this ends: dropped, it runs too.
#[derive(Debug)]
#[must_use = "the command runs when it is dropped"]
pub struct Cleanup(());

impl Cleanup {
    /// From now on the command runs, also after a failure or an interrupt.
    pub fn of(command: &str) -> Self {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(command.to_owned());
        interrupt::at_end(|| tell(clean_up()));
        Self(())
    }

    /// Runs it.
    ///
    /// # Errors
    /// It fails, or cannot be started.
    pub fn run(self) -> Result<()> {
        clean_up()
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        // Nothing is left to do where it has run.
        tell(clean_up());
    }
}

fn tell(cleaned: Result<()>) {
    if let Err(error) = cleaned {
        terminal::error(&format!("error: {error:#}"));
    }
}

/// Runs the last command, unless it has run.
fn clean_up() -> Result<()> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(command) = last.take() else { return Ok(()) };
    let mut interrupted = None;
    let ran = run(CLEANUP, &command, || {
        let since = interrupt::happened().then(|| *interrupted.get_or_insert_with(Instant::now));
        since.is_some_and(|since| since.elapsed() > LAST_MAX)
    });
    match ran? {
        Ran::Done => Ok(()),
        Ran::Stopped => {
            bail!("{CLEANUP} `{command}` was stopped {} s after the interrupt", LAST_MAX.as_secs())
        }
    }
}

/// Runs a command until it ends, or `stops` says so.
fn run(option: &str, command: &str, mut stops: impl FnMut() -> bool) -> Result<Ran> {
    let cannot = || format!("{option} `{command}`: cannot be run by {SHELL}");
    // A process that the command leaves in the background would hold a pipe open.
    let mut told = tempfile::tempfile().with_context(cannot)?;
    let mut shell = child::bound(Path::new(SHELL)).with_context(cannot)?;
    shell.args(["-c", command]).stdout(Stdio::null());
    shell.stderr(told.try_clone().with_context(cannot)?);
    let mut child = shell.spawn().with_context(cannot)?;
    let [mut pause, longest] = LOOK_INTERVAL;
    let status = loop {
        if let Some(status) = child.try_wait().with_context(cannot)? {
            break status;
        }
        if stops() {
            stop(&mut child);
            return Ok(Ran::Stopped);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(longest);
    };
    if status.success() {
        return Ok(Ran::Done);
    }
    // Whoever interrupts this program may interrupt the command, too.
    if stops() {
        return Ok(Ran::Stopped);
    }
    bail!("{option} `{command}` failed: {}", failure(status, &mut told))
}

/// Ends a command and all that it started.
fn stop(child: &mut Child) {
    let begun = Instant::now();
    child::send(child, Signal::TERM, Reach::Group);
    while begun.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(LOOK_INTERVAL[0]);
    }
    child::send(child, Signal::KILL, Reach::Group);
    // The child has ended, or ends now.
    drop(child.wait());
}

/// How a command failed, and the end of its standard error.
fn failure(status: ExitStatus, told: &mut File) -> String {
    let size = told.metadata().map_or(0, |metadata| metadata.len());
    let from = SeekFrom::Start(size.saturating_sub(TOLD_BYTES));
    let mut bytes = Vec::new();
    let read = told.seek(from).and_then(|_| told.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    match (read, text.trim()) {
        (Ok(_), "") => format!("{status}, with nothing on standard error"),
        (Ok(_), text) if size > TOLD_BYTES => format!("{status}; standard error ends with: {text}"),
        (Ok(_), text) => format!("{status}; standard error: {text}"),
        (Err(error), _) => format!("{status}; standard error cannot be read: {error}"),
    }
}
