//! Estimates the time of a sweep's cells, for `running`. Before the first cell, [`Estimate`] adds
//! up the budgets of all cells. After each cell, [`took_in_words`] estimates the time left from the
//! times of the finished cells.

use std::{collections::BTreeMap, ops::ControlFlow, time::Duration};

use report::units;
use result::sweep::Matrix;
use spec::RunSpec;

use super::matrix;
use crate::{
    run::{
        plan::Rounds,
        prepare::{Request, Source, shared_time::SharedTime},
    },
    terminal::Failure,
};

/// Minimal sum of budgets that is printed before the first cell.
const LONG: Duration = Duration::from_secs(60);
/// Minimal reported time of work that a cell does for later cells, such as building a state.
const REPORTED_MIN: Duration = Duration::from_millis(100);
/// Keys of a scenario that limit the samples of a run. Cells with equal values share an estimate,
/// as no other key changes these limits.
const LIMITS: [&str; 2] = ["run.budget", "run.samples"];

/// The maximal time of some cells by their budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of cells with a budget.
    budgeted_count: u64,
    /// Maximal time of the samples of these cells.
    longest: Duration,
    /// Number of cells with a number of samples instead. Their time is unknown until one has ended.
    sample_limited_count: u64,
}

impl Estimate {
    /// Estimates `cells` of `matrix`. `None` if `answer`, which is asked before each cell, breaks.
    ///
    /// # Errors
    /// The scenario is no longer valid.
    pub fn from_cells(
        matrix: &Matrix,
        cells: &[u64],
        answer: impl Fn() -> ControlFlow<()>,
    ) -> Result<Option<Self>, Failure> {
        Self::from_limits(matrix, cells, rounds, answer)
    }

    /// Estimates `cells` as [`Self::from_cells`] does. `read` reads the limits of a cell's
    /// scenario, once for all cells with equal limits.
    fn from_limits(
        matrix: &Matrix,
        cells: &[u64],
        mut read: impl FnMut(&Source) -> Result<Rounds, Failure>,
        answer: impl Fn() -> ControlFlow<()>,
    ) -> Result<Option<Self>, Failure> {
        let mut known: BTreeMap<Vec<&str>, Rounds> = BTreeMap::new();
        let mut estimate = Self::default();
        for index in cells {
            if answer().is_break() {
                return Ok(None);
            }
            let limits = limits(matrix, *index);
            let rounds = match known.get(&limits) {
                Some(rounds) => *rounds,
                None => {
                    let rounds = read(&matrix::source(matrix, *index))?;
                    known.insert(limits, rounds);
                    rounds
                }
            };
            estimate.add(&rounds);
        }
        Ok(Some(estimate))
    }

    fn add(&mut self, rounds: &Rounds) {
        match rounds.sample_count {
            Some(_) => self.sample_limited_count += 1,
            None => {
                self.budgeted_count += 1;
                self.longest = self.longest.saturating_add(rounds.longest());
            }
        }
    }

    /// Formats the estimate. `None` if there is nothing to tell: short budgets, or one cell without
    /// a budget.
    pub fn words(&self) -> Option<String> {
        let Self { budgeted_count, longest, sample_limited_count } = *self;
        let all = units::things(budgeted_count + sample_limited_count, "cell");
        let later = "the first of them shows how long they take";
        let minutes = (longest.as_secs_f64() / 60.0).ceil();
        let by_budget = format!("take up to {minutes:.0} min by their budgets");
        let building = "state databases that are missing are built beside that";
        match (longest >= LONG, sample_limited_count) {
            (false, 0) => None,
            (true, 0) => Some(format!("samples of {all} {by_budget}; {building}")),
            (_, 1) if budgeted_count == 0 => None,
            (_, _) if budgeted_count == 0 => {
                Some(format!("{all} have a number of samples, not a budget; {later}"))
            }
            _ => Some(format!(
                "samples of {budgeted_count} of {all} {by_budget}; {building}; {sample_limited_count} have a \
                 number of samples: {later}"
            )),
        }
    }
}

