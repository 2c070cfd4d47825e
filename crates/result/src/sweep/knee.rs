//! Knees: where more threads stop paying. For each combination of everything else, the fewest
//! threads whose throughput is within a few per cent of the best. None is named without intervals.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{matrix::Keys, points::Point};
use crate::stats;

/// Share of the best throughput that a knee reaches.
pub const SHARE: f64 = 0.95;

/// A count of threads that is varied.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Threads that only read.
    IoThreads,
    /// Threads that execute.
    Threads,
}

/// The figures of one count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// Threads.
    pub count: u64,
    /// Throughput; the median where several cells have it.
    pub mgas_per_s: f64,
    /// Fewest samples of a cell.
    pub sample_count: u64,
    /// The cells.
    pub cells: Vec<u64>,
}

/// Where more threads stop paying.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// The varied count.
    pub over: Over,
    /// Values of the axes that the variant does not tell.
    pub keys: Keys,
    /// The variant without its counts.
    pub variant: String,
    /// The count that stays.
    pub other_count: u64,
    /// All that was tried, ascending; two or more.
    pub counts: Vec<Count>,
    /// The count with the highest throughput, the smallest of equals.
    pub best_count: u64,
    /// That throughput.
    pub best_mgas_per_s: f64,
    /// The fewest whose throughput is 95 % of it.
    pub knee_count: u64,
    /// Its throughput over the best.
    pub knee_share: f64,
    /// Whether it is the largest that was tried: more may be faster.
    pub is_most: bool,
}

/// Everything but the count that is varied.
type Rest<'a> = (Keys, &'a str, u64);

/// The knees over both counts, wherever two or more were tried.
pub fn knees(points: &[Point]) -> Vec<Knee> {
    let both = [Over::IoThreads, Over::Threads];
    both.into_iter().flat_map(|over| knees_over(over, points)).collect()
}

fn knees_over(over: Over, points: &[Point]) -> Vec<Knee> {
    let mut groups: BTreeMap<Rest<'_>, BTreeMap<u64, Vec<&Point>>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.mgas_per_s.is_some()) {
        let (count, other) = match over {
            Over::IoThreads => (point.io_threads, point.threads),
            Over::Threads => (point.threads, point.io_threads),
        };
        let group = groups.entry((point.untold(), point.way(), other)).or_default();
        group.entry(count).or_default().push(point);
    }
    groups.into_iter().filter_map(|(rest, counts)| knee(over, rest, counts)).collect()
}

fn knee(
    over: Over,
    (keys, way, other_count): Rest<'_>,
    counts: BTreeMap<u64, Vec<&Point>>,
) -> Option<Knee> {
    let has_interval = |points: &Vec<&Point>| points.iter().all(|p| p.mgas_per_s_ci95.is_some());
    let intervals: BTreeSet<u64> =
        counts.iter().filter(|(_, points)| has_interval(points)).map(|(n, _)| *n).collect();
    let counts: Vec<_> = counts.into_iter().filter_map(|(n, points)| count(n, &points)).collect();
    let [first, _, ..] = counts.as_slice() else { return None };
    let best = counts
        .iter()
        .fold(first, |best, next| if next.mgas_per_s > best.mgas_per_s { next } else { best });
    let knee = counts.iter().find(|count| count.mgas_per_s >= SHARE * best.mgas_per_s)?;
    // Medians without intervals show no difference, so none where more threads stop paying.
    if ![best, knee].iter().all(|count| intervals.contains(&count.count)) {
        return None;
    }
    Some(Knee {
        over,
        keys,
        variant: way.to_owned(),
        other_count,
        best_count: best.count,
        best_mgas_per_s: best.mgas_per_s,
        knee_count: knee.count,
        knee_share: knee.mgas_per_s / best.mgas_per_s,
        is_most: counts.last().is_some_and(|last| last.count == knee.count),
        counts,
    })
}

