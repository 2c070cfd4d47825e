//! Raw random reads of a store: as many threads as asked, each with a reader of its own, ask for
//! one slot after the other, or for many at once. No EVM, no list, no hand-over: the rate of
//! the store itself, beside the device's ([`crate::device`]).
//!
//! `raw/keys.rs` says which keys, `raw/worker.rs` is one thread. Every value is compared with the
//! recipe's: a wrong value is an error, never a rate.

use std::{
    panic::resume_unwind,
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::{
    latency::Latencies,
    lock::lock,
    process::{Delta, Snapshot},
    store::{ReadCounters, Sample, Store},
};
use variant::CacheMode;

mod keys;
mod reads;
mod worker;

pub use keys::Draw;
pub use reads::{Asking, RawError, RawPoint, RawReads};
use worker::{Part, Shared};

/// Reads from a fresh cold sample of `store`.
///
/// # Errors
/// [`RawError`].
pub fn measure(store: &dyn Store, reads: &RawReads<'_>) -> Result<RawPoint, RawError> {
    let sample = store.open_sample(CacheMode::Cold)?;
    let point = read(sample.as_ref(), store.kind().name(), reads);
    // The state is put back whatever came out.
    sample.close()?;
    point
}

/// Holds the threads until all are there, so that none is measured while others are made.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    waiting_count: usize,
    verdict: Option<GateVerdict>,
}

/// End of the threads that wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GateVerdict {
    Read,
    GiveUp,
}

impl Gate {
    /// Waits for the verdict.
    fn pass(&self) -> GateVerdict {
        let mut state = lock(&self.state);
        state.waiting_count += 1;
        self.changed.notify_all();
        loop {
            if let Some(verdict) = state.verdict {
                return verdict;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until `count` threads wait.
    fn wait_for(&self, count: usize) {
        let mut state = lock(&self.state);
        while state.waiting_count < count {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn decide(&self, verdict: GateVerdict) {
        lock(&self.state).verdict = Some(verdict);
        self.changed.notify_all();
    }
}

fn read(
    sample: &dyn Sample,
    store: &'static str,
    reads: &RawReads<'_>,
) -> Result<RawPoint, RawError> {
    let count = reads.thread_count.get();
    let shared = Shared::new(reads, store);
    let gate = Gate::default();
    // Threads of their own: as many reads are under way as the caller asks, not as there are cores.
    let (parts, process) = thread::scope(|scope| {
        let (shared, gate) = (&shared, &gate);
        let work = move || {
            // A thread that cannot begin waits with the others, so that none waits for it.
            let reader = worker::prepare(sample, shared);
            if gate.pass() == GateVerdict::GiveUp {
                return Err(RawError::Cancelled);
            }
            reader.and_then(|ready| ready.read(shared)).inspect_err(|_| shared.stop())
        };
        let mut workers = Vec::with_capacity(count);
        for _ in 0..count {
            match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(worker) => workers.push(worker),
                Err(source) => {
                    gate.decide(GateVerdict::GiveUp);
                    return Err(RawError::NoThreads { count, source });
                }
            }
        }
        gate.wait_for(count);
        let before = Snapshot::now();
        gate.decide(GateVerdict::Read);
        let join = |worker: thread::ScopedJoinHandle<'_, Result<Part, RawError>>| {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        let parts: Vec<_> = workers.into_iter().map(join).collect();
        Ok((parts, Snapshot::now().since(&before)))
    })?;
    let parts: Vec<Part> = parts.into_iter().collect::<Result<_, _>>()?;
    if reads.cancel.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(RawError::Cancelled);
    }
    Ok(merge(parts, process))
}

fn merge(parts: Vec<Part>, process: Delta) -> RawPoint {
    let start = parts.iter().map(|part| part.start).min();
    let end = parts.iter().map(|part| part.end).max();
    let elapsed = match (start, end) {
        (Some(start), Some(end)) => end - start,
        _ => Duration::ZERO,
    };
    let mut point = RawPoint {
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
        point.present_count += part.present_count;
        point.absent_count += part.absent_count;
        point.present.merge(&part.present);
        point.absent.merge(&part.absent);
        point.counters.add(&part.counters);
        point.cpu = point.cpu.zip(part.cpu).map(|(sum, cpu)| sum + cpu);
        point.is_exhausted |= part.is_exhausted;
    }
    point
}

#[cfg(test)]
mod tests;
