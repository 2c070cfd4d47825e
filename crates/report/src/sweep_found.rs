//! The finding of a sweep whose cells did the same work. For each design it has the fastest values
//! of the axes, and the values whose intervals overlap with theirs.

use result::{
    Cell,
    stats::INTERVAL_COUNT_MIN,
    sweep::{Merged, Point, pair},
};
use variant::RootTime;

use super::{facts::grouped, units};

/// Maximal number of rows that a list names; the table has all.
const NAMED_COUNT: usize = 6;
/// Key of the axis of designs, which is left out since each line names its design.
const DESIGNS: &str = "run.designs";

/// Rows of one design with the same duties inside the clock. Rows with other duties do other work.
struct Group<'m> {
    first: &'m Cell,
    /// Its rows with a time, the fastest first.
    timed: Vec<&'m Point>,
}

fn ms(point: &Point) -> f64 {
    point.ms_per_batch.unwrap_or(f64::NAN)
}

/// One line for each design and set of duties. Empty where cells did different work, or where there
/// is nothing to compare.
pub(super) fn found(merged: &Merged) -> Vec<String> {
    let mut digests = merged.cells.iter().map(|cell| cell.result.workload.digest.as_str());
    let first = digests.next();
    if digests.any(|other| Some(other) != first) {
        return Vec::new();
    }
    let groups = groups(merged);
    match groups.as_slice() {
        [] => Vec::new(),
        [only] if only.timed.len() < 2 => Vec::new(),
        [only] => vec![words(merged, only)],
        several => several
            .iter()
            .map(|group| format!("{}: {}", name_of(group.first), words(merged, group)))
            .collect(),
    }
}

/// Groups of the rows that were run and have a time. The fastest row of each group comes first.
fn groups(merged: &Merged) -> Vec<Group<'_>> {
    let run = merged.points.iter().filter(|point| point.same_as.is_none());
    let timed = run.filter(|point| point.ms_per_batch.is_some()).filter_map(|point| {
        let result = merged.cells.iter().find(|cell| cell.index == point.cell)?;
        Some((result.result.cell(&point.variant)?, point))
    });
    let groups = grouped(timed, |(a, _), (b, _)| a.design == b.design && a.has_duties_of(b));
    let groups = groups.into_iter().map(|group| {
        let mut timed: Vec<&Point> = group.iter().map(|(_, point)| *point).collect();
        timed.sort_by(|a, b| ms(a).total_cmp(&ms(b)));
        Group { first: group[0].0, timed }
    });
    groups.collect()
}

/// Name of a group by one of its cells: `batched-io, whole`.
fn name_of(cell: &Cell) -> String {
    let duties = match (cell.duties.is_empty(), cell.root) {
        (false, _) => ", whole",
        (true, RootTime::Nothing) => "",
        (true, _) => ", with root",
    };
    format!("{}{duties}", cell.design)
}

/// The fastest row of a group, and the rows whose intervals overlap: `fastest: io_threads=4, 4.35
/// ms; not distinguishable from it by intervals: io_threads=8`.
fn words(merged: &Merged, group: &Group<'_>) -> String {
    let [best, others @ ..] = group.timed.as_slice() else { return String::new() };
    let name = keys(merged, group, best);
    let time = units::time_ns(ms(best) * 1e6);
    let Some([_, high]) = best.ms_per_batch_ci95 else {
        return format!(
            "fastest by medians alone: {name}, {time}; no interval yet (--samples {INTERVAL_COUNT_MIN})"
        );
    };
    let (mut alike, unsure): (Vec<&Point>, Vec<&Point>) =
        others.iter().partition(|row| row.ms_per_batch_ci95.is_some());
    alike.retain(|row| row.ms_per_batch_ci95.is_some_and(|[low, _]| low <= high));
    let mut text = format!("fastest: {name}, {time}");
    if alike.is_empty() && unsure.is_empty() && !others.is_empty() {
        text.push_str("; its interval lies below all others");
    }
    if !alike.is_empty() {
        text.push_str(&format!(
            "; not distinguishable from it by intervals: {}",
            names(merged, group, &alike)
        ));
    }
    if !unsure.is_empty() {
        text.push_str(&format!("; without an interval: {}", names(merged, group, &unsure)));
    }
    text
}

/// The first rows by their values of the axes, then the number of further rows.
fn names(merged: &Merged, group: &Group<'_>, rows: &[&Point]) -> String {
    let named = rows.iter().take(NAMED_COUNT).map(|row| keys(merged, group, row));
    let more = units::beyond(rows.len(), NAMED_COUNT).map(|more| format!("{more} more"));
    units::joined(named.chain(more), ", ")
}

