//! Rounds of samples: which cells each has, and in which order.

use std::time::Duration;

use result::stats::INTERVAL_COUNT_MIN;
use variant::{BlockDuties, Design, StoreKind};

use super::cell::PlannedCell;

/// Selects the cells of each round. Rounds of all cells come first, so that their samples share the
/// same time. When such a round no longer fits, cells whose intervals need samples get them. Each
/// design's fastest whole cell on each store comes first, since these are compared. The fastest
/// cells of execution alone follow, then the others, whole before alone. Among cells of a kind the
/// faster design comes first.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Samples of each cell, where the user said so.
    pub sample_count: Option<u32>,
    /// Time to spend on rounds of all cells otherwise.
    pub budget: Duration,
}

/// Samples of a cell so far.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The cell.
    pub cell: PlannedCell,
    /// Their number.
    pub sample_count: usize,
    /// Time of the last of them, with the work before and after its clock: the next one takes about as long.
    pub last: Duration,
    /// Time of the fastest of them: a busy moment makes samples longer, never shorter.
    pub fastest: Duration,
}

impl Taken {
    /// `sample_count` samples that took `time` each.
    #[cfg(test)]
    pub const fn alike(cell: PlannedCell, sample_count: usize, time: Duration) -> Self {
        Self { cell, sample_count, last: time, fastest: time }
    }

    /// Time of the samples that are missing to `sample_count`.
    fn time_until(&self, sample_count: usize) -> Duration {
        let missing = sample_count.saturating_sub(self.sample_count);
        self.last * u32::try_from(missing).unwrap_or(u32::MAX)
    }

    /// The store and the design.
    const fn design(&self) -> (StoreKind, Design) {
        (self.cell.store, self.cell.variant.design)
    }

    const fn block_duties(&self) -> BlockDuties {
        self.cell.variant.block_duties
    }
}

impl Rounds {
    /// Indices of the cells of the next round after `done` rounds that took `spent`, ascending;
    /// none: the run is over. The first round has all cells, with any budget.
    pub fn next(&self, done: u32, spent: Duration, cells: &[Taken]) -> Vec<usize> {
        let whole: Duration = cells.iter().map(|cell| cell.last).sum();
        match self.sample_count {
            Some(count) if done >= count => Vec::new(),
            None if done > 0 && spent + whole > self.budget => self.without_interval(spent, cells),
            _ => (0..cells.len()).collect(),
        }
    }

    /// Time that the rounds still need after `spent`: the cells at `pending` of this round, and all
    /// later rounds, by each cell's last sample. A cell without one counts as average. `None` where
    /// no cell has a sample.
    pub fn left(&self, spent: Duration, pending: &[usize], cells: &[Taken]) -> Option<Duration> {
        let measured = cells.iter().filter(|cell| cell.sample_count > 0);
        let times: Vec<Duration> = measured.map(|cell| cell.last).collect();
        if times.is_empty() {
            // Rounds of all cells fill the budget.
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
        let mut left = take(&mut cells, pending);
        let whole: Duration = cells.iter().map(|cell| cell.last).sum();
        if !whole.is_zero() {
            let free = self.budget.saturating_sub(spent + left);
            let round_count = free.as_nanos() / whole.as_nanos();
            let round_count = u32::try_from(round_count).unwrap_or(u32::MAX);
            cells.iter_mut().for_each(|cell| cell.sample_count += round_count as usize);
            left += whole * round_count;
        }
        loop {
            let next = self.without_interval(spent + left, &cells);
            if next.is_empty() {
                return Some(left);
            }
            left += take(&mut cells, &next);
        }
    }

    /// Two and three quarters of the budget: rounds of all cells, and the intervals of the best. By default a run
    /// ends in three minutes, with its work before and after the samples.
    pub fn longest(&self) -> Duration {
        self.budget.saturating_mul(11) / 4
    }

    /// The longest time of a run whose round of all cells takes `round` without busy moments. After
    /// one such round, intervals get at least half a budget.
    pub fn longest_with(&self, round: Duration) -> Duration {
        self.longest().max(round.saturating_add(self.budget / 2))
    }

    /// The cells that lack samples for an interval and whose missing samples fit in
    /// [`Rounds::longest_with`].
    fn without_interval(&self, spent: Duration, cells: &[Taken]) -> Vec<usize> {
        let round: Duration = cells.iter().map(|cell| cell.fastest).sum();
        let mut left = self.longest_with(round).saturating_sub(spent);
        let mut indices: Vec<usize> = (0..cells.len()).collect();
        indices.sort_by_key(|&index| {
            let cell = &cells[index];
            let is_alone = cell.block_duties().is_none();
            (!is_best(index, cells), is_alone, fastest_of_design(cell, cells), cell.fastest)
        });
        indices.retain(|index| {
            let time = cells[*index].time_until(INTERVAL_COUNT_MIN);
            let fits = !time.is_zero() && time <= left;
            if fits {
                left -= time;
            }
            fits
        });
        indices.sort_unstable();
        indices
    }
}

/// Takes one sample more of each of `cells` at `indices`. Returns the time of these.
fn take(cells: &mut [Taken], indices: &[usize]) -> Duration {
    indices.iter().for_each(|index| cells[*index].sample_count += 1);
    indices.iter().map(|index| cells[*index].last).sum()
}

/// Time of the fastest sample of the store and design of `own`.
fn fastest_of_design(own: &Taken, cells: &[Taken]) -> Duration {
    let of_design = cells.iter().filter(|cell| cell.design() == own.design());
    of_design.map(|cell| cell.fastest).min().unwrap_or(own.fastest)
}

/// Whether no other cell of its store, design and duties has a faster sample than that at `index`.
fn is_best(index: usize, cells: &[Taken]) -> bool {
    let own = &cells[index];
    let rivals = cells.iter().enumerate().filter(|(_, cell)| {
        cell.design() == own.design() && cell.block_duties() == own.block_duties()
    });
    rivals.map(|(index, cell)| (cell.fastest, index)).min() == Some((own.fastest, index))
}

/// The order of a round's cells. Rounds come in pairs, a row and its reverse, so that steady drift
/// meets all cells of a pair alike. The rows form a Williams square. Over as many pairs as cells,
/// each cell has each position, and each neighbour, equally often. Two cells make ABBA BAAB. `coin`
/// selects the first row.
pub fn order(cell_count: usize, round: u32, coin: u64) -> Vec<usize> {
    let count = cell_count.max(1);
    let shift = (coin % count as u64) as usize + (round / 2) as usize;
    let row = (0..cell_count).map(|index| {
        // 0, 1, n - 1, 2, n - 2, …: no two neighbours are as far apart as two others.
        let zigzag = if index % 2 == 1 { index.div_ceil(2) } else { count - index / 2 };
        (zigzag + shift) % count
    });
    if round.is_multiple_of(2) { row.collect() } else { row.rev().collect() }
}
