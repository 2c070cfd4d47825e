//! Decides when the driving task may send the next transaction. The pace is a fixed rate (open
//! loop), a limit of transactions in flight (closed loop), or a depth of the pool. A fixed rate is
//! kept whatever the node does.

use std::time::Duration;

/// Pace of sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Number of transactions a second. All due times are planned before the first transaction is
    /// sent, so the latency of a late transaction includes its delay.
    Rate(f64),
    /// Maximum number of transactions in flight: released, and neither in a block nor refused for
    /// good.
    InFlight(u64),
    /// Wanted number of transactions in the node's pool. Below it, the window (the maximum number
    /// of transactions in flight) grows by steps. The window is halved if the pool is deeper or
    /// full, or if all connections wait for answers (additive increase, multiplicative decrease).
    PoolDepth(u64),
}

/// Window at the start, in transactions in flight.
const START_WINDOW: f64 = 16.0;
/// Number of equal steps from a window of 0 to the wanted depth.
const STEPS: f64 = 16.0;

/// Releases the transactions of a load in their order.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pace: Pace,
    total: usize,
    released: usize,
    /// Maximum number of transactions in flight; only [`Pace::PoolDepth`] uses it.
    window: f64,
    /// Whether the window was halved since the last block. It is halved once a block, since only
    /// blocks empty a pool.
    was_halved: bool,
    /// Whether [`Self::pool_was_full`] was called since the last sample of the pool.
    was_full: bool,
}

/// Depth of the pool and progress of the load, at a sample of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadProgress {
    /// Number of transactions in the node's pool, from all senders.
    pub(crate) depth: u64,
    /// Number of released transactions that are neither in a block nor refused for good.
    pub(crate) in_flight: u64,
    /// Whether every connection waits for an answer.
    pub(crate) all_wait: bool,
}

impl Release {
    pub(crate) const fn new(pace: Pace, total: usize) -> Self {
        Self { pace, total, released: 0, window: START_WINDOW, was_halved: false, was_full: false }
    }

    /// Releases the next transaction, if it is due at `now`. Returns its index and due time.
    /// `settled` is the number of transactions in blocks or refused for good.
    pub(crate) fn next(&mut self, now: Duration, settled: u64) -> Option<(usize, Duration)> {
        if self.released == self.total {
            return None;
        }
        let in_flight = (self.released as u64).saturating_sub(settled);
        let due = match self.pace {
            Pace::Rate(rate) => Some(due(self.released, rate)).filter(|due| *due <= now),
            Pace::InFlight(most) => (in_flight < most).then_some(now),
            Pace::PoolDepth(_) => ((in_flight as f64) < self.window).then_some(now),
        }?;
        self.released += 1;
        Some((self.released - 1, due))
    }

    /// Due time of the next transaction. `None` if all are released, or if the pace plans no times.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        match self.pace {
            Pace::Rate(rate) if self.released < self.total => Some(due(self.released, rate)),
            _ => None,
        }
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.released == self.total
    }

    /// Number of transactions released so far.
    pub(crate) const fn count(&self) -> u64 {
        self.released as u64
    }

    /// Notes a new block.
    pub(crate) const fn block_seen(&mut self) {
        self.was_halved = false;
    }

    /// Notes that the node refused a transaction until the next block: its pool is full, or the
    /// sender's pooled transactions use up its balance.
    pub(crate) const fn pool_was_full(&mut self) {
        self.was_full = true;
    }

    /// Adjusts the window after a sample of the pool.
    pub(crate) fn sampled(&mut self, progress: LoadProgress) {
        let Pace::PoolDepth(wanted) = self.pace else { return };
        let is_too_much = progress.depth > wanted || self.was_full || progress.all_wait;
        self.was_full = false;
        if is_too_much {
            if !self.was_halved {
                self.window = (self.window / 2.0).max(1.0);
                self.was_halved = true;
            }
        } else if progress.in_flight as f64 >= self.window * 0.9 {
            self.window += (wanted as f64 / STEPS).max(1.0);
        }
    }
}

/// Due time of the transaction at `index`, at `rate` transactions a second.
fn due(index: usize, rate: f64) -> Duration {
    Duration::from_secs_f64(index as f64 / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_whatever_is_settled_and_late_ones_keep_their_time() {
        let mut release = Release::new(Pace::Rate(10.0), 25);
        let at = |ms| Duration::from_millis(ms);
        assert_eq!(release.next(at(0), 0), Some((0, at(0))));
        assert_eq!(release.next(at(50), 0), None);
        assert_eq!(release.next_due(), Some(at(100)));
        let late: Vec<_> = std::iter::from_fn(|| release.next(at(1_000), 0)).collect();
        assert_eq!(late.len(), 10);
        assert_eq!(late[0], (1, at(100)), "its delay of 0.9 s counts");
        while release.next(at(10_000), 0).is_some() {}
        assert!(release.is_over() && release.count() == 25 && release.next_due().is_none());
    }

    #[test]
    fn a_closed_loop_has_no_more_in_flight_than_it_may() {
        let mut release = Release::new(Pace::InFlight(3), 10);
        let released = |release: &mut Release, settled| {
            std::iter::from_fn(|| release.next(Duration::ZERO, settled)).count()
        };
        assert_eq!(released(&mut release, 0), 3);
        assert_eq!(released(&mut release, 2), 2);
        assert_eq!(released(&mut release, 10), 5);
    }

    #[test]
    fn a_depth_is_approached_by_steps_and_left_by_halves_once_a_block() {
        let mut release = Release::new(Pace::PoolDepth(160), 1_000_000);
        let progress = |depth, in_flight| LoadProgress { depth, in_flight, all_wait: false };
        release.sampled(progress(10, 16));
        assert_eq!(release.window, 26.0);
        release.sampled(progress(10, 5));
        assert_eq!(release.window, 26.0, "the window limits nothing yet");
        release.sampled(progress(161, 26));
        release.sampled(progress(161, 26));
        assert_eq!(release.window, 13.0, "once before a block");
        release.block_seen();
        release.pool_was_full();
        release.sampled(progress(0, 13));
        assert_eq!(release.window, 6.5);
        release.block_seen();
        release.sampled(LoadProgress { all_wait: true, ..progress(0, 6) });
        assert_eq!(release.window, 3.25);
    }
}
