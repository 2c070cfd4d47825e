//! Figures over few samples and many latencies: medians with their confidence, percentiles
//! where enough values lie beyond them. An unknown value is `None`; nothing is ever NaN.
//!
//! Knows no design and no time: comparing variants is not done here. `trimmed` has means that a
//! stray value does not move and their intervals, `steady` finds where a warm-up ends, `change` where
//! a series in time changes its level.

mod change;
mod components;
mod needed;
mod sample;
mod steady;
mod trimmed;

use hdrhistogram::Histogram;

use crate::figures::{Estimate, Percentiles};

pub use change::{ChangePoint, FALSE_ALARM_RATE, LEVEL_COUNT_MIN, change_points};
pub use components::{CHANCE_P, Components, components};
pub use needed::{PRECISION_SHARE, SPREAD_COUNT_MIN, count_needed};
pub use sample::INTERVAL_COUNT_MIN;
pub use steady::{Warmup, warm_up};
pub use trimmed::Trimmed;

use sample::sorted;

/// A percentile needs this many values beyond it (`docs/methodology.md`).
const BEYOND_COUNT_MIN: u64 = 10;

/// The confidence of an interval where nothing else is said.
pub const CONFIDENCE: f64 = 0.95;

/// A percentile that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    /// Half of all values are at most this.
    P50,
    /// 75 %.
    P75,
    /// 90 %.
    P90,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// 99.99 %.
    P9999,
}

impl Percentile {
    /// In hundredths of a per cent.
    const fn per_10k(self) -> u64 {
        match self {
            Self::P50 => 5_000,
            Self::P75 => 7_500,
            Self::P90 => 9_000,
            Self::P95 => 9_500,
            Self::P99 => 9_900,
            Self::P999 => 9_990,
            Self::P9999 => 9_999,
        }
    }

    /// Whether ten of `count` values lie beyond it.
    pub const fn is_valid(self, count: u64) -> bool {
        count as u128 * (10_000 - self.per_10k()) as u128 >= BEYOND_COUNT_MIN as u128 * 10_000
    }

    /// Its value in `histogram`, within the histogram's precision.
    pub fn of(self, histogram: &Histogram<u64>) -> Option<u64> {
        let value = || histogram.value_at_quantile(self.per_10k() as f64 / 10_000.0);
        self.is_valid(histogram.len()).then(value)
    }
}

/// A histogram in a few numbers of its unit; each is `None` where too few values lie beyond it.
pub fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    Percentiles {
        p50: Percentile::P50.of(histogram),
        p75: Percentile::P75.of(histogram),
        p90: Percentile::P90.of(histogram),
        p95: Percentile::P95.of(histogram),
        p99: Percentile::P99.of(histogram),
        p999: Percentile::P999.of(histogram),
        p9999: Percentile::P9999.of(histogram),
        max: (!histogram.is_empty()).then(|| histogram.max()),
        count: histogram.len(),
    }
}

/// The same of values that are all there: each percentile is one of them, by nearest rank.
pub fn percentiles_of(values: impl IntoIterator<Item = u64>) -> Percentiles {
    let mut sorted: Vec<u64> = values.into_iter().collect();
    sorted.sort_unstable();
    let count = sorted.len() as u64;
    let of = |percentile: Percentile| {
        let rank = (u128::from(count) * u128::from(percentile.per_10k())).div_ceil(10_000);
        let index = usize::try_from(rank.checked_sub(1)?).ok()?;
        sorted.get(index).copied().filter(|_| percentile.is_valid(count))
    };
    Percentiles {
        p50: of(Percentile::P50),
        p75: of(Percentile::P75),
        p90: of(Percentile::P90),
        p95: of(Percentile::P95),
        p99: of(Percentile::P99),
        p999: of(Percentile::P999),
        p9999: of(Percentile::P9999),
        max: sorted.last().copied(),
        count,
    }
}

/// The median and the trimmed mean of a figure over samples, with the intervals that hold them.
pub fn estimate(values: &[f64]) -> Estimate {
    let trimmed = Trimmed::of(values);
    Estimate {
        median: median(values),
        ci95: median_interval(values),
        trimmed_mean: trimmed.map(|trimmed| trimmed.mean),
        trimmed_ci95: trimmed.map(|trimmed| trimmed.interval(0.95)),
    }
}

