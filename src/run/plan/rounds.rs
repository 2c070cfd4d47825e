//! Rounds of samples: the cells of each round, and their order.

use std::time::Duration;

use result::stats::INTERVAL_COUNT_MIN;
use variant::{BlockDuties, Design, StoreKind};

use super::cell::PlannedCell;

/// Selects the cells of each round. At first a round has all cells, so that the samples of all
/// cells are of the same minutes. When such a round no longer fits into the budget, only cells that
/// lack samples for an interval get more. Their order is:
/// 1. Each design's fastest whole cell on each store, as these cells are compared.
/// 2. Each design's fastest cell of execution alone on each store.
/// 3. The other whole cells, and then the other cells of execution alone.
///
/// Within each of these groups the faster design comes first.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Number of samples of each cell, if the user gives it.
    pub sample_count: Option<u32>,
    /// Time for rounds of all cells, if the user gives no number of samples.
    pub budget: Duration,
}

/// The samples of a cell so far.
#[derive(Clone, Copy, Debug)]
pub struct CellProgress {
    pub cell: PlannedCell,
    /// Number of samples.
    pub sample_count: usize,
    /// Time of the last sample, with the work before and after its clock. The next sample takes
    /// about as long.
    pub last: Duration,
    /// Time of the fastest sample. A busy moment makes samples longer, never shorter.
    pub fastest: Duration,
}

impl CellProgress {
    /// Makes the progress of `cell` after `sample_count` samples that took `time` each.
    pub const fn alike(cell: PlannedCell, sample_count: usize, time: Duration) -> Self {
        Self { cell, sample_count, last: time, fastest: time }
    }

    /// Returns the time of the samples that are missing to `sample_count`.
    fn time_until(&self, sample_count: usize) -> Duration {
        let missing = sample_count.saturating_sub(self.sample_count);
        self.last * u32::try_from(missing).unwrap_or(u32::MAX)
    }

    /// Returns the store and the design.
    const fn design(&self) -> (StoreKind, Design) {
        (self.cell.store, self.cell.variant.design)
    }

    const fn block_duties(&self) -> BlockDuties {
        self.cell.variant.block_duties
    }
}

impl Rounds {
    /// Returns the ascending indices of the next round's cells, after `done` rounds that took
    /// `spent`. Empty if the run is over. The first round has all cells, with any budget.
    pub fn next(&self, done: u32, spent: Duration, cells: &[CellProgress]) -> Vec<usize> {
        let round_time: Duration = cells.iter().map(|cell| cell.last).sum();
        match self.sample_count {
            Some(count) if done >= count => Vec::new(),
            None if done > 0 && spent + round_time > self.budget => {
                self.lacking_interval(spent, cells)
            }
            _ => (0..cells.len()).collect(),
        }
    }

    /// Returns the time of the remaining rounds after `spent`: the cells at `pending` of this
    /// round, and all later rounds. Each cell is estimated by its last sample. A cell without a
    /// sample counts as average. `None` if no cell has a sample and the number of samples is given.
    pub fn time_left(
        &self,
        spent: Duration,
        pending: &[usize],
        cells: &[CellProgress],
    ) -> Option<Duration> {
        let measured = cells.iter().filter(|cell| cell.sample_count > 0);
        let times: Vec<Duration> = measured.map(|cell| cell.last).collect();
        if times.is_empty() {
            // Without a given number of samples, rounds of all cells fill the budget.
            return self.sample_count.is_none().then_some(self.budget.saturating_sub(spent));
        }
        let count = u32::try_from(times.len()).unwrap_or(u32::MAX);
        let average = times.iter().sum::<Duration>() / count;
        let mut cells = cells.to_vec();
        for cell in cells.iter_mut().filter(|cell| cell.sample_count == 0) {
            (cell.last, cell.fastest) = (average, average);
        }
        if let Some(count) = self.sample_count {
            return Some(cells.iter().map(|cell| cell.time_until(count as usize)).sum());
        }
        let mut left = add_samples(&mut cells, pending);
        let round_time: Duration = cells.iter().map(|cell| cell.last).sum();
        if !round_time.is_zero() {
            let free = self.budget.saturating_sub(spent + left);
            let round_count = free.as_nanos() / round_time.as_nanos();
            let round_count = u32::try_from(round_count).unwrap_or(u32::MAX);
            cells.iter_mut().for_each(|cell| cell.sample_count += round_count as usize);
            left += round_time * round_count;
        }
        loop {
            let next = self.lacking_interval(spent + left, &cells);
            if next.is_empty() {
                return Some(left);
            }
            left += add_samples(&mut cells, &next);
        }
    }

