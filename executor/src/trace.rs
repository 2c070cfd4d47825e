//! A trace of one sample: the timeline of each thread. Without a trace, each read or step costs one
//! check of an `Option`. With a trace, each thread records its events into memory of its own. All
//! steps and phases are kept. Reads of keys and waits for values are far more frequent, so only the
//! first of each thread are kept, and the rest are counted. The trace is formatted and written
//! after the clock ([`Trace::write`]).

mod write;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use workload::{BlockAccessIndex, Step};

use crate::{
    lock::lock,
    span::{Span, Spans},
};
use variant::Phase;

/// Approximate maximal number of reads and waits that a trace keeps, over all threads of the
/// sample.
const FREQUENT_COUNT_MAX: usize = 1 << 20;
/// Minimal number of reads and waits that each thread can keep.
const FREQUENT_COUNT_MIN: usize = 1 << 10;

/// The track of a thread of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Track {
    /// The thread that began the sample.
    Main,
    /// The executing thread with this number, from 0. With several fibers on each thread, the fiber
    /// with this number, over all threads.
    Executor(usize),
    /// The reader thread with this number, from 0.
    Reader(usize),
    /// The thread for the connection to the shard with this number, from 0.
    Shard(usize),
    /// The thread that computes roots during execution.
    Root,
}

impl Track {
    /// Returns the thread's name, without its number.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Executor(_) => "executor",
            Self::Reader(_) => "reader",
            Self::Shard(_) => "shard",
            Self::Root => "root",
        }
    }
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main | Self::Root => f.write_str(self.name()),
            Self::Executor(number) | Self::Reader(number) | Self::Shard(number) => {
                write!(f, "{} {number}", self.name())
            }
        }
    }
}

/// Kind of the key of a read or wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Account,
    Slot,
    Code,
}

/// Kind of an event of a thread, with its facts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventKind {
    /// The thread's part of a phase.
    Phase(Phase),
    /// A wait until all threads have done their parts.
    Threads,
    /// A wait until the declared keys are read.
    Gate,
    /// An execution of a step.
    Step { batch: usize, index: BlockAccessIndex, step: Step, gas: Option<u64> },
    /// A read of keys from the store.
    Read { key: KeyKind, count: usize },
    /// A wait for a value that another thread reads.
    Wait { key: KeyKind },
}

impl EventKind {
    /// Returns the rank of an event. Of events that begin and end at the same times, the one of
    /// lower rank contains the others.
    const fn rank(&self) -> u8 {
        match self {
            Self::Phase(_) | Self::Threads | Self::Gate => 0,
            Self::Step { .. } => 1,
            Self::Wait { .. } => 2,
            Self::Read { .. } => 3,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Event {
    start: Instant,
    end: Instant,
    kind: EventKind,
}

/// Count and total time of events that the recorder did not keep.
#[derive(Clone, Copy, Debug, Default)]
struct Dropped {
    count: u64,
    time: Duration,
}

/// Events of one thread. A thread with several tallies has a recorder for each. [`Trace::add`]
/// joins these recorders on the thread's track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    events: Vec<Event>,
    /// Number of further reads and waits that the recorder can keep.
    room: usize,
    dropped: Dropped,
}

impl Recorder {
    /// Records a read or a wait.
    pub(crate) fn record_frequent(&mut self, kind: EventKind, start: Instant, end: Instant) {
        match self.room.checked_sub(1) {
            Some(room) => {
                self.room = room;
                self.events.push(Event { start, end, kind });
            }
            None => {
                self.dropped.count += 1;
                self.dropped.time += end - start;
            }
        }
    }

    /// Records an event that occurs at most once per step.
    pub(crate) fn record_rare(&mut self, kind: EventKind, start: Instant, end: Instant) {
        self.events.push(Event { start, end, kind });
    }
}

/// Records that a worker's part of `phase` lasted from `start` until now. With a `recorder`, the
/// worker's track shows the part.
pub(crate) fn close_part(
    spans: &Spans,
    phase: Phase,
    start: Duration,
    recorder: Option<&mut Recorder>,
) {
    let end = spans.elapsed();
    add_part(spans, Span { phase, start, end }, recorder);
}

/// Records a worker's part of a phase. With a `recorder`, the worker's track shows the part.
pub(crate) fn add_part(spans: &Spans, span: Span, recorder: Option<&mut Recorder>) {
    spans.add_on_own_track(span);
    if let Some(recorder) = recorder {
        recorder.record_rare(
            EventKind::Phase(span.phase),
            spans.at(span.start),
            spans.at(span.end),
        );
    }
}

#[derive(Debug, Default)]
struct State {
    origin: Option<Instant>,
    tracks: BTreeMap<Track, Recorder>,
}

/// The trace of one sample.
#[derive(Debug)]
pub struct Trace {
    frequent_count_max: usize,
    state: Mutex<State>,
}

impl Default for Trace {
    fn default() -> Self {
        Self::keeping(FREQUENT_COUNT_MAX)
    }
}

impl Trace {
    /// Makes a trace that keeps about `frequent_count` reads and waits. Each thread keeps the same
    /// number, and these are its first reads and waits.
    pub const fn keeping(frequent_count: usize) -> Self {
        let tracks = BTreeMap::new();
        let state = Mutex::new(State { origin: None, tracks });
        Self { frequent_count_max: frequent_count, state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Makes a recorder for one of `thread_count` threads.
    pub(crate) fn recorder(&self, thread_count: usize) -> Box<Recorder> {
        let share = self.frequent_count_max / thread_count.max(1);
        let room = share.max(FREQUENT_COUNT_MIN.min(self.frequent_count_max));
        // Reserved memory takes no pages until it is written. The memory has room for the reads and
        // waits. If steps and phases need more, it grows while the clock runs.
        Box::new(Recorder { events: Vec::with_capacity(room), room, dropped: Dropped::default() })
    }

    /// Adds the events of `recorder` to a thread's track.
    pub(crate) fn add(&self, track: Track, recorder: Option<Box<Recorder>>) {
        let Some(recorder) = recorder else { return };
        let mut state = self.lock();
        let recorded = state.tracks.entry(track).or_default();
        recorded.events.extend(recorder.events);
        recorded.dropped.count += recorder.dropped.count;
        recorded.dropped.time += recorder.dropped.time;
    }

    /// Sets the start of the clock as time 0. Adds the phases on the main thread's track.
    pub(crate) fn set_clock(&self, spans: &Spans) {
        let mut state = self.lock();
        state.origin = Some(spans.at(Duration::ZERO));
        let main = state.tracks.entry(Track::Main).or_default();
        for span in spans.on_main_track() {
            let (start, end) = (spans.at(span.start), spans.at(span.end));
            main.events.push(Event { start, end, kind: EventKind::Phase(span.phase) });
        }
    }
}
