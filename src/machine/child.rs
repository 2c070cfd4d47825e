//! Child processes of this program, to which it passes interrupts. A child of [`bound_command`] is
//! killed when this program ends. A child of [`run`] is asked to stop then, if it has called
//! [`end_with_parent`]. A child of a child may live on, so a wrapper script of a client must end
//! with `exec`. Sweeps, calibrations and the gate beside a baseline run work in processes of this
//! program. Clients and hooks are other programs.
//!
//! The kernel sends a process a signal when the thread that started it ends, if the process asks
//! for it (its death signal, see prctl). A client does not ask. So this program starts itself, asks
//! for the signal, and becomes the client: `exec` keeps the request.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rustix::process::{
    Pid, Signal, getppid, kill_process, kill_process_group, set_parent_process_death_signal,
    test_kill_process_group,
};

use crate::terminal::{Code, interrupt};

/// Polling interval for the child's end. It is long, as the child takes timed samples meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The file of this program, even if its path has another file by now. So all children are of the
/// same build.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// First argument of a process that becomes another program. The parent's process id and the
/// command follow.
const BECOME: &str = "--become";

/// The receivers of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalTarget {
    /// The process alone. It may pass the signal on.
    Process,
    /// The process and its group, which it leads.
    Group,
}

/// The end of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
}

impl Ended {
    /// Returns the exit code of this program after a child of it. A usage error and a disagreement
    /// are passed on, and any other code is an I/O failure.
    pub const fn code(self) -> Code {
        match self {
            Self::Code(2) => Code::Usage,
            Self::Code(3) => Code::Disagree,
            _ => Code::Io,
        }
    }

    /// Formats the end for a list of failures.
    pub fn describe(self) -> String {
        match self {
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(signal) => format!("killed by signal {signal}"),
        }
    }
}

/// Runs this program with `arguments`, and waits for its end. When the user interrupts,
/// the child is asked to stop, once. Its standard output is dropped.
///
/// # Errors
/// The child cannot be started or waited for.
pub fn run(arguments: &[OsString]) -> Result<Ended> {
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("stress").args(arguments).stdin(Stdio::null());
    // In a group of its own, the child does not get Ctrl-C from the terminal and from this program.
    // A second signal would end it at once.
    command.process_group(0);
    run_to_end(command)
}

/// Runs this program like [`run`], but the child is killed when this process ends.
///
/// # Errors
/// The child cannot be started or waited for.
pub fn run_bound(arguments: &[OsString]) -> Result<Ended> {
    let mut command = bound_command(Path::new(THIS_PROGRAM))?;
    command.args(arguments);
    run_to_end(command)
}

/// Returns the arguments of this process with the options `own` and `--parent`, for another process
/// of this program that ends with this one.
pub fn own_arguments(own: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut given = std::env::args_os().skip(1);
    // The verb stays the first word. Options may come before all other words.
    let verb = given.next();
    let parent = [OsString::from("--parent"), std::process::id().to_string().into()];
    verb.into_iter().chain(own).chain(parent).chain(given).collect()
}

/// Runs a command of this program to its end, and passes an interrupt on.
fn run_to_end(mut command: Command) -> Result<Ended> {
    command.stdout(Stdio::null());
    let mut child = command.spawn().context("cannot start another process of stress")?;
    let mut is_asked = false;
    // An interrupt must not end this process while the child writes its finished part.
    let _hold = interrupt::hold();
    loop {
        if let Some(status) =
            child.try_wait().context("cannot wait for another process of stress")?
        {
            return Ok(match status.code() {
                Some(code) => Ended::Code(code),
                None => Ended::Signal(status.signal().unwrap_or_default()),
            });
        }
        if interrupt::happened() && !is_asked {
            send(&child, Signal::TERM, SignalTarget::Process);
            is_asked = true;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Asks the kernel to stop this process when its parent ends. Returns whether the parent
/// `parent_pid` still lives.
///
/// # Errors
/// The system refuses.
pub fn end_with_parent(parent_pid: u32) -> Result<bool> {
    request_death_signal(Signal::TERM, parent_pid)
}

/// Asks the kernel to send `signal` to this process when its parent ends. Returns whether the
/// parent `parent_pid` still lives.
fn request_death_signal(signal: Signal, parent_pid: u32) -> Result<bool> {
    let asked = set_parent_process_death_signal(Some(signal));
    asked.context("cannot be told of the end of the parent")?;
    // The parent may have ended before the request.
    Ok(getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get().unsigned_abs() == parent_pid))
}

/// Returns a command of another program that is killed when this program ends in any way. It leads
/// its own process group, so that Ctrl-C reaches it only through this program. A second signal may
/// end a client before the client has written its memory to disk.
///
/// # Errors
/// The program does not exist.
pub fn bound_command(program: &Path) -> std::io::Result<Command> {
    find_program(program).ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("stress").arg(BECOME).arg(std::process::id().to_string()).arg(program);
    command.stdin(Stdio::null()).process_group(0);
    Ok(command)
}

/// Returns the file of a program, which is a path or a name on PATH.
pub fn find_program(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned()).filter(|file| file.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Becomes the program of a [`bound_command`], if this process was started for it.
/// Otherwise it returns.
///
/// # Errors
/// The program cannot be executed, or the parent has ended.
pub fn exec_bound() -> Result<()> {
    let mut words = std::env::args_os().skip(1);
    if words.next().as_deref() != Some(OsStr::new(BECOME)) {
        return Ok(());
    }
    let parent_pid = words.next().and_then(|word| word.to_str()?.parse().ok());
    let (Some(parent_pid), Some(program)) = (parent_pid, words.next()) else {
        bail!("{BECOME}: for processes of stress alone");
    };
    if !request_death_signal(Signal::KILL, parent_pid)? {
        bail!("the parent has ended");
    }
    let error = Command::new(&program).args(words).exec();
    Err(error).with_context(|| format!("cannot start {}", Path::new(&program).display()))
}

pub fn send(child: &Child, signal: Signal, target: SignalTarget) {
    let pid = Pid::from_child(child);
    // A process that has just ended needs no signal.
    let _ = match target {
        SignalTarget::Process => kill_process(pid, signal),
        SignalTarget::Group => kill_process_group(pid, signal),
    };
}

/// Whether a child that leads a group still lives, or any process of its group.
pub fn has_group(child: &Child) -> bool {
    test_kill_process_group(Pid::from_child(child)).is_ok()
}
