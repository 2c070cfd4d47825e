//! The scheduler behind its lock, and the waits of workers for tasks or other steps. A worker that
//! waits first polls for a few microseconds, because waking a thread takes longer than executing a
//! plain transfer. Then the worker sleeps.

use std::{
    fmt, hint,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use workload::BlockAccessIndex;

use super::{
    scheduler::Scheduler,
    task::{Answer, Attempt, Report, Task, Until},
};

use crate::lock::lock;

/// Number of polls before a worker sleeps. [`PAUSES`] pauses are between two polls.
const POLL_COUNT: u32 = 200;
/// Number of pause instructions of the processor between two polls.
const PAUSES: u32 = 16;
/// Number of polls from one yield of the core to the next. Yields help if there are more threads
/// than cores.
const POLLS_BEFORE_YIELD: u32 = 50;
/// Polling interval of the stop flag, whose setter wakes no sleeper.
const STOP_CHECK: Duration = Duration::from_millis(1);

/// The result of a wait within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitResult {
    /// The awaited event has happened, so the run continues.
    GoOn,
    /// The run is given up.
    GiveUp,
    /// The whole batch is given up.
    Stopped,
}

#[derive(Debug)]
struct Guarded {
    scheduler: Scheduler,
    /// Number of workers that sleep because there is no task.
    idle_count: usize,
    /// Number of workers that sleep within a run.
    waiting_count: usize,
}

/// The scheduler of a batch behind its lock, and the waits of its workers.
pub(super) struct SharedScheduler<'a> {
    guarded: Mutex<Guarded>,
    /// Number of changes of the scheduler: reports, and messages from other shards.
    change_count: AtomicU32,
    /// True if an idle worker would get a task.
    has_task: AtomicBool,
    /// The lowest uncommitted step, readable without the lock.
    committed: AtomicU32,
    idle: Condvar,
    waiting: Condvar,
    stop: &'a AtomicBool,
    /// Called by each worker before it waits.
    on_idle: &'a (dyn Fn() + Sync),
}

impl fmt::Debug for SharedScheduler<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedScheduler").field("guarded", &self.guarded).finish_non_exhaustive()
    }
}

impl<'a> SharedScheduler<'a> {
    /// Makes the scheduler of a batch that has not begun. Another thread sets `stop` to give up the
    /// whole batch.
    pub(super) const fn new(scheduler: Scheduler, stop: &'a AtomicBool) -> Self {
        Self {
            guarded: Mutex::new(Guarded { scheduler, idle_count: 0, waiting_count: 0 }),
            change_count: AtomicU32::new(0),
            has_task: AtomicBool::new(true),
            committed: AtomicU32::new(0),
            idle: Condvar::new(),
            waiting: Condvar::new(),
            stop,
            on_idle: &|| (),
        }
    }

    /// Returns this scheduler with a function that each worker calls before it waits.
    #[must_use]
    pub(super) fn with_idle_call(self, on_idle: &'a (dyn Fn() + Sync)) -> Self {
        Self { on_idle, ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Guarded> {
        lock(&self.guarded)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the lowest uncommitted step. By now, more steps may be committed.
    pub(super) fn committed(&self) -> BlockAccessIndex {
        self.committed.load(Ordering::Acquire)
    }

    /// Returns the scheduler after all workers have ended.
    pub(super) fn into_scheduler(self) -> Scheduler {
        self.guarded.into_inner().unwrap_or_else(PoisonError::into_inner).scheduler
    }

    /// Applies a report and returns the next task. Waits if there is no task yet. Returns `None`
    /// once all tasks are done, or the batch is given up.
    pub(super) fn next_task(&self, report: Option<Report>) -> Option<Task> {
        let mut guarded = self.lock();
        if let Some(report) = report {
            guarded.scheduler.apply(report);
            self.committed.store(guarded.scheduler.committed(), Ordering::Release);
            self.change_count.fetch_add(1, Ordering::Release);
        }
        loop {
            if self.is_stopped() {
                self.idle.notify_all();
                return None;
            }
            let task = guarded.scheduler.claim();
            self.notify(&guarded);
            match task {
                Task::Done => return None,
                Task::Idle => guarded = self.wait_for_task(guarded),
                task => return Some(task),
            }
        }
    }

    /// Changes the scheduler after a message from other shards.
    pub(super) fn change(&self, change: impl FnOnce(&mut Scheduler)) {
        let mut guarded = self.lock();
        change(&mut guarded.scheduler);
        self.committed.store(guarded.scheduler.committed(), Ordering::Release);
        self.change_count.fetch_add(1, Ordering::Release);
        self.notify(&guarded);
    }

    /// Wakes workers that may have a task or can continue after a change.
    fn notify(&self, guarded: &Guarded) {
        let has_task = guarded.scheduler.has_task();
        // A store would take the cache line away from the workers that poll it.
        if self.has_task.load(Ordering::Relaxed) != has_task {
            self.has_task.store(has_task, Ordering::Release);
        }
        if has_task && guarded.idle_count > 0 {
            self.idle.notify_one();
        }
        if guarded.waiting_count > 0 {
            self.waiting.notify_all();
        }
    }

    fn wait_for_task<'g>(&'g self, guarded: MutexGuard<'g, Guarded>) -> MutexGuard<'g, Guarded> {
        drop(guarded);
        (self.on_idle)();
        if poll(|| self.has_task.load(Ordering::Acquire) || self.is_stopped()) {
            return self.lock();
        }
        let mut guarded = self.lock();
        if guarded.scheduler.has_task() {
            return guarded;
        }
        guarded.idle_count += 1;
        let slept = self.idle.wait_timeout(guarded, STOP_CHECK);
        let mut guarded = slept.unwrap_or_else(PoisonError::into_inner).0;
        guarded.idle_count -= 1;
        guarded
    }

    /// Waits in the run of `index` for `event`, if the scheduler allows the wait.
    pub(super) fn wait_for(&self, index: BlockAccessIndex, event: Until) -> WaitResult {
        let mut attempt = Attempt::First;
        loop {
            let mut guarded = self.lock();
            let answer = match event {
                Until::Now => Answer::GoOn,
                Until::Executed(of) => guarded.scheduler.ask_for_step(index, of, attempt),
                Until::Lowest => guarded.scheduler.ask_for_lowest(index, attempt),
            };
            match answer {
                Answer::GoOn => return WaitResult::GoOn,
                Answer::GiveUp => return WaitResult::GiveUp,
                Answer::Wait if self.is_stopped() => return WaitResult::Stopped,
                Answer::Wait => attempt = Attempt::Again,
            }
            let seen = self.change_count.load(Ordering::Relaxed);
            let has_changed =
                || self.change_count.load(Ordering::Acquire) != seen || self.is_stopped();
            drop(guarded);
            (self.on_idle)();
            if poll(has_changed) {
                continue;
            }
            guarded = self.lock();
            if !has_changed() {
                guarded.waiting_count += 1;
                let slept = self.waiting.wait_timeout(guarded, STOP_CHECK);
                slept.unwrap_or_else(PoisonError::into_inner).0.waiting_count -= 1;
            }
        }
    }
}

/// Polls `has_happened` for a few microseconds. Returns whether it returned true.
fn poll(has_happened: impl Fn() -> bool) -> bool {
    for count in 1..=POLL_COUNT {
        if has_happened() {
            return true;
        }
        if count % POLLS_BEFORE_YIELD == 0 {
            thread::yield_now();
        } else {
            (0..PAUSES).for_each(|_| hint::spin_loop());
        }
    }
    false
}