    /// Returns 2¾ budgets: time for rounds of all cells, and for the intervals of the best cells.
    /// With the default budget of 60 s a run ends within three minutes, with its work before and
    /// after the samples.
    pub fn longest(&self) -> Duration {
        self.budget.saturating_mul(11) / 4
    }

    /// Returns the maximal time of a run whose round of all cells takes `round` without busy
    /// moments. After one such round, at least half a budget is left for intervals.
    pub fn longest_with(&self, round: Duration) -> Duration {
        self.longest().max(round.saturating_add(self.budget / 2))
    }

    /// Returns the ascending indices of the cells that lack samples for an interval. They are
    /// chosen in the order of [`Rounds`], while their missing samples fit in
    /// [`Rounds::longest_with`].
    fn lacking_interval(&self, spent: Duration, cells: &[CellProgress]) -> Vec<usize> {
        let round: Duration = cells.iter().map(|cell| cell.fastest).sum();
        let mut free = self.longest_with(round).saturating_sub(spent);
        let mut indices: Vec<usize> = (0..cells.len()).collect();
        indices.sort_by_key(|&index| {
            let cell = &cells[index];
            let is_alone = cell.block_duties().is_none();
            (!is_best(index, cells), is_alone, fastest_of_design(cell, cells), cell.fastest)
        });
        indices.retain(|index| {
            let time = cells[*index].time_until(INTERVAL_COUNT_MIN);
            let fits = !time.is_zero() && time <= free;
            if fits {
                free -= time;
            }
            fits
        });
        indices.sort_unstable();
        indices
    }
}

/// Takes one more sample of each of `cells` at `indices`. Returns the time of these samples.
fn add_samples(cells: &mut [CellProgress], indices: &[usize]) -> Duration {
    indices.iter().for_each(|index| cells[*index].sample_count += 1);
    indices.iter().map(|index| cells[*index].last).sum()
}

/// Returns the time of the fastest sample of the store and design of `own`.
fn fastest_of_design(own: &CellProgress, cells: &[CellProgress]) -> Duration {
    let of_design = cells.iter().filter(|cell| cell.design() == own.design());
    of_design.map(|cell| cell.fastest).min().unwrap_or(own.fastest)
}

/// Whether the cell at `index` has the fastest sample of all cells with its store, design and
/// duties.
fn is_best(index: usize, cells: &[CellProgress]) -> bool {
    let own = &cells[index];
    let rivals = cells.iter().enumerate().filter(|(_, cell)| {
        cell.design() == own.design() && cell.block_duties() == own.block_duties()
    });
    rivals.map(|(index, cell)| (cell.fastest, index)).min() == Some((own.fastest, index))
}

/// Returns the order of a round's cells. Rounds come in pairs: a row of cells and its reverse, so
/// that steady drift affects all cells of a pair alike. The rows form a Williams square. Over a
/// number of pairs equal to the number of cells, each cell has each position, and each neighbour,
/// equally often. Two cells make ABBA BAAB. `coin` selects the first row.
pub fn order(cell_count: usize, round: u32, coin: u64) -> Vec<usize> {
    let count = cell_count.max(1);
    let shift = (coin % count as u64) as usize + (round / 2) as usize;
    let row = (0..cell_count).map(|index| {
        // 0, 1, n - 1, 2, n - 2, …: each distance between neighbours occurs once.
        let zigzag = if index % 2 == 1 { index.div_ceil(2) } else { count - index / 2 };
        (zigzag + shift) % count
    });
    if round.is_multiple_of(2) { row.collect() } else { row.rev().collect() }
}
