//! The driver of a worker: it starts the worker, sends requests, and waits for an answer within a
//! time limit. A worker that dies, hangs or answers nonsense is one error, and no process is left
//! behind.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use serde_json::Value;

use super::{
    confine,
    message::{Answer, ErrorKind, Load, Loaded, PROTOCOL, ProgramFacts, Request, Sampled},
};
use crate::terminal::{Code, Failure, WithExitCode, exit::fail, interrupt};

/// Maximal length of a worker's line in bytes. The answer for a sample of thousands of batches is
/// far shorter.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Maximal number of bytes that are kept of the end of the worker's standard error.
const TAIL_BYTES: usize = 2_000;
/// Maximal number of characters of an invalid line that an error shows.
const SHOWN_CHARS: usize = 120;
/// Maximal time for a worker's hello, and for its end.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Polling interval for the interrupt flag.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Maximal times of a worker's answers.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Time to load a workload, whose state may have to be built, or to judge claims.
    pub load: Duration,
    pub sample: Duration,
}

#[derive(Debug)]
pub struct Driver {
    name: String,
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Line>,
    tail: Arc<Mutex<Vec<u8>>>,
    /// Thread that reads the worker's standard error into `tail`.
    stderr_reader: JoinHandle<()>,
    timeouts: Timeouts,
    facts: ProgramFacts,
}

/// A line of a worker, or the reason for which it cannot be read. The end of its standard output
/// closes the channel.
#[derive(Debug)]
enum Line {
    Text(String),
    TooLong,
    NotUtf8,
    Failed(io::Error),
}

