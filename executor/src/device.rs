//! Measures the device below a state, by reads of the state's own files with `O_DIRECT`. Runs
//! measure its ceiling: the highest rate of random reads of 4 KiB. A result gives the rate of a
//! store's reads as a fraction of the ceiling. `replay.rs` measures the rate of one sample's reads.
//!
//! A [`Disk`] reads no block twice while unread blocks are left, since a cache below the kernel
//! could answer the second read. Only the probe for such a host's cache repeats blocks on purpose.
//!
//! `device/files.rs` opens the files. `unread.rs` gives the next block. `workers.rs` runs the
//! reading threads, which read with `io_uring` (`ring.rs`) or `pread`. `cache.rs` drops and counts
//! pages of buffered files.
//!
//! This module never writes, and knows no store. If the reads did not reach a block device, a
//! measurement fails with the reason.

use std::{fmt, num::NonZero, path::Path, sync::atomic::AtomicBool, thread, time::Duration};

use crate::{latency::Latencies, process::IoCounters};

mod cache;
mod error;
mod files;
#[cfg(feature = "io-uring")]
mod ring;
mod unread;
mod workers;

pub use cache::{fadvise_dontneed, open_without_readahead, resident_count, resident_fraction};
pub use error::MeasureError;
use files::Access;
pub use files::{BLOCK_BYTES, DirectFiles, Extent};
pub(crate) use files::{Block, never_cold_reason};
#[cfg(feature = "io-uring")]
pub(crate) use ring::Ring;
use unread::UnreadBlocks;
pub(crate) use unread::{Permutation, ROUND_COUNT, mixed};
use workers::{Part, Work};

/// Queue depths (numbers of reads in flight) at which one thread's `io_uring` is tried for the
/// ceiling.
const RING_DEPTHS: [usize; 2] = [64, 256];

/// Maximal number of threads that each have a ring of their own. A read takes a thread about 2 µs,
/// so one thread may saturate its core before it saturates a fast device.
const RING_THREAD_COUNT_MAX: usize = 4;

/// Numbers of threads with `pread` that are tried for the ceiling if `io_uring` is refused.
const THREAD_COUNTS: [usize; 2] = [16, 64];

/// Largest number of blocks in one pass of the host-cache probe (`docs/methodology.md`).
const HOST_CACHE_BLOCK_COUNT: usize = 20_000;

/// Smallest number of blocks in one pass of the host-cache probe. A shorter pass says nothing about
/// a host's cache.
const HOST_CACHE_BLOCK_COUNT_MIN: usize = 1_000;

/// Smallest share of the read bytes that must come from the block layer, in percent.
const DEVICE_SHARE_PERCENT: u64 = 95;

/// Read method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `io_uring`, with one ring for each thread.
    Ring {
        /// Number of reads in flight in each ring.
        depth: usize,
        /// Number of threads, each with a ring of its own.
        threads: usize,
    },
    /// Threads that each wait for their own `pread`.
    Threads {
        /// Number of threads.
        count: usize,
    },
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring { depth, threads: 1 } => write!(f, "io_uring depth {depth}"),
            Self::Ring { depth, threads } => {
                write!(f, "io_uring depth {depth} x {threads} threads")
            }
            Self::Threads { count: 1 } => write!(f, "pread, 1 thread"),
            Self::Threads { count } => write!(f, "pread, {count} threads"),
        }
    }
}

/// Default duration of the reads by each method.
pub const TIME_PER_METHOD: Duration = Duration::from_secs(1);

/// A device that is measured by reads of a state's files, and the blocks of the files that no read
/// has used yet.
#[derive(Debug)]
pub struct Disk {
    files: DirectFiles,
    unread: UnreadBlocks,
}

impl Disk {
    /// Opens the device below `paths`. `seed` decides the order in which blocks are read. With the
    /// seed of an earlier use, a cache below the kernel may have the blocks that are read first.
    ///
    /// # Errors
    /// [`MeasureError`]: the errors of [`DirectFiles::open`].
    pub fn open<P: AsRef<Path>>(paths: &[P], seed: u64) -> Result<Self, MeasureError> {
        Self::open_after(0, paths, seed)
    }

    /// Opens the device after an earlier use with this seed, which made `read_count` reads.
    /// Continues after the blocks of these reads.
    ///
    /// # Errors
    /// The errors of [`Disk::open`].
    pub fn open_after<P: AsRef<Path>>(
        read_count: u64,
        paths: &[P],
        seed: u64,
    ) -> Result<Self, MeasureError> {
        Ok(Self::of(DirectFiles::open(paths)?, read_count, seed))
    }

    fn of(files: DirectFiles, read_count: u64, seed: u64) -> Self {
        let unread = UnreadBlocks::after(read_count, files.block_count(), seed);
        Self { files, unread }
    }

    /// Number of blocks of the files.
    pub fn block_count(&self) -> u64 {
        self.files.block_count()
    }

    /// Number of reads so far, with those of earlier uses with this seed.
    pub fn read_count(&self) -> u64 {
        self.unread.taken_count()
    }

