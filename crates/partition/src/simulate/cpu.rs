//! The cores of a simulated host, which all running activities share equally. If more activities
//! run than the host has cores, each advances at the same fraction of a core's speed.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A point in time or an amount of work, in nanoseconds. Never a NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ns(pub(super) f64);

impl Eq for Ns {}

impl Ord for Ns {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ns {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A running activity. The activity that ends first is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Running<A> {
    /// End of the activity in the virtual time [`Cpu::done`], which is no clock time.
    end: Ns,
    /// Number of the activity in the order of starts.
    number: u64,
    actor: A,
}

impl<A: Eq> Ord for Running<A> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Among equal ends, the activity that started first comes first. So the simulation is
        // deterministic.
        (other.end, other.number).cmp(&(self.end, self.number))
    }
}

impl<A: Eq> PartialOrd for Running<A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The cores of a host.
#[derive(Clone, Debug)]
pub(super) struct Cpu<A> {
    core_count: f64,
    /// Virtual time: the work, in nanoseconds, that an activity would have done by `since` if it
    /// had run from the beginning.
    done: f64,
    /// Clock time at which `done` was last brought up to date.
    since: f64,
    started_count: u64,
    running: BinaryHeap<Running<A>>,
}

impl<A: Copy + Eq> Cpu<A> {
    pub(super) fn new(core_count: u32) -> Self {
        Self {
            core_count: f64::from(core_count.max(1)),
            done: 0.0,
            since: 0.0,
            started_count: 0,
            running: BinaryHeap::new(),
        }
    }

    /// Work that each running activity does in a unit of time.
    fn rate(&self) -> f64 {
        let running_count = self.running.len() as f64;
        if running_count <= self.core_count { 1.0 } else { self.core_count / running_count }
    }

    fn advance(&mut self, now: f64) {
        self.done += (now - self.since) * self.rate();
        self.since = now;
    }

    /// Begins an activity.
    pub(super) fn start(&mut self, now: f64, work: f64, actor: A) {
        self.advance(now);
        self.started_count += 1;
        let (end, number) = (Ns(self.done + work), self.started_count);
        self.running.push(Running { end, number, actor });
    }

    /// Clock time of the next end of an activity; `None` if no activity runs.
    pub(super) fn next_end(&self) -> Option<Ns> {
        let first = self.running.peek()?;
        Some(Ns(self.since + (first.end.0 - self.done).max(0.0) / self.rate()))
    }

    /// Ends the activity that ends next, and returns it. `now` must be [`Self::next_end`].
    pub(super) fn finish(&mut self, now: f64) -> Option<A> {
        let Running { end, actor, .. } = self.running.pop()?;
        // The activity has done all its work, even if rounding left a remainder.
        self.done = self.done.max(end.0);
        self.since = now;
        Some(actor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of activities that all start at 0.
    fn ends(core_count: u32, works: &[f64]) -> Vec<(usize, f64)> {
        let mut cpu = Cpu::new(core_count);
        works.iter().enumerate().for_each(|(actor, work)| cpu.start(0.0, *work, actor));
        std::iter::from_fn(|| {
            let Ns(now) = cpu.next_end()?;
            Some((cpu.finish(now)?, now))
        })
        .collect()
    }

    #[test]
    fn activities_share_the_cores_equally() {
        assert_eq!(ends(2, &[4.0, 6.0]), [(0, 4.0), (1, 6.0)]);
        assert_eq!(ends(1, &[4.0, 6.0]), [(0, 8.0), (1, 10.0)]);
        // Three on two cores, then two.
        assert_eq!(ends(2, &[6.0, 2.0, 6.0]), [(1, 3.0), (0, 7.0), (2, 7.0)]);
    }

    #[test]
    fn an_activity_that_comes_later_slows_those_that_run_from_then_on() {
        let mut cpu = Cpu::new(1);
        cpu.start(0.0, 4.0, 'a');
        cpu.start(2.0, 1.0, 'b');
        assert_eq!(cpu.next_end(), Some(Ns(4.0)));
        assert_eq!(cpu.finish(4.0), Some('b'));
        assert_eq!(cpu.next_end(), Some(Ns(5.0)));
    }
}
