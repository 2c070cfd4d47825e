//! Laws of pooling: a database is one value, for any number of samples on it.

use proptest::prelude::*;

use super::*;
use crate::example::ran;

fn pooled(times: &[Vec<u64>], factor: u64) -> Vec<Cell> {
    pool(&ran(times, factor), &[])
}

fn of(cell: &Cell) -> &CellDatabases {
    cell.databases.as_ref().expect("of several databases")
}

#[test]
fn more_samples_of_a_database_make_no_figure_surer() {
    let few: Vec<Vec<u64>> = (1..=6).map(|ms| vec![10 * ms]).collect();
    let many: Vec<Vec<u64>> = (1..=6).map(|ms| vec![10 * ms; 50]).collect();
    let (few, many) = (pooled(&few, 3), pooled(&many, 3));
    for (few, many) in few.iter().zip(&many) {
        let ends = |cell: &Cell| (cell.ms_per_batch.ci95, cell.ms_per_batch.trimmed_ci95);
        assert_eq!(ends(few), ends(many));
        assert!(many.ms_per_batch.ci95.is_some());
        assert_eq!((few.samples.len(), many.samples.len()), (6, 300));
        assert_eq!((few.value_count(), many.value_count()), (6, 6));
    }
}

#[test]
fn below_six_databases_there_is_a_range_and_no_interval_however_many_samples_there_are() {
    let cells = pooled(&[vec![10; 40], vec![30; 40], vec![20; 40]], 2);
    for (cell, factor) in cells.iter().zip([1.0, 2.0]) {
        let Estimate { median, ci95, trimmed_ci95, .. } = cell.ms_per_batch;
        assert_eq!((median, ci95, trimmed_ci95), (Some(20.0 * factor), None, None));
        assert_eq!(of(cell).ms_per_batch_range, Some([10.0 * factor, 30.0 * factor]));
        assert_eq!(cell.device_fraction_ci95, None);
        // Samples do not differ: all of the spread is between databases.
        let spread = of(cell).time_spread.expect("three databases");
        assert_eq!((spread.between_share, spread.between_p), (Some(1.0), Some(0.0)));
    }
    assert!(of(&pooled(&[vec![10; 9], vec![30; 9]], 2)[0]).time_spread.is_none());
}

#[test]
fn a_ratio_is_taken_on_each_database_and_what_slows_one_down_is_in_none() {
    // Databases and rounds differ a lot; the second variant always takes three times as long.
    let times: Vec<Vec<u64>> =
        (1..=7).map(|db| (1..=5).map(|n| db * db * n * 7).collect()).collect();
    let cells = pooled(&times, 3);
    let (a, b) = (of(&cells[0]), of(&cells[1]));
    assert_eq!((a.time_ratio.median, b.time_ratio.median), (Some(1.0), Some(3.0)));
    assert_eq!(b.time_ratio.ci95, Some([3.0, 3.0]));
    assert_eq!(b.time_ratio_range, Some([3.0, 3.0]));
    assert!(b.each.iter().all(|of| of.time_ratio == Some(3.0)), "{b:?}");
    assert_eq!(b.time_ratio_over, "memory/a@1");
    let spread = b.time_ratio_spread.expect("seven databases");
    assert!(spread.between < 1e-9 && spread.within < 1e-9, "{spread:?}");
    assert!(b.time_spread.expect("seven databases").between > 0.5);
    assert_eq!(stats::estimate(&cells[1].ratios_to(&cells[0])).ci95, Some([3.0, 3.0]));
}