/// The median; of an even number of values the mean of the middle two. `None` without values
/// or when one of them is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    let (low, high) = middle(sorted.len())?;
    // Halved before they are added: the sum might not be finite.
    Some(if low == high { sorted[low] } else { sorted[low] / 2.0 + sorted[high] / 2.0 })
}

/// The interval that holds the median of the values' distribution with at least 95 %
/// confidence, whatever their distribution. `None` below six values: not even the whole range
/// is that sure.
pub fn median_interval(values: &[f64]) -> Option<[f64; 2]> {
    median_interval_at(values, CONFIDENCE)
}

/// The same with at least this confidence. `None` below [`interval_count_min`] values.
pub fn median_interval_at(values: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let sorted = sorted(values)?;
    let (low, high) = median_ranks(sorted.len(), (1.0 - confidence) / 2.0)?;
    Some([sorted[low], sorted[high]])
}

/// The confidence that each of `count` intervals needs for all of them to hold at once with
/// [`CONFIDENCE`], whatever they have in common (Bonferroni).
pub fn confidence_of_each(count: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / count.max(1) as f64
}

/// The fewest values of which the whole range holds the median with this confidence, below 1: it
/// misses where all lie on one side.
pub fn interval_count_min(confidence: f64) -> usize {
    (1.0 - (1.0 - confidence).log2()).ceil() as usize
}

/// Millions of gas a second. `None` for no time.
pub fn mgas_per_s(gas: u64, wall_ns: u64) -> Option<f64> {
    (wall_ns > 0).then(|| gas as f64 * 1e3 / wall_ns as f64)
}

/// Places of the middle two of `count` sorted values.
fn middle(count: usize) -> Option<(usize, usize)> {
    Some((count.checked_sub(1)? / 2, count / 2))
}

