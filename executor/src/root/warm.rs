//! The nodes that are in memory when a sample starts: those that the roots of its batches read, found
//! by computing the roots once from the lists, outside any clock and over a state of its own.

use variant::{RootCache, RootReads, RootWay};
use workload::list::{ListBounds, ListIndex};

use super::{
    compute::{Clock, compute},
    error::RootError,
    kept::{Kept, KeptNodes},
    known::Known,
    listed::changes,
    plan::Planned,
    threads::{RootedSample, with_threads},
    way::Way,
    work::RootWork,
};
use crate::span::Spans;

/// Reads the nodes that the cache of a sample has when it starts. Each batch changes the state as it
/// was before all batches: nodes that batches write are kept when they are committed.
///
/// # Errors
/// [`RootError`].
pub(crate) fn kept_nodes(sample: &RootedSample<'_>) -> Result<KeptNodes, RootError> {
    let root = sample.variant.root;
    if root.is_none() || root.cache == RootCache::Cold {
        return Ok(KeptNodes::default());
    }
    let tries = sample.tries.ok_or(RootError::NoTries)?;
    let workload = sample.lists.workload;
    // Walks ask for the same nodes as levels do, one after the other.
    let reads = match root.reads {
        RootReads::OnDemand | RootReads::ByLevel => RootReads::ByLevel,
        RootReads::AtOnce => RootReads::AtOnce,
    };
    let way = Way::new(RootWay { reads, ..root }, tries, &workload.genesis)?;
    let kept = Kept::of_reads();
    with_threads(sample, tries, way, &kept, |threads| {
        let (spans, mut work) = (Spans::start(), RootWork::default());
        for batch in &workload.batches {
            let list = ListIndex::decode(&batch.list, &ListBounds::new(batch, workload.fork()))?;
            let planned = || Planned::new(way, &changes(&list));
            compute(planned, Known::default(), &threads, &mut work, Clock::OfLead(&spans))?;
        }
        Ok::<_, RootError>(())
    })??;
    Ok(kept.into_nodes(root.cache))
}
