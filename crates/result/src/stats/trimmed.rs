//! The 20 % trimmed mean of a few values, with its interval by Yuen's method. A single outlier does
//! not move it, and the error comes from the remaining values. Gates compare such means.
//!
//! Yuen (1974), "The two-sample trimmed t for unequal population variances". The error is computed
//! from the winsorised deviation: each trimmed value is replaced by the nearest value that remains.
//! The quantile is that of Student's t, whose degrees of freedom are the number of remaining values
//! minus one.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::sample::{INTERVAL_COUNT_MIN, sorted};

/// Share of the values that is left out at each end.
const TRIM: f64 = 0.2;

/// A trimmed mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trimmed {
    /// Mean of the values that trimming leaves.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
    /// Degrees of freedom of Student's t for this error.
    pub freedom: f64,
}

impl Trimmed {
    /// Trims `values`, which must be independent. `None` below six values, and if a value is not
    /// finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut values = sorted(values).filter(|values| values.len() >= INTERVAL_COUNT_MIN)?;
        let count = values.len();
        let kept = kept(&values);
        let (mean, freedom) = (mean(kept), (kept.len() - 1) as f64);
        winsorise(&mut values);
        let error = deviation(&values) / ((1.0 - 2.0 * TRIM) * (count as f64).sqrt());
        (mean.is_finite() && error.is_finite()).then_some(Self { mean, error, freedom })
    }

    /// Returns the mean of `self` minus the mean of `other`, with its error, for independent values
    /// (Welch).
    pub fn minus(&self, other: &Self) -> Self {
        let (a, b) = (self.error.powi(2), other.error.powi(2));
        let spread = a.powi(2) / self.freedom + b.powi(2) / other.freedom;
        let least = self.freedom.min(other.freedom);
        Self {
            mean: self.mean - other.mean,
            error: (a + b).sqrt(),
            freedom: if spread > 0.0 { (a + b).powi(2) / spread } else { least },
        }
    }

    /// Returns a lower bound: the true mean is below it with a probability of at most `alpha`.
    pub fn lower(&self, alpha: f64) -> f64 {
        self.mean - self.reach(alpha)
    }

    /// Returns an upper bound: the true mean is above it with a probability of at most `alpha`.
    pub fn upper(&self, alpha: f64) -> f64 {
        self.mean + self.reach(alpha)
    }

    /// Returns the interval that holds the true mean with this confidence, such as 0.95.
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let alpha = (1.0 - confidence) / 2.0;
        [self.lower(alpha), self.upper(alpha)]
    }

    /// Distance from the mean to the bound that the true mean exceeds with a probability of
    /// `alpha`.
    fn reach(&self, alpha: f64) -> f64 {
        student_quantile(1.0 - alpha, self.freedom) * self.error
    }
}

/// Returns the value that Student's t, with these degrees of freedom, stays below with this
/// probability.
///
/// # Panics
/// If `freedom` is not above 0: [`Trimmed::of`] gives three or more, a line one or more.
pub(super) fn student_quantile(probability: f64, freedom: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom);
    let distribution = distribution.unwrap_or_else(|e| panic!("{freedom} degrees: {e}"));
    distribution.inverse_cdf(probability)
}

/// Returns the sorted values that remain after trimming both ends.
pub(super) fn kept(sorted: &[f64]) -> &[f64] {
    let cut = (TRIM * sorted.len() as f64) as usize;
    &sorted[cut..sorted.len() - cut]
}

/// Replaces each sorted value that [`kept`] leaves out by the nearest value that remains.
pub(super) fn winsorise(sorted: &mut [f64]) {
    let kept = kept(sorted);
    if let (Some(&low), Some(&high)) = (kept.first(), kept.last()) {
        sorted.iter_mut().for_each(|value| *value = value.clamp(low, high));
    }
}

/// Returns the mean of the values; 0 without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    // Each value is divided before the sum, because the sum might not be finite.
    values.iter().map(|value| value / values.len() as f64).sum()
}