/// Reads the limits of a scenario.
fn rounds(source: &Source) -> Result<Rounds, Failure> {
    let RunSpec { sample_count, budget, .. } = Request::run_of(source, &[])?;
    Ok(Rounds { sample_count, budget })
}

/// Returns the values that the axes give to [`LIMITS`] in a cell. Limits that are not on an axis
/// are equal in all cells.
fn limits(matrix: &Matrix, index: u64) -> Vec<&str> {
    let values = matrix.axes.iter().zip(matrix.values(index));
    values.filter(|(axis, _)| LIMITS.contains(&&*axis.key)).map(|(_, value)| value).collect()
}

/// The measured time of a cell.
#[derive(Clone, Copy, Debug)]
pub struct CellTime {
    /// The whole time.
    pub wall: Duration,
    /// The part of the time for work that later cells share.
    pub once: SharedTime,
}

/// Formats the time of the last of the finished `cells`, its part for work that later cells share,
/// and the time left. `remaining_count` cells remain, and after them a measurement that takes
/// `end`.
pub fn took_in_words(cells: &[CellTime], remaining_count: usize, end: Duration) -> String {
    let Some(last) = cells.last() else { return String::new() };
    let mut words = format!("took {}", units::time(last.wall));
    let once = last.wall.saturating_sub(repeated(cells.len() - 1, last));
    if once >= REPORTED_MIN {
        words.push_str(&format!(", {} of it once for all cells", units::time(once)));
    }
    let all: Duration = cells.iter().enumerate().map(|(nth, cell)| repeated(nth, cell)).sum();
    let time_left = all * remaining_count as u32 / cells.len() as u32 + end;
    if !time_left.is_zero() {
        words.push_str(&format!(", about {} left", units::rough_time(time_left)));
    }
    words
}

