//! Random reads from a store, without EVM, list or hand-over of values, for `stress doctor io`.
//! Each thread has a reader of its own, and reads one slot after the other, or many slots per call.
//! So the measured rate is that of the store alone. It is compared with the device's rate
//! ([`crate::device`]).
//!
//! `raw/keys.rs` chooses the keys, and `raw/worker.rs` has the reads of one thread. Every value is
//! compared with the value of the recipe. A wrong value is an error.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::{
    latency::Latencies,
    pool::WorkerPool,
    process::{Activity, Snapshot},
    store::{ReadCounters, Sample, Store},
};
use variant::CacheMode;

mod keys;
mod reads;
mod worker;

pub use keys::SlotSequence;
pub use reads::{RawError, RawReads, RawResult, SlotsPerCall};
use worker::{Part, Shared};

/// Measures reads from a new cold sample of `store`.
///
/// # Errors
/// [`RawError`].
pub fn measure(store: &dyn Store, reads: &RawReads<'_>) -> Result<RawResult, RawError> {
    let sample = store.open_sample(CacheMode::Cold)?;
    let result = read(sample.as_ref(), store.kind().name(), reads);
    // The state is restored also after an error.
    sample.close()?;
    result
}

fn read(
    sample: &dyn Sample,
    store: &'static str,
    reads: &RawReads<'_>,
) -> Result<RawResult, RawError> {
    let count = reads.thread_count.get();
    let stop = AtomicBool::new(false);
    let shared = Shared::new(reads, store, &stop);
    // The caller chooses the number of threads, which may exceed the number of cores.
    let pool = WorkerPool::<()>::new(count, &stop, reads.cancel);
    let (process, parts) = pool.run(
        |_| "raw reader",
        |source| RawError::NoThreads { count, source },
        |_| {
            let mut ready = worker::prepare(sample, &shared)?;
            let mut done = Ok(());
            pool.serve(|()| done = ready.read(&shared).inspect_err(|_| shared.fail()));
            done.map(|()| ready.part)
        },
        || {
            // All threads are ready before the reads start.
            pool.wait_idle();
            let before = Snapshot::now();
            pool.post(Arc::new(()));
            pool.wait_idle();
            Snapshot::now().since(&before)
        },
    )?;
    if reads.cancel.load(Ordering::Relaxed) {
        return Err(RawError::Cancelled);
    }
    Ok(merge(parts, process))
}

fn merge(parts: Vec<Part>, process: Activity) -> RawResult {
    let start = parts.iter().map(|part| part.start).min();
    let end = parts.iter().map(|part| part.end).max();
    let elapsed = end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start);
    let mut result = RawResult {
        present_count: 0,
        absent_count: 0,
        present: Latencies::default(),
        absent: Latencies::default(),
        elapsed: elapsed.max(Duration::from_nanos(1)),
        counters: ReadCounters::default(),
        cpu: Some(Duration::ZERO),
        process,
        is_exhausted: false,
    };
    for part in parts {
        result.present_count += part.present_count;
        result.absent_count += part.absent_count;
        result.present.merge(&part.present);
        result.absent.merge(&part.absent);
        result.counters.add(&part.counters);
        result.cpu = result.cpu.zip(part.cpu).map(|(sum, cpu)| sum + cpu);
        result.is_exhausted |= part.is_exhausted;
    }
    result
}

#[cfg(test)]
mod tests;
