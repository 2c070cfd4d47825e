//! The clock over a store with background work: the order of its calls, its figures, their cost in
//! time, and an interrupt during the wait.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use executor::{
    engine::{self, EngineError, Executed, Space, Task},
    store::{
        Background, Reader, Sample, Settled, Store, StoreError, WriteCounters, memory::MemoryStore,
    },
};
use spec::Scenario;
use variant::{CacheMode, Design, Phase, Variant};
use workload::{NetChanges, Workload};

use crate::common::agree;

const BLOCK_COUNT: u64 = 3;
/// Bytes of the log at the opening of the sample.
const OPENED_LOG_BYTES: u64 = 1_000;
/// Bytes of the log of a commit.
const COMMIT_LOG_BYTES: u64 = 7;
/// Compaction that is due after the last commit.
const DUE_BYTES: u64 = 5;

/// A fault of a store's background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// Counts are unknown after the wait.
    UnknownCounts,
    /// The user interrupts during the wait.
    Interrupted,
}

/// A sample with scripted background work.
#[derive(Debug)]
struct Scripted<'s> {
    inner: Box<dyn Sample + 's>,
    works: bool,
    fault: Fault,
    /// Duration of `begin` and of each read of the files' size.
    pause: Duration,
    calls: Mutex<Vec<&'static str>>,
    commit_count: AtomicU64,
    has_settled: AtomicBool,
}

impl<'s> Scripted<'s> {
    fn new(store: &'s MemoryStore) -> Self {
        Self {
            inner: store.open_sample(CacheMode::Cold).unwrap(),
            works: true,
            fault: Fault::Nothing,
            pause: Duration::ZERO,
            calls: Mutex::default(),
            commit_count: AtomicU64::new(0),
            has_settled: AtomicBool::new(false),
        }
    }

    fn call(&self, name: &'static str) {
        self.calls.lock().unwrap().push(name);
    }

    fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().unwrap().clone()
    }

    fn run(&self, workload: &Workload) -> Result<Executed, EngineError> {
        let variant = Variant::of(
            Design::Sequential,
            std::num::NonZeroUsize::MIN,
            std::num::NonZeroUsize::MIN,
        );
        let cancel = AtomicBool::new(false);
        let lists = agree::lists(workload, variant.list).unwrap();
        engine::execute(self, &Task::new(workload, &lists, variant, &cancel))
    }
}

impl Sample for Scripted<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        self.inner.reader()
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.call("commit");
        self.commit_count.fetch_add(1, Ordering::Relaxed);
        self.inner.commit(changes)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync()
    }

    fn background(&self) -> Option<&dyn Background> {
        self.works.then_some(self)
    }

    /// Grows with each commit, and shrinks below that at the end.
    fn file_bytes(&self) -> Option<u64> {
        self.call("look");
        thread::sleep(self.pause);
        let commits = self.commit_count.load(Ordering::Relaxed);
        Some(if self.has_settled.load(Ordering::Relaxed) { 20 } else { 10 + 10 * commits })
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.close()
    }
}

impl Background for Scripted<'_> {
    fn begin(&self) -> Result<(), StoreError> {
        self.call("begin");
        thread::sleep(self.pause);
        Ok(())
    }

    fn settle(&self, cancel: &AtomicBool) -> Result<Settled, StoreError> {
        self.call("settle");
        if self.fault == Fault::Interrupted {
            assert!(!cancel.load(Ordering::Relaxed));
            return Ok(Settled::Cancelled);
        }
        self.has_settled.store(true, Ordering::Relaxed);
        Ok(Settled::Ended)
    }

    fn counters(&self) -> Result<WriteCounters, StoreError> {
        let has_settled = self.has_settled.load(Ordering::Relaxed);
        if has_settled && self.fault == Fault::UnknownCounts {
            return Err(StoreError::Failed {
                store: "scripted",
                action: "count".to_owned(),
                reason: "told to fail".to_owned(),
            });
        }
        let commits = self.commit_count.load(Ordering::Relaxed);
        Ok(WriteCounters {
            log_bytes: OPENED_LOG_BYTES + COMMIT_LOG_BYTES * commits,
            pending_compaction_bytes: if has_settled || commits == 0 { 0 } else { DUE_BYTES },
            buffered_bytes: 100 + commits,
            ..WriteCounters::default()
        })
    }
}