/// The values of a row's axes, and its variant where its cell has several rows of the group.
fn keys(merged: &Merged, group: &Group<'_>, point: &Point) -> String {
    let axes = merged.sweep.axes.iter().filter(|axis| axis.key != DESIGNS);
    let pairs = axes.filter_map(|axis| Some(pair(axis, point.keys.get(&axis.key)?)));
    let pairs = units::joined(pairs, " ");
    let is_alone = group.timed.iter().filter(|row| row.cell == point.cell).count() == 1;
    match (pairs.is_empty(), is_alone) {
        (true, _) => point.variant.clone(),
        (false, true) => pairs,
        (false, false) => format!("{pairs} ({})", point.variant),
    }
}

#[cfg(test)]
mod tests {
    use result::{
        example,
        sweep::{Axis, Keys, MERGED_SCHEMA, Matrix, MergedCell, points_of},
    };

    use super::*;

    /// A sweep over I/O threads whose cells have a batched row of these times, with their ends.
    fn swept(times: &[(f64, Option<[f64; 2]>)]) -> Merged {
        let mut cells = Vec::new();
        for (index, (ms, ci95)) in (0..).zip(times) {
            let mut result = example::sampled(8);
            result.cells.drain(..4);
            result.cells[0].ms_per_batch.median = Some(*ms);
            result.cells[0].ms_per_batch.ci95 = *ci95;
            let keys = Keys::from([("run.io_threads".to_owned(), format!("{}", index + 1))]);
            cells.push(MergedCell { index, keys, result });
        }
        let values: Vec<String> = (1..=times.len()).map(|count| count.to_string()).collect();
        let axis =
            Axis { key: "run.io_threads".to_owned(), label: "io_threads".to_owned(), values };
        Merged {
            schema: MERGED_SCHEMA,
            sweep: Matrix {
                scenario: "sload-storm".to_owned(),
                quick: false,
                fixed: Vec::new(),
                cell_count: times.len() as u64,
                axes: vec![axis],
                settings_digest: String::new(),
                left_out: Vec::new(),
            },
            program: example::sampled(8).tool.program,
            missing: Vec::new(),
            disagreeing: Vec::new(),
            doubts: Vec::new(),
            machines: Vec::new(),
            devices: Vec::new(),
            points: cells
                .iter()
                .flat_map(|cell| points_of(cell.index, &cell.keys, &cell.result))
                .collect(),
            knees: Vec::new(),
            counters: Vec::new(),
            cells,
        }
    }

    const fn around(ms: f64) -> (f64, Option<[f64; 2]>) {
        (ms, Some([ms - 0.1, ms + 0.1]))
    }

    #[test]
    fn the_fastest_values_are_named_with_those_that_intervals_do_not_part_from_them() {
        let found = found(&swept(&[around(5.0), around(4.35), around(4.5)]));
        let words = "fastest: io_threads=2, 4.35 ms; not distinguishable from it by intervals: \
                     io_threads=3";
        assert_eq!(found, [words]);
    }

    #[test]
    fn a_fastest_one_that_lies_apart_is_said_to_and_one_without_interval_is_not() {
        let apart = found(&swept(&[around(5.0), around(4.35)]));
        assert_eq!(apart, ["fastest: io_threads=2, 4.35 ms; its interval lies below all others"]);
        let other = found(&swept(&[(5.0, None), around(4.35)]));
        assert_eq!(other, ["fastest: io_threads=2, 4.35 ms; without an interval: io_threads=1"]);
        let own = found(&swept(&[around(5.0), (4.35, None)]));
        assert!(own[0].starts_with("fastest by medians alone: io_threads=2, 4.35 ms; "), "{own:?}");
    }

    #[test]
    fn cells_of_different_work_and_single_rows_have_no_fastest() {
        let mut other = swept(&[around(5.0), around(4.35)]);
        other.cells[1].result.workload.digest = "0x1".to_owned();
        assert!(found(&other).is_empty());
        assert!(found(&swept(&[around(5.0)])).is_empty());
    }

    #[test]
    fn each_design_has_a_fastest_of_its_own() {
        let mut merged = swept(&[around(5.0), around(4.35)]);
        let mut second = example::sampled(8).cells.remove(0);
        second.ms_per_batch.median = Some(9.0);
        second.ms_per_batch.ci95 = None;
        let cell = &mut merged.cells[1];
        cell.result.cells.push(second);
        merged.points.pop();
        merged.points.extend(points_of(cell.index, &cell.keys, &cell.result));
        let found = found(&merged);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("batched-io: fastest: io_threads=2"), "{found:?}");
        assert!(found[1].starts_with("sequential: fastest by medians alone"), "{found:?}");
    }
}