impl Driver {
    /// Starts `binary` as a worker, and reads its hello.
    ///
    /// # Errors
    /// The binary cannot be started, is no worker, or uses another version of the protocol.
    pub fn start(binary: &Path, timeouts: Timeouts) -> Result<Self, Failure> {
        let name = binary.display().to_string();
        let mut command = Command::new(binary);
        command.arg("--worker").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.spawn().with_context(|| format!("cannot start {name}"));
        let mut child = started.with_input_code()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            panic!("all three pipes were asked for");
        };
        let (sender, lines) = mpsc::sync_channel(1);
        let tail = Arc::<Mutex<Vec<u8>>>::default();
        let kept = Arc::clone(&tail);
        // Both threads end when the worker's pipes close. The thread of lines also ends when the
        // receiver is dropped.
        thread::spawn(move || read_lines(stdout, &sender));
        let stderr_reader = thread::spawn(move || read_tail(stderr, &kept));
        let facts = ProgramFacts::default();
        let mut driver = Self { name, child, stdin, lines, tail, stderr_reader, timeouts, facts };
        driver.facts = driver.hello()?;
        Ok(driver)
    }

    pub const fn facts(&self) -> &ProgramFacts {
        &self.facts
    }

    /// Returns the path with which the worker was started.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks the worker to load a workload. Returns its digest and the variants that can be sampled.
    ///
    /// # Errors
    /// The worker cannot load it, or does not answer.
    pub fn load(&mut self, load: Load) -> Result<Loaded, Failure> {
        match self.ask(&Request::Load(load), "load", self.timeouts.load)? {
            Answer::Loaded(loaded) => Ok(loaded),
            other => Err(self.unexpected("load", &other)),
        }
    }

    /// Confines the worker to these CPUs.
    ///
    /// # Errors
    /// The worker has ended, or the kernel refuses.
    pub fn confine(&self, cpus: &[usize]) -> io::Result<()> {
        confine::confine(self.child.id(), cpus)
    }

    /// Asks the worker to take a sample.
    ///
    /// # Errors
    /// The worker cannot take it, or does not answer.
    pub fn sample(&mut self, variant: &str) -> Result<Sampled, Failure> {
        let request = Request::Sample { variant: variant.to_owned() };
        match self.ask(&request, "sample", self.timeouts.sample)? {
            Answer::Sample(sampled) if sampled.variant == variant && sampled.wall_ns > 0 => {
                Ok(*sampled)
            }
            other => Err(self.unexpected("sample", &other)),
        }
    }

    /// Asks the worker to judge claims. The answer has the form of the field `expects` of a result.
    ///
    /// # Errors
    /// The worker cannot judge them, or does not answer.
    pub fn judge(&mut self, expects: Vec<String>) -> Result<Value, Failure> {
        match self.ask(&Request::Judge { expects }, "judge", self.timeouts.load)? {
            Answer::Judged { expects } => Ok(expects),
            other => Err(self.unexpected("judge", &other)),
        }
    }

    /// Asks the worker to end, and waits until its memory is free for the next worker.
    ///
    /// # Errors
    /// The worker does not answer the request to end.
    pub fn end(&mut self) -> Result<(), Failure> {
        match self.ask(&Request::Exit, "exit", HELLO_TIMEOUT)? {
            Answer::Bye => {
                self.stop();
                Ok(())
            }
            other => Err(self.unexpected("exit", &other)),
        }
    }

    fn stop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Reads the worker's first message, and checks its version of the protocol.
    fn hello(&mut self) -> Result<ProgramFacts, Failure> {
        let within = HELLO_TIMEOUT.min(self.timeouts.sample);
        let text = self.line("hello", within)?;
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let version = value.filter(|value| value["kind"] == "hello");
        let version = version.and_then(|value| value["protocol"].as_u64());
        if let Some(version) = version.filter(|version| *version != u64::from(PROTOCOL)) {
            fail!(
                Code::Usage,
                "{} speaks worker protocol {version}, and this stress {PROTOCOL}: take a build \
                 that speaks {PROTOCOL}, or the other stress to drive",
                self.name
            );
        }
        match serde_json::from_str(&text) {
            Ok(Answer::Hello(facts)) => Ok(facts),
            _ => Err(self.invalid_answer("hello", &text)),
        }
    }

    /// Sends a request, and returns its answer. `what` names the request in errors.
    fn ask(&mut self, request: &Request, what: &str, within: Duration) -> Result<Answer, Failure> {
        let text = serde_json::to_string(request);
        let text = text.unwrap_or_else(|e| panic!("requests have text keys only: {e}"));
        // If the worker has ended, its missing answer shows that.
        drop(writeln!(self.stdin, "{text}").and_then(|()| self.stdin.flush()));
        let text = self.line(what, within)?;
        match serde_json::from_str(&text) {
            // A terminal's signal reaches the worker as well.
            Ok(Answer::Error { error: ErrorKind::Interrupted, .. }) => {
                fail!(Code::Interrupted, "interrupted")
            }
            Ok(Answer::Error { error, message }) => {
                Err(Failure { code: error.into(), error: anyhow!("{}: {message}", self.name) })
            }
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.invalid_answer(what, &text)),
        }
    }

    /// Returns the worker's next line, which answers the request `what`, or the reason for its
    /// lack.
    fn line(&mut self, what: &str, within: Duration) -> Result<String, Failure> {
        let begun = Instant::now();
        let name = &self.name;
        let error = loop {
            interrupt::check()?;
            let left = within.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left.min(POLL_INTERVAL)) {
                Ok(Line::Text(text)) => return Ok(text),
                Ok(Line::TooLong) => {
                    break anyhow!(
                        "{name}: its answer to `{what}` has more than {LINE_BYTES_MAX} \
                        bytes: this is no worker of stress"
                    );
                }
                Ok(Line::NotUtf8) => {
                    break anyhow!(
                        "{name}: its answer to `{what}` is no text: this is no worker \
                        of stress"
                    );
                }
                Ok(Line::Failed(error)) => break anyhow!("{name}: cannot be read: {error}"),
                Err(RecvTimeoutError::Timeout) if begun.elapsed() < within => {}
                Err(RecvTimeoutError::Timeout) => {
                    break anyhow!(
                        "{name} did not answer `{what}` within {:.1} s, and was stopped: look \
                         whether it hangs, or allow more (--timeout)",
                        within.as_secs_f64()
                    );
                }
                Err(RecvTimeoutError::Disconnected) => break self.exit_error(what),
            }
        };
        // The same signal may end a worker before this process has seen it.
        interrupt::check()?;
        Err(error).with_exit_code(Code::Io)
    }

    /// Makes the error of a worker that closed its standard output, with its exit status and the
    /// end of its standard error.
    fn exit_error(&mut self, what: &str) -> anyhow::Error {
        let begun = Instant::now();
        let limit = HELLO_TIMEOUT.min(self.timeouts.sample);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Ok(None) if begun.elapsed() < limit => {
                    thread::sleep(Duration::from_millis(10));
                }
                _ => break "its output closed, still running".to_owned(),
            }
        };
        // The end of its standard error may not have been read yet.
        while !self.stderr_reader.is_finished() && begun.elapsed() < limit {
            thread::sleep(Duration::from_millis(10));
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&tail);
        let words = words.trim();
        let name = &self.name;
        if words.is_empty() {
            anyhow!("{name} ended instead of answering `{what}` ({status})")
        } else {
            anyhow!(
                "{name} ended instead of answering `{what}` ({status}); its last words: {words}"
            )
        }
    }

    fn invalid_answer(&self, what: &str, text: &str) -> Failure {
        let shown: String = text.chars().take(SHOWN_CHARS).collect();
        let error = anyhow!(
            "{}: its answer to `{what}` is no message of worker protocol {PROTOCOL}: {shown:?}",
            self.name
        );
        Failure { code: Code::Io, error }
    }

    fn unexpected(&self, what: &str, answer: &Answer) -> Failure {
        self.invalid_answer(what, &serde_json::to_string(answer).unwrap_or_default())
    }
}

impl Drop for Driver {
    /// Stops the process if it still runs, and waits for its end.
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sends each line of the worker to `lines`, and stops after one that cannot be read.
fn read_lines(stdout: ChildStdout, lines: &SyncSender<Line>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut bytes = Vec::new();
        let line = match (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes) {
            Ok(0) => return,
            Ok(_) if bytes.last() != Some(&b'\n') && bytes.len() as u64 == LINE_BYTES_MAX => {
                Line::TooLong
            }
            Ok(_) => String::from_utf8(bytes).map_or(Line::NotUtf8, Line::Text),
            Err(error) => Line::Failed(error),
        };
        let is_over = !matches!(line, Line::Text(_));
        if lines.send(line).is_err() || is_over {
            return;
        }
    }
}

/// Keeps the end of the worker's standard error in `tail`.
fn read_tail(mut stderr: ChildStderr, tail: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut bytes) {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&bytes[..count]);
        let too_many = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..too_many);
    }
}