fn count(count: u64, points: &[&Point]) -> Option<Count> {
    let values: Vec<_> = points.iter().filter_map(|point| point.mgas_per_s).collect();
    let mut cells: Vec<_> = points.iter().map(|point| point.cell).collect();
    cells.sort_unstable();
    cells.dedup();
    Some(Count {
        count,
        mgas_per_s: stats::median(&values)?,
        sample_count: points.iter().map(|point| point.sample_count).min()?,
        cells,
    })
}

#[cfg(test)]
mod tests {
    use variant::{Design, StoreKind};

    use super::*;

    fn point(cell: u64, gas: &str, (threads, io_threads): (u64, u64), mgas_per_s: f64) -> Point {
        let keys = [
            ("block.gas", gas.to_owned()),
            ("run.threads", threads.to_string()),
            ("run.io_threads", io_threads.to_string()),
        ];
        Point {
            cell,
            same_as: None,
            keys: keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            variant: format!("rocksdb/batched-io/bal+batched@{threads}+{io_threads}io"),
            store: StoreKind::Rocksdb,
            design: Design::BatchedIo,
            threads,
            io_threads,
            sample_count: 8,
            value_count: 8,
            ms_per_batch: Some(1.0),
            ms_per_batch_ci95: None,
            mgas_per_s: Some(mgas_per_s),
            mgas_per_s_ci95: Some([mgas_per_s * 0.98, mgas_per_s * 1.02]),
        }
    }

    fn example() -> Vec<Point> {
        vec![
            point(0, "1M", (2, 1), 40.0),
            point(1, "1M", (2, 4), 94.9),
            point(2, "1M", (2, 16), 95.0),
            point(3, "1M", (2, 64), 100.0),
            point(4, "9M", (2, 1), 10.0),
            point(5, "9M", (2, 4), 20.0),
            point(6, "9M", (8, 4), 20.0),
        ]
    }

    #[test]
    fn a_knee_is_the_fewest_within_the_share_of_the_best_and_each_combination_has_its_own() {
        let knees = knees(&example());
        let found: Vec<_> = knees
            .iter()
            .map(|k| {
                (k.over, k.keys["block.gas"].as_str(), k.other_count, k.knee_count, k.best_count)
            })
            .collect();
        let expected = [
            (Over::IoThreads, "1M", 2, 16, 64),
            (Over::IoThreads, "9M", 2, 4, 4),
            // Equal throughput: the fewest are the best.
            (Over::Threads, "9M", 4, 2, 2),
        ];
        assert_eq!(found, expected);
        assert_eq!(knees.iter().map(|k| k.is_most).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(knees[0].knee_share, 0.95);
        assert_eq!(knees[0].counts.len(), 4);
    }

    #[test]
    fn knees_do_not_depend_on_the_order_of_the_points() {
        let (mut points, expected) = (example(), knees(&example()));
        for _ in 0..points.len() {
            points.rotate_left(1);
            assert_eq!(knees(&points), expected);
        }
        points.reverse();
        assert_eq!(knees(&points), expected);
    }

    #[test]
    fn cells_with_the_same_variant_are_one_point_and_one_count_makes_no_knee() {
        // A third axis that the variant tells, and that did not matter here.
        let mut points = vec![
            point(0, "1M", (1, 2), 10.0),
            point(1, "1M", (1, 2), 30.0),
            point(2, "1M", (1, 4), 20.5),
        ];
        points[1].keys.insert("run.schedule".to_owned(), "gas-limit".to_owned());
        let both = knees(&points);
        assert_eq!(both.len(), 1);
        assert_eq!((both[0].counts[0].mgas_per_s, &both[0].counts[0].cells), (20.0, &vec![0, 1]));
        assert_eq!((both[0].knee_count, both[0].best_count), (2, 4));
        assert_eq!(knees(&points[..2]), Vec::new());
        // Without an interval of the best or of the knee nothing is shown.
        for without in 0..3 {
            let mut points = points.clone();
            points[without].mgas_per_s_ci95 = None;
            assert_eq!(knees(&points), Vec::new());
        }
        points.iter_mut().for_each(|point| point.mgas_per_s = None);
        assert_eq!(knees(&points), Vec::new());
    }
}
