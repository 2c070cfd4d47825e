//! Shares and nanoseconds.

use std::time::Duration;

/// `a / b`, where that is a number.
pub fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b).filter(|ratio| ratio.is_finite())
}

/// Nanoseconds, at most what a count can hold.
pub fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