    /// Share of the blocks that were read, from 0 to 1.
    pub fn read_share(&self) -> f64 {
        self.unread.taken_share()
    }

    /// Number of reads that repeated a block because no unread block was left.
    pub fn repeated_count(&self) -> u64 {
        self.unread.repeated_count()
    }
}

/// Result of reads by one method.
#[derive(Clone, Debug)]
pub struct ReadRate {
    /// The method.
    pub method: Method,
    /// Number of reads a second: [`Self::read_count`] divided by [`Self::elapsed`].
    pub iops: f64,
    /// Number of reads. Each has 4 KiB, except in [`replay`].
    pub read_count: u64,
    /// Number of blocks that were read: one a read, except in [`replay`].
    pub block_count: u64,
    /// Number of bytes read.
    pub read_bytes: u64,
    /// Bytes that the block layer fetched for this process during the reads; `None` if the kernel
    /// does not count.
    pub device_read_bytes: Option<u64>,
    /// Time from the first submission to the completion of the last counted read. Reads that are in
    /// flight when the time is over are not counted.
    pub elapsed: Duration,
    /// Time from submission to completion of each read.
    pub latencies: Latencies,
    /// Mean CPU time of the reading threads for one read, in nanoseconds, without interrupts.
    /// `None` if the system does not report CPU times, or without reads.
    pub cpu_ns_per_read: Option<u64>,
}

impl ReadRate {
    /// Adds up the reads of all threads. The elapsed time is from the first thread's start to the
    /// last thread's end, so late threads lower the rate.
    fn of_parts(method: Method, parts: Vec<Part>) -> Self {
        let start = parts.iter().map(|part| part.start).min();
        let end = parts.iter().map(|part| part.end).max();
        let elapsed = end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start);
        let elapsed = elapsed.max(Duration::from_nanos(1));
        let read_count: u64 = parts.iter().map(|part| part.read_count).sum();
        let cpu: Option<Duration> = parts.iter().map(|part| part.cpu).sum();
        let mut latencies = Latencies::default();
        parts.iter().for_each(|part| latencies.merge(&part.latencies));
        Self {
            method,
            iops: read_count as f64 / elapsed.as_secs_f64(),
            read_count,
            block_count: parts.iter().map(|part| part.block_count).sum(),
            read_bytes: parts.iter().map(|part| part.read_bytes).sum(),
            device_read_bytes: None,
            elapsed,
            latencies,
            cpu_ns_per_read: cpu.and_then(|cpu| {
                u64::try_from(cpu.as_nanos().checked_div(u128::from(read_count))?).ok()
            }),
        }
    }
}

/// The device's ceiling: the highest measured rate of random 4-KiB reads.
#[derive(Clone, Debug)]
pub struct Ceiling {
    /// The fastest method.
    pub best: ReadRate,
    /// The other methods that were tried.
    pub others: Vec<ReadRate>,
    /// Reason why `io_uring` was refused, if it was. Then only `pread` was tried, and the device
    /// may be faster than this ceiling.
    pub ring_refused: Option<String>,
}

/// Two passes over the same blocks. If the second pass is faster, a cache below the kernel answered
/// its reads.
#[derive(Clone, Debug)]
pub struct HostCacheProbe {
    /// Number of distinct blocks in each pass.
    pub block_count: usize,
    /// The first pass.
    pub first: ReadRate,
    /// The second pass: the same blocks in the same order, right after the first.
    pub second: ReadRate,
}

impl HostCacheProbe {
    /// Rate of the second pass divided by the rate of the first pass.
    pub fn ratio(&self) -> f64 {
        self.second.iops / self.first.iops
    }
}

/// Measures the ceiling of the device below `disk`. It tries `io_uring` with one thread at depths
/// 64 and 256, and with up to four threads, each at depth 64. If `io_uring` is refused, it tries
/// `pread` with 16 and with 64 threads.
///
/// # Errors
/// [`MeasureError`].
pub fn ceiling(
    disk: &Disk,
    time_per_method: Duration,
    cancel: &AtomicBool,
) -> Result<Ceiling, MeasureError> {
    let measure = |method| measure_random(disk, method, time_per_method, cancel);
    let one_ring = RING_DEPTHS.map(|depth| Method::Ring { depth, threads: 1 });
    let threads = THREAD_COUNTS.map(|count| Method::Threads { count });
    let measured: Result<Vec<_>, _> = one_ring.into_iter().map(measure).collect();
    let (mut rates, ring_refused) = match measured {
        Err(MeasureError::RingRefused { reason }) => {
            (threads.into_iter().map(measure).collect::<Result<Vec<_>, _>>()?, Some(reason))
        }
        rates => (rates?, None),
    };
    if let (None, Some(threads)) = (&ring_refused, ring_thread_count()) {
        match measure(Method::Ring { depth: RING_DEPTHS[0], threads }) {
            // The kernel gave one ring, but not several: locked memory is limited.
            Err(MeasureError::RingRefused { .. }) => {}
            rate => rates.push(rate?),
        }
    }
    rates.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    let best = rates.pop().unwrap_or_else(|| unreachable!("two methods were measured"));
    Ok(Ceiling { best, others: rates, ring_refused })
}

