//! Ratios, and durations in nanoseconds, for all figures of results.

use std::time::Duration;

/// Returns `a / b`; `None` if `b` is not positive or the ratio is not finite.
pub fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b).filter(|ratio| ratio.is_finite())
}

/// Returns `a / b`, or 0 if there is no such ratio.
pub fn ratio_or_zero(a: f64, b: f64) -> f64 {
    ratio(a, b).unwrap_or(0.0)
}

/// Returns the nanoseconds of `duration`, at most `u64::MAX`.
pub fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
