//! Percentiles of many values. Each is given only if enough values lie beyond it.
//!
//! Some times may be open when the measurement ends: then only a lower bound of each is known.
//! Their distribution is estimated by Kaplan and Meier (1958). An open time counts as at risk of
//! ending for as long as it was seen, and never as ended. Loads on live nodes have such times.

use hdrhistogram::Histogram;

use crate::figures::{Bucket, Percentiles};

/// Fewest values beyond a percentile (`docs/methodology.md`).
const BEYOND_COUNT_MIN: u64 = 10;

/// Returns whether at least ten of `count` values lie beyond a percentile, which is given in
/// hundredths of a per cent.
const fn is_valid(per_10k: u64, count: u64) -> bool {
    count as u128 * (10_000 - per_10k) as u128 >= BEYOND_COUNT_MIN as u128 * 10_000
}

/// Returns percentiles of a histogram in its unit. Each is `None` where too few values lie beyond
/// it.
pub fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    let count = histogram.len();
    by_percentile(count, (count > 0).then(|| histogram.max()), |per_10k| {
        is_valid(per_10k, count).then(|| histogram.value_at_quantile(per_10k as f64 / 10_000.0))
    })
}

/// Upper ends of the ranges in a decade, in nanoseconds for the first decade (series R10 of ISO 3).
const RANGE_ENDS_NS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];

/// Counts the times in ranges, from the empty range before the first time to the range of the last
/// time.
pub fn buckets(histogram: &Histogram<u64>) -> Vec<Bucket> {
    let decades = (0..).map_while(|power| 10_u64.checked_pow(power));
    let mut ends = decades.flat_map(|unit| RANGE_ENDS_NS.map(|end| end.saturating_mul(unit)));
    let mut values = recorded(histogram).peekable();
    let mut buckets = Vec::new();
    let mut before = Bucket::default();
    while values.peek().is_some() {
        let Some(up_to_ns) = ends.next() else { break };
        let mut bucket = Bucket { up_to_ns, count: 0 };
        while let Some((_, count)) = values.next_if(|(time, _)| *time <= up_to_ns) {
            bucket.count += count;
        }
        if bucket.count > 0 || !buckets.is_empty() {
            buckets.push(before);
        }
        before = bucket;
    }
    if before.count > 0 {
        buckets.push(before);
    }
    buckets
}

/// Returns the values of a histogram, ascending, each with its count.
fn recorded(histogram: &Histogram<u64>) -> impl Iterator<Item = (u64, u64)> {
    histogram.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value()))
}

/// Makes the percentiles of `count` values. `of` gives a percentile, named by its hundredths of a
/// per cent.
fn by_percentile(count: u64, max: Option<u64>, of: impl Fn(u64) -> Option<u64>) -> Percentiles {
    Percentiles {
        p50: of(5_000),
        p75: of(7_500),
        p90: of(9_000),
        p95: of(9_500),
        p99: of(9_900),
        p999: of(9_990),
        p9999: of(9_999),
        max,
        count,
    }
}

/// Returns percentiles of values. Each is one of the values, by nearest rank.
pub fn percentiles_of(values: impl IntoIterator<Item = u64>) -> Percentiles {
    let mut sorted: Vec<u64> = values.into_iter().collect();
    sorted.sort_unstable();
    let count = sorted.len() as u64;
    by_percentile(count, sorted.last().copied(), |per_10k| {
        let rank = (u128::from(count) * u128::from(per_10k)).div_ceil(10_000);
        let index = usize::try_from(rank.checked_sub(1)?).ok()?;
        sorted.get(index).copied().filter(|_| is_valid(per_10k, count))
    })
}

/// Tolerance for the rounding errors of a product of shares.
const ROUNDING: f64 = 1e-9;

