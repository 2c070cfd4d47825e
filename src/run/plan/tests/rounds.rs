//! The order of a run's samples, and how many each cell gets.

use std::{num::NonZeroUsize, time::Duration};

use proptest::{collection::vec, prelude::*};
use variant::{BlockDuties, Design, StoreKind, Variant};

use crate::run::plan::{CellProgress, PlannedCell, Rounds, order};

#[test]
fn two_cells_alternate_in_octets() {
    let letters = |coin| -> String {
        let rounds = (0..4).flat_map(|round| order(2, round, coin));
        rounds.map(|cell| if cell == 0 { 'A' } else { 'B' }).collect()
    };
    assert_eq!((letters(0).as_str(), letters(1).as_str()), ("ABBABAAB", "BAABABBA"));
    assert_eq!(order(1, 7, 9), [0]);
    assert!(order(0, 1, 9).is_empty());
}

#[test]
fn cells_share_places_and_neighbours_evenly() {
    for count in 2..8_usize {
        let mut at = vec![vec![0; count]; count];
        let mut after = vec![vec![0; count]; count];
        for round in 0..2 * count as u32 {
            let order = order(count, round, 3);
            for (place, cell) in order.iter().enumerate() {
                at[place][*cell] += 1;
            }
            for pair in order.windows(2) {
                after[pair[0]][pair[1]] += 1;
            }
        }
        for cell in 0..count {
            assert!(at.iter().all(|cells| cells[cell] == 2), "{count}: {at:?}");
            let others = (0..count).filter(|other| *other != cell);
            assert!(others.into_iter().all(|other| after[cell][other] == 2), "{after:?}");
        }
    }
}

/// Cells of one design, each with its number of samples and their seconds.
fn taken(cells: &[(usize, u64)]) -> Vec<CellProgress> {
    cells.iter().map(|&(count, seconds)| taken_of(Design::BatchedIo, count, seconds)).collect()
}

fn taken_of(design: Design, sample_count: usize, seconds: u64) -> CellProgress {
    let variant = Variant::of(design, NonZeroUsize::MIN, NonZeroUsize::MIN);
    let cell = PlannedCell { store: StoreKind::Rocksdb, variant };
    CellProgress::alike(cell, sample_count, Duration::from_secs(seconds))
}

/// The same of a whole row.
fn whole_of(design: Design, sample_count: usize, seconds: u64) -> CellProgress {
    let mut taken = taken_of(design, sample_count, seconds);
    taken.cell.variant.block_duties = BlockDuties::all();
    taken
}

#[test]
fn the_first_round_has_all_cells_and_others_as_long_as_they_fit() {
    let second = Duration::from_secs(1);
    let budget = Rounds { sample_count: None, budget: 10 * second };
    assert_eq!(budget.next(0, Duration::ZERO, &taken(&[(0, 0), (0, 0)])), [0, 1]);
    let cells = taken(&[(8, 1), (8, 3)]);
    assert_eq!(budget.next(8, 6 * second, &cells), [0, 1]);
    assert!(budget.next(8, 7 * second, &cells).is_empty(), "both have an interval");
    let counted = Rounds { sample_count: Some(2), budget: second };
    assert_eq!(counted.next(1, 99 * second, &cells), [0, 1]);
    assert!(counted.next(2, Duration::ZERO, &cells).is_empty());
}

#[test]
fn the_fastest_cells_get_an_interval_in_two_and_three_quarters_of_the_budget() {
    let second = Duration::from_secs(1);
    let rounds = Rounds { sample_count: None, budget: 60 * second };
    // 25 s in order, 16 s, and three fast ones that need 5 samples more: 5 x (5 + 5 + 4) s of 165 - 55.
    let cells = taken(&[(1, 25), (1, 16), (1, 5), (1, 5), (1, 4)]);
    assert_eq!(rounds.next(1, 55 * second, &cells), [2, 3, 4]);
    let cells = taken(&[(1, 25), (1, 16), (5, 5), (5, 5), (5, 4)]);
    assert_eq!(rounds.next(5, 111 * second, &cells), [2, 3, 4]);
    let cells = taken(&[(1, 25), (1, 16), (6, 5), (6, 5), (6, 4)]);
    assert!(rounds.next(6, 125 * second, &cells).is_empty(), "80 s do not fit in 40");
    assert!(rounds.next(1, 140 * second, &taken(&[(1, 79), (1, 15)])).is_empty());
    // A round of 150 s leaves half a budget for intervals.
    assert_eq!(rounds.next(1, 150 * second, &taken(&[(1, 110), (1, 34), (1, 6)])), [2]);
    assert!(rounds.next(1, 150 * second, &taken(&[(1, 110), (1, 33), (1, 7)])).is_empty());
}

#[test]
fn the_best_cell_of_each_design_comes_before_the_second_of_another() {
    let rounds = Rounds { sample_count: None, budget: Duration::from_secs(60) };
    let cells = [
        taken_of(Design::Sequential, 1, 26),
        taken_of(Design::ParallelIo, 1, 17),
        taken_of(Design::ParallelIo, 1, 8),
        taken_of(Design::BatchedIo, 1, 7),
        taken_of(Design::BatchedIo, 1, 6),
    ];
    // 84 s are left: 5 x 6 and 5 x 8 fit, then 5 x 7 does not.
    assert_eq!(rounds.next(1, Duration::from_secs(81), &cells), [2, 4]);
    assert_eq!(rounds.next(1, Duration::from_secs(60), &cells), [2, 3, 4]);
    // A setting that one design cannot use is another's.
    assert_eq!(rounds.next(1, Duration::from_secs(127), &cells), [4]);
}