/// Places of the two order statistics that enclose the median, where each end may miss it with a
/// probability of `tail_max`.
///
/// The number of values below the true median is binomial (count, 1/2). With k values left out
/// at each end the interval misses when at most k of them lie on one side: the largest k for
/// which that has a probability of at most `tail_max` is taken.
fn median_ranks(count: usize, tail_max: f64) -> Option<(usize, usize)> {
    let mut left_out = None;
    // Logarithms, since 2^-count is zero for large counts.
    let mut log_term = -(count as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..count / 2 {
        tail += log_term.exp();
        if tail > tail_max {
            break;
        }
        left_out = Some(k);
        log_term += ((count - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    left_out.map(|k| (k, count - 1 - k))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits");
        for value in values {
            histogram.record(value).expect("grows");
        }
        histogram
    }

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
    fn a_percentile_needs_ten_values_beyond_it() {
        let cases = [
            (Percentile::P50, 20),
            (Percentile::P75, 40),
            (Percentile::P90, 100),
            (Percentile::P95, 200),
            (Percentile::P99, 1_000),
            (Percentile::P999, 10_000),
            (Percentile::P9999, 100_000),
        ];
        for (percentile, count) in cases {
            assert!(percentile.is_valid(count), "{percentile:?}");
            assert!(!percentile.is_valid(count - 1), "{percentile:?}");
        }
        assert!(Percentile::P50.is_valid(u64::MAX));
        assert!(!Percentile::P50.is_valid(0));
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
    fn an_estimate_of_few_samples_has_no_interval() {
        let five = estimate(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!((five.median, five.ci95), (Some(3.0), None));
        let six = estimate(&[5.0, 1.0, 4.0, 2.0, 3.0, 6.0]);
        assert_eq!((six.median, six.ci95), (Some(3.5), Some([1.0, 6.0])));
    }

    #[test]
    fn ranks_are_those_of_the_published_table() {
        // Conover, Practical Nonparametric Statistics: the sign-test interval for the median.
        let table = [(6, 1), (7, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (25, 8)];
        for (count, rank) in table {
            assert_eq!(median_ranks(count, TAIL), Some((rank - 1, count - rank)), "{count}");
        }
        for count in 0..6 {
            assert_eq!(median_ranks(count, TAIL), None, "{count}");
        }
    }

    #[test]
    fn an_interval_begins_to_exist_with_as_many_values_as_its_confidence_needs() {
        assert_eq!(interval_count_min(CONFIDENCE), INTERVAL_COUNT_MIN);
        for candidates in [1, 2, 3, 4, 8, 25] {
            let confidence = confidence_of_each(candidates);
            let least = interval_count_min(confidence);
            let values: Vec<f64> = (0..least).map(|value| value as f64).collect();
            let whole = Some([0.0, values[least - 1]]);
            assert_eq!(median_interval_at(&values, confidence), whole, "{candidates}");
            assert_eq!(median_interval_at(&values[1..], confidence), None, "{candidates}");
        }
    }

    #[test]
    fn ranks_of_many_values_agree_with_the_normal_distribution() {
        for count in [1_000, 10_000, 1_000_000] {
            let (low, high) = median_ranks(count, TAIL).expect("enough values");
            let expected = count as f64 / 2.0 - 1.96 * (count as f64).sqrt() / 2.0;
            assert!((low as f64 - expected).abs() < 2.0, "{count}: {low}, not {expected}");
            assert_eq!(low + high, count - 1);
        }
    }

    #[test]
    fn a_rate_without_time_is_unknown() {
        assert_eq!(mgas_per_s(1_000_000, 0), None);
        assert_eq!(mgas_per_s(60_000_000, 1_000_000_000), Some(60.0));
        assert_eq!(mgas_per_s(0, 1), Some(0.0));
    }

    #[test]
    fn what_is_not_finite_has_no_median() {
        assert_eq!(median(&[1.0, f64::NAN, 2.0]), None);
        assert_eq!(median(&[f64::INFINITY]), None);
        assert_eq!(median_interval(&[f64::NAN; 9]), None);
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median(&[]), None);
    }

    proptest! {
        #[test]
        fn as_many_values_lie_below_the_median_as_above(
            values in proptest::collection::vec(-1e300..1e300, 1..60)
        ) {
            let median = median(&values).expect("has values");
            let below = values.iter().filter(|value| **value < median).count();
            let above = values.iter().filter(|value| **value > median).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }

        #[test]
        fn an_interval_encloses_the_median_and_lies_within_the_values(
            values in proptest::collection::vec(-1e300..1e300, 6..200)
        ) {
            let [low, high] = median_interval(&values).expect("six or more");
            let median = median(&values).expect("has values");
            prop_assert!(low <= median && median <= high);
            prop_assert!(values.contains(&low) && values.contains(&high));
        }

        #[test]
        fn order_does_not_matter(mut values in proptest::collection::vec(-1e300..1e300, 0..60)) {
            let before = (median(&values), median_interval(&values));
            values.reverse();
            prop_assert_eq!(before, (median(&values), median_interval(&values)));
        }

        #[test]
        fn an_interval_is_as_sure_as_it_says_and_the_next_narrower_is_not(count in 6_usize..120) {
            let (low, high) = median_ranks(count, TAIL).expect("six or more");
            prop_assert_eq!(low + high, count - 1);
            // Exact: the sum of binomials against 2.5 % of 2^count.
            let mut term = 1_u128;
            let mut tail = 0_u128;
            let is_sure = |tail: u128| tail.saturating_mul(40) <= 1_u128 << count;
            for k in 0..=low {
                tail += term;
                term = term * (count - k) as u128 / (k + 1) as u128;
            }
            prop_assert!(is_sure(tail));
            prop_assert!(low + 1 >= count / 2 || !is_sure(tail + term));
        }

        #[test]
        fn percentiles_rise_and_end_at_the_largest(
            values in proptest::collection::vec(1_u64..1 << 40, 1_000..1_500)
        ) {
            let summary = percentiles(&histogram(values.iter().copied()));
            let all = [summary.p50, summary.p75, summary.p90, summary.p95, summary.p99, summary.max];
            prop_assert!(all.iter().all(Option::is_some) && all.is_sorted(), "{:?}", summary);
        }

        #[test]
        fn a_rate_is_finite(gas in any::<u64>(), wall_ns in 1..u64::MAX) {
            prop_assert!(mgas_per_s(gas, wall_ns).is_some_and(f64::is_finite));
        }
    }
}
