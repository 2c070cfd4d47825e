//! Functions of a few values: sorting, the median, outliers, ranks and their correlation. Also the
//! number of values that an interval of a given width needs, estimated from the spread of the
//! present values.

/// Default confidence of an interval, as a share of one.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest values for an interval. Even the whole range of five values does not hold the median with
/// 95 % confidence.
pub const INTERVAL_COUNT_MIN: usize = 6;

/// Precision that reports aim at: half the width of a median's interval, as a share of the median.
pub const PRECISION_SHARE: f64 = 0.03;

/// Fewest values from which the spread of further values is estimated.
pub const SPREAD_COUNT_MIN: usize = 3;

/// End of the middle 95 % of a normal distribution, in standard deviations from its mean.
const NORMAL_95: f64 = 1.96;

/// Returns the values in ascending order; `None` if a value is not finite.
pub(super) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.iter().all(|value| value.is_finite()).then_some(sorted)
}

/// Returns the median; of an even number of values, the mean of the middle two. `None` without
/// values, or if a value is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]))
}

/// Estimates the number of values with which the 95 % interval of their median reaches at most
/// `share` of the median to either side. The number is at least [`INTERVAL_COUNT_MIN`]. `None`
/// below [`SPREAD_COUNT_MIN`] values, or if the median is not finite and positive.
///
/// The standard error of the median of n normal values is sqrt(π/2) s/√n, where s is their standard
/// deviation.
pub fn count_needed(values: &[f64], share: f64) -> Option<usize> {
    if values.len() < SPREAD_COUNT_MIN {
        return None;
    }
    let median = median(values).filter(|median| *median > 0.0)?;
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value / count).sum::<f64>();
    let squares = values.iter().map(|value| ((value - mean) / median).powi(2)).sum::<f64>();
    let deviation = (squares / (count - 1.0)).sqrt();
    let error_of_one = std::f64::consts::FRAC_PI_2.sqrt() * deviation;
    let needed = (NORMAL_95 * error_of_one / share).powi(2).ceil();
    needed.is_finite().then(|| (needed as usize).max(INTERVAL_COUNT_MIN))
}

/// Returns the indices of outliers: values beyond Tukey's fences, which are 1.5 interquartile
/// ranges outside the quartiles. Empty below [`INTERVAL_COUNT_MIN`] values.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    const FENCE: f64 = 1.5;
    let Some(sorted) = sorted(values).filter(|all| all.len() >= INTERVAL_COUNT_MIN) else {
        return Vec::new();
    };
    let [low, high] = [0.25, 0.75].map(|share| {
        let index = share * (sorted.len() - 1) as f64;
        let (below, above) = (sorted[index.floor() as usize], sorted[index.ceil() as usize]);
        below + (above - below) * index.fract()
    });
    let reach = FENCE * (high - low);
    let is_outlier = |value: f64| value < low - reach || value > high + reach;
    (0..values.len()).filter(|index| is_outlier(values[*index])).collect()
}

/// Returns the rank of each value, from 1 for the smallest on. Equal values share the mean of their
/// ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            below as f64 + (equal as f64 + 1.0) / 2.0
        })
        .collect()
}

/// Returns Spearman's rank correlation of pairs: Pearson's correlation of the ranks of both sides.
/// `None` below three pairs, if a value is NaN, and if all values of a side are equal.
pub fn spearman(pairs: &[[f64; 2]]) -> Option<f64> {
    if pairs.len() < 3 || pairs.iter().flatten().any(|value| value.is_nan()) {
        return None;
    }
    let [a, b] = [0, 1].map(|side| {
        let ranks = ranks(&pairs.iter().map(|pair| pair[side]).collect::<Vec<_>>());
        let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
        ranks.into_iter().map(|rank| rank - mean).collect::<Vec<_>>()
    });
    let norm = (dot(&a, &a) * dot(&b, &b)).sqrt();
    (norm > 0.0).then(|| dot(&a, &b) / norm)
}

/// Dot product.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_spread_of_ten_per_cent_needs_68_values_for_three_per_cent() {
        // Mean and median 100, deviation 10: (1.96 × 1.2533 × 0.1 / 0.03)² = 67.06.
        assert_eq!(count_needed(&[90.0, 100.0, 110.0], PRECISION_SHARE), Some(68));
        assert_eq!(count_needed(&[90.0, 100.0, 110.0], 2.0 * PRECISION_SHARE), Some(17));
    }

    #[test]
    fn equal_values_need_as_many_as_any_interval() {
        assert_eq!(count_needed(&[7.0; 4], PRECISION_SHARE), Some(INTERVAL_COUNT_MIN));
    }

    #[test]
    fn two_values_say_nothing_of_the_spread() {
        assert_eq!(count_needed(&[90.0, 110.0], PRECISION_SHARE), None);
        assert_eq!(count_needed(&[0.0, 0.0, 0.0], PRECISION_SHARE), None);
        assert_eq!(count_needed(&[1.0, f64::NAN, 3.0], PRECISION_SHARE), None);
    }

    #[test]
    fn a_value_beyond_the_fences_is_an_outlier_on_either_side() {
        // Quartiles 12.25 and 17.75: fences at 4 and 26.
        let mut values = [10.0, 11.0, 13.0, 12.0, 15.0, 16.0, 18.0, 17.0, 19.0, 14.0];
        assert_eq!(outliers(&values), [0; 0]);
        (values[2], values[6]) = (30.0, 1.0);
        assert_eq!(outliers(&values), [2, 6]);
        assert_eq!(outliers(&[7.0; 9]), [0; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 99.0]), [0; 0], "too few");
    }

    #[test]
    fn ranks_of_equal_values_are_their_mean() {
        assert_eq!(ranks(&[30.0, 10.0, 20.0, 20.0]), [4.0, 1.0, 2.5, 2.5]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    #[test]
    fn the_correlation_is_that_of_the_order_alone() {
        let of = |b: &[f64]| {
            let pairs: Vec<_> = (1..).zip(b).map(|(a, b)| [f64::from(a), *b]).collect();
            spearman(&pairs)
        };
        assert_eq!(of(&[1.0, 10.0, 11.0, 1e9]), Some(1.0));
        assert_eq!(of(&[4.0, 3.0, 2.0, 1.0]), Some(-1.0));
        // 1 - 6 Σd² / n (n² - 1), with Σd² = 2.
        assert!((of(&[1.0, 3.0, 2.0, 4.0]).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(of(&[7.0, 7.0, 7.0]), None);
        assert_eq!(of(&[1.0, 2.0]), None);
        assert_eq!(of(&[1.0, f64::NAN, 3.0]), None);
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter(
            values in proptest::collection::vec(1.0..1e3, 3..40),
            power in -20..20,
        ) {
            // A power of two keeps every digit.
            let scaled: Vec<f64> = values.iter().map(|value| value * 2_f64.powi(power)).collect();
            prop_assert_eq!(
                count_needed(&values, PRECISION_SHARE),
                count_needed(&scaled, PRECISION_SHARE)
            );
        }
    }
}
