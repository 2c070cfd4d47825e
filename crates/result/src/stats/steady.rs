//! Where a warm-up ends: found by a rule, not assumed.
//!
//! White (1997), "An effective truncation heuristic for bias reduction in simulation output": of
//! all ways to leave out the first values, the one after which the mean of the rest is surest
//! (MSER). It weighs the error by a warm-up against that by fewer values, and has no parameter.

/// Fewest values in which a warm-up can be told from chance.
const COUNT_MIN: usize = 10;

/// The rule's finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// There are too few values to tell.
    Unknown,
    /// The first so many are no part of the steady state; none, mostly.
    Found(usize),
    /// No half of the values is steady: they still rise or fall at the end. None is to be left
    /// out: the rest would be no better than the whole.
    NoEnd,
}

/// Where the warm-up of a series ends. A value that is not finite makes it unknown.
pub fn warm_up(values: &[f64]) -> Warmup {
    if values.len() < COUNT_MIN || values.iter().any(|value| !value.is_finite()) {
        return Warmup::Unknown;
    }
    let most = values.len() / 2;
    let best = (0..=most)
        .map(|from| (from, error(&values[from..])))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(0, |(from, _)| from);
    if best == most { Warmup::NoEnd } else { Warmup::Found(best) }
}

/// Squared standard error of the mean.
fn error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count.powi(2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_slow_start_is_left_out_and_an_even_series_is_not_touched() {
        let even = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.1, 0.9, 1.0];
        assert_eq!(warm_up(&even), Warmup::Found(0));
        let slow: Vec<_> = [9.0, 4.0, 2.0].iter().chain(&even).copied().collect();
        assert_eq!(warm_up(&slow), Warmup::Found(3));
    }

    #[test]
    fn a_series_that_never_settles_is_called_so() {
        let falling: Vec<_> = (0..20).map(|i| f64::from(100 - 5 * i)).collect();
        assert_eq!(warm_up(&falling), Warmup::NoEnd);
    }

    #[test]
    fn few_values_tell_nothing() {
        assert_eq!(warm_up(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Warmup::Unknown);
        assert_eq!(warm_up(&[f64::NAN; 20]), Warmup::Unknown);
    }

    proptest! {
        #[test]
        fn less_than_half_is_left_out_and_units_do_not_matter(
            values in proptest::collection::vec(1.0..1e3, 0..60),
        ) {
            let found = warm_up(&values);
            if let Warmup::Found(count) = found {
                prop_assert!(count < values.len() / 2);
            }
            // By powers of two, so that nothing is rounded.
            let scaled: Vec<_> = values.iter().map(|value| value * 1024.0).collect();
            prop_assert_eq!(found, warm_up(&scaled));
        }
    }
}