/// Returns the longest time that [`ceiling`] takes with this time per method.
pub fn ceiling_time(time_per_method: Duration) -> Duration {
    let method_count = RING_DEPTHS.len() + usize::from(ring_thread_count().is_some());
    time_per_method * method_count as u32
}

/// Number of threads with a ring: one per core, at most [`RING_THREAD_COUNT_MAX`]. `None` on a
/// single core.
fn ring_thread_count() -> Option<usize> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    (cores > 1).then(|| cores.min(RING_THREAD_COUNT_MAX))
}

/// Measures the latency of reads that one thread makes one after the other. A chain of reads takes
/// at least this time for each read.
///
/// # Errors
/// [`MeasureError`].
pub fn serial_latency(
    disk: &Disk,
    time: Duration,
    cancel: &AtomicBool,
) -> Result<ReadRate, MeasureError> {
    measure_random(disk, Method::Threads { count: 1 }, time, cancel)
}

/// Measures reads of unread blocks by one method for the given time.
///
/// # Errors
/// [`MeasureError`].
pub fn measure_random(
    disk: &Disk,
    method: Method,
    time: Duration,
    cancel: &AtomicBool,
) -> Result<ReadRate, MeasureError> {
    measure(&disk.files, method, &Work::Unread { blocks: &disk.unread, time }, cancel)
}

/// Reads the same unread blocks twice: 20,000 blocks, or half of all blocks if that is less.
///
/// # Errors
/// [`MeasureError`].
pub fn probe_host_cache(disk: &Disk, cancel: &AtomicBool) -> Result<HostCacheProbe, MeasureError> {
    let files = &disk.files;
    let half = usize::try_from(files.block_count() / 2).unwrap_or(usize::MAX);
    let count = half.min(HOST_CACHE_BLOCK_COUNT);
    if count < HOST_CACHE_BLOCK_COUNT_MIN {
        return Err(MeasureError::TooSmall { block_count: files.block_count() });
    }
    let blocks = disk.unread.take(count);
    // A refused ring has read nothing, so the pass by threads is still the first read of these
    // blocks.
    let ring = Method::Ring { depth: RING_DEPTHS[0], threads: 1 };
    let (method, first) = match measure(files, ring, &Work::Listed(&blocks), cancel) {
        Err(MeasureError::RingRefused { .. }) => {
            let threads = Method::Threads { count: THREAD_COUNTS[0] };
            (threads, measure(files, threads, &Work::Listed(&blocks), cancel)?)
        }
        first => (ring, first?),
    };
    let second = measure(files, method, &Work::Listed(&blocks), cancel)?;
    Ok(HostCacheProbe { block_count: blocks.len(), first, second })
}

/// Reads `extents` of `files` in their order, for the given time at most. Uses the first method
/// that the kernel accepts: one ring per core (at most 4 rings), a single ring, or `pread` on 64
/// threads.
///
/// # Errors
/// [`MeasureError`].
pub fn replay(
    files: &DirectFiles,
    extents: &[Extent],
    time: Duration,
    cancel: &AtomicBool,
) -> Result<ReadRate, MeasureError> {
    let work = Work::Extents { extents, time };
    let depth = RING_DEPTHS[1];
    // A ring may saturate its thread's core before it saturates the device.
    let several =
        ring_thread_count().map(|threads| Method::Ring { depth: depth / threads, threads });
    let one = Method::Ring { depth, threads: 1 };
    for method in several.into_iter().chain([one]) {
        match measure(files, method, &work, cancel) {
            Err(MeasureError::RingRefused { .. }) => {}
            rate => return rate,
        }
    }
    measure(files, Method::Threads { count: THREAD_COUNTS[1] }, &work, cancel)
}

fn measure(
    files: &DirectFiles,
    method: Method,
    work: &Work<'_>,
    cancel: &AtomicBool,
) -> Result<ReadRate, MeasureError> {
    let before = IoCounters::of_this_process();
    let parts = match method {
        #[cfg(feature = "io-uring")]
        Method::Ring { depth, threads } => {
            workers::read(files, threads, work, cancel, &|shared| ring::read(shared, depth))
        }
        #[cfg(not(feature = "io-uring"))]
        Method::Ring { .. } => {
            Err(MeasureError::RingRefused { reason: "built without the feature io-uring".into() })
        }
        Method::Threads { count } => {
            workers::read(files, count, work, cancel, &workers::read_one_by_one)
        }
    }?;
    let device_read_bytes = IoCounters::of_this_process()
        .zip(before)
        .map(|(now, before)| now.since(&before).device_read_bytes);
    let rate = ReadRate { device_read_bytes, ..ReadRate::of_parts(method, parts) };
    let read_bytes = rate.read_bytes;
    if files.access == Access::Direct
        && let Some(device_read_bytes) = device_read_bytes
        && u128::from(device_read_bytes) * 100
            < u128::from(read_bytes) * u128::from(DEVICE_SHARE_PERCENT)
    {
        return Err(MeasureError::NotFromDevice { read_bytes, device_read_bytes });
    }
    Ok(rate)
}

#[cfg(test)]
mod tests;