#[test]
fn each_database_keeps_its_own_counters_samples_and_warm_up() {
    let times = [vec![99, 10, 10], vec![20, 20], vec![88, 88, 30, 30]];
    let mut ran = ran(&times, 2);
    for (ran, warm_up) in ran.iter_mut().zip([Some(1), None, Some(2)]) {
        ran.cells.iter_mut().for_each(|cell| cell.warm_up_sample_count = warm_up);
    }
    let cells = pool(&ran, &[]);
    for (cell, factor) in cells.iter().zip([1, 2]) {
        let walls = |samples: &[SampleFacts]| {
            samples.iter().map(|sample| sample.wall_ns / 1_000_000 / factor).collect::<Vec<_>>()
        };
        let counted: Vec<_> = cell.counted().into_iter().map(walls).collect();
        assert_eq!(counted, [vec![10, 10], vec![20, 20], vec![30, 30]]);
        assert_eq!(walls(&cell.samples), times.concat());
        // The same read back from a file.
        let json = serde_json::to_value(cell).expect("JSON");
        let read: Cell = serde_json::from_value(json).expect("a cell");
        assert_eq!(&read, cell);
        let each = read.by_database();
        assert_eq!(each.iter().map(|of| of.seed).collect::<Vec<_>>(), [10, 11, 12].map(Some));
        let gas = |of: &OnDatabase<'_>| of.counters.map(|counters| counters.gas);
        assert_eq!(each.iter().map(gas).collect::<Vec<_>>(), [0, 1, 2].map(Some));
        assert_eq!(read.value_count(), 3);
        assert!(cell.counters.is_none());
    }
}

#[test]
fn a_variant_that_one_database_lacks_is_pooled_of_the_others_by_their_seeds() {
    let mut ran = ran(&[vec![10, 11], vec![20, 21], vec![30, 31]], 2);
    ran[1].cells.remove(0);
    let cells = pool(&ran, &[]);
    let seeds = |cell: &Cell| of(cell).each.iter().map(|of| of.seed).collect::<Vec<_>>();
    assert_eq!((seeds(&cells[0]), seeds(&cells[1])), (vec![10, 12], vec![10, 11, 12]));
    let ratios: Vec<_> = of(&cells[1]).each.iter().map(|of| of.time_ratio).collect();
    assert_eq!(ratios, [Some(2.0), None, Some(2.0)]);
}

#[test]
fn it_is_as_cold_as_the_least_cold_database_which_is_named() {
    let mut ran = ran(&[vec![10], vec![20], vec![30]], 2);
    assert_eq!(pool(&ran, &[])[0].cache.proved, Some(true));
    for (proved, place) in [(None, 2), (Some(false), 1)] {
        ran[place].cells[0].cache.proved = proved;
        let cache = pool(&ran, &[])[0].cache.clone();
        let seed = format!("seed {}:", 10 + place);
        assert!(cache.proved == proved && cache.reason.contains(&seed), "{cache:?}");
    }
}

#[test]
fn latencies_of_all_databases_are_one_histogram() {
    let log = |values: std::ops::Range<u64>| {
        let mut histogram =
            hdrhistogram::Histogram::new_with_bounds(1, u64::MAX / 2, 3).expect("bounds");
        values.for_each(|value| histogram.saturating_record(value));
        let variant = "memory/a@1".to_owned();
        HistogramLog { variant, kind: LogKind::Transactions, histogram }
    };
    let mut logs = Vec::new();
    add_logs(&mut logs, vec![log(1..1_001)]);
    add_logs(&mut logs, vec![log(1_001..1_501)]);
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].histogram, log(1..1_501).histogram);
    let cells = pool(&ran(&[vec![10], vec![20]], 2), &logs);
    assert_eq!((cells[0].tx_latency_ns.count, cells[1].tx_latency_ns.count), (1_500, 0));
}

proptest! {
    #[test]
    fn the_pooled_figure_lies_between_the_databases_and_their_order_does_not_matter(
        times in proptest::collection::vec(proptest::collection::vec(1..1_000_u64, 1..8), 1..9),
    ) {
        let forwards = pooled(&times, 2);
        for cell in &forwards {
            let [low, high] = of(cell).ms_per_batch_range.expect("has times");
            let median = cell.ms_per_batch.median.expect("has times");
            prop_assert!(low <= median && median <= high);
        }
        let mut turned = times;
        turned.reverse();
        let figures = |cell: &Cell| (cell.ms_per_batch.median, cell.ms_per_batch.trimmed_ci95);
        for (cell, other) in forwards.iter().zip(&pooled(&turned, 2)) {
            prop_assert_eq!(figures(cell), figures(other));
        }
    }
}
