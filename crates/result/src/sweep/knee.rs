//! Finds knees: thread counts above which throughput hardly grows. A knee is the smallest count
//! whose throughput is at least 95 % of the best. There is one for each combination of all other
//! settings. A knee is named only if its interval is above those of all smaller counts that were
//! tried. `src/sweep/merged.rs` and reports of sweeps call it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{matrix::Keys, points::Point};
use crate::stats;

/// Share of the best throughput that a knee reaches.
pub const SHARE: f64 = 0.95;

/// The kind of thread count over which a knee is found.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    /// Threads that only read.
    IoThreads,
    /// Threads that execute.
    Threads,
}

/// The figures of one thread count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountFigures {
    /// Number of threads.
    pub count: u64,
    /// Throughput with this count; the median over its cells if there are several.
    pub mgas_per_s: f64,
    /// Number of samples of the cell with the fewest samples.
    pub sample_count: u64,
    /// Indices of the cells with this count.
    pub cells: Vec<u64>,
}

/// A knee: the fewest threads with nearly the best throughput, for one combination of other
/// settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// The kind of count that is varied.
    pub over: CountKind,
    /// Values of the axes that a variant's name does not have.
    pub keys: Keys,
    /// Name of the variant without its thread counts.
    pub variant: String,
    /// The other kind of count, which is not varied.
    pub other_count: u64,
    /// All counts that were tried, ascending. There are two or more.
    pub counts: Vec<CountFigures>,
    /// The count with the highest throughput. Of several such counts, the smallest.
    pub best_count: u64,
    /// Throughput at the best count.
    pub best_mgas_per_s: f64,
    /// The knee: the smallest count with at least 95 % of the best throughput.
    pub knee_count: u64,
    /// Throughput at the knee over the best throughput.
    pub knee_share: f64,
    /// Whether the knee is the largest count that was tried. Then a larger count may be faster.
    pub is_most: bool,
}

/// Reason why no knee is named, although two or more counts were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoKnee {
    /// The best count, the knee or a smaller count has no interval.
    NoInterval,
    /// The interval of the knee overlaps that of a smaller count.
    Overlap,
    /// No count below the knee was tried.
    FewestTried,
}

/// All settings except the varied count: values of the axes that are not in the variant's name, the
/// name, the other count.
type OtherSettings<'a> = (Keys, &'a str, u64);
/// The points of each count that was tried.
type Tried<'a> = BTreeMap<u64, Vec<&'a Point>>;

/// Finds the knees over both kinds of counts, where two or more counts were tried and intervals
/// separate the knee from smaller counts.
pub fn knees(points: &[Point]) -> Vec<Knee> {
    knees_or_reasons(points).into_iter().filter_map(|(_, knee)| knee.ok()).collect()
}

/// Returns the reason why no knee is named, for each combination of settings in which two or more
/// counts were tried but have no knee.
pub fn unnamed_knees(points: &[Point]) -> Vec<(CountKind, NoKnee)> {
    let reasons = knees_or_reasons(points).into_iter();
    reasons.filter_map(|(over, knee)| Some((over, knee.err()?))).collect()
}

/// Returns a knee for each combination of settings in which two or more counts were tried, or the
/// reason why none is named. Knees over reading threads come before those over executing threads.
fn knees_or_reasons(points: &[Point]) -> Vec<(CountKind, Result<Knee, NoKnee>)> {
    [CountKind::IoThreads, CountKind::Threads]
        .into_iter()
        .flat_map(|over| {
            let groups = grouped(over, points).into_iter();
            groups.filter_map(move |(settings, tried)| Some((over, knee(over, settings, tried)?)))
        })
        .collect()
}

/// Groups the points with a throughput by all settings except the count, then by the count.
fn grouped(over: CountKind, points: &[Point]) -> BTreeMap<OtherSettings<'_>, Tried<'_>> {
    let mut groups: BTreeMap<OtherSettings<'_>, Tried<'_>> = BTreeMap::new();
    let timed = points.iter().filter(|point| point.same_as.is_none() && point.mgas_per_s.is_some());
    for point in timed {
        let (count, other) = match over {
            CountKind::IoThreads => (point.io_threads, point.threads),
            CountKind::Threads => (point.threads, point.io_threads),
        };
        let group =
            groups.entry((point.unnamed_keys(), point.name_without_threads(), other)).or_default();
        group.entry(count).or_default().push(point);
    }
    groups
}

/// Finds the knee, or the reason why none is named; `None` where fewer than two counts were tried.
fn knee(
    over: CountKind,
    (keys, variant, other_count): OtherSettings<'_>,
    tried: Tried<'_>,
) -> Option<Result<Knee, NoKnee>> {
    let counts: Vec<_> = tried.iter().filter_map(|(n, points)| figures(*n, points)).collect();
    let [first, _, ..] = counts.as_slice() else { return None };
    let best = counts
        .iter()
        .fold(first, |best, next| if next.mgas_per_s > best.mgas_per_s { next } else { best });
    let index = counts.iter().position(|count| count.mgas_per_s >= SHARE * best.mgas_per_s)?;
    let knee = &counts[index];
    let smaller = counts[..index].iter().map(|count| interval(&tried, count));
    if let Err(reason) = check_apart(smaller, [knee, best].map(|count| interval(&tried, count))) {
        return Some(Err(reason));
    }
    Some(Ok(Knee {
        over,
        keys,
        variant: variant.to_owned(),
        other_count,
        best_count: best.count,
        best_mgas_per_s: best.mgas_per_s,
        knee_count: knee.count,
        knee_share: knee.mgas_per_s / best.mgas_per_s,
        is_most: index + 1 == counts.len(),
        counts,
    }))
}

