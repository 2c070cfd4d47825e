//! Reads standard output and error of a client. Writes them to a file, and searches them for the
//! line of readiness and for the client's own block times.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::start_file::{OwnTimes, StartFile};

/// Maximal number of blocks whose own times are kept until a sample takes them. A client may report
/// a block after the next block has begun.
const KEPT_TIMES_MAX: usize = 16;
/// Maximal number of the log's last lines that an error shows.
const TAIL_LINES: usize = 12;
/// Maximal length of a line in bytes. A longer line counts as several lines.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Maximal time to wait for the last lines of a client that has ended.
const LAST_LINES_MAX: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Log {
    start: StartFile,
    state: Mutex<LogState>,
    /// Number of the client's output streams that have not ended.
    open_count: AtomicUsize,
}

#[derive(Debug)]
struct LogState {
    file: File,
    tail: VecDeque<String>,
    is_ready: bool,
    /// Times of the blocks that the client reported last, with the blocks' hashes.
    own_times: VecDeque<(String, OwnTimes)>,
}

impl Log {
    /// Makes a log that is appended to the file at `path`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(path: &Path, start: StartFile) -> io::Result<Arc<Self>> {
        let file = File::options().create(true).append(true).open(path)?;
        let state =
            LogState { file, tail: VecDeque::new(), is_ready: false, own_times: VecDeque::new() };
        Ok(Arc::new(Self { start, state: Mutex::new(state), open_count: AtomicUsize::new(0) }))
    }

    /// Reads `stream` on a thread until the stream ends. Unread output would block the client.
    pub fn listen(self: &Arc<Self>, stream: impl Read + Send + 'static) {
        let log = Arc::clone(self);
        log.open_count.fetch_add(1, Ordering::Relaxed);
        thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while let Ok(1..) = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
                log.add_line(&line);
                line.clear();
            }
            log.open_count.fetch_sub(1, Ordering::Release);
        });
    }

    fn add_line(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let (is_ready, own_times) = (self.start.is_ready(&text), self.start.own_times(&text));
        let mut state = self.state();
        // A full disk must not end the client. The tail is kept all the same.
        let _ = state.file.write_all(line);
        state.is_ready |= is_ready;
        if let Some(own_times) = own_times {
            state.own_times.truncate(KEPT_TIMES_MAX - 1);
            state.own_times.push_front(own_times);
        }
        if state.tail.len() == TAIL_LINES {
            state.tail.pop_front();
        }
        state.tail.push_back(text.trim_end().to_owned());
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client has reported that it is ready. Also true if its start file names no line
    /// of readiness.
    pub fn is_ready(&self) -> bool {
        self.start.ready.is_empty() || self.state().is_ready
    }

    /// Takes the client's own times of the block with this hash out of the log.
    pub fn take_own_times(&self, hash: &str) -> Option<OwnTimes> {
        let mut state = self.state();
        let index = state.own_times.iter().position(|(block, _)| block == hash)?;
        state.own_times.remove(index).map(|(_, times)| times)
    }

    /// Whether the client reports its own block times.
    pub const fn has_own_times(&self) -> bool {
        self.start.own_time.is_some()
    }

    /// Returns the last lines of the log of a client that has ended. Waits for lines that are not
    /// read yet.
    pub fn final_tail(&self) -> String {
        let begun = Instant::now();
        while self.open_count.load(Ordering::Acquire) > 0 && begun.elapsed() < LAST_LINES_MAX {
            thread::sleep(Duration::from_millis(5));
        }
        self.tail()
    }

    /// Returns the last lines of the log of a client that runs.
    pub fn tail(&self) -> String {
        let state = self.state();
        let lines: Vec<_> = state.tail.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}
