//! The thread that works on roots while batches run. It computes a root from the batch's list, or
//! reads the nodes above the keys that steps have written.

use std::sync::{Arc, Mutex};

use super::{
    compute::{Clock, Threads},
    error::RootError,
    follow, listed,
    read::KnownNodes,
    threads::RootedSample,
    work::{RootWork, Rooted},
    written::{Writing, WrittenKeys},
};
use crate::{
    lock::lock,
    pool::WorkerPool,
    span::Spans,
    trace::{Recorder, Track},
};

/// The thread's source of a batch's changes, before the batch ends.
#[derive(Clone, Copy)]
pub(super) enum Source<'l> {
    /// The list of the batch.
    List,
    /// The keys that the batch's steps write.
    Steps(&'l WrittenKeys),
}

/// The thread's result for a batch that has ended.
pub(super) enum Prepared {
    /// The root of the batch.
    Root(Rooted),
    /// Nodes that the root of the batch needs.
    Nodes(KnownNodes),
}

/// The work on the root of one batch, beside its execution.
pub(crate) struct RootJob<'l> {
    sample: RootedSample<'l>,
    source: Source<'l>,
    batch: usize,
    spans: Arc<Spans>,
    recorder: Mutex<Option<Box<Recorder>>>,
    done: Mutex<Option<(Result<Prepared, RootError>, RootWork)>>,
}

impl RootJob<'_> {
    /// Does the work, which has its own track in a trace.
    pub(super) fn run(&self, threads: &Threads<'_>) {
        let mut work = RootWork::default();
        let mut recorder = lock(&self.recorder).take();
        let clock = Clock::Worker(&self.spans, recorder.as_deref_mut());
        let result = match self.source {
            Source::List => listed::root(&self.sample, self.batch, threads, &mut work, clock)
                .map(Prepared::Root),
            Source::Steps(written) => {
                follow::read(written, &threads.readers, &mut work, clock).map(Prepared::Nodes)
            }
        };
        if let Some(trace) = self.sample.trace {
            trace.add(Track::Root, recorder);
        }
        *lock(&self.done) = Some((result, work));
    }
}

/// Posts jobs to the thread, and takes its results.
pub(super) struct RootThread<'a, 'l> {
    pub(super) pool: &'a WorkerPool<'a, RootJob<'l>>,
    pub(super) sample: RootedSample<'l>,
    pub(super) source: Source<'l>,
}

impl<'l> RootThread<'_, 'l> {
    /// Begins the work on a batch that is about to run. The caller drops the returned guard once
    /// all steps have written.
    ///
    /// # Errors
    /// The root is to come from a list, and the variant has none.
    pub(super) fn begin(
        &self,
        batch: usize,
        spans: &Arc<Spans>,
    ) -> Result<Option<Writing<'l>>, RootError> {
        let Self { pool, sample, source } = *self;
        let writing = match source {
            Source::List if sample.variant.list.is_none() => return Err(RootError::NoList),
            Source::List => None,
            Source::Steps(written) => Some(written.begin()),
        };
        let recorder = Mutex::new(sample.trace.map(|trace| trace.recorder(1)));
        let (spans, done) = (Arc::clone(spans), Mutex::default());
        pool.post(Arc::new(RootJob { sample, source, batch, spans, recorder, done }));
        Ok(writing)
    }

    /// Waits for the thread's result, and adds the counts of its work to `work`.
    ///
    /// # Errors
    /// There is no result: the work failed or was cancelled.
    pub(super) fn finish(&self, work: &mut RootWork) -> Result<Prepared, RootError> {
        let job = self.pool.finish().ok_or(RootError::Cancelled)?;
        let (result, done) = lock(&job.done).take().ok_or(RootError::Cancelled)?;
        work.merge(&done);
        if let Source::Steps(_) = self.source {
            work.ahead_node_count += done.node_count + done.cached_node_count;
        }
        result
    }
}
