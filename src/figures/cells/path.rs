//! Divides a sample's wall time into parts along its critical path. The time of execution is
//! divided again, into reads and the rest.

use executor::{engine::Executed, span};
use result::PathNs;
use variant::Phase;

use super::numbers::{ns, ratio_or_zero};

/// Returns the parts of a sample's wall time, which add up to it.
pub(super) fn path(executed: &Executed) -> PathNs {
    let mut path = PathNs::default();
    for (phase, time) in span::critical_path(&executed.spans, executed.wall) {
        let part = match phase {
            Some(Phase::Execute) => {
                let reads = time.mul_f64(read_share(executed));
                path.reads += ns(reads);
                path.execution += ns(time.saturating_sub(reads));
                continue;
            }
            Some(Phase::Order | Phase::Prefetch | Phase::WarmUp) => &mut path.reads,
            Some(Phase::Recover) => &mut path.recovery,
            Some(Phase::RootPlan | Phase::RootRead | Phase::RootFold | Phase::RootJoin) => {
                &mut path.root
            }
            Some(
                Phase::Hash
                | Phase::Decode
                | Phase::Schedule
                | Phase::Verify
                | Phase::Build
                | Phase::Validate,
            ) => &mut path.list,
            Some(Phase::Commit | Phase::Sync | Phase::Settle) => &mut path.commit,
            Some(
                Phase::BlockDecode
                | Phase::Partition
                | Phase::ShardSend
                | Phase::ShardValues
                | Phase::ShardResults
                | Phase::Receipts
                | Phase::Header,
            )
            | None => &mut path.rest,
        };
        *part += ns(time);
    }
    path
}

/// Returns the share of the execution time in which executing threads waited for values, summed
/// over these threads. They wait for their own reads and for reads of other threads. The share is 0
/// for a store whose reads are not timed.
fn read_share(executed: &Executed) -> f64 {
    let reads = executed.on_demand.read_time_sum + executed.on_demand.wait;
    let steps = executed.step_times.iter().flatten().sum();
    let busy = span::total(&executed.spans, Phase::Execute).max(steps);
    ratio_or_zero(reads.as_secs_f64(), busy.as_secs_f64()).min(1.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use executor::span::Span;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A whole block whose phases follow one another from 0, with reads on demand.
    fn executed(phases: &[(Phase, u64)], reads: u64) -> Executed {
        let mut end = ms(0);
        let spans = phases.iter().map(|(phase, time)| {
            let start = end;
            end += ms(*time);
            Span { phase: *phase, start, end }
        });
        let spans = spans.collect();
        let mut executed = Executed { spans, wall: end + ms(1), ..Executed::default() };
        executed.on_demand.read_time_sum = ms(reads);
        executed
    }

    #[test]
    fn the_parts_of_a_whole_block_in_order_are_its_phases_and_its_reads() {
        let phases = [
            (Phase::BlockDecode, 2),
            (Phase::Recover, 24),
            (Phase::Execute, 15),
            (Phase::Receipts, 1),
            (Phase::RootPlan, 2),
            (Phase::RootRead, 20),
            (Phase::RootFold, 4),
            (Phase::Commit, 3),
            (Phase::Sync, 5),
        ];
        let expected = PathNs {
            reads: 10_000_000,
            execution: 5_000_000,
            recovery: 24_000_000,
            root: 26_000_000,
            list: 0,
            commit: 8_000_000,
            rest: 4_000_000,
        };
        assert_eq!(path(&executed(&phases, 10)), expected);
    }

    #[test]
    fn threads_that_execute_wait_each_for_itself_and_never_longer_than_they_run() {
        let mut two = executed(&[(Phase::Decode, 3), (Phase::Execute, 20)], 24);
        two.on_demand.wait = ms(6);
        two.step_times = vec![vec![ms(20), ms(12), ms(8)]];
        let PathNs { reads, execution, list, rest, .. } = path(&two);
        // Threads ran for 40 ms and waited for 30 of them.
        assert_eq!(
            [reads, execution, list, rest].map(|ns| ns / 1_000),
            [15_000, 5_000, 3_000, 1_000]
        );
        two.on_demand.wait = ms(60);
        assert_eq!((path(&two).reads, path(&two).execution), (20_000_000, 0));
    }
}
