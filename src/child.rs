//! This program in a process of its own, and the ties between the two: the parent passes on that
//! the user interrupted, and a child does not outlive it. So a sweep runs its cells, and the gate the
//! processes that it compares with a baseline.

use std::{
    ffi::OsString,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};

use crate::interrupt;

/// Polling interval for the child's end. Long against the cost of a poll, as samples are
/// being timed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// This program, even where its file has been replaced since it began: all children are of one.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// For a list of failures.
    pub fn words(self) -> String {
        match self {
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(signal) => format!("killed by signal {signal}"),
        }
    }
}

/// Runs this program with `words`, and waits until it has ended. Once the user interrupts, the
/// child is asked to stop, once. Its standard output is dropped.
///
/// # Errors
/// It cannot be started or waited for.
pub fn run(words: &[OsString]) -> Result<Ended> {
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("stress").args(words).stdin(Stdio::null()).stdout(Stdio::null());
    // In a group of its own, so that Ctrl-C does not reach it twice: the second signal ends a
    // process at once.
    command.process_group(0);
    let mut child = command.spawn().context("cannot start another process of stress")?;
    let mut is_told = false;
    // The child keeps its finished part before it ends.
    let _hold = interrupt::hold();
    loop {
        if let Some(status) =
            child.try_wait().context("cannot wait for another process of stress")?
        {
            return Ok(ended(status));
        }
        if interrupt::happened() && !is_told {
            ask_to_stop(&child);
            is_told = true;
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// From now on this process is asked to stop when its parent ends. Answers whether the parent,
/// which was `parent_pid`, is still there.
///
/// # Errors
/// The system refuses.
pub fn end_with_parent(parent_pid: u32) -> Result<bool> {
    let asked = set_parent_process_death_signal(Some(Signal::TERM));
    asked.context("cannot be told of the end of the parent")?;
    // It may have ended before.
    Ok(getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get().unsigned_abs() == parent_pid))
}

fn ask_to_stop(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // One that has just ended is not there any more, and that is as good.
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or_default()),
    }
}
