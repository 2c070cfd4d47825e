//! Runs the user's commands around the samples of a run, outside any clock: one before each sample,
//! and one after the last sample. A shell runs them.
//!
//! **Invariant**: after the first sample begins, the command after the last sample runs once,
//! however the run ends. Only a second signal, which ends the process, prevents it.

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
    machine::child::{self, SignalTarget},
    terminal::{self, interrupt},
};

const SHELL: &str = "/bin/sh";
/// Minimal and maximal polling interval for the end of a command.
const POLL_INTERVAL: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];
/// Time that a command has to end after a request to stop.
const GRACE: Duration = Duration::from_millis(200);
/// Maximal time of the last command after an interrupt, as results are written after it.
const LAST_MAX: Duration = Duration::from_secs(5);
/// Number of bytes of a failed command's standard error that the error shows.
const SHOWN_BYTES: u64 = 1_000;
const PREPARE: &str = "--prepare";
const CLEANUP: &str = "--cleanup";

/// The command after the last sample, until it runs. The thread that runs it holds the lock, so
/// that no other thread ends the program meanwhile.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// The commands of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// The command before each sample.
    pub prepare: Option<String>,
    /// The command after the last sample.
    pub cleanup: Option<String>,
}

/// The end of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The command ended.
    Done,
    /// The command was stopped: the user has interrupted.
    Stopped,
}

/// Runs the command before a sample.
///
/// # Errors
/// The command fails, or cannot be started.
pub fn prepare(command: &str) -> Result<CommandEnd> {
    run(PREPARE, command, interrupt::happened)
}

/// The command after the last sample. It runs on [`Cleanup::run`], or on drop.
#[derive(Debug)]
#[must_use = "the command runs when it is dropped"]
pub struct Cleanup(());

impl Cleanup {
    /// Registers the command. From now on it runs at the end, also after a failure or an interrupt.
    pub fn register(command: &str) -> Self {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(command.to_owned());
        interrupt::at_end(|| report_failure(clean_up()));
        Self(())
    }

    /// Runs the command.
    ///
    /// # Errors
    /// The command fails, or cannot be started.
    pub fn run(self) -> Result<()> {
        clean_up()
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        // A command that has run does not run again.
        report_failure(clean_up());
    }
}

fn report_failure(cleaned: Result<()>) {
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
        CommandEnd::Done => Ok(()),
        CommandEnd::Stopped => {
            bail!("{CLEANUP} `{command}` was stopped {} s after the interrupt", LAST_MAX.as_secs())
        }
    }
}

/// Runs a command until it ends, or until `stops` returns true.
fn run(option: &str, command: &str, mut stops: impl FnMut() -> bool) -> Result<CommandEnd> {
    let cannot = || format!("{option} `{command}`: cannot be run by {SHELL}");
    // The output goes to a file: a background process of the command would hold a pipe open.
    let mut stderr = tempfile::tempfile().with_context(cannot)?;
    let mut shell = child::bound_command(Path::new(SHELL)).with_context(cannot)?;
    shell.args(["-c", command]).stdout(Stdio::null());
    shell.stderr(stderr.try_clone().with_context(cannot)?);
    let mut child = shell.spawn().with_context(cannot)?;
    let [mut pause, longest] = POLL_INTERVAL;
    let status = loop {
        if let Some(status) = child.try_wait().with_context(cannot)? {
            break status;
        }
        if stops() {
            stop(&mut child);
            return Ok(CommandEnd::Stopped);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(longest);
    };
    if status.success() {
        return Ok(CommandEnd::Done);
    }
    // An interrupt of this program may also interrupt the command.
    if stops() {
        return Ok(CommandEnd::Stopped);
    }
    bail!("{option} `{command}` failed: {}", failure(status, &mut stderr))
}

/// Ends a command and all processes that it started.
fn stop(child: &mut Child) {
    let begun = Instant::now();
    child::send(child, Signal::TERM, SignalTarget::Group);
    while begun.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(POLL_INTERVAL[0]);
    }
    child::send(child, Signal::KILL, SignalTarget::Group);
    // The child has ended, or ends now.
    drop(child.wait());
}

/// States how a command failed, and the end of its standard error.
fn failure(status: ExitStatus, stderr: &mut File) -> String {
    let size = stderr.metadata().map_or(0, |metadata| metadata.len());
    let from = SeekFrom::Start(size.saturating_sub(SHOWN_BYTES));
    let mut bytes = Vec::new();
    let read = stderr.seek(from).and_then(|_| stderr.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    match (read, text.trim()) {
        (Ok(_), "") => format!("{status}, with nothing on standard error"),
        (Ok(_), text) if size > SHOWN_BYTES => {
            format!("{status}; standard error ends with: {text}")
        }
        (Ok(_), text) => format!("{status}; standard error: {text}"),
        (Err(error), _) => format!("{status}; standard error cannot be read: {error}"),
    }
}
