//! The thread that works for roots while batches run: from lists, or after the writes of steps.

use std::sync::Arc;

use super::{
    compute::Threads,
    error::RootError,
    follow::FollowJob,
    known::Known,
    listed::{ListedJob, Lists},
    work::{RootWork, Rooted},
    written::{Writing, WrittenKeys},
};
use crate::{pool::WorkerPool, span::Spans, trace::Trace};

/// Work beside a batch.
pub(crate) enum AheadJob<'l> {
    Listed(ListedJob<'l>),
    Followed(FollowJob<'l>),
}

impl AheadJob<'_> {
    /// Does it.
    pub(super) fn run(&self, threads: &Threads<'_>) {
        match self {
            Self::Listed(job) => job.run(threads),
            Self::Followed(job) => job.run(threads),
        }
    }
}

/// The thread's knowledge of a batch before the batch ends.
#[derive(Clone, Copy)]
pub(super) enum Source<'l> {
    /// Its list.
    List(Lists<'l>),
    /// The writes of its steps, and where the sample is traced.
    Steps(&'l WrittenKeys, Option<&'l Trace>),
}

/// The thread.
pub(super) struct Ahead<'a, 'l> {
    pub(super) pool: &'a WorkerPool<'a, AheadJob<'l>>,
    pub(super) source: Source<'l>,
}

/// The result for a batch that has ended.
pub(super) enum Prepared {
    /// Its root.
    Root(Rooted),
    /// Nodes that its root needs.
    Nodes(Known),
}

impl<'l> Ahead<'_, 'l> {
    /// Begins with a batch that is about to run. Steps write until the guard is dropped.
    ///
    /// # Errors
    /// The variant has no list.
    pub(super) fn begin(
        &self,
        batch: usize,
        spans: &Arc<Spans>,
    ) -> Result<Option<Writing<'l>>, RootError> {
        let (job, writing) = match self.source {
            Source::List(lists) => (AheadJob::Listed(lists.job(batch, spans)?), None),
            Source::Steps(written, trace) => {
                let writing = written.begin();
                (AheadJob::Followed(FollowJob::new(written, spans, trace)), Some(writing))
            }
        };
        self.pool.post(Arc::new(job));
        Ok(writing)
    }

    /// Waits for the result, and adds the work for it.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn finish(&self, work: &mut RootWork) -> Result<Prepared, RootError> {
        let job = self.pool.finish().ok_or(RootError::Cancelled)?;
        match &*job {
            AheadJob::Listed(job) => {
                let done = job.aside.take().ok_or(RootError::Cancelled)?;
                work.merge(&done.work);
                Ok(Prepared::Root(done.result?))
            }
            AheadJob::Followed(job) => {
                let done = job.aside.take().ok_or(RootError::Cancelled)?;
                work.merge(&done.work);
                work.ahead_node_count += done.work.node_count + done.work.cached_node_count;
                Ok(Prepared::Nodes(done.result?))
            }
        }
    }
}
