//! A sample of values: sorted, and how many an interval of a given width needs, from the spread of those at hand.

/// Fewest values for which there is an interval: of five not even the whole range holds the median
/// with 95 % confidence.
pub const INTERVAL_COUNT_MIN: usize = 6;

/// Half of an interval as a share of its median: the precision that reports ask for.
pub const PRECISION_SHARE: f64 = 0.03;

/// The fewest values whose spread tells anything about that of others.
pub const SPREAD_COUNT_MIN: usize = 3;

/// The end of the normal distribution's middle 95 %, in standard deviations.
const NORMAL_95: f64 = 1.96;

/// The values in order; `None` where one of them is not finite.
pub(super) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.iter().all(|value| value.is_finite()).then_some(sorted)
}

/// Estimates how many values make the 95 % interval of their median reach at most `share` of the
/// median to either side; at least as many as any interval needs.
///
/// The standard error of a median of n normal values is sqrt(π/2) s/√n, with their standard
/// deviation s. `None` below [`SPREAD_COUNT_MIN`] values, or without a finite positive median.
pub fn count_needed(values: &[f64], share: f64) -> Option<usize> {
    if values.len() < SPREAD_COUNT_MIN {
        return None;
    }
    let sorted = sorted(values)?;
    let middle = f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    if middle <= 0.0 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value / count).sum::<f64>();
    let squares = values.iter().map(|value| ((value - mean) / middle).powi(2)).sum::<f64>();
    let deviation = (squares / (count - 1.0)).sqrt();
    let error_of_one = std::f64::consts::FRAC_PI_2.sqrt() * deviation;
    let needed = (NORMAL_95 * error_of_one / share).powi(2).ceil();
    needed.is_finite().then(|| (needed as usize).max(INTERVAL_COUNT_MIN))
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