/// Returns the sample standard deviation, with the divisor n - 1.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_those_of_the_published_table_of_student() {
        // One-sided probability, degrees of freedom, quantile.
        let table = [
            (0.95, 3.0, 2.353),
            (0.975, 5.0, 2.571),
            (0.99, 10.0, 2.764),
            (0.995, 7.0, 3.499),
            (0.9975, 7.0, 4.029),
            (0.999, 20.0, 3.552),
            (0.9995, 3.0, 12.924),
        ];
        for (probability, freedom, expected) in table {
            let quantile = student_quantile(probability, freedom);
            assert!((quantile - expected).abs() < 6e-4, "{probability} {freedom}: {quantile}");
        }
    }

    #[test]
    fn the_mean_and_its_error_are_those_of_a_published_example() {
        // Wilcox, Introduction to Robust Estimation and Hypothesis Testing: the self-awareness
        // data, trimmed mean 282.7, standard error 56.1, interval (160.4, 405.0).
        let values = [
            77.0, 87.0, 88.0, 114.0, 151.0, 210.0, 219.0, 246.0, 253.0, 262.0, 296.0, 299.0, 306.0,
            376.0, 428.0, 515.0, 666.0, 1310.0, 2611.0,
        ];
        let trimmed = Trimmed::of(&values).expect("enough values");
        assert!((trimmed.mean - 282.7).abs() < 0.05, "{trimmed:?}");
        assert!((trimmed.error - 56.1).abs() < 0.05, "{trimmed:?}");
        let [low, high] = trimmed.interval(0.95);
        assert!((low - 160.4).abs() < 0.05 && (high - 405.0).abs() < 0.05, "{low} {high}");
        assert_eq!(trimmed.freedom, 12.0);
    }

    #[test]
    fn few_values_or_odd_ones_have_no_interval() {
        assert_eq!(Trimmed::of(&[1.0; 5]), None);
        assert_eq!(Trimmed::of(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]), None);
        let equal = Trimmed::of(&[2.0; 6]).expect("enough values");
        assert!((equal.mean - 2.0).abs() < 1e-12 && equal.error < 1e-12, "{equal:?}");
        assert_eq!(equal.freedom, 3.0);
    }

    #[test]
    fn the_difference_of_two_alike_has_twice_the_variance_and_the_degrees_of_both() {
        let one = Trimmed { mean: 5.0, error: 3.0, freedom: 7.0 };
        let difference = one.minus(&Trimmed { mean: 4.0, ..one });
        assert_eq!(difference.mean, 1.0);
        assert!((difference.error - 18.0_f64.sqrt()).abs() < 1e-12);
        assert!((difference.freedom - 14.0).abs() < 1e-9);
        let sure = Trimmed { error: 0.0, ..one };
        assert_eq!(sure.minus(&sure).freedom, 7.0);
    }

    proptest! {
        #[test]
        fn one_stray_value_does_not_move_the_mean_beyond_the_others(
            values in proptest::collection::vec(-1.0..1.0_f64, 6..30),
            stray in 1e3..1e9,
        ) {
            let mut values = values;
            values.push(stray);
            let trimmed = Trimmed::of(&values).expect("enough values");
            prop_assert!(trimmed.mean <= 1.0, "{:?}", trimmed);
        }

        #[test]
        fn a_surer_interval_holds_the_less_sure_one_and_both_hold_the_mean(
            values in proptest::collection::vec(-1e6..1e6_f64, 6..40),
        ) {
            let trimmed = Trimmed::of(&values).expect("enough values");
            let ([a, d], [b, c]) = (trimmed.interval(0.99), trimmed.interval(0.95));
            prop_assert!(a <= b && b <= trimmed.mean && trimmed.mean <= c && c <= d);
            prop_assert!(trimmed.lower(0.005) == a && trimmed.upper(0.005) == d);
        }

        #[test]
        fn a_shift_moves_the_interval_and_a_scale_widens_it(
            values in proptest::collection::vec(-1e3..1e3_f64, 6..40),
            shift in -1e3..1e3_f64,
            scale in 0.5..10.0_f64,
        ) {
            let moved: Vec<_> = values.iter().map(|value| value * scale + shift).collect();
            let before = Trimmed::of(&values).expect("enough values");
            let after = Trimmed::of(&moved).expect("enough values");
            prop_assert!((after.mean - (before.mean * scale + shift)).abs() < 1e-6);
            prop_assert!((after.error - before.error * scale).abs() < 1e-6);
        }
    }
}
