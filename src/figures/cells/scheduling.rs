//! How well a sample used its threads: the time of its steps, compared with the time of all
//! threads. A step's time includes reads and waits and, with more threads than cores, time without
//! a core.

use std::time::Duration;

use executor::{engine::Executed, schedule, span};
use variant::{Phase, Variant};

use super::numbers::ratio;

/// Figures of one sample. Batches follow one another, so their times add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scheduling {
    /// Time in which executing threads were idle, summed over the threads.
    pub(super) idle: Option<Duration>,
    /// `idle` as a share of the threads' time.
    pub(super) idle_share: Option<f64>,
    /// Scheduling quality (T − A) / (T − L): T is the time of all transactions, A the makespan, L
    /// the time of the longest transaction, summed over the batches. `None` on one thread.
    pub(super) quality: Option<f64>,
    /// Makespan if each free thread takes the next step in block order, with the measured times.
    pub(super) makespan_block_order: Option<Duration>,
    /// Makespan if each free thread takes the longest step left, with the measured times.
    pub(super) makespan_longest_first: Option<Duration>,
}

impl Scheduling {
    /// Computes the figures. All are `None` for an engine without times of steps, and with fibers:
    /// the time of a step then includes steps of other fibers.
    pub(super) fn of(variant: &Variant, executed: &Executed) -> Self {
        if executed.step_times.is_empty() || variant.fiber_count > 1 {
            return Self::default();
        }
        let threads = variant.executor_count().max(1);
        let makespan = span::total(&executed.spans, Phase::Execute);
        let capacity = makespan * u32::try_from(threads).unwrap_or(u32::MAX);
        let busy: Duration = executed.step_times.iter().flatten().sum();
        let idle = capacity.saturating_sub(busy);
        let batches = &executed.step_times;
        let in_order =
            batches.iter().map(|times| schedule::makespan(times.iter().copied(), threads)).sum();
        let longest_first =
            batches.iter().map(|times| schedule::makespan_longest_first(times, threads)).sum();
        let (total, longest) = (executed.tx_latencies.total(), executed.longest_txs);
        Self {
            idle: Some(idle),
            idle_share: ratio(idle.as_secs_f64(), capacity.as_secs_f64()),
            quality: schedule::quality(total, longest, makespan).filter(|_| threads > 1),
            makespan_block_order: Some(in_order),
            makespan_longest_first: Some(longest_first),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use executor::span::Span;
    use variant::Design;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A batch of two system steps and three transactions, in `makespan`.
    fn executed(makespan: u64) -> Executed {
        let mut executed = Executed {
            step_times: vec![vec![ms(1), ms(2), ms(2), ms(6), ms(1)]],
            longest_txs: ms(6),
            spans: vec![Span { phase: Phase::Execute, start: ms(3), end: ms(3 + makespan) }],
            ..Executed::default()
        };
        for time in [2, 2, 6] {
            executed.tx_latencies.record(ms(time));
        }
        executed
    }

    fn of(threads: usize, makespan: u64) -> Scheduling {
        let count = |n| NonZeroUsize::new(n).unwrap();
        let variant = Variant::of(Design::ParallelIo, count(threads), NonZeroUsize::MIN);
        Scheduling::of(&variant, &executed(makespan))
    }

    #[test]
    fn quality_and_idle_time_follow_from_the_times_of_the_steps() {
        let found = of(2, 8);
        // (10 - 8) / (10 - 6); two threads had 16 ms and were busy for 12.
        assert_eq!((found.quality, found.idle), (Some(0.5), Some(ms(4))));
        assert_eq!(found.idle_share, Some(0.25));
        // In order: 2+6 beside 1+2+1; longest first: 6 beside 2+2+1+1.
        assert_eq!(found.makespan_block_order, Some(ms(8)));
        assert_eq!(found.makespan_longest_first, Some(ms(6)));
    }

    #[test]
    fn one_thread_has_no_quality_and_an_engine_without_steps_no_figure() {
        let found = of(1, 12);
        assert_eq!((found.quality, found.idle), (None, Some(Duration::ZERO)));
        assert_eq!(found.makespan_block_order, Some(ms(12)));
        let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
        let without = Executed { step_times: Vec::new(), ..executed(12) };
        assert_eq!(Scheduling::of(&variant, &without), Scheduling::default());
    }
}
