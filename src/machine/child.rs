//! Child processes, and their ties to this program, which passes interrupts on. A child of [`bound`] is
//! killed when this program ends. One of [`run`] is asked to stop then, if it has called
//! [`end_with_parent`]. A child of a child may live on, so a client's wrapper has to `exec`. A sweep runs
//! its cells in processes of this program, and so does the gate beside a baseline. Clients are other
//! programs.
//!
//! The kernel ends a process with its parent, the thread that started it, if that process asks for it (its death
//! signal, see prctl). A client does not ask. So this program starts itself, asks, and becomes the client: `exec`
//! keeps the request.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rustix::process::{
    Pid, Signal, getppid, kill_process, kill_process_group, set_parent_process_death_signal,
    test_kill_process_group,
};

use crate::terminal::{Code, interrupt};

/// Polling interval for the child's end. Long against the cost of a poll, as samples are
/// being timed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// This program, even where its file has been replaced since it began: so all children are of the same build.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// First word of a process that becomes another program; then come the parent and the command.
const BECOME: &str = "--become";

/// Receivers of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The process alone: it passes the signal on as it sees fit.
    Process,
    /// The process, which leads a group, and those that it started.
    Group,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// Ended by this signal.
    Signal(i32),
}

impl Ended {
    /// Exit code of this program after a child of it ended so. A usage error and a disagreement are passed on;
    /// all else is a failure.
    pub const fn code(self) -> Code {
        match self {
            Self::Code(2) => Code::Usage,
            Self::Code(3) => Code::Disagree,
            _ => Code::Io,
        }
    }

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
    command.arg0("stress").args(words).stdin(Stdio::null());
    // In a group of its own, so that Ctrl-C does not reach it twice: the second signal ends a
    // process at once.
    command.process_group(0);
    ended(command)
}

/// Runs this program like [`run`], but the child is killed when this process ends.
///
/// # Errors
/// It cannot be started or waited for.
pub fn run_bound(words: &[OsString]) -> Result<Ended> {
    let mut command = bound(Path::new(THIS_PROGRAM))?;
    command.args(words);
    ended(command)
}

fn ended(mut command: Command) -> Result<Ended> {
    command.stdout(Stdio::null());
    let mut child = command.spawn().context("cannot start another process of stress")?;
    let mut is_told = false;
    // While the child writes what it has finished, an interrupt must not end this process.
    let _hold = interrupt::hold();
    loop {
        if let Some(status) =
            child.try_wait().context("cannot wait for another process of stress")?
        {
            return Ok(ending(status));
        }
        if interrupt::happened() && !is_told {
            send(&child, Signal::TERM, Reach::Process);
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
    end_by(Signal::TERM, parent_pid)
}

fn end_by(signal: Signal, parent_pid: u32) -> Result<bool> {
    let asked = set_parent_process_death_signal(Some(signal));
    asked.context("cannot be told of the end of the parent")?;
    // The parent may have ended before.
    Ok(getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get().unsigned_abs() == parent_pid))
}

/// A command of another program that is killed when this program ends in any way. It leads its own
/// process group, so that Ctrl-C does not reach it twice. A second signal may end a client before
/// it has written its memory to disk.
///
/// # Errors
/// There is no such program.
pub fn bound(program: &Path) -> std::io::Result<Command> {
    found(program).ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("stress").arg(BECOME).arg(std::process::id().to_string()).arg(program);
    command.stdin(Stdio::null()).process_group(0);
    Ok(command)
}

/// The file of a program, which is a path or a name on PATH.
pub fn found(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned()).filter(|file| file.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Becomes the program of a [`bound`] command, where this process was started for it; returns otherwise.
///
/// # Errors
/// The program cannot be executed, or the parent has ended.
pub fn become_another() -> Result<()> {
    let mut words = std::env::args_os().skip(1);
    if words.next().as_deref() != Some(OsStr::new(BECOME)) {
        return Ok(());
    }
    let parent_pid = words.next().and_then(|word| word.to_str()?.parse().ok());
    let (Some(parent_pid), Some(program)) = (parent_pid, words.next()) else {
        bail!("{BECOME}: for processes of stress alone");
    };
    if !end_by(Signal::KILL, parent_pid)? {
        bail!("the parent has ended");
    }
    let error = Command::new(&program).args(words).exec();
    Err(error).with_context(|| format!("cannot start {}", Path::new(&program).display()))
}

/// Signals a child.
pub fn send(child: &Child, signal: Signal, reach: Reach) {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    // One that has just ended is not there any more, and that is as good.
    let _ = match reach {
        Reach::Process => kill_process(pid, signal),
        Reach::Group => kill_process_group(pid, signal),
    };
}

/// Whether a child that leads a group, or any process of its group, is still there.
pub fn has_group(child: &Child) -> bool {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process_group(pid).is_ok())
}

fn ending(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or_default()),
    }
}
