//! The threads of a device measurement, which start and stop together, and their shared work. They
//! are new threads, since each waits for the device: a pool with one thread for each core would
//! limit the reads in flight.

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{
    error::MeasureError,
    files::{BLOCK_BYTES, Block, DirectFiles, Extent},
    unread::UnreadBlocks,
};
use crate::{latency::Latencies, process::thread_cpu_time};

/// The reads of a measurement.
pub(super) enum Work<'a> {
    /// Reads of blocks that were not read before, until `time` is over.
    Unread { blocks: &'a UnreadBlocks, time: Duration },
    /// One read of each of these blocks.
    Listed(&'a [u64]),
    /// Reads of `extents`, in their order, until `time` is over or all are read.
    Extents { extents: &'a [Extent], time: Duration },
}

impl Work<'_> {
    /// Returns the number of blocks of memory that the largest read needs.
    fn read_block_count(&self) -> usize {
        match self {
            Self::Unread { .. } | Self::Listed(_) => 1,
            Self::Extents { extents, .. } => {
                let largest = extents.iter().map(|extent| extent.byte_count as usize).max();
                largest.unwrap_or(0).div_ceil(BLOCK_BYTES).max(1)
            }
        }
    }

    /// Returns the time after which the threads stop; `None` if they stop at the end of the list.
    const fn time(&self) -> Option<Duration> {
        match self {
            Self::Unread { time, .. } | Self::Extents { time, .. } => Some(*time),
            Self::Listed(_) => None,
        }
    }
}

/// State that all threads share.
pub(super) struct Shared<'a> {
    /// The files to read.
    pub(super) files: &'a DirectFiles,
    work: &'a Work<'a>,
    /// Index of the next block or extent in a list.
    cursor: AtomicUsize,
    /// Number of blocks of memory that the largest read needs.
    pub(super) read_block_count: usize,
    cancel: &'a AtomicBool,
    /// Set when a thread failed, so that all other threads end.
    has_failed: AtomicBool,
}

/// The reads of one thread.
pub(super) struct Part {
    pub(super) read_count: u64,
    pub(super) read_bytes: u64,
    /// Sum of [`Extent::block_count`] of the reads.
    pub(super) block_count: u64,
    /// Start of the thread's first read, after its set-up.
    pub(super) start: Instant,
    /// End of the thread's last read.
    pub(super) end: Instant,
    pub(super) latencies: Latencies,
    pub(super) cpu: Option<Duration>,
}

/// Does the reads of `work` on `thread_count` threads. Each thread calls `reader` once, which reads
/// until the work is done.
pub(super) fn read(
    files: &DirectFiles,
    thread_count: usize,
    work: &Work<'_>,
    cancel: &AtomicBool,
    reader: &(impl Fn(&Shared<'_>) -> Result<Part, MeasureError> + Sync),
) -> Result<Vec<Part>, MeasureError> {
    let shared = Shared {
        files,
        work,
        cursor: AtomicUsize::new(0),
        read_block_count: work.read_block_count(),
        cancel,
        has_failed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let shared = &shared;
        let workers = (0..thread_count).map(|_| {
            let worker = thread::Builder::new()
                .spawn_scoped(scope, move || reader(shared).inspect_err(|_| shared.fail()));
            worker.map_err(|source| {
                shared.fail();
                MeasureError::NoThreads { count: thread_count, source }
            })
        });
        // All threads are started before the first one is joined.
        let workers: Vec<_> = workers.collect();
        let parts = workers.into_iter();
        parts.map(|worker| worker?.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

impl Shared<'_> {
    fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Takes the next extent of the shared work; `None` at the end of a list.
    pub(super) fn next(&self) -> Option<Extent> {
        match self.work {
            Work::Unread { blocks, .. } => Some(self.files.extent(blocks.next())),
            Work::Listed(blocks) => {
                let block = blocks.get(self.cursor.fetch_add(1, Ordering::Relaxed))?;
                Some(self.files.extent(*block))
            }
            Work::Extents { extents, .. } => {
                extents.get(self.cursor.fetch_add(1, Ordering::Relaxed)).copied()
            }
        }
    }

    /// Returns whether a thread that began to read at `start` must end.
    pub(super) fn is_over(&self, start: Instant, now: Instant) -> Result<bool, MeasureError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(MeasureError::Cancelled);
        }
        let is_late = self.work.time().is_some_and(|time| now - start >= time);
        Ok(is_late || self.has_failed.load(Ordering::Relaxed))
    }
}

/// Reads on the calling thread by `pread`, one read after the other. Every kernel allows this.
pub(super) fn read_one_by_one(shared: &Shared<'_>) -> Result<Part, MeasureError> {
    let cpu_before = thread_cpu_time();
    let mut blocks = vec![Block::ZERO; shared.read_block_count];
    let mut latencies = Latencies::ready();
    let (mut read_count, mut read_bytes, mut block_count) = (0, 0, 0);
    let start = Instant::now();
    let mut now = start;
    while !shared.is_over(start, now)?
        && let Some(extent) = shared.next()
    {
        let needed = (extent.byte_count as usize).div_ceil(BLOCK_BYTES);
        shared.files.read(&extent, &mut blocks[..needed])?;
        let done = Instant::now();
        latencies.record(done - now);
        read_count += 1;
        read_bytes += u64::from(extent.byte_count);
        block_count += u64::from(extent.block_count);
        now = done;
    }
    let cpu = thread_cpu_time().zip(cpu_before).map(|(now, before)| now - before);
    Ok(Part { read_count, read_bytes, block_count, start, end: now, latencies, cpu })
}
