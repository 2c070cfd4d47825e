//! Statistics over few samples and many latencies: medians with their confidence intervals, and
//! percentiles where enough values lie beyond them. An unknown value is `None`; no result is NaN.
//!
//! These functions know no design and no unit of time, and do not compare variants. `trimmed` has
//! means that an outlier does not move, with their intervals. `line` fits a straight line, with the
//! bounds of further values. `change` finds the end of a warm-up, and changes of level in a time
//! series.

mod change;
mod components;
mod line;
mod percentile;
mod sample;
mod trimmed;

use crate::figures::Estimate;

pub use change::{
    ChangePoint, FALSE_ALARM_RATE, LEVEL_COUNT_MIN, WarmUpEnd, change_points, warm_up,
};
pub use components::{CHANCE_P, Components, components};
pub use line::{Crossing, Line, Point};
pub use percentile::{buckets, percentiles, percentiles_of, percentiles_with_open};
pub use sample::{
    CONFIDENCE, INTERVAL_COUNT_MIN, PRECISION_SHARE, SPREAD_COUNT_MIN, count_needed, median,
    outliers, ranks, spearman,
};
pub use trimmed::Trimmed;

use sample::sorted;

/// Estimates a figure over samples: its median and its trimmed mean, each with its 95 % confidence
/// interval.
pub fn estimate(values: &[f64]) -> Estimate {
    let trimmed = Trimmed::of(values);
    Estimate {
        median: median(values),
        ci95: median_interval(values),
        trimmed_mean: trimmed.map(|trimmed| trimmed.mean),
        trimmed_ci95: trimmed.map(|trimmed| trimmed.interval(0.95)),
    }
}

/// Returns an interval that holds the median of the values' distribution with at least 95 %
/// confidence, for any distribution. `None` below six values: even their whole range does not have
/// that confidence.
pub fn median_interval(values: &[f64]) -> Option<[f64; 2]> {
    median_interval_at(values, CONFIDENCE)
}

/// Returns an interval that holds the median with at least this confidence. `None` below
/// [`interval_count_min`] values.
pub fn median_interval_at(values: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let sorted = sorted(values)?;
    let (low, high) = median_ranks(sorted.len(), (1.0 - confidence) / 2.0)?;
    Some([sorted[low], sorted[high]])
}

/// Returns the confidence that each of `count` intervals needs, so that all of them hold at once
/// with [`CONFIDENCE`]. The intervals may depend on each other (Bonferroni).
pub fn confidence_of_each(count: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / count.max(1) as f64
}

/// Returns the smallest number of values whose whole range holds the median with this confidence,
/// which must be below 1. The range misses the median if all values lie on one side of it.
pub fn interval_count_min(confidence: f64) -> usize {
    (1.0 - (1.0 - confidence).log2()).ceil() as usize
}

/// Returns million gas per second; `None` if the time is 0.
pub fn mgas_per_s(gas: u64, wall_ns: u64) -> Option<f64> {
    (wall_ns > 0).then(|| gas as f64 * 1e3 / wall_ns as f64)
}

/// Returns the indices of two of the sorted values that enclose the median. The median lies beyond
/// each of them with a probability of at most `tail_max`.
///
/// The number of values below the true median is binomial (count, 1/2). If k values are left out at
/// each end, an end misses the median when at most k values lie beyond it. The result has the
/// largest k for which the probability of this is at most `tail_max`.
fn median_ranks(count: usize, tail_max: f64) -> Option<(usize, usize)> {
    let mut left_out = None;
    // The term is kept as a logarithm, since 2^-count is zero for large counts.
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
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    pub(super) fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        values.into_iter().for_each(|value| histogram.record(value).unwrap());
        histogram
    }

    const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;

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
