//! Starts the threads that read and fold for the roots of a sample; they idle until they get a job.
//! Also reads the nodes that a variant has in memory when its clock starts. To know which, it
//! computes the roots of the batches once before the clock, from their lists.

use std::sync::atomic::AtomicBool;

use alloy_primitives::Bytes;
use variant::{RootReads, RootWay, Variant};
use workload::{
    Workload,
    list::{ListBounds, ListIndex},
};

use super::{
    changes::Changes,
    compute::{Clock, Threads, compute},
    error::RootError,
    fold::{FoldJob, Folders},
    node_cache::{CachedNodeReader, CachedNodes, NodeCache},
    plan::Planned,
    read::{KnownNodes, ReadJob, Readers},
    settings::RootSettings,
    work::RootWork,
    written::WrittenKeys,
};
use crate::{error::StoreError, pool::WorkerPool, span::Spans, trace::Trace, tries::Tries};

/// Inputs of the roots of a sample, in addition to the sample's state.
#[derive(Clone, Copy, Debug, Default)]
pub struct RootInputs<'a> {
    /// Nodes that are in memory when the clock starts.
    pub cached_nodes: Option<&'a CachedNodes>,
    /// Takes the keys that steps write, if nodes are read during execution.
    pub written: Option<&'a WrittenKeys>,
}

/// A sample whose roots are computed.
#[derive(Clone, Copy)]
pub(crate) struct RootedSample<'a> {
    /// The variant that executes the sample.
    pub(crate) variant: &'a Variant,
    /// The workload.
    pub(crate) workload: &'a Workload,
    /// The list of each batch, in the form that the variant takes.
    pub(crate) lists: &'a [Bytes],
    /// The tries of the sample's state, if it has any.
    pub(crate) tries: Option<&'a dyn Tries>,
    /// The other inputs of the roots.
    pub(crate) inputs: RootInputs<'a>,
    /// The trace of the sample, if it is traced.
    pub(crate) trace: Option<&'a Trace>,
    /// Flag that a failing worker or an interrupt sets, so that all threads end.
    pub(crate) stop: &'a AtomicBool,
    /// Flag that is set when the user interrupts.
    pub(crate) cancel: &'a AtomicBool,
}

/// Starts threads that read and threads that fold, and calls `run_leader` meanwhile. The number of
/// readers is the variant's number of threads for execution and for reading. If a trie has several
/// shards, the number of folding threads is the number of shards; otherwise there are none.
pub(super) fn with_threads<R>(
    sample: &RootedSample<'_>,
    tries: &dyn Tries,
    settings: RootSettings,
    node_cache: &NodeCache<'_>,
    run_leader: impl FnOnce(Threads<'_>) -> R,
) -> Result<R, RootError> {
    let RootedSample { variant, stop, cancel, .. } = *sample;
    let reader_count = variant.thread_count + variant.io_thread_count;
    let read_pool = WorkerPool::<ReadJob>::new(reader_count, stop, cancel);
    let readers = Readers { settings, pool: &read_pool, thread_count: reader_count, stop };
    let shard_count = usize::from(settings.shards.get());
    let folder_count = if shard_count > 1 { shard_count } else { 0 };
    let fold_pool = WorkerPool::<FoldJob>::new(folder_count, stop, cancel);
    let folders = Folders { pool: &fold_pool, thread_count: folder_count };
    let (result, _) = read_pool.run(
        |_| "root reader",
        |error| StoreError::no_thread("root", &error),
        |_| {
            let mut reader = CachedNodeReader::new(tries.reader()?, node_cache);
            read_pool.serve(|job| job.work(&mut reader, settings.format));
            Ok(())
        },
        || {
            read_pool.wait_idle();
            let run_leader = || run_leader(Threads { readers, folders });
            fold_pool.run_all("root folder", "root", FoldJob::work, run_leader)
        },
    )?;
    Ok(result?)
}

/// Reads the nodes that will be in memory when the sample's clock starts. Each batch is applied to the state
/// before the first batch. Nodes that a batch writes come into memory when the sample commits the
/// batch.
///
/// # Errors
/// [`RootError`].
pub(crate) fn cached_nodes(sample: &RootedSample<'_>) -> Result<CachedNodes, RootError> {
    let RootedSample { workload, .. } = *sample;
    let root = sample.variant.root;
    let tries = sample.tries.ok_or(RootError::NoTries)?;
    // On demand, the same nodes are read as by level, only one after the other.
    let reads = match root.reads {
        RootReads::OnDemand | RootReads::ByLevel => RootReads::ByLevel,
        RootReads::AtOnce => RootReads::AtOnce,
    };
    let settings = RootSettings::new(RootWay { reads, ..root }, tries, &workload.genesis)?;
    let node_cache = NodeCache::keeping_reads();
    with_threads(sample, tries, settings, &node_cache, |threads| {
        let (spans, mut work) = (Spans::start(), RootWork::default());
        for batch in &workload.batches {
            let list = ListIndex::decode(&batch.list, &ListBounds::new(batch, &workload.rules))?;
            let planned = || Planned::new(settings, &Changes::from_list(&list));
            compute(planned, KnownNodes::default(), &threads, &mut work, Clock::Leader(&spans))?;
        }
        Ok::<_, RootError>(())
    })??;
    Ok(node_cache.into_nodes(root.cache))
}
