//! Worker threads that wait for jobs, for engines, roots and the recovery of signers. The threads
//! start before the sample's clock, and the jobs run while the clock runs. A panic in a worker
//! cancels the job, and resumes in the thread that waits for it.
//!
//! Rayon's pool does not fit. Each worker holds a reader of the store from before the clock, takes
//! part in every job, and is measured.

use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{error::StoreError, lock::lock};

/// Polling interval for the interrupt flag.
const INTERRUPT_CHECK: Duration = Duration::from_millis(20);

struct State<J> {
    job: Option<Arc<J>>,
    /// Number of jobs posted so far. A worker keeps the number of its last job, so that it takes
    /// each job once.
    job_number: u64,
    /// Number of workers that wait for a job.
    idle_count: usize,
    /// Number of workers that could not begin, failed, or panicked.
    absent_count: usize,
    has_ended: bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// A pool of `size` workers for one thread that posts jobs.
pub(crate) struct WorkerPool<'a, J> {
    size: usize,
    state: Mutex<State<J>>,
    posted: Condvar,
    idle: Condvar,
    stop: &'a AtomicBool,
    interrupt: &'a AtomicBool,
}

impl<'a, J> WorkerPool<'a, J> {
    /// Makes a pool for `size` workers. A worker's panic sets `stop`. A thread that waits polls
    /// `interrupt`, and sets `stop` once `interrupt` is set.
    pub(crate) fn new(size: usize, stop: &'a AtomicBool, interrupt: &'a AtomicBool) -> Self {
        let state = State {
            job: None,
            job_number: 0,
            idle_count: 0,
            absent_count: 0,
            has_ended: false,
            panic: None,
        };
        Self {
            size,
            state: Mutex::new(state),
            posted: Condvar::new(),
            idle: Condvar::new(),
            stop,
            interrupt,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        lock(&self.state)
    }

    /// Starts the workers, each of which runs `run_worker`, and calls `run_leader` on this thread
    /// meanwhile. When `run_leader` returns, the workers end. Returns its value, and the values of
    /// the workers in no order. Debuggers and profilers show each worker's `name`.
    ///
    /// # Errors
    /// The first error of a worker, or the error of `no_thread` if a worker cannot begin.
    pub(crate) fn run<T: Send, R, E: Send>(
        &self,
        name: impl Fn(usize) -> &'static str,
        no_thread: impl Fn(io::Error) -> E,
        run_worker: impl Fn(usize) -> Result<T, E> + Sync,
        run_leader: impl FnOnce() -> R,
    ) -> Result<(R, Vec<T>), E>
    where
        J: Send + Sync,
    {
        let (values, first_error) = (Mutex::new(Vec::with_capacity(self.size)), Mutex::new(None));
        let end_worker = |result: Result<T, E>| match result {
            Ok(value) => lock(&values).push(value),
            Err(error) => {
                lock(&first_error).get_or_insert(error);
                self.mark_absent();
            }
        };
        let leader_value = thread::scope(|scope| {
            let _end = EndOnDrop(self);
            for worker in 0..self.size {
                let (run_worker, end_worker) = (&run_worker, &end_worker);
                let begun = thread::Builder::new().name(name(worker).to_owned()).spawn_scoped(
                    scope,
                    move || {
                        let _absence = AbsentOnPanic(self);
                        end_worker(run_worker(worker));
                    },
                );
                if let Err(error) = begun {
                    end_worker(Err(no_thread(error)));
                }
            }
            run_leader()
        });
        match first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok((leader_value, values.into_inner().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    /// Starts workers that only run `work` on each job, and calls `run_leader` once all of them are
    /// idle.
    ///
    /// # Errors
    /// [`StoreError`] in the name of `user`, if a worker cannot begin.
    pub(crate) fn run_all<R>(
        &self,
        name: &'static str,
        user: &'static str,
        work: impl Fn(&J) + Sync,
        run_leader: impl FnOnce() -> R,
    ) -> Result<R, StoreError>
    where
        J: Send + Sync,
    {
        let run = self.run(
            |_| name,
            |error| StoreError::no_thread(user, &error),
            |_| {
                self.serve(&work);
                Ok(())
            },
            || {
                self.wait_idle();
                run_leader()
            },
        );
        run.map(|(leader_value, _)| leader_value)
    }

    /// Calls `work` with each job until the `run_leader` of [`Self::run`] has ended. Each worker
    /// calls this in its `run_worker`.
    pub(crate) fn serve(&self, mut work: impl FnMut(&J)) {
        let mut last_number = 0;
        loop {
            let mut state = self.lock();
            state.idle_count += 1;
            self.idle.notify_all();
            while state.job_number == last_number && !state.has_ended {
                state = self.posted.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.job_number == last_number {
                return;
            }
            last_number = state.job_number;
            let job = state.job.clone();
            drop(state);
            let Some(job) = job else { continue };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&job))) {
                self.stop.store(true, Ordering::Relaxed);
                self.lock().panic.get_or_insert(panic);
            }
        }
    }

    /// Marks a failed worker as absent, so that nobody waits for it, and stops the other workers.
    fn mark_absent(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.lock().absent_count += 1;
        self.idle.notify_all();
    }

    /// Waits until each worker is idle or absent, and resumes the first panic of a worker, if any.
    /// If `interrupt` is set meanwhile, sets `stop`.
    pub(crate) fn wait_idle(&self) {
        let mut state = self.lock();
        while state.idle_count + state.absent_count < self.size {
            if self.interrupt.load(Ordering::Relaxed) {
                self.stop.store(true, Ordering::Relaxed);
            }
            let waited = self.idle.wait_timeout(state, INTERRUPT_CHECK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let panic = state.panic.take();
        drop(state);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Gives all workers a job; all must be idle.
    pub(crate) fn post(&self, job: Arc<J>) {
        let mut state = self.lock();
        state.job = Some(job);
        state.job_number += 1;
        state.idle_count = 0;
        self.posted.notify_all();
    }

    /// Takes the job back once all workers are idle.
    pub(crate) fn finish(&self) -> Option<Arc<J>> {
        self.wait_idle();
        self.lock().job.take()
    }
}

/// Marks a worker as absent on drop while unwinding, so that nobody waits for it.
struct AbsentOnPanic<'c, 'a, J>(&'c WorkerPool<'a, J>);

impl<J> Drop for AbsentOnPanic<'_, '_, J> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.mark_absent();
        }
    }
}

/// Ends the pool, and so its workers, on drop, also while unwinding.
struct EndOnDrop<'c, 'a, J>(&'c WorkerPool<'a, J>);

impl<J> Drop for EndOnDrop<'_, '_, J> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.posted.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn every_worker_gets_every_job_once() {
        let flag = AtomicBool::new(false);
        let pool = WorkerPool::<usize>::new(4, &flag, &flag);
        let sum = AtomicUsize::new(0);
        let run_worker = |worker| {
            pool.serve(|job| {
                sum.fetch_add(*job, Ordering::Relaxed);
            });
            Ok(worker)
        };
        let run_leader = || {
            pool.wait_idle();
            for job in [1, 10, 100] {
                pool.post(Arc::new(job));
                assert_eq!(pool.finish().as_deref(), Some(&job));
            }
        };
        let ((), mut workers) =
            pool.run(|_| "test", |error| error.to_string(), run_worker, run_leader).unwrap();
        workers.sort_unstable();
        assert_eq!(workers, [0, 1, 2, 3]);
        assert_eq!(sum.load(Ordering::Relaxed), 444);
    }

    #[test]
    fn a_worker_that_cannot_begin_stops_the_others_and_is_told() {
        let (stop, interrupt) = (AtomicBool::new(false), AtomicBool::new(false));
        let pool = WorkerPool::<()>::new(3, &stop, &interrupt);
        let run_worker = |worker| match worker {
            1 => Err("no database".to_owned()),
            _ => {
                pool.serve(|()| ());
                Ok(())
            }
        };
        let error = pool
            .run(|_| "test", |error| error.to_string(), run_worker, || pool.wait_idle())
            .expect_err("one failed");
        assert_eq!(error, "no database");
        assert!(stop.load(Ordering::Relaxed));
    }

    #[test]
    fn a_panic_before_the_first_job_is_waited_for_by_nobody() {
        let (stop, interrupt) = (AtomicBool::new(false), AtomicBool::new(false));
        let pool = WorkerPool::<()>::new(2, &stop, &interrupt);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let run_worker = |worker| {
                assert_ne!(worker, 1, "it cannot begin");
                pool.serve(|()| ());
                Ok(())
            };
            pool.run(|_| "test", |error| error.to_string(), run_worker, || pool.wait_idle())
        }));
        assert!(caught.is_err());
        assert!(stop.load(Ordering::Relaxed));
    }

    #[test]
    fn a_panic_cancels_and_reaches_who_waits() {
        let (stop, interrupt) = (AtomicBool::new(false), AtomicBool::new(false));
        let pool = WorkerPool::<()>::new(2, &stop, &interrupt);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let run_worker = |worker| {
                pool.serve(|()| {
                    if worker == 1 {
                        std::panic::panic_any(7_u8);
                    }
                });
                Ok(())
            };
            let run_leader = || {
                pool.wait_idle();
                pool.post(Arc::new(()));
                pool.wait_idle();
            };
            pool.run(|_| "test", |error| error.to_string(), run_worker, run_leader)
        }));
        let panic = caught.expect_err("it unwinds");
        assert_eq!(panic.downcast_ref::<u8>(), Some(&7));
        assert!(stop.load(Ordering::Relaxed));
    }
}
