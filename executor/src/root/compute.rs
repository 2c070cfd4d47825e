//! Computes a root from plans, phase by phase, on the leading thread after execution, or on the
//! root thread during it.

use std::time::Duration;

use trie::{Folded, Update};
use variant::Phase;

use super::{
    error::RootError,
    fold::Folders,
    part::{Part, read_all},
    plan::Planned,
    read::{KnownNodes, ReadRequests, Readers},
    work::{RootWork, Rooted},
};
use crate::{
    span::Spans,
    trace::{Recorder, close_part},
    tries::TrieId,
};

/// The threads that read and fold for roots.
#[derive(Clone, Copy)]
pub(crate) struct Threads<'a> {
    pub(super) readers: Readers<'a>,
    pub(super) folders: Folders<'a>,
}

/// The sample's clock, and the track on which a trace shows the phases.
pub(super) enum Clock<'a> {
    /// The track of the leading thread.
    Leader(&'a Spans),
    /// The track of a worker.
    Worker(&'a Spans, Option<&'a mut Recorder>),
}

impl Clock<'_> {
    fn elapsed(&self) -> Duration {
        match self {
            Self::Leader(spans) | Self::Worker(spans, _) => spans.elapsed(),
        }
    }

    /// Times a part of a phase.
    pub(super) fn time<T>(&mut self, phase: Phase, part: impl FnOnce() -> T) -> T {
        let start = self.elapsed();
        let result = part();
        match self {
            Self::Leader(spans) => drop(spans.close(phase, start)),
            Self::Worker(spans, recorder) => {
                close_part(spans, phase, start, recorder.as_deref_mut());
            }
        }
        result
    }
}

/// Computes the root of planned changes; `known` has nodes that were read ahead.
pub(super) fn compute(
    planned: impl FnOnce() -> Result<Planned, RootError>,
    mut known: KnownNodes,
    threads: &Threads<'_>,
    work: &mut RootWork,
    mut clock: Clock<'_>,
) -> Result<Rooted, RootError> {
    let mut planned = clock.time(Phase::RootPlan, planned)?;
    clock.time(Phase::RootRead, || planned.read(&mut known, &threads.readers, work))?;
    let updates = clock.time(Phase::RootFold, || planned.slot_updates())?;
    let folded = fold(updates, threads, work, &mut clock)?;
    let updates = clock.time(Phase::RootFold, || planned.account_updates(folded))?;
    let folded = fold(updates, threads, work, &mut clock)?;
    Ok(planned.rooted(folded))
}

/// Reads the subtrees that deletions leave as only children of branches. Then folds the tries, and
/// joins the shards of each trie.
fn fold(
    mut updates: Vec<Part<Update>>,
    threads: &Threads<'_>,
    work: &mut RootWork,
    clock: &mut Clock<'_>,
) -> Result<Vec<(TrieId, Folded)>, RootError> {
    let Threads { readers, folders } = threads;
    clock.time(Phase::RootRead, || {
        read_all(&mut updates, ReadRequests::default(), &KnownNodes::default(), readers, work)
    })?;
    let folded = clock.time(Phase::RootFold, || folders.fold(updates, work))?;
    let joined = match folders.thread_count {
        0 => folded.join(work),
        _ => clock.time(Phase::RootJoin, || folded.join(work)),
    };
    Ok(joined?)
}