/// Returns the part of a cell's time that further cells are expected to take, too. `nth`: index
/// among the finished cells. Later cells use the state that the first cell has built. If a later
/// cell builds a state, its keys need another one, and so may those of further cells.
fn repeated(nth: usize, CellTime { wall, once }: &CellTime) -> Duration {
    let building = if nth == 0 { once.building } else { Duration::ZERO };
    wall.saturating_sub(once.measuring + building)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{run::prepare::Size, sweep::matrix::MatrixInput};

    fn matrix(axes: &[&str], size: Size) -> Matrix {
        let axis = |text: &&str| matrix::axis(text, |_, _| Ok(None)).expect("an axis");
        let axes = axes.iter().map(axis).collect();
        let input =
            MatrixInput { scenario: "sload-storm".to_owned(), size, fixed: Vec::new(), axes };
        matrix::from_input(input).unwrap_or_else(|failure| panic!("{failure}"))
    }

    fn all(matrix: &Matrix) -> Vec<u64> {
        (0..matrix.cell_count).collect()
    }

    fn of(axes: &[&str]) -> Estimate {
        let matrix = matrix(axes, Size::Quick);
        let estimate = Estimate::from_cells(&matrix, &all(&matrix), || ControlFlow::Continue(()));
        estimate.unwrap_or_else(|failure| panic!("{failure}")).expect("nobody interrupts")
    }

    #[test]
    fn a_scenario_is_read_once_for_all_cells_of_one_budget_and_the_sum_is_that_of_single_cells() {
        for (axes, read_count) in [
            (&["run.threads=1,2,3,4,5,6,7,8,9", "block.gas=3M,4M,5M"][..], 1),
            (&["run.budget=20s,30s,40s", "run.threads=1,2,3,4"], 3),
            (&["run.threads=1,2", "run.samples=6,7", "seed=1,2,3"], 2),
        ] {
            for size in [Size::Stated, Size::Quick] {
                let matrix = matrix(axes, size);
                let read = Cell::new(0);
                let of_cells = |cells: &[u64]| {
                    let limits = |source: &Source| {
                        read.set(read.get() + 1);
                        rounds(source)
                    };
                    let estimate =
                        Estimate::from_limits(&matrix, cells, limits, || ControlFlow::Continue(()));
                    estimate.unwrap_or_else(|failure| panic!("{failure}")).expect("an estimate")
                };
                let together = of_cells(&all(&matrix));
                assert_eq!(read.get(), read_count, "{axes:?}");
                let mut sum = Estimate::default();
                for index in all(&matrix) {
                    let cell = of_cells(&[index]);
                    sum.budgeted_count += cell.budgeted_count;
                    sum.longest += cell.longest;
                    sum.sample_limited_count += cell.sample_limited_count;
                }
                assert_eq!(together, sum, "{axes:?}");
            }
        }
    }

    #[test]
    fn an_interrupt_ends_the_estimate_before_the_next_cell() {
        let matrix = matrix(&["run.budget=20s,30s,40s"], Size::Quick);
        let (asked, read) = (Cell::new(0), Cell::new(0));
        let answer = || {
            asked.set(asked.get() + 1);
            if asked.get() > 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let limits = |_: &Source| {
            read.set(read.get() + 1);
            Ok(Rounds { sample_count: None, budget: LONG })
        };
        let estimate = Estimate::from_limits(&matrix, &all(&matrix), limits, answer);
        assert!(estimate.is_ok_and(|estimate| estimate.is_none()));
        assert_eq!(read.get(), 2);
    }

    #[test]
    fn budgets_are_told_before_the_first_cell_also_beside_cells_with_a_number_of_samples() {
        let words = |axes: &[&str]| of(axes).words();
        let of_budgets = words(&["run.budget=60s,61s"]).expect("long");
        assert!(of_budgets.starts_with("samples of 2 cells take up to 6 min"), "{of_budgets}");
        assert_eq!(words(&["run.budget=1s,2s"]), None);
        let of_samples = words(&["run.samples=9,10,11"]).expect("several");
        assert_eq!(
            of_samples,
            "3 cells have a number of samples, not a budget; the first of them shows how long they take"
        );
        assert_eq!(words(&["run.samples=9"]), None, "one cell shows nothing about another");
        let mixed = Estimate { budgeted_count: 2, longest: 2 * LONG, sample_limited_count: 3 };
        let mixed = mixed.words().expect("long");
        assert!(mixed.starts_with("samples of 2 of 5 cells take up to 2 min"), "{mixed}");
        assert!(mixed.contains("3 have a number of samples: the first"), "{mixed}");
    }

    fn took(wall_ms: u64, building_ms: u64, measuring_ms: u64) -> CellTime {
        let ms = Duration::from_millis;
        let once = SharedTime { building: ms(building_ms), measuring: ms(measuring_ms) };
        CellTime { wall: ms(wall_ms), once }
    }

    #[test]
    fn the_device_and_the_first_state_are_no_part_of_the_cells_that_are_left() {
        let words = took_in_words(&[took(9_820, 5_000, 4_040)], 3, Duration::from_secs(3));
        assert_eq!(words, "took 9.82 s, 9.04 s of it once for all cells, about 5.3 s left");
    }

    #[test]
    fn a_state_that_a_later_cell_builds_is_of_its_own() {
        let both = [took(3_000, 1_000, 1_000), took(3_000, 2_000, 0)];
        assert_eq!(took_in_words(&both, 2, Duration::ZERO), "took 3.00 s, about 4.0 s left");
    }

    #[test]
    fn the_last_cell_is_followed_by_the_end_alone() {
        let last = [took(800, 0, 0)];
        assert_eq!(
            took_in_words(&last, 0, Duration::from_secs(3)),
            "took 800 ms, about 3.0 s left"
        );
        assert_eq!(took_in_words(&last, 0, Duration::ZERO), "took 800 ms");
    }
}