#[test]
fn whole_cells_come_before_those_of_execution_alone_since_they_are_compared() {
    let rounds = Rounds { sample_count: None, budget: Duration::from_secs(60) };
    let cells = [
        whole_of(Design::Sequential, 1, 12),
        taken_of(Design::Sequential, 1, 13),
        whole_of(Design::ParallelIo, 1, 4),
        taken_of(Design::ParallelIo, 1, 4),
        whole_of(Design::BatchedIo, 1, 3),
        taken_of(Design::BatchedIo, 1, 3),
    ];
    // 120 s are left: 5 x (3 + 4 + 12) fit, and the fastest alone.
    assert_eq!(rounds.next(1, Duration::from_secs(45), &cells), [0, 2, 4, 5]);
    // 94 s are left: in order does not fit any more, and the fastest alone does.
    assert_eq!(rounds.next(1, Duration::from_secs(71), &cells), [2, 3, 4, 5]);
    assert_eq!(rounds.next(1, Duration::from_secs(150), &cells), [4]);
}

#[test]
fn a_slow_sample_leaves_a_cell_as_fast_as_it_was() {
    let rounds = Rounds { sample_count: None, budget: Duration::from_secs(60) };
    let mut cells = [taken_of(Design::ParallelIo, 2, 7), taken_of(Design::BatchedIo, 2, 6)];
    cells[1].last = Duration::from_secs(12);
    // 59 s are left: 4 x 12 fit, and then nothing more. By last samples on demand is the faster one.
    assert_eq!(rounds.next(2, Duration::from_secs(106), &cells), [1]);
    // The best of two rows is not the one whose last sample was faster.
    let mut cells = [taken_of(Design::BatchedIo, 2, 6), taken_of(Design::BatchedIo, 2, 9)];
    cells[0].last = Duration::from_secs(12);
    assert_eq!(rounds.next(2, Duration::from_secs(112), &cells), [0], "53 s are left for 4 x 12");
}

#[test]
fn the_time_left_is_that_of_the_rounds_that_come() {
    let second = Duration::from_secs(1);
    let counted = Rounds { sample_count: Some(6), budget: second };
    assert_eq!(counted.time_left(Duration::ZERO, &[0, 1], &taken(&[(0, 0), (0, 0)])), None);
    // A cell without a sample counts with the time of the others.
    let cells = taken(&[(1, 4), (1, 2), (0, 0)]);
    assert_eq!(counted.time_left(6 * second, &[2], &cells), Some((5 * 4 + 5 * 2 + 6 * 3) * second));
    let budget = Rounds { sample_count: None, budget: 60 * second };
    let none = taken(&[(0, 0), (0, 0)]);
    assert_eq!(budget.time_left(Duration::ZERO, &[0, 1], &none), Some(60 * second));
    // 7 s are spent and 5 s of the round left. Then 4 rounds of 12 s fill the budget exactly, and
    // the interval of the first one needs a sample more.
    let cells = taken(&[(1, 7), (1, 5)]);
    assert_eq!(budget.time_left(7 * second, &[1], &cells), Some((5 + 48 + 7) * second));
    // No round of all fits: the interval of the fast one does, in five samples.
    let cells = taken(&[(1, 50), (1, 5)]);
    assert_eq!(budget.time_left(55 * second, &[], &cells), Some(25 * second));
    assert_eq!(
        budget.time_left(56 * second, &[], &taken(&[(6, 50), (6, 5)])),
        Some(Duration::ZERO)
    );
}

proptest! {
    /// Before any round and any cell of it the time left is that of all samples that follow.
    #[test]
    fn the_time_left_comes_true_where_cells_take_as_long_as_before(
        seconds in vec(1..100_u64, 1..6), budget in 1..400_u64, count in 0..20_u32,
    ) {
        let sample_count = Some(count).filter(|count| *count > 0);
        let rounds = Rounds { sample_count, budget: Duration::from_secs(budget) };
        let mut cells: Vec<(usize, u64)> = seconds.iter().map(|s| (0, *s)).collect();
        let (mut spent, mut said) = (0, Vec::new());
        for round in 0.. {
            let next = rounds.next(round, Duration::from_secs(spent), &taken(&cells));
            if next.is_empty() {
                break;
            }
            for (at, index) in next.iter().enumerate() {
                if round > 0 {
                    let now = Duration::from_secs(spent);
                    let left = rounds.time_left(now, &next[at..], &taken(&cells)).expect("is known");
                    said.push((spent, left.as_secs()));
                }
                cells[*index].0 += 1;
                spent += cells[*index].1;
            }
        }
        for (at, left) in said {
            prop_assert_eq!(at + left, spent);
        }
    }

    /// A run ends for cells of any length. It takes two and three quarters of the budget, or half a
    /// budget after a first round that takes longer.
    #[test]
    fn a_run_ends_after_its_longest_time_or_half_a_budget_after_a_round(
        seconds in vec(0..100_u64, 1..6), budget in 1..100_u64,
    ) {
        let seconds: Vec<u64> = seconds.into_iter().map(|s| s + 1).collect();
        let rounds = Rounds { sample_count: None, budget: Duration::from_secs(budget) };
        let mut cells: Vec<(usize, u64)> = seconds.iter().map(|s| (0, *s)).collect();
        let (mut done, mut spent) = (0, 0);
        loop {
            let next = rounds.next(done, Duration::from_secs(spent), &taken(&cells));
            if next.is_empty() {
                break;
            }
            for index in next {
                cells[index].0 += 1;
                spent += cells[index].1;
            }
            done += 1;
        }
        prop_assert!(done >= 1);
        let (round, budget) =
            (Duration::from_secs(seconds.iter().sum()), Duration::from_secs(budget));
        let most = (budget * 11 / 4).max(round + budget / 2);
        prop_assert!(Duration::from_secs(spent) <= most);
    }
}
