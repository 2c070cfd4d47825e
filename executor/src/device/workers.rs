//! The threads of a measurement: started together, stopped together, their parts added up. They
//! are its own, as each waits for the device: a pool of as many threads as cores would bound it.

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{
    error::Unmeasured,
    files::{BLOCK_BYTES, DirectFiles, Draw, Extent},
    unread::UnreadBlocks,
};
use crate::latency::Latencies;

/// Which blocks to read.
pub(super) enum Work<'a> {
    /// Some that nobody has read, until the time is over.
    Unread { blocks: &'a UnreadBlocks, time: Duration },
    /// These, each once.
    Listed(&'a [u64]),
    /// These extents in this order, until the time is over.
    Extents { extents: &'a [Extent], time: Duration },
}

impl Work<'_> {
    /// A worker's blocks; `cursor` is shared by all workers.
    const fn draw<'a>(&'a self, files: &'a DirectFiles, cursor: &'a AtomicUsize) -> Draw<'a> {
        match self {
            Self::Unread { blocks, .. } => Draw::Unread { files, blocks },
            Self::Listed(blocks) => Draw::Listed { files, blocks, cursor },
            Self::Extents { extents, .. } => Draw::Extents { extents, cursor },
        }
    }

    /// Blocks of memory that the largest read takes.
    fn read_block_count(&self) -> usize {
        match self {
            Self::Unread { .. } | Self::Listed(_) => 1,
            Self::Extents { extents, .. } => {
                let most = extents.iter().map(|extent| extent.byte_count as usize).max();
                most.unwrap_or(0).div_ceil(BLOCK_BYTES).max(1)
            }
        }
    }

    /// When to stop although there is more to read.
    const fn time(&self) -> Option<Duration> {
        match self {
            Self::Unread { time, .. } | Self::Extents { time, .. } => Some(*time),
            Self::Listed(_) => None,
        }
    }
}

/// The reads of a method.
pub(super) struct Outcome {
    pub(super) read_count: u64,
    pub(super) read_bytes: u64,
    pub(super) block_count: u64,
    pub(super) elapsed: Duration,
    pub(super) latencies: Latencies,
    pub(super) cpu: Option<Duration>,
}

/// State that all threads share.
pub(super) struct Shared<'a> {
    /// The blocks to read.
    pub(super) files: &'a DirectFiles,
    /// Blocks of memory that each read needs at most.
    pub(super) read_block_count: usize,
    /// How long each thread reads from its first read on; to the end of a list without it.
    time: Option<Duration>,
    cancel: &'a AtomicBool,
    /// Set when one failed, so that the others end.
    has_failed: AtomicBool,
}

/// The reads of one thread.
pub(super) struct Part {
    pub(super) read_count: u64,
    pub(super) read_bytes: u64,
    /// Blocks that count for the reads.
    pub(super) block_count: u64,
    /// When its first read began: its set-up is no part of the time.
    pub(super) start: Instant,
    /// When the last read that counted came back.
    pub(super) end: Instant,
    pub(super) latencies: Latencies,
    pub(super) cpu: Option<Duration>,
}

/// Reads `work` with `thread_count` threads, each by calling `reader` once.
pub(super) fn read(
    files: &DirectFiles,
    thread_count: usize,
    work: &Work<'_>,
    cancel: &AtomicBool,
    reader: &(impl Fn(&Shared<'_>, Draw<'_>) -> Result<Part, Unmeasured> + Sync),
) -> Result<Outcome, Unmeasured> {
    let cursor = AtomicUsize::new(0);
    let shared = Shared {
        files,
        read_block_count: work.read_block_count(),
        time: work.time(),
        cancel,
        has_failed: AtomicBool::new(false),
    };
    let parts: Result<Vec<Part>, Unmeasured> = thread::scope(|scope| {
        let shared = &shared;
        let workers = (0..thread_count).map(|_| {
            let draw = work.draw(files, &cursor);
            let worker = thread::Builder::new()
                .spawn_scoped(scope, move || reader(shared, draw).inspect_err(|_| shared.fail()));
            worker.map_err(|source| {
                shared.fail();
                Unmeasured::NoThreads { count: thread_count, source }
            })
        });
        // All begin before the first is waited for.
        let workers: Vec<_> = workers.collect();
        let parts = workers.into_iter();
        parts.map(|worker| worker?.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    Ok(merge(parts?))
}

impl Shared<'_> {
    fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Whether a thread that began to read at `start` is to end.
    pub(super) fn is_over(&self, start: Instant, now: Instant) -> Result<bool, Unmeasured> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Unmeasured::Cancelled);
        }
        let is_late = self.time.is_some_and(|time| now - start >= time);
        Ok(is_late || self.has_failed.load(Ordering::Relaxed))
    }
}

/// The time is that from the first thread's start to the last one's end, so what threads were
/// late counts against the rate.
fn merge(parts: Vec<Part>) -> Outcome {
    let start = parts.iter().map(|part| part.start).min();
    let end = parts.iter().map(|part| part.end).max();
    let mut outcome = Outcome {
        read_count: 0,
        read_bytes: 0,
        block_count: 0,
        elapsed: end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start),
        latencies: Latencies::default(),
        cpu: Some(Duration::ZERO),
    };
    for part in parts {
        outcome.read_count += part.read_count;
        outcome.read_bytes += part.read_bytes;
        outcome.block_count += part.block_count;
        outcome.latencies.merge(&part.latencies);
        outcome.cpu = outcome.cpu.zip(part.cpu).map(|(sum, cpu)| sum + cpu);
    }
    outcome
}
