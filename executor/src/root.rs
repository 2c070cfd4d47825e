//! The state root of a batch: from its net changes to plans, one a trie, to the nodes and rows that
//! they ask for, to the root and the nodes that change. After execution, or from the batch's list
//! while it is executed and the list is checked.
//!
//! A batch has three phases. *Plan* hashes the changed keys. *Read* asks threads of its own for all
//! that the plans of all tries want next, level by level. *Fold* hashes storage tries first, since
//! their roots are part of the accounts, then the trie of accounts. Where a delete leaves a branch
//! with one child, its fold needs another read.

mod changes;
mod check;
mod compute;
mod error;
mod listed;
mod plan;
mod read;
mod walk;
mod work;

use std::sync::{Arc, atomic::AtomicBool};

use variant::{RootTime, Variant};
use workload::NetChanges;

use crate::{error::StoreError, pool::WorkerPool, span::Spans, tries::Tries};

use changes::Changes;
pub(crate) use check::{Fault, check, read_back};
use compute::{Clock, compute};
pub(crate) use error::RootError;
use listed::ListedJob;
pub(crate) use listed::Lists;
use plan::Planned;
use read::{ReadJob, Readers, live};
pub use work::{RootWork, Rooted};

/// Computes roots of batches; lives as long as a sample's clock runs.
pub(crate) struct Rooting<'a, 'l> {
    tries: &'a dyn Tries,
    readers: Readers<'a>,
    /// Where roots come from lists.
    ahead: Option<Ahead<'a, 'l>>,
    work: RootWork,
}

/// A thread that computes roots from lists while batches run.
struct Ahead<'a, 'l> {
    pool: &'a WorkerPool<'a, ListedJob<'l>>,
    lists: Lists<'l>,
}

/// A sample whose roots are computed.
#[derive(Clone, Copy)]
pub(crate) struct RootedSample<'a> {
    /// The way to execute.
    pub(crate) variant: &'a Variant,
    /// The tries of its state, if it has any.
    pub(crate) tries: Option<&'a dyn Tries>,
    /// Its lists.
    pub(crate) lists: Lists<'a>,
    /// Set by a worker that fails.
    pub(crate) stop: &'a AtomicBool,
    /// Set by the user.
    pub(crate) cancel: &'a AtomicBool,
}

/// Calls `lead` with what computes the roots of a sample, and with its readers beside it: as many
/// threads as the variant has for execution and for reading, and one more where roots come from
/// lists. None of them has anything to do until it is asked.
///
/// # Errors
/// The state has no tries, or a thread cannot begin.
pub(crate) fn beside<R>(
    sample: RootedSample<'_>,
    lead: impl FnOnce(Option<Rooting<'_, '_>>) -> R,
) -> Result<R, RootError> {
    let RootedSample { variant, tries, lists, stop, cancel } = sample;
    if variant.root == RootTime::Nothing {
        return Ok(lead(None));
    }
    let tries = tries.ok_or(RootError::NoTries)?;
    let thread_count = variant.thread_count + variant.io_thread_count;
    let pool = WorkerPool::<ReadJob>::new(thread_count, stop, cancel);
    let no_thread = |error| StoreError::no_thread("root", &error);
    let readers = Readers { pool: &pool, thread_count, stop };
    let work = RootWork::default();
    let led = pool.run(
        |_| "root reader",
        no_thread,
        |_| live(tries, &pool),
        || {
            pool.wait_idle();
            if variant.root != RootTime::FromList {
                return Ok(lead(Some(Rooting { tries, readers, ahead: None, work })));
            }
            let ahead = WorkerPool::<ListedJob<'_>>::new(1, stop, cancel);
            let live = |_| {
                ahead.serve(|job| job.run(tries.format(), &readers));
                Ok::<_, StoreError>(())
            };
            let lead = || {
                ahead.wait_idle();
                let ahead = Some(Ahead { pool: &ahead, lists });
                lead(Some(Rooting { tries, readers, ahead, work }))
            };
            ahead.run(|_| "root", no_thread, live, lead).map(|(led, _)| led)
        },
    )?;
    Ok(led.0?)
}

impl Rooting<'_, '_> {
    /// Begins with the root of a batch that is about to run, if it comes from the list.
    ///
    /// # Errors
    /// The variant has no list.
    pub(crate) fn begin(&self, batch: usize, spans: &Arc<Spans>) -> Result<(), RootError> {
        if let Some(Ahead { pool, lists }) = &self.ahead {
            pool.post(Arc::new(lists.job(batch, spans)?));
        }
        Ok(())
    }

    /// The state root after a batch whose execution has just ended, which has checked the list.
    ///
    /// # Errors
    /// [`RootError`]: the batch is not committed.
    pub(crate) fn root(
        &mut self,
        changes: &NetChanges,
        spans: &Spans,
    ) -> Result<Rooted, RootError> {
        let execution_end = spans.elapsed();
        let rooted = match &self.ahead {
            None => {
                let planned = || Planned::new(self.tries.format(), &Changes::of(changes));
                compute(planned, &self.readers, &mut self.work, Clock::OfLead(spans))
            }
            Some(Ahead { pool, .. }) => {
                let done = pool.finish().and_then(|job| job.take());
                let (rooted, work) = done.ok_or(RootError::Cancelled)?;
                self.work.merge(&work);
                rooted
            }
        };
        self.work.lag += spans.elapsed().saturating_sub(execution_end);
        rooted
    }

    /// Commits a batch with its nodes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn commit(&self, changes: &NetChanges, rooted: &Rooted) -> Result<(), StoreError> {
        self.tries.commit(changes, &rooted.nodes)
    }

    /// The work so far.
    pub(crate) const fn work(&self) -> RootWork {
        self.work
    }
}
