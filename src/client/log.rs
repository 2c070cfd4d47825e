//! Standard output and error of a client. They are kept in a file, and searched for the line of
//! readiness and for the client's own block times.

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

/// Blocks whose times are kept until they are asked for: a warm client may tell of a block when the
/// next one is under way.
const TOLD_BLOCKS_MAX: usize = 16;
/// Lines that an error shows.
const TAIL_LINES: usize = 12;
/// Longest line; a longer one counts as several.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// How long the last lines of a client that has ended may take to be read.
const LAST_LINES_MAX: Duration = Duration::from_secs(2);

/// The log of a client.
#[derive(Debug)]
pub struct Log {
    start: StartFile,
    state: Mutex<LogState>,
    /// Streams that have not ended.
    open_count: AtomicUsize,
}

#[derive(Debug)]
struct LogState {
    file: File,
    tail: VecDeque<String>,
    is_ready: bool,
    /// The last blocks that it told of, by their hashes.
    told: VecDeque<(String, OwnTimes)>,
}

impl Log {
    /// A log that is appended to the file at `path`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(path: &Path, start: StartFile) -> io::Result<Arc<Self>> {
        let file = File::options().create(true).append(true).open(path)?;
        let state =
            LogState { file, tail: VecDeque::new(), is_ready: false, told: VecDeque::new() };
        Ok(Arc::new(Self { start, state: Mutex::new(state), open_count: AtomicUsize::new(0) }))
    }

    /// Reads `stream` on a thread until it ends: a client stops when nobody reads its output.
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
        let (is_ready, told) = (self.start.is_ready(&text), self.start.own_times(&text));
        let mut state = self.state();
        // A full disk must not end the client; the tail is kept all the same.
        let _ = state.file.write_all(line);
        state.is_ready |= is_ready;
        if let Some(told) = told {
            state.told.truncate(TOLD_BLOCKS_MAX - 1);
            state.told.push_front(told);
        }
        if state.tail.len() == TAIL_LINES {
            state.tail.pop_front();
        }
        state.tail.push_back(text.trim_end().to_owned());
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client has said that it is ready, or need not say so.
    pub fn is_ready(&self) -> bool {
        self.start.ready.is_empty() || self.state().is_ready
    }

    /// The client's own times of the block with this hash, which are forgotten.
    pub fn take_own_times(&self, hash: &str) -> Option<OwnTimes> {
        let mut state = self.state();
        let index = state.told.iter().position(|(of, _)| of == hash)?;
        state.told.remove(index).map(|(_, times)| times)
    }

    /// Whether it is to tell the time of a block.
    pub const fn tells_time(&self) -> bool {
        self.start.own_time.is_some()
    }

    /// The last lines of a client that has ended.
    pub fn tail(&self) -> String {
        let begun = Instant::now();
        while self.open_count.load(Ordering::Acquire) > 0 && begun.elapsed() < LAST_LINES_MAX {
            thread::sleep(Duration::from_millis(5));
        }
        self.tail_so_far()
    }

    /// The last lines of a client that runs.
    pub fn tail_so_far(&self) -> String {
        let state = self.state();
        let lines: Vec<_> = state.tail.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}
