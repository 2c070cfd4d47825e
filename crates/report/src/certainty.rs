//! Finds the differences between designs that a run shows, and the number of samples that would
//! show the others. It names no winner where intervals overlap, or from one sample. Answers, and
//! marks of tables and charts, follow it.

use result::{
    Cell, Estimate,
    stats::{self, INTERVAL_COUNT_MIN},
};

use super::{facts, units};

/// Noun for one value of a time, for a run on one database.
const SAMPLE: &str = "sample";
/// Relative difference between the times of two rows that a run should show.
const TOLD_APART: f64 = 0.05;
/// The most samples or databases of a row that the text asks for. More of them take hours on a
/// large state.
const NEEDED_COUNT_MAX: usize = 100;

/// Returns whether the cell's own time is more than one observation.
pub(super) fn is_repeated(cell: &Cell) -> bool {
    cell.value_count() > 1
}

/// The 95 % interval of a cell's time, where it has one.
pub(super) fn interval(cell: &Cell) -> Option<[f64; 2]> {
    interval_of(&cell.ms_per_batch, cell.value_count())
}

/// The interval of an estimate from `value_count` values; `None` from too few values.
pub(super) fn interval_of(estimate: &Estimate, value_count: usize) -> Option<[f64; 2]> {
    let ends = estimate.ci95.filter(|_| value_count >= INTERVAL_COUNT_MIN)?;
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}

/// Returns whether `cell` may be called the fastest. It has an interval, and all other intervals of
/// `cells` lie above it. A cell without an interval counts by its time. False without other times.
pub(super) fn is_fastest<'a>(cell: &Cell, cells: impl IntoIterator<Item = &'a Cell>) -> bool {
    let Some([_, high]) = interval(cell) else { return false };
    let others = cells.into_iter().filter(|other| !std::ptr::eq(*other, cell));
    let lows: Vec<f64> = others
        .filter_map(|other| interval(other).map(|[low, _]| low).or_else(|| facts::time_ms(other)))
        .collect();
    !lows.is_empty() && lows.iter().all(|low| *low > high)
}

/// Number of values behind the times of cells, such as `6 samples a row`, `1 to 6 samples a row`,
/// `one sample` or `6 databases`.
pub(super) fn counts(cells: &[&Cell]) -> String {
    let counts = cells.iter().map(|cell| cell.value_count() as u64);
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let noun = noun(cells);
    let a_row = if noun == SAMPLE && cells.len() > 1 { " a row" } else { "" };
    match (least, most) {
        (1, 1) => format!("one {noun}{a_row}"),
        (least, most) if least == most => format!("{}{a_row}", units::things(least, noun)),
        (least, most) => format!("{least} to {}{a_row}", units::things(most, noun)),
    }
}

/// `parallel-io 64 and full 8`: the fastest rows of other designs whose intervals overlap that of
/// `best`.
pub(super) fn alike(best: &Cell, cells: &[&Cell]) -> Option<String> {
    units::any_joined(overlapping(best, cells).into_iter().map(facts::row_name), " and ")
}

/// `telling 5 % apart needs 24`: the number of values that each row needs. It is the largest need
/// among the best row and the rows that overlap it, by the spread of each.
pub(super) fn telling_apart(cells: &[&Cell]) -> Option<String> {
    let designs = best_of_designs(cells);
    let most = designs.iter().map(|cell| cell.value_count()).max()?;
    if most < INTERVAL_COUNT_MIN {
        return Some(format!("no interval below {INTERVAL_COUNT_MIN}"));
    }
    let best = facts::best(designs.into_iter().filter(|cell| interval(cell).is_some()))?;
    let compared = overlapping(best, cells).into_iter().chain([best]);
    // Each median's interval may reach half of the difference to either side.
    let needed = compared.map(|cell| stats::count_needed(&times(cell), TOLD_APART / 2.0));
    let needed = needed.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let percent = TOLD_APART * 100.0;
    Some(match needed {
        few if few <= best.value_count() => format!("tells {percent:.0} % apart"),
        some if some <= NEEDED_COUNT_MAX => format!("telling {percent:.0} % apart needs {some}"),
        many => {
            let many = units::count(many as u64);
            format!("telling {percent:.0} % apart needs {many}, or a quieter machine")
        }
    })
}

/// The best cells of other designs than that of `best` whose intervals overlap its own.
fn overlapping<'a>(best: &Cell, cells: &[&'a Cell]) -> Vec<&'a Cell> {
    let mut designs = best_of_designs(cells);
    designs.retain(|other| other.design != best.design && overlap(best, other));
    designs
}

/// Whether both cells have intervals, and these overlap.
pub(super) fn overlap(a: &Cell, b: &Cell) -> bool {
    let ends = interval(a).zip(interval(b));
    ends.is_some_and(|(a, b)| b[0] <= a[1] && a[0] <= b[1])
}

/// The values whose median is the cell's time: of a run on one database, nanoseconds of samples; of
/// others, milliseconds per batch on each database.
fn times(cell: &Cell) -> Vec<f64> {
    match &cell.databases {
        Some(databases) => {
            databases.each.iter().filter_map(|database| database.ms_per_batch.median).collect()
        }
        None => facts::times_ns(cell),
    }
}

/// The best cell of each design that has a time.
pub(super) fn best_of_designs<'a>(cells: &[&'a Cell]) -> Vec<&'a Cell> {
    facts::distinct(cells.iter().map(|cell| cell.design))
        .into_iter()
        .filter_map(|design| facts::best_of(cells, design))
        .collect()
}

/// The noun for one value of a time.
fn noun(cells: &[&Cell]) -> &'static str {
    if cells.iter().any(|cell| cell.databases.is_some()) { "database" } else { SAMPLE }
}