/// Returns percentiles of times. `ended` has complete times, `open` lower bounds of times that had
/// not ended. A percentile is `None` where too few values lie beyond it, or where it lies beyond
/// the ended times. The maximum is `None` where an open time is the longest. The count includes
/// open times.
pub fn percentiles_with_open(ended: &Histogram<u64>, open: &Histogram<u64>) -> Percentiles {
    if open.is_empty() {
        return percentiles(ended);
    }
    let count = ended.len() + open.len();
    let steps = steps(ended, open);
    let has_longest = !ended.is_empty() && open.max() < ended.max();
    by_percentile(count, has_longest.then(|| ended.max()), |per_10k| {
        let share = per_10k as f64 / 10_000.0;
        let step = steps.iter().find(|step| step.ended_share >= share - ROUNDING)?;
        let is_valid = is_valid(per_10k, count) && step.beyond_count >= BEYOND_COUNT_MIN;
        is_valid.then_some(step.value)
    })
}

/// A time at which one or more times ended.
struct Step {
    value: u64,
    /// Estimated share of all times that are at most this long.
    ended_share: f64,
    /// Number of times that are known to be longer: open ones too.
    beyond_count: u64,
}

/// Returns the Kaplan-Meier estimate: one step for each time at which times ended, ascending.
fn steps(ended: &Histogram<u64>, open: &Histogram<u64>) -> Vec<Step> {
    let mut open_times = recorded(open).peekable();
    let (mut at_risk, mut longer_share) = (ended.len() + open.len(), 1.0);
    let mut steps = Vec::new();
    for (value, count) in recorded(ended) {
        // Times that were seen for less than this give no information about it.
        while let Some((_, open_count)) = open_times.next_if(|(time, _)| *time < value) {
            at_risk -= open_count;
        }
        longer_share *= 1.0 - count as f64 / at_risk as f64;
        at_risk -= count;
        steps.push(Step { value, ended_share: 1.0 - longer_share, beyond_count: at_risk });
    }
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::histogram;
    use super::*;

    #[test]
    fn percentiles_of_values_are_values_with_their_share_at_or_below() {
        let values = (1..=1_000_u64).rev().map(|value| value * 7);
        let of = percentiles_of(values);
        assert_eq!((of.p50, of.p90, of.p99), (Some(3_500), Some(6_300), Some(6_930)));
        assert_eq!((of.p999, of.max, of.count), (None, Some(7_000), 1_000));
        let few = percentiles_of([5; 19]);
        assert_eq!((few.p50, few.max, few.count), (None, Some(5), 19));
        assert_eq!(percentiles_of([]), Percentiles::default());
    }

    #[test]
    fn ranges_have_no_gap_and_begin_with_an_empty_one() {
        const MS: u64 = 1_000_000;
        let buckets = buckets(&histogram([90 * MS, 99 * MS, 1_000 * MS, 3_000_000 * MS]));
        let ends = buckets.iter().map(|bucket| bucket.up_to_ns);
        assert_eq!(ends.take(3).collect::<Vec<_>>(), [80 * MS, 100 * MS, 125 * MS]);
        assert_eq!((buckets[0].count, buckets[1].count), (0, 2));
        for pair in buckets.windows(2) {
            let ratio = pair[1].up_to_ns as f64 / pair[0].up_to_ns as f64;
            assert!((1.2..1.3).contains(&ratio), "{pair:?}");
        }
        assert_eq!(
            buckets.last().map(|last| (last.up_to_ns, last.count)),
            Some((3_150_000 * MS, 1))
        );
        let least = super::buckets(&histogram([0, 7]));
        assert_eq!(least, [Bucket::default(), Bucket { up_to_ns: 100, count: 2 }]);
        assert_eq!(super::buckets(&histogram([])), []);
    }

    proptest! {
        #[test]
        fn each_value_is_in_one_range(values in proptest::collection::vec(0..1_u64 << 50, 1..60)) {
            let buckets = buckets(&histogram(values.iter().copied()));
            let count = buckets.iter().map(|bucket| bucket.count).sum::<u64>();
            prop_assert_eq!(count, values.len() as u64);
            let [.., last] = buckets.as_slice() else { panic!("has values") };
            let max = values.iter().copied().max().unwrap_or(0);
            prop_assert!(max <= last.up_to_ns, "{} {}", max, last.up_to_ns);
        }
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let cases = [
            (5_000, 20),
            (7_500, 40),
            (9_000, 100),
            (9_500, 200),
            (9_900, 1_000),
            (9_990, 10_000),
            (9_999, 100_000),
        ];
        for (per_10k, count) in cases {
            assert!(is_valid(per_10k, count), "{per_10k}");
            assert!(!is_valid(per_10k, count - 1), "{per_10k}");
        }
        assert!(is_valid(5_000, u64::MAX));
        assert!(!is_valid(5_000, 0));
    }

    #[test]
    fn a_summary_of_nothing_knows_only_the_count() {
        let json = serde_json::to_string(&percentiles(&histogram([]))).expect("serialises");
        let names = ["p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max"];
        let nulls = names.map(|name| format!(r#""{name}":null"#)).join(",");
        assert_eq!(json, format!(r#"{{{nulls},"count":0}}"#));
    }

    #[test]
    fn a_summary_shows_what_its_count_permits() {
        let some = percentiles(&histogram(1..=100));
        assert_eq!((some.p50, some.p90, some.p99), (Some(50), Some(90), None));
        assert_eq!((some.max, some.count), (Some(100), 100));
        assert_eq!(percentiles(&histogram(1..=1_000)).p99, Some(990));
        let many = percentiles(&histogram(1..=100_000));
        // Three digits of precision.
        let near = |found: Option<u64>, wanted: u64| {
            assert!(found.is_some_and(|found| found.abs_diff(wanted) <= wanted / 500), "{many:?}");
        };
        near(many.p75, 75_000);
        near(many.p95, 95_000);
        near(many.p999, 99_900);
        near(many.p9999, 99_990);
    }

    #[test]
    fn times_that_did_not_end_move_the_percentiles_of_those_that_did() {
        // A node that stalls after a tenth of its work.
        let of = percentiles_with_open(&histogram(1..=100), &histogram([1_000; 900]));
        assert_eq!((of.p50, of.p99, of.max, of.count), (None, None, None, 1_000));
        // It stalls after 60 %: the median is that of all, the 500th value.
        let of = percentiles_with_open(&histogram(1..=600), &histogram([1_000; 400]));
        assert_eq!((of.p50, of.p75, of.max), (Some(500), None, None));
        // Those that were seen for a short time only say nothing of longer ones.
        let of = percentiles_with_open(&histogram(1_001..=1_100), &histogram([5; 900]));
        assert_eq!((of.p50, of.max, of.count), (Some(1_050), Some(1_100), 1_000));
    }

    #[test]
    fn the_textbook_has_the_same_shares() {
        // Six at risk; ends at 6 (three), open at 6, ends at 7, open at 9: S = 1/2, 1/2 · 1/2.
        let (ended, open) = (histogram([6, 6, 6, 7]), histogram([6, 9]));
        let shares: Vec<f64> = steps(&ended, &open).iter().map(|step| step.ended_share).collect();
        assert!((shares[0] - 0.5).abs() < 1e-12 && (shares[1] - 0.75).abs() < 1e-12, "{shares:?}");
    }

    proptest! {
        #[test]
        fn with_open_times_beyond_all_others_a_percentile_is_a_value_or_unknown(
            ended in prop::collection::vec(1_u64..2_000, 1..400),
            open_count in 1_usize..400,
        ) {
            let open = histogram(vec![1_000_000; open_count]);
            let of = percentiles_with_open(&histogram(ended.iter().copied()), &open);
            // Nearest rank of all values, the open ones as the longest.
            let mut sorted = ended.clone();
            sorted.sort_unstable();
            let count = sorted.len() + open_count;
            for (found, share, least) in [(of.p50, 50, 20), (of.p90, 90, 100), (of.p99, 99, 1_000)] {
                let rank = (count * share).div_ceil(100);
                if let Some(found) = found {
                    prop_assert!(rank <= sorted.len());
                    prop_assert!(found.abs_diff(sorted[rank - 1]) <= 1, "{} {}", found, sorted[rank - 1]);
                } else {
                    prop_assert!(rank > sorted.len() || count < least || open_count < 10);
                }
            }
        }
    }
}
