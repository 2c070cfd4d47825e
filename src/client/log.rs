//! What a client says on its standard output and error: kept in a file, and read for the line that
//! says that it is ready and for its own time of a block.

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

use super::start_file::StartFile;

/// Lines that an error shows.
const TAIL_LINES: usize = 12;
/// Longest line; what is longer counts as several.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// How long the last lines of a client that has ended may take to be read.
const LAST_WORDS_MAX: Duration = Duration::from_secs(2);

/// The log of a client.
#[derive(Debug)]
pub struct Log {
    start: StartFile,
    heard: Mutex<Heard>,
    /// Streams that have not ended.
    open_count: AtomicUsize,
}

#[derive(Debug)]
struct Heard {
    file: File,
    tail: VecDeque<String>,
    is_ready: bool,
    own_ns: Option<u64>,
}

impl Log {
    /// A log that goes to the file at `path`, after what it has.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(path: &Path, start: StartFile) -> io::Result<Arc<Self>> {
        let file = File::options().create(true).append(true).open(path)?;
        let heard = Heard { file, tail: VecDeque::new(), is_ready: false, own_ns: None };
        Ok(Arc::new(Self { start, heard: Mutex::new(heard), open_count: AtomicUsize::new(0) }))
    }

    /// Reads `stream` on a thread until it ends: a client stops when nobody reads what it says.
    pub fn listen(self: &Arc<Self>, stream: impl Read + Send + 'static) {
        let log = Arc::clone(self);
        log.open_count.fetch_add(1, Ordering::Relaxed);
        thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while let Ok(1..) = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
                log.hear(&line);
                line.clear();
            }
            log.open_count.fetch_sub(1, Ordering::Release);
        });
    }

    fn hear(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let (is_ready, own_ns) = (self.start.is_ready(&text), self.start.own_ns(&text));
        let mut heard = self.heard();
        // A full disk must not end the client; the tail is kept all the same.
        let _ = heard.file.write_all(line);
        heard.is_ready |= is_ready;
        heard.own_ns = own_ns.or(heard.own_ns);
        if heard.tail.len() == TAIL_LINES {
            heard.tail.pop_front();
        }
        heard.tail.push_back(text.trim_end().to_owned());
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client has said that it is ready, or need not say so.
    pub fn is_ready(&self) -> bool {
        self.start.ready.is_empty() || self.heard().is_ready
    }

    /// The client's own time of the last block, which is forgotten.
    pub fn take_own_ns(&self) -> Option<u64> {
        self.heard().own_ns.take()
    }

    /// Whether it is to tell the time of a block.
    pub const fn tells_time(&self) -> bool {
        self.start.own_time.is_some()
    }

    /// The last lines of a client that has ended.
    pub fn tail(&self) -> String {
        let begun = Instant::now();
        while self.open_count.load(Ordering::Acquire) > 0 && begun.elapsed() < LAST_WORDS_MAX {
            thread::sleep(Duration::from_millis(5));
        }
        let heard = self.heard();
        let lines: Vec<_> = heard.tail.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}
