//! From plans to a root, in phases, on the leading thread or on one beside it.

use std::time::Duration;

use variant::Phase;

use super::{
    error::RootError,
    plan::Planned,
    read::Readers,
    work::{RootWork, Rooted},
};
use crate::{
    span::Spans,
    trace::{Recorder, close_part},
};

/// The clock, and the track on which a trace shows the phases.
pub(super) enum Clock<'a> {
    /// The leading thread.
    OfLead(&'a Spans),
    /// A worker.
    OfWorker(&'a Spans, Option<&'a mut Recorder>),
}

impl Clock<'_> {
    fn elapsed(&self) -> Duration {
        match self {
            Self::OfLead(spans) | Self::OfWorker(spans, _) => spans.elapsed(),
        }
    }

    /// Times a part of a phase.
    fn time<T>(&mut self, phase: Phase, part: impl FnOnce() -> T) -> T {
        let start = self.elapsed();
        let made = part();
        match self {
            Self::OfLead(spans) => drop(spans.close(phase, start)),
            Self::OfWorker(spans, recorder) => {
                close_part(spans, phase, start, recorder.as_deref_mut());
            }
        }
        made
    }
}

/// Computes the root of planned changes.
pub(super) fn compute(
    planned: impl FnOnce() -> Result<Planned, RootError>,
    readers: &Readers<'_>,
    work: &mut RootWork,
    mut clock: Clock<'_>,
) -> Result<Rooted, RootError> {
    let mut planned = clock.time(Phase::RootPlan, planned)?;
    clock.time(Phase::RootRead, || planned.read(readers, work))?;
    let mut slots = clock.time(Phase::RootFold, || planned.with_values())?;
    clock.time(Phase::RootRead, || slots.read_siblings(readers, work))?;
    let mut accounts = clock.time(Phase::RootFold, || slots.fold())?;
    clock.time(Phase::RootRead, || accounts.read_siblings(readers, work))?;
    let (rooted, hashed) = clock.time(Phase::RootFold, || accounts.fold())?;
    work.add(&rooted, hashed);
    Ok(rooted)
}
