//! The scheduler behind its lock, and the waiting of workers. A worker first polls for a few
//! microseconds, because waking a thread costs more than a plain transfer. Then it sleeps.

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
    task::{Answer, Asking, Report, Task, Until},
};

use crate::lock::lock;

/// Looks before a worker sleeps, each a few pauses of the processor.
const LOOKS: u32 = 200;
/// Pauses between two looks.
const PAUSES: u32 = 16;
/// Looks after which others get the core, where there are more threads than cores.
const LOOKS_BEFORE_YIELD: u32 = 50;
/// Polling interval of the stop flag, whose setter wakes no sleeper.
const STOP_CHECK: Duration = Duration::from_millis(1);

/// The future of a run that needed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its need is met.
    GoOn,
    /// The run is given up.
    GiveUp,
    /// All is given up.
    Stopped,
}

#[derive(Debug)]
struct Guarded {
    scheduler: Scheduler,
    /// Workers asleep for want of a task.
    idle_count: usize,
    /// Workers asleep in a run.
    waiting_count: usize,
}

/// The meeting point of the workers of a batch.
pub(super) struct Board<'a> {
    guarded: Mutex<Guarded>,
    /// Counts reports.
    change_count: AtomicU32,
    /// An idle worker would get a task.
    has_task: AtomicBool,
    committed: AtomicU32,
    idle: Condvar,
    waiting: Condvar,
    stop: &'a AtomicBool,
    /// Called by each worker that has nothing to do for now.
    on_idle: &'a (dyn Fn() + Sync),
}

impl fmt::Debug for Board<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board").field("guarded", &self.guarded).finish_non_exhaustive()
    }
}

impl<'a> Board<'a> {
    /// With nothing done. `stop` is set from outside to give all up.
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

    /// This board with a call of each worker that has nothing to do for now.
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

    /// All steps below were committed a moment ago.
    pub(super) fn committed(&self) -> BlockAccessIndex {
        self.committed.load(Ordering::Acquire)
    }

    /// The scheduler, once all workers are gone.
    pub(super) fn into_scheduler(self) -> Scheduler {
        self.guarded.into_inner().unwrap_or_else(PoisonError::into_inner).scheduler
    }

    /// Takes a report in and gives the next task; `None` where there is none any more, or all
    /// is given up. Waits where there is none yet.
    pub(super) fn turn(&self, report: Option<Report>) -> Option<Task> {
        let mut guarded = self.lock();
        if let Some(report) = report {
            guarded.scheduler.take(report);
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
                Task::Idle => guarded = self.pass_time(guarded),
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

    /// Wakes the workers that a change concerns.
    fn notify(&self, guarded: &Guarded) {
        let has_task = guarded.scheduler.has_task();
        // A store would take the line from those who look at it.
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

    fn pass_time<'g>(&'g self, guarded: MutexGuard<'g, Guarded>) -> MutexGuard<'g, Guarded> {
        drop(guarded);
        (self.on_idle)();
        if look_for(|| self.has_task.load(Ordering::Acquire) || self.is_stopped()) {
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

    /// Waits in the run of `index` for `event`, if it may.
    pub(super) fn need(&self, index: BlockAccessIndex, event: Until) -> Verdict {
        let mut asking = Asking::First;
        loop {
            let mut guarded = self.lock();
            let answer = match event {
                Until::Now => Answer::GoOn,
                Until::Executed(of) => guarded.scheduler.ask_for_step(index, of, asking),
                Until::Lowest => guarded.scheduler.ask_for_lowest(index, asking),
            };
            match answer {
                Answer::GoOn => return Verdict::GoOn,
                Answer::GiveUp => return Verdict::GiveUp,
                Answer::Wait if self.is_stopped() => return Verdict::Stopped,
                Answer::Wait => asking = Asking::Again,
            }
            let seen = self.change_count.load(Ordering::Relaxed);
            let has_changed =
                || self.change_count.load(Ordering::Acquire) != seen || self.is_stopped();
            drop(guarded);
            (self.on_idle)();
            if look_for(has_changed) {
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

/// Looks for a while whether something `has_happened`.
fn look_for(has_happened: impl Fn() -> bool) -> bool {
    for look in 1..=LOOKS {
        if has_happened() {
            return true;
        }
        if look % LOOKS_BEFORE_YIELD == 0 {
            thread::yield_now();
        } else {
            (0..PAUSES).for_each(|_| hint::spin_loop());
        }
    }
    false
}
