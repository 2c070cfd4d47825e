//! Work for a root on a thread beside the leading one: its result, its counts and its track in a trace.

use std::sync::{Arc, Mutex};

use super::{compute::Clock, error::RootError, work::RootWork};
use crate::{
    lock::lock,
    span::Spans,
    trace::{Recorder, Trace, Track},
};

/// A result with the work for it.
pub(super) struct Done<T> {
    pub(super) result: Result<T, RootError>,
    pub(super) work: RootWork,
}

/// Work that leads to a `T`.
pub(super) struct Aside<'a, T> {
    spans: Arc<Spans>,
    recorder: Mutex<Option<Box<Recorder>>>,
    trace: Option<&'a Trace>,
    done: Mutex<Option<Done<T>>>,
}

impl<'a, T> Aside<'a, T> {
    /// Work that is about to begin.
    pub(super) fn new(spans: &Arc<Spans>, trace: Option<&'a Trace>) -> Self {
        Self {
            spans: Arc::clone(spans),
            recorder: Mutex::new(trace.map(|trace| trace.recorder(1))),
            trace,
            done: Mutex::new(None),
        }
    }

    /// Does it.
    pub(super) fn run(&self, run: impl FnOnce(&mut RootWork, Clock<'_>) -> Result<T, RootError>) {
        let mut work = RootWork::default();
        let mut recorder = lock(&self.recorder).take();
        let result = run(&mut work, Clock::OfWorker(&self.spans, recorder.as_deref_mut()));
        if let Some(trace) = self.trace {
            trace.give(Track::Root, recorder);
        }
        *lock(&self.done) = Some(Done { result, work });
    }

    /// Takes the result; `None` if the work was not done.
    pub(super) fn take(&self) -> Option<Done<T>> {
        lock(&self.done).take()
    }
}