/// Checks that the intervals of all smaller counts lie below the knee's. Medians alone do not prove
/// a difference, so they give no knee.
fn check_apart(
    smaller: impl ExactSizeIterator<Item = Option<[f64; 2]>>,
    [knee, best]: [Option<[f64; 2]>; 2],
) -> Result<(), NoKnee> {
    let ([low, _], Some(_)) = (knee.ok_or(NoKnee::NoInterval)?, best) else {
        return Err(NoKnee::NoInterval);
    };
    if smaller.len() == 0 {
        return Err(NoKnee::FewestTried);
    }
    for interval in smaller {
        let [_, high] = interval.ok_or(NoKnee::NoInterval)?;
        if high >= low {
            return Err(NoKnee::Overlap);
        }
    }
    Ok(())
}

/// Returns the interval of a count: from the lowest to the highest end of its cells' intervals.
/// `None` if a cell has no interval.
fn interval(tried: &Tried<'_>, count: &CountFigures) -> Option<[f64; 2]> {
    let points = tried.get(&count.count)?.iter();
    let ends: Option<Vec<[f64; 2]>> = points.map(|point| point.mgas_per_s_ci95).collect();
    ends?.into_iter().reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])
}

/// Makes the figures of a count from its points; `None` without a point.
fn figures(count: u64, points: &[&Point]) -> Option<CountFigures> {
    let values: Vec<_> = points.iter().filter_map(|point| point.mgas_per_s).collect();
    let mut cells: Vec<_> = points.iter().map(|point| point.cell).collect();
    cells.sort_unstable();
    cells.dedup();
    Some(CountFigures {
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
            point(1, "1M", (2, 4), 60.0),
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
        let expected =
            [(CountKind::IoThreads, "1M", 2, 16, 64), (CountKind::IoThreads, "9M", 2, 4, 4)];
        assert_eq!(found, expected);
        assert_eq!(knees.iter().map(|k| k.is_most).collect::<Vec<_>>(), [false, true]);
        assert_eq!(knees[0].knee_share, 0.95);
        assert_eq!(knees[0].counts.len(), 4);
    }

    #[test]
    fn no_knee_is_named_where_its_interval_overlaps_that_of_a_smaller_count() {
        let mut points = vec![
            point(0, "1M", (1, 1), 60.0),
            point(1, "1M", (1, 4), 90.0),
            point(2, "1M", (1, 8), 100.0),
        ];
        assert_eq!((knees(&points).len(), unnamed_knees(&points)), (1, Vec::new()));
        // A wide interval of the knee, of the next smaller count, or of the smallest one.
        for (wide, interval) in [(1, [70.0, 98.0]), (0, [50.0, 99.0]), (2, [91.0, 104.0])] {
            let mut points = points.clone();
            points[wide].mgas_per_s_ci95 = Some(interval);
            assert_eq!(knees(&points), Vec::new(), "{wide}");
            assert_eq!(unnamed_knees(&points), [(CountKind::IoThreads, NoKnee::Overlap)]);
        }
        points[0].mgas_per_s_ci95 = None;
        assert_eq!(unnamed_knees(&points), [(CountKind::IoThreads, NoKnee::NoInterval)]);
        // If the smallest tried count is as fast as any, a knee may lie below it.
        let equal = [point(0, "1M", (2, 4), 20.0), point(1, "1M", (8, 4), 20.0)];
        assert_eq!(knees(&equal), Vec::new());
        assert_eq!(unnamed_knees(&equal), [(CountKind::Threads, NoKnee::FewestTried)]);
    }

    #[test]
    fn a_cell_that_was_left_out_is_no_count_of_its_own() {
        let mut points = vec![point(0, "1M", (1, 2), 10.0), point(1, "1M", (1, 4), 30.0)];
        assert_eq!(knees(&points).len(), 1);
        points[1].same_as = Some(0);
        assert_eq!((knees(&points), unnamed_knees(&points)), (Vec::new(), Vec::new()));
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
            point(2, "1M", (1, 4), 40.5),
        ];
        points[1].keys.insert("run.schedule".to_owned(), "gas-limit".to_owned());
        let both = knees(&points);
        assert_eq!(both.len(), 1);
        assert_eq!((both[0].counts[0].mgas_per_s, &both[0].counts[0].cells), (20.0, &vec![0, 1]));
        assert_eq!((both[0].knee_count, both[0].best_count), (4, 4));
        assert_eq!(knees(&points[..2]), Vec::new());
        // Without an interval of any of them nothing is shown.
        for without in 0..3 {
            let mut points = points.clone();
            points[without].mgas_per_s_ci95 = None;
            assert_eq!(knees(&points), Vec::new());
        }
        points.iter_mut().for_each(|point| point.mgas_per_s = None);
        assert_eq!(knees(&points), Vec::new());
    }
}
