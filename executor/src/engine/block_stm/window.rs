//! The number of steps, from the lowest uncommitted one on, that may run: the distance of execution
//! from the commit. The farther a step is ahead, the more lower steps may still write keys that it
//! has read. So the distance follows the rate of aborted runs. After every 64 runs, it is halved if
//! at least a quarter of them were aborted, and doubled if at most one in 16 was.

/// The largest distance in steps; on a shard, the scheduler stretches the distance. Without shards,
/// it also limits the number of steps whose logs are kept at once.
pub(super) const MAX_DISTANCE: u32 = 256;
/// Number of runs in a period. The distance may change after each period.
const PERIOD: u32 = 64;
/// Largest value of [`Window::calm_periods_to_grow`].
const CALM_PERIODS_MAX: u32 = 256;

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RunEnd {
    /// The run was completed.
    Completed,
    /// The run was aborted: given up, or its reads have changed.
    Aborted,
}

/// The present distance, and the counts that decide its next change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Window {
    size: u32,
    run_count: u32,
    aborted_count: u32,
    /// Number of calm periods after which the distance grows from one step to two. A period is calm
    /// if at most one in 16 of its runs is aborted.
    calm_periods_to_grow: u32,
    calm_periods: u32,
}

impl Window {
    /// Makes the window of `worker_count` workers.
    pub(super) fn new(worker_count: usize) -> Self {
        let workers = u32::try_from(worker_count).unwrap_or(MAX_DISTANCE);
        let size = if workers == 1 { 1 } else { workers.saturating_mul(8).min(MAX_DISTANCE) };
        Self { size, run_count: 0, aborted_count: 0, calm_periods_to_grow: 1, calm_periods: 0 }
    }

    /// Returns the distance in steps; at least 1.
    pub(super) const fn size(&self) -> u32 {
        self.size
    }

    /// Counts a run.
    pub(super) fn note(&mut self, end: RunEnd) {
        self.run_count += 1;
        self.aborted_count += u32::from(end == RunEnd::Aborted);
        if self.run_count < PERIOD {
            return;
        }
        if self.aborted_count >= PERIOD / 4 {
            if self.size == 2 {
                self.calm_periods_to_grow = (self.calm_periods_to_grow * 2).min(CALM_PERIODS_MAX);
            }
            self.size = (self.size / 2).max(1);
            self.calm_periods = 0;
        } else if self.aborted_count <= PERIOD / 16 {
            self.grow();
        }
        (self.run_count, self.aborted_count) = (0, 0);
    }

    fn grow(&mut self) {
        self.calm_periods += 1;
        if self.size == 1 && self.calm_periods < self.calm_periods_to_grow {
            return;
        }
        if self.size >= 8 {
            self.calm_periods_to_grow = 1;
        }
        self.size = (self.size * 2).min(MAX_DISTANCE);
        self.calm_periods = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn periods(window: &mut Window, count: u32, end: RunEnd) {
        (0..count * PERIOD).for_each(|_| window.note(end));
    }

    #[test]
    fn the_window_shrinks_to_one_step_and_grows_to_its_bound() {
        let mut window = Window::new(2);
        periods(&mut window, 20, RunEnd::Aborted);
        assert_eq!(window.size(), 1);
        periods(&mut window, 20, RunEnd::Completed);
        assert_eq!(window.size(), MAX_DISTANCE);
    }

    #[test]
    fn one_step_at_a_time_lasts_longer_each_time_two_were_aborted() {
        let mut window = Window::new(2);
        periods(&mut window, 20, RunEnd::Aborted);
        let mut lasted = Vec::new();
        for _ in 0..4 {
            let mut calm = 0;
            while window.size() == 1 {
                periods(&mut window, 1, RunEnd::Completed);
                calm += 1;
            }
            lasted.push(calm);
            periods(&mut window, 1, RunEnd::Aborted);
        }
        assert!(lasted.is_sorted() && lasted[0] < lasted[3], "{lasted:?}");
    }
}
