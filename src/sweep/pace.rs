//! The time of the cells of a sweep: of those that were run, and by them of those that are left.

use std::time::Duration;

use report::units;

use crate::run::prepare::once::Once;

/// From this on the user is told that a part of a cell's time does not come again.
const TOLD: Duration = Duration::from_millis(100);

/// The time of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// All of it.
    pub wall: Duration,
    /// The part that cells after it need not take.
    pub once: Once,
}

/// `took 4.82 s, 4.04 s of it once for all cells, about 5.3 s left`: of the last cell of `took`, with
/// `left_count` cells and `end` after them.
pub fn words(took: &[Took], left_count: usize, end: Duration) -> String {
    let Some(last) = took.last() else { return String::new() };
    let mut words = format!("took {}", units::time(last.wall));
    let once = last.wall.saturating_sub(repeated(took.len() - 1, last));
    if once >= TOLD {
        words.push_str(&format!(", {} of it once for all cells", units::time(once)));
    }
    let left = left(took, left_count) + end;
    if !left.is_zero() {
        words.push_str(&format!(", about {} left", units::rough_time(left)));
    }
    words
}

/// The time of `left_count` further cells.
fn left(took: &[Took], left_count: usize) -> Duration {
    let all: Duration = took.iter().enumerate().map(|(nth, took)| repeated(nth, took)).sum();
    all * left_count as u32 / took.len().max(1) as u32
}

/// The time that a cell like the one at `nth` takes again. A state that the first one builds serves the
/// others; one that a later cell builds is of its own keys, as those of further cells may be.
fn repeated(nth: usize, Took { wall, once }: &Took) -> Duration {
    let building = if nth == 0 { once.building } else { Duration::ZERO };
    wall.saturating_sub(once.measuring + building)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(wall_ms: u64, building_ms: u64, measuring_ms: u64) -> Took {
        let ms = Duration::from_millis;
        let once = Once { building: ms(building_ms), measuring: ms(measuring_ms) };
        Took { wall: ms(wall_ms), once }
    }

    #[test]
    fn the_device_and_the_first_state_are_no_part_of_the_cells_that_are_left() {
        let words = words(&[took(9_820, 5_000, 4_040)], 3, Duration::from_secs(3));
        assert_eq!(words, "took 9.82 s, 9.04 s of it once for all cells, about 5.3 s left");
    }

    #[test]
    fn a_state_that_a_later_cell_builds_is_of_its_own() {
        let both = [took(3_000, 1_000, 1_000), took(3_000, 2_000, 0)];
        assert_eq!(words(&both, 2, Duration::ZERO), "took 3.00 s, about 4.0 s left");
    }

    #[test]
    fn the_last_cell_is_followed_by_the_end_alone() {
        let last = [took(800, 0, 0)];
        assert_eq!(words(&last, 0, Duration::from_secs(3)), "took 800 ms, about 3.0 s left");
        assert_eq!(words(&last, 0, Duration::ZERO), "took 800 ms");
    }
}
