//! Computes the state root of each batch, for variants with state roots; `engine/clock.rs` calls
//! it. The variant decides the time of this work: after execution, or during execution from the
//! batch's list. A pipelined variant reads nodes during execution, and does the rest after it.
//!
//! The root of a batch has four phases. *Plan* hashes the changed keys, and makes a plan of each
//! changed trie: the nodes and rows that it needs. *Read* reads them on threads of its own, level
//! by level, or all nodes at once that may be needed. *Fold* hashes the tries of slots first, since
//! their roots are part of the accounts, then the trie of accounts. If a deletion leaves a branch
//! with one child, the fold needs another read. *Join* makes one trie of its shards.
//!
//! | file | owns |
//! |---|---|
//! | `changes.rs`, `listed.rs` | changes of a batch, by net changes or list; the nodes above them |
//! | `settings.rs`, `plan.rs`, `part.rs` | plans of tries and of their shards, and their reads |
//! | `read.rs`, `node_cache.rs` | threads that read, nodes that were read ahead; nodes in memory |
//! | `fold.rs`, `compute.rs` | threads that fold; the phases |
//! | `ahead.rs`, `follow.rs`, `written.rs` | work while a batch runs |
//! | `threads.rs` | the start of all threads; the nodes in memory when a sample starts |
//! | `check.rs`, `walk.rs`, `overlaid.rs` | the check of a sample's roots |

mod ahead;
mod changes;
mod check;
mod compute;
mod error;
mod fold;
mod follow;
mod listed;
mod node_cache;
mod overlaid;
mod part;
mod plan;
mod read;
mod settings;
mod threads;
mod walk;
mod work;
mod written;

use std::sync::Arc;

use variant::RootTime;
use workload::NetChanges;

use crate::{error::StoreError, pool::WorkerPool, span::Spans, tries::Tries};

use ahead::{Prepared, RootJob, RootThread, Source};
use changes::Changes;
pub(crate) use check::{check, read_back};
use compute::{Clock, Threads, compute};
pub(crate) use error::RootError;
pub(crate) use listed::nodes_above;
pub use node_cache::CachedNodes;
use node_cache::NodeCache;
use plan::Planned;
use read::KnownNodes;
use settings::RootSettings;
pub use threads::RootInputs;
use threads::with_threads;
pub(crate) use threads::{RootedSample, cached_nodes};
pub use work::{RootWork, Rooted};
pub(crate) use written::Writing;
pub use written::WrittenKeys;

/// Computes the roots of a sample's batches. It exists while the sample's clock runs.
pub(crate) struct Rooting<'a, 'l> {
    tries: &'a dyn Tries,
    threads: Threads<'a>,
    node_cache: &'a NodeCache<'a>,
    /// Work for roots during execution; `None` if all the work is done after execution.
    ahead: Option<RootThread<'a, 'l>>,
    work: RootWork,
}

/// Starts the threads that compute the roots of a sample, and calls `run_leader` with a
/// [`Rooting`], or `None` if the variant has no roots. If the work begins during execution, one
/// more thread does it.
///
/// # Errors
/// The state has no tries, or a thread cannot begin.
pub(crate) fn with_rooting<R>(
    sample: RootedSample<'_>,
    run_leader: impl FnOnce(Option<Rooting<'_, '_>>) -> R,
) -> Result<R, RootError> {
    let RootedSample { variant, workload, inputs, stop, cancel, .. } = sample;
    let root = variant.root;
    if root.is_none() {
        return Ok(run_leader(None));
    }
    let tries = sample.tries.ok_or(RootError::NoTries)?;
    let settings = RootSettings::new(root, tries, &workload.genesis)?;
    let node_cache = &NodeCache::new(root.cache, inputs.cached_nodes);
    let result = with_threads(&sample, tries, settings, node_cache, |threads| {
        let work = RootWork::default();
        let source = match (root.time, inputs.written) {
            (RootTime::FromList, _) => Source::List,
            (RootTime::Pipelined, Some(written)) => Source::Steps(written),
            (RootTime::Nothing | RootTime::After | RootTime::Pipelined, _) => {
                let rooting = Rooting { tries, threads, node_cache, ahead: None, work };
                return Ok(run_leader(Some(rooting)));
            }
        };
        let pool = WorkerPool::<RootJob<'_>>::new(1, stop, cancel);
        pool.run_all(
            "root",
            "root",
            |job| job.run(&threads),
            || {
                let ahead = Some(RootThread { pool: &pool, sample, source });
                run_leader(Some(Rooting { tries, threads, node_cache, ahead, work }))
            },
        )
    })?;
    Ok(result?)
}

impl<'l> Rooting<'_, 'l> {
    /// Begins the work for a batch that is about to run, if the work is done during execution. The
    /// caller drops the returned guard after the last step has written, before it calls
    /// [`Self::root`].
    ///
    /// # Errors
    /// The root is to come from a list, and the variant has none.
    pub(crate) fn begin(
        &self,
        batch: usize,
        spans: &Arc<Spans>,
    ) -> Result<Option<Writing<'l>>, RootError> {
        self.ahead.as_ref().map_or(Ok(None), |ahead| ahead.begin(batch, spans))
    }

    /// Returns the state root after a batch. The batch's execution, with the check of its list, has
    /// just ended.
    ///
    /// # Errors
    /// [`RootError`]. The caller must then not commit the batch.
    pub(crate) fn root(
        &mut self,
        changes: &NetChanges,
        spans: &Spans,
    ) -> Result<Rooted, RootError> {
        let execution_end = spans.elapsed();
        let prepared = match &self.ahead {
            Some(ahead) => ahead.finish(&mut self.work)?,
            None => Prepared::Nodes(KnownNodes::default()),
        };
        let rooted = match prepared {
            Prepared::Root(rooted) => rooted,
            Prepared::Nodes(known) => {
                let planned =
                    || Planned::new(self.threads.readers.settings, &Changes::new(changes));
                let clock = Clock::Leader(spans);
                compute(planned, known, &self.threads, &mut self.work, clock)?
            }
        };
        self.work.lag += spans.elapsed().saturating_sub(execution_end);
        Ok(rooted)
    }

    /// Commits a batch with the changed nodes of its tries.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn commit(&self, changes: &NetChanges, rooted: &Rooted) -> Result<(), StoreError> {
        self.tries.commit(changes, &rooted.nodes)?;
        self.node_cache.commit(&rooted.nodes);
        Ok(())
    }

    /// Returns the counts and times of the work so far.
    pub(crate) const fn work(&self) -> RootWork {
        self.work
    }
}