/// A workload of three blocks with its state.
fn work() -> (Workload, MemoryStore) {
    let text = format!(
        "schema = 1\nname = \"small\"\nseed = 7\n[state]\naccounts = 30\nslots = 1_000\n[block]\n\
         gas = \"1M\"\nblocks = {BLOCK_COUNT}\n[[load]]\nkind = \"sstore-storm\"\nop = \"update\"\n"
    );
    let scenario = Scenario::parse("small.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let workload = generator::generate(&scenario, |_| ()).unwrap_or_else(|e| panic!("{e}"));
    let store = agree::in_memory(&workload);
    (workload, store)
}

#[test]
fn the_space_after_the_last_batch_is_seen_before_it_shrinks() {
    let (workload, store) = work();
    let sample = Scripted::new(&store);
    let writes = sample.run(&workload).unwrap().writes;
    let space = Space { before_bytes: 10, peak_bytes: 10 + 10 * BLOCK_COUNT, after_bytes: 20 };
    assert_eq!(writes.space, Some(space));
}

#[test]
fn counts_are_those_since_the_start_of_the_clock() {
    let (workload, store) = work();
    let executed = Scripted::new(&store).run(&workload).unwrap();
    let background = executed.writes.background.unwrap();
    assert_eq!(background.due_bytes, DUE_BYTES, "before it settles");
    let expected = WriteCounters {
        log_bytes: COMMIT_LOG_BYTES * BLOCK_COUNT,
        buffered_bytes: 100 + BLOCK_COUNT,
        ..WriteCounters::default()
    };
    assert_eq!(background.counters, expected);
}

#[test]
fn work_begins_inside_the_clock_and_settles_in_a_phase_of_its_own() {
    let (workload, store) = work();
    let pause = Duration::from_millis(20);
    let sample = Scripted { pause, ..Scripted::new(&store) };
    let started = Instant::now();
    let executed = sample.run(&workload).unwrap();
    let elapsed = started.elapsed();
    let of_batches = ["commit", "look"].repeat(BLOCK_COUNT as usize);
    let calls = [&["look", "begin"][..], &of_batches, &["settle", "look"]].concat();
    assert_eq!(sample.calls(), calls);
    // Spans count from the clock's start.
    let first = executed.spans.iter().map(|span| span.start).min().unwrap();
    assert!(first >= pause, "the first phase at {first:?}, work was let to begin for {pause:?}");
    let settled: Vec<_> =
        executed.spans.iter().filter(|span| span.phase == Phase::Settle).collect();
    assert_eq!(settled.len(), 1);
    let mut committed = executed.spans.iter().filter(|span| span.phase == Phase::Commit);
    assert!(committed.all(|span| span.end <= settled[0].start));
    // The wall time excludes `begin` and the reads of the files' size.
    let pauses = pause * (3 + BLOCK_COUNT as u32);
    assert!(executed.wall + pauses <= elapsed, "{:?} of {elapsed:?}", executed.wall);
    let of_blocks: Duration = executed.batch_times.iter().sum();
    assert!(of_blocks + (settled[0].end - settled[0].start) <= executed.wall);
}

#[test]
fn without_such_work_files_are_looked_at_outside_the_clock_only() {
    let (workload, store) = work();
    let sample = Scripted { works: false, ..Scripted::new(&store) };
    let executed = sample.run(&workload).unwrap();
    let of_batches = ["commit"].repeat(BLOCK_COUNT as usize);
    assert_eq!(sample.calls(), [&["look"][..], &of_batches, &["look"]].concat());
    let after = 10 + 10 * BLOCK_COUNT;
    let space = Space { before_bytes: 10, peak_bytes: after, after_bytes: after };
    assert_eq!(executed.writes.space, Some(space));
    assert_eq!(executed.writes.background, None);
    assert!(!executed.spans.iter().any(|span| span.phase == Phase::Settle));
}

#[test]
fn an_interrupt_or_an_unknown_count_at_the_end_gives_no_result() {
    let (workload, store) = work();
    let run = |fault| Scripted { fault, ..Scripted::new(&store) }.run(&workload).unwrap_err();
    assert!(matches!(run(Fault::Interrupted), EngineError::Cancelled));
    let unknown = run(Fault::UnknownCounts).to_string();
    assert!(unknown.contains("told to fail"), "{unknown}");
}
