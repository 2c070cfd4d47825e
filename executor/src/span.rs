//! When the phases of a sample began and ended.

use std::{
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use variant::Phase;

use crate::lock::lock;

/// One phase of one batch, from its first beginning to its last end over all threads. Phases
/// may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which phase.
    pub phase: Phase,
    /// When it began, since the sample's start.
    pub start: Duration,
    /// When it ended, since the sample's start.
    pub end: Duration,
}

/// A span, and on which thread's track a trace shows it.
#[derive(Clone, Copy, Debug)]
struct Closed {
    span: Span,
    is_on_main_track: bool,
}

/// The clock of one sample.
#[derive(Debug)]
pub struct Spans {
    origin: Instant,
    closed: Mutex<Vec<Closed>>,
}

impl Spans {
    /// Starts the clock.
    pub fn start() -> Self {
        Self { origin: Instant::now(), closed: Mutex::default() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// The moment this long after the start.
    pub fn at(&self, since_start: Duration) -> Instant {
        self.origin + since_start
    }

    /// Records that `phase` lasted from `start` until now. A trace shows it on the main thread's
    /// track. A worker closes its part by `close_part` of `trace.rs`.
    pub fn close(&self, phase: Phase, start: Duration) -> Span {
        let span = Span { phase, start, end: self.elapsed() };
        self.push(Closed { span, is_on_main_track: true });
        span
    }

    /// Records a worker's part, which the worker's own track is to show.
    pub(crate) fn add_on_own_track(&self, span: Span) {
        self.push(Closed { span, is_on_main_track: false });
    }

    fn push(&self, closed: Closed) {
        self.lock().push(closed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Closed>> {
        lock(&self.closed)
    }

    /// All spans so far.
    pub fn spans(&self) -> Vec<Span> {
        self.lock().iter().map(|closed| closed.span).collect()
    }

    /// Those that a trace shows on the main thread's track.
    pub(crate) fn on_main_track(&self) -> Vec<Span> {
        let on_main = self.lock();
        on_main.iter().filter(|closed| closed.is_on_main_track).map(|closed| closed.span).collect()
    }
}

/// How long `phase` was going on: the union of its spans.
pub fn total(spans: &[Span], phase: Phase) -> Duration {
    let mut of_phase: Vec<_> = spans.iter().filter(|span| span.phase == phase).collect();
    of_phase.sort_by_key(|span| span.start);
    let mut total = Duration::ZERO;
    let mut covered = Duration::ZERO;
    for span in of_phase {
        let from = span.start.max(covered);
        if span.end > from {
            total += span.end - from;
            covered = span.end;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_of_a_phase_count_once() {
        let span = |start, end| Span {
            phase: Phase::Execute,
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
        };
        let spans = [span(5, 9), span(0, 3), span(2, 4), span(6, 7)];
        assert_eq!(total(&spans, Phase::Execute), Duration::from_millis(8));
        assert_eq!(total(&spans, Phase::Commit), Duration::ZERO);
    }
}
