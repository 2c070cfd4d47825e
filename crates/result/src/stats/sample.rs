//! A sample of values: sorted, and how many it needs for an interval.

/// Fewest values for which there is an interval: of five not even the whole range holds the median
/// with 95 % confidence.
pub const INTERVAL_COUNT_MIN: usize = 6;

/// The values in order; `None` where one of them is not finite.
pub(super) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.iter().all(|value| value.is_finite()).then_some(sorted)
}
