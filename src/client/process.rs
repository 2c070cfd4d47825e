//! The process of a client that this program starts on a free port, and later stops. At an
//! interrupt the client is asked to stop, and is killed after a time limit. If this program ends in
//! any other way, the client is killed at once.

use std::{
    fs, io,
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use executor::process;
use rustix::process::Signal;

use super::{
    database::{NAME_PROGRAM, not_started},
    engine::Engine,
    home::Home,
    leftover,
    log::Log,
    refusal::Refusal,
    start_file::{OwnTimes, Placeholders, StartFile},
    token::Secret,
};
use crate::{
    machine::child::{self, SignalTarget},
    terminal::{Code, Failure, WithExitCode, exit::fail, interrupt},
};

/// Maximal time for a client to be ready.
const START_MAX: Duration = Duration::from_secs(600);
/// Maximal time for a client to stop. It is long, as a client writes its memory to disk then.
const STOP_MAX: Duration = Duration::from_secs(600);
/// Maximal time for a client to stop after an interrupt. It is shorter than the ten seconds for
/// which a hold delays the end of this program.
const INTERRUPTED_STOP_MAX: Duration = Duration::from_secs(8);
/// Polling interval while the client starts and stops.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Polling interval for an interrupt. It is long, as samples are timed meanwhile.
const INTERRUPT_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Window in which the client's CPU time is measured. A client that uses less CPU time than a tenth
/// of the window has settled.
const SETTLED_WINDOW: Duration = Duration::from_millis(300);
/// Maximal time between the client's answer and its own report of the block's time.
const OWN_TIME_MAX: Duration = Duration::from_secs(1);
/// Maximal time to wait for the end of a client that gave no answer.
const DEATH_MAX: Duration = Duration::from_millis(500);

/// State of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

pub struct Running {
    child: Arc<Mutex<Child>>,
    pid: u32,
    log: Arc<Log>,
    engine: Engine,
    command: Vec<String>,
    /// The file with the client's process group, by which the next run ends a client that is left.
    note: PathBuf,
    /// Reason for which figures of the process may not be the client's; `None` without doubt.
    doubt: Option<String>,
}

impl Running {
    /// Starts the client, and waits until it answers and has settled.
    ///
    /// # Errors
    /// The client does not start, ends, or is not ready in time; or the user interrupted.
    pub fn start(start: &StartFile, home: &Home, timeout: Duration) -> Result<Self, Failure> {
        let port = free_port().context("no free port").with_exit_code(Code::Io)?;
        let secret = Secret::of_seed(u64::from(port));
        home.write(start, &secret).with_exit_code(Code::Io)?;
        let placeholders = home.placeholders(port);
        leftover::end(&home.note_path(), &home.datadir);
        let log = Log::new(&home.log_path(), start.clone()).with_exit_code(Code::Io)?;
        let (child, command) = spawn(start, &placeholders, &log)?;
        let url = format!("http://127.0.0.1:{port}");
        let mut running = Self {
            pid: child.id(),
            note: home.note_path(),
            doubt: None,
            child: Arc::new(Mutex::new(child)),
            log,
            engine: Engine::new(&url, secret, timeout).with_exit_code(Code::Usage)?,
            command,
        };
        running.stop_at_interrupt();
        let noted = leftover::note(&running.note, running.pid);
        noted.with_context(|| running.note.display().to_string()).with_exit_code(Code::Io)?;
        running.wait_until_ready()?;
        if listens_elsewhere(running.pid, port) == Some(true) {
            running.doubt = Some(format!(
                "{}: the client is another process than {}, which was started: CPU time and reads are \
                 not the client's, and it outlives a run that is killed; let the wrapper script end with exec",
                start.name,
                start.program.display()
            ));
        }
        running.wait_until_settled(start.settle_max())?;
        Ok(running)
    }

    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the reason for which figures of the process may not be the client's; `None` without
    /// doubt.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// Returns the client's own times of the block with this hash; `None` if the client does not
    /// report them.
    pub fn own_times(&self, hash: &str) -> Option<OwnTimes> {
        let begun = Instant::now();
        while self.log.has_own_times() && begun.elapsed() < OWN_TIME_MAX {
            if let Some(times) = self.log.take_own_times(hash) {
                return Some(times);
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Returns `refusal`, or [`Refusal::Died`] if the connection failed because the client has
    /// ended.
    pub fn cause_of(&self, refusal: Refusal) -> Refusal {
        if !matches!(refusal, Refusal::CutOff { .. } | Refusal::NoConnection { .. }) {
            return refusal;
        }
        let begun = Instant::now();
        while begun.elapsed() < DEATH_MAX {
            if let Ok(Some(status)) = self.child().try_wait() {
                return self.died(status);
            }
            thread::sleep(POLL_INTERVAL);
        }
        refusal
    }

    /// Asks the client to stop, and waits for its end.
    ///
    /// # Errors
    /// The client does not stop.
    pub fn stop(self) -> Result<(), Failure> {
        child::send(&self.child(), Signal::TERM, SignalTarget::Group);
        let begun = Instant::now();
        while begun.elapsed() < STOP_MAX {
            let mut child = self.child();
            // A child process of the client may hold the database longer than the client lives.
            if child.try_wait().with_exit_code(Code::Io)?.is_some() && !child::has_group(&child) {
                // The client has ended, so its note is not needed.
                drop(fs::remove_file(&self.note));
                return Ok(());
            }
            drop(child);
            thread::sleep(POLL_INTERVAL);
        }
        fail!(
            Code::Io,
            "the client does not stop within {} s after SIGTERM; the end of its log:\n{}",
            STOP_MAX.as_secs(),
            self.log.final_tail()
        )
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn died(&self, status: ExitStatus) -> Refusal {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or_default()),
        };
        Refusal::Died { how, log: self.log.final_tail() }
    }

    fn wait_until_ready(&self) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut refused = None;
        while begun.elapsed() < START_MAX {
            self.check_alive()?;
            if self.log.is_ready() {
                match self.engine.genesis_hash() {
                    Ok(_) => return Ok(()),
                    Err(refusal @ Refusal::NoConnection { .. }) => refused = Some(refusal),
                    Err(refusal) => return Err(self.cause_of(refusal).into()),
                }
            }
            thread::sleep(POLL_INTERVAL);
        }
        let why = refused.map_or("its log does not say so (ready = …)".to_owned(), |refusal| {
            refusal.to_string()
        });
        fail!(
            Code::Io,
            "the client is not ready within {} s: {why}; the end of its log:\n{}",
            START_MAX.as_secs(),
            self.log.final_tail()
        )
    }

    /// Waits until the client uses hardly any CPU. Its work after the start must not be part of a
    /// sample.
    fn wait_until_settled(&self, limit: Duration) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut before = process::cpu_time_of(self.pid);
        while begun.elapsed() < limit {
            thread::sleep(SETTLED_WINDOW);
            self.check_alive()?;
            let now = process::cpu_time_of(self.pid);
            let used = now.zip(before).map(|(now, before)| now.saturating_sub(before));
            if used.is_none_or(|used| used * 10 < SETTLED_WINDOW) {
                return Ok(());
            }
            before = now;
        }
        fail!(
            Code::Io,
            "the client still works {} s after its start, which its times would count: let it \
             finish once on a kept database (--client-data), or raise settle_s in its start file; \
             the end of its log:\n{}",
            limit.as_secs_f64(),
            self.log.tail()
        )
    }

    fn check_alive(&self) -> Result<(), Failure> {
        interrupt::check()?;
        match self.child().try_wait().with_exit_code(Code::Io)? {
            Some(status) => Err(self.died(status).into()),
            None => Ok(()),
        }
    }

    /// Starts a thread that asks the client to stop when the user interrupts.
    fn stop_at_interrupt(&self) {
        let child = Arc::clone(&self.child);
        thread::spawn(move || {
            let mut signalled = None;
            loop {
                thread::sleep(INTERRUPT_CHECK_INTERVAL);
                // The lock is taken anew in each turn, as the thread of the samples uses the child
                // too.
                let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
                if !matches!(child.try_wait(), Ok(None)) {
                    return;
                }
                match &signalled {
                    None if interrupt::happened() => {
                        child::send(&child, Signal::TERM, SignalTarget::Group);
                        signalled = Some((Instant::now(), interrupt::hold()));
                    }
                    Some((since, _)) if since.elapsed() > INTERRUPTED_STOP_MAX => {
                        child::send(&child, Signal::KILL, SignalTarget::Group);
                    }
                    _ => {}
                }
            }
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut child = self.child();
        if let Ok(None) = child.try_wait() {
            // A kill loses nothing: the client has only read its database, or the database is
            // discarded.
            child::send(&child, Signal::KILL, SignalTarget::Group);
            let _ = child.wait();
            drop(fs::remove_file(&self.note));
        }
    }
}

/// Starts the process, and returns it with its command.
fn spawn(
    start: &StartFile,
    placeholders: &Placeholders,
    log: &Arc<Log>,
) -> Result<(Child, Vec<String>), Failure> {
    let arguments = placeholders.filled(&start.start);
    let spawned = child::bound_command(&start.program).and_then(|mut command| {
        command.args(&arguments).envs(&start.env);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    });
    let child = spawned.map_err(|error| not_started(&start.program, NAME_PROGRAM, error));
    let mut child = child.with_exit_code(Code::Io)?;
    child.stdout.take().into_iter().for_each(|stream| log.listen(stream));
    child.stderr.take().into_iter().for_each(|stream| log.listen(stream));
    let program = start.program.display().to_string();
    Ok((child, [program].into_iter().chain(arguments).collect()))
}

/// Returns a port on which no process listens now.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Whether another process than `pid` listens at `port`, as behind a wrapper script without `exec`.
/// `None` if the system does not report it, as for a process in another network.
fn listens_elsewhere(pid: u32, port: u16) -> Option<bool> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening_sockets(&table, port))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let mut names = files.filter_map(|file| fs::read_link(file.path()).ok());
    Some(!names.any(|name| sockets.iter().any(|socket| name.as_os_str() == socket.as_str())))
}

/// Returns the names of the sockets that listen at `port`. `table` is the text of `/proc/net/tcp`
/// or of `/proc/net/tcp6`: field 1 is the local address, 3 the state, 9 the inode (proc(5)).
fn listening_sockets(table: &str, port: u16) -> Vec<String> {
    let port = format!(":{port:04X}");
    let sockets = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields.get(1)?.ends_with(&port) && *fields.get(3)? == LISTENING;
        Some(format!("socket:[{}]", fields.get(9)?)).filter(|_| listens)
    });
    sockets.collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_process_that_listens_is_told_from_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listens_elsewhere(std::process::id(), port), Some(false));
        let mut other = Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(listens_elsewhere(other.id(), port), Some(true));
        drop(listener);
        assert_eq!(listens_elsewhere(other.id(), port), None, "nobody listens");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
