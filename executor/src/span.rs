//! A sample's clock with the start and the end of each phase. Computes the critical path from them:
//! the phases that the sample's wall time waited for. Engines record spans; figures and the trace
//! read them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use variant::Phase;

use crate::lock::lock;

/// A span of a phase in one batch: the whole phase, or one worker's part of it. Spans may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The phase.
    pub phase: Phase,
    /// Time from the start of the sample's clock to the start of the span.
    pub start: Duration,
    /// Time from the start of the sample's clock to the end of the span.
    pub end: Duration,
}

/// A span that has ended, and whether a trace shows it on the main thread's track.
#[derive(Clone, Copy, Debug)]
struct Closed {
    span: Span,
    is_on_main_track: bool,
}

/// The clock of a sample, with the spans of its phases.
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

    /// Returns the time since the start of the clock.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Returns the moment at `since_start` after the start of the clock.
    pub fn at(&self, since_start: Duration) -> Instant {
        self.origin + since_start
    }

    /// Records that `phase` lasted from `start` until now. A trace shows the span on the main
    /// thread's track. Workers use `close_part` of `trace.rs` instead.
    pub fn close(&self, phase: Phase, start: Duration) -> Span {
        let span = Span { phase, start, end: self.elapsed() };
        self.push(Closed { span, is_on_main_track: true });
        span
    }

    /// Records a worker's part of a phase, which a trace shows on the worker's track.
    pub(crate) fn add_on_own_track(&self, span: Span) {
        self.push(Closed { span, is_on_main_track: false });
    }

    fn push(&self, closed: Closed) {
        self.lock().push(closed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Closed>> {
        lock(&self.closed)
    }

    /// Returns all spans so far.
    pub fn spans(&self) -> Vec<Span> {
        self.lock().iter().map(|closed| closed.span).collect()
    }

    /// Returns the spans that a trace shows on the main thread's track.
    pub(crate) fn on_main_track(&self) -> Vec<Span> {
        let on_main = self.lock();
        on_main.iter().filter(|closed| closed.is_on_main_track).map(|closed| closed.span).collect()
    }
}

/// Returns the duration of `phase`: the length of the union of its spans.
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

/// Splits the wall time `wall` into the times for which it waited for each phase: the critical
/// path. Their sum is `wall`. `None` is the time outside all phases. The path is found backwards,
/// from the end of the wall time. At each moment, it continues with the phase that ended there, or
/// with the phase under way that ends first. Phases beside the path do not count.
pub fn critical_path(spans: &[Span], wall: Duration) -> BTreeMap<Option<Phase>, Duration> {
    let mut by_end: Vec<Span> = spans.iter().filter(|span| span.start < wall).copied().collect();
    by_end.sort_by_key(|span| span.end);
    let (mut path, mut going_on) = (BTreeMap::new(), Vec::<Span>::new());
    let mut now = wall;
    while !now.is_zero() {
        while let Some(span) = by_end.pop_if(|span| span.end >= now) {
            going_on.push(span);
        }
        going_on.retain(|span| span.start < now);
        let (phase, start) = match going_on.iter().min_by_key(|span| span.end) {
            Some(span) => (Some(span.phase), span.start),
            None => (None, by_end.last().map_or(Duration::ZERO, |span| span.end)),
        };
        *path.entry(phase).or_default() += now - start;
        now = start;
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn span(phase: Phase, start: u64, end: u64) -> Span {
        let [start, end] = [Duration::from_millis(start), Duration::from_millis(end)];
        Span { phase, start, end }
    }

    #[test]
    fn overlapping_spans_of_a_phase_count_once() {
        let span = |start, end| span(Phase::Execute, start, end);
        let spans = [span(5, 9), span(0, 3), span(2, 4), span(6, 7)];
        assert_eq!(total(&spans, Phase::Execute), Duration::from_millis(8));
        assert_eq!(total(&spans, Phase::Commit), Duration::ZERO);
    }

    /// The path of a trace, in milliseconds.
    fn path(spans: &[Span], wall: u64) -> Vec<(Option<Phase>, u128)> {
        let path = critical_path(spans, Duration::from_millis(wall));
        path.into_iter().map(|(phase, time)| (phase, time.as_millis())).collect()
    }

    #[test]
    fn phases_one_after_another_take_their_times_and_the_gaps_are_nobodys() {
        let spans = [
            span(Phase::Recover, 1, 25),
            span(Phase::Execute, 25, 30),
            span(Phase::Commit, 32, 40),
        ];
        let expected = [
            (None, 4),
            (Some(Phase::Recover), 24),
            (Some(Phase::Execute), 5),
            (Some(Phase::Commit), 8),
        ];
        assert_eq!(path(&spans, 41), expected);
        assert_eq!(path(&[], 41), [(None, 41)]);
    }

    #[test]
    fn work_beside_the_path_takes_none_of_it_and_the_last_of_several_threads_does() {
        // The root is planned and read beside execution, and folded after it.
        let beside = [
            span(Phase::Decode, 0, 10),
            span(Phase::Execute, 10, 100),
            span(Phase::Execute, 10, 70),
            span(Phase::RootPlan, 10, 20),
            span(Phase::RootRead, 20, 60),
            span(Phase::RootFold, 100, 130),
        ];
        let expected =
            [(Some(Phase::Decode), 10), (Some(Phase::Execute), 90), (Some(Phase::RootFold), 30)];
        assert_eq!(path(&beside, 130), expected);
        // Readers end late: execution waits for them, and the check of values for nobody.
        let waiting = [
            span(Phase::Prefetch, 0, 50),
            span(Phase::Prefetch, 0, 80),
            span(Phase::Execute, 80, 95),
            span(Phase::Verify, 0, 120),
            span(Phase::Verify, 0, 90),
            span(Phase::Commit, 120, 121),
        ];
        assert_eq!(path(&waiting, 121), [(Some(Phase::Verify), 120), (Some(Phase::Commit), 1)]);
        let unverified = [waiting[0], waiting[1], waiting[2]];
        assert_eq!(
            path(&unverified, 95),
            [(Some(Phase::Prefetch), 80), (Some(Phase::Execute), 15)]
        );
    }

    proptest! {
        #[test]
        fn a_path_adds_up_to_the_wall_time_and_no_phase_has_more_than_it_went_on(
            spans in proptest::collection::vec((0_usize..4, 0_u64..100, 0_u64..60), 0..40),
            wall in 0_u64..120,
        ) {
            let phases = [Phase::Decode, Phase::Execute, Phase::RootRead, Phase::Commit];
            let spans: Vec<_> =
                spans.iter().map(|(phase, start, time)| span(phases[*phase], *start, start + time)).collect();
            let path = critical_path(&spans, Duration::from_millis(wall));
            prop_assert_eq!(path.values().sum::<Duration>(), Duration::from_millis(wall));
            for (phase, time) in path {
                prop_assert!(phase.is_none_or(|phase| time <= total(&spans, phase)));
            }
        }
    }
}
