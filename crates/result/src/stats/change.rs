//! Finds changes of level in a time series (for the history of results), and the end of a warm-up
//! (for runs and gates).
//!
//! Change points: a scan of the Mann-Whitney statistic over all splits of the series (Pettitt,
//! Applied Statistics 28, 1979). The statistic of each split is standardised (Hawkins and Deng,
//! Journal of Quality Technology 42, 2010). Permutations decide whether there is a change; then
//! each side is split again (Matteson and James, JASA 109, 2014).
//!
//! The decision uses the ranks of the values alone, so an outlier moves nothing, and noise may have
//! any distribution. The change is put where two levels fit best by least absolute deviations.
//! Successive values must be independent.

use rand::{SeedableRng, rngs::ChaCha12Rng, seq::SliceRandom};

use super::sample::{ranks, sorted};

/// Fewest values between two changes, before the first change and after the last.
pub const LEVEL_COUNT_MIN: usize = 4;
/// Default share of all series without a change in which a change is reported.
pub const FALSE_ALARM_RATE: f64 = 0.05;

/// Number of permutations that may score as high as a series with a change. Divided by the rate of
/// false alarms, it is the number of permutations that are tried.
const STRONGER_COUNT: f64 = 20.0;
/// Relative difference below which two scores are equal. Sums of the same ranks in another order
/// differ by rounding.
const ROUNDING: f64 = 1e-9;
/// Seed of the permutations. They are the same in each call, so a change that was found once is
/// found again.
const SEED: u64 = 0x5354_5245_5353;

/// A change of level in a time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub index: usize,
    /// Share of the permutations of this part of the series that have a change as strong.
    pub p: f64,
}

/// Finds the changes of level in a time series, in their order. At most a share `rate` of all
/// series without a change gets a change. Empty below twice [`LEVEL_COUNT_MIN`] values, and if a
/// value is not finite.
pub fn change_points(values: &[f64], rate: f64) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    if values.iter().all(|value| value.is_finite()) {
        split(values, 0, rate, &mut found);
    }
    found
}

/// Adds the changes in `values` to `found`. `first` is the index of the first value in the whole
/// series.
fn split(values: &[f64], first: usize, rate: f64, found: &mut Vec<ChangePoint>) {
    let Some(p) = chance(values, rate) else { return };
    let index = split_index(values);
    let (before, after) = values.split_at(index);
    split(before, first, rate, found);
    found.push(ChangePoint { index: first + index, p });
    split(after, first + index, rate, found);
}

/// Returns the share of the permutations of `values` that have a change as strong; `None` if it is
/// above `rate`, and if `values` are too few.
fn chance(values: &[f64], rate: f64) -> Option<f64> {
    let mut ranks = ranks(values);
    let score = scan(&ranks)?;
    let count = (STRONGER_COUNT / rate).ceil();
    let mut random = ChaCha12Rng::seed_from_u64(SEED);
    // The series itself counts as one of its permutations.
    let mut as_strong = 1.0;
    for _ in 1..count as u64 {
        ranks.shuffle(&mut random);
        if scan(&ranks) >= Some(score * (1.0 - ROUNDING)) {
            as_strong += 1.0;
        }
        if as_strong > rate * count {
            return None;
        }
    }
    Some(as_strong / count)
}

/// Returns the largest score of all splits. The score is the sum of the ranks before the split
/// minus its expectation, standardised so that all splits are comparable.
fn scan(ranks: &[f64]) -> Option<f64> {
    let mean = (ranks.len() as f64 + 1.0) / 2.0;
    let mut sum = 0.0;
    let mut most = None;
    for (before, rank) in (1..).zip(ranks) {
        sum += rank - mean;
        let after = ranks.len() - before;
        if before >= LEVEL_COUNT_MIN && after >= LEVEL_COUNT_MIN {
            let score = f64::abs(sum) / (before as f64 * after as f64).sqrt();
            most = Some(most.map_or(score, |most: f64| most.max(score)));
        }
    }
    most
}

/// Returns the split at which the values lie nearest to the medians of their sides. A split inside
/// a level is never better than one at its ends, because the sum of deviations is concave there.
fn split_index(values: &[f64]) -> usize {
    (LEVEL_COUNT_MIN..=values.len() - LEVEL_COUNT_MIN)
        .map(|index| (index, values.split_at(index)))
        .map(|(index, (before, after))| (index, deviation(before) + deviation(after)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(0, |(index, _)| index)
}

/// Returns the sum of the distances of the values from their median.
fn deviation(values: &[f64]) -> f64 {
    let Some(sorted) = sorted(values) else { return 0.0 };
    let (low, high) = sorted.split_at(sorted.len() / 2);
    // Sums the distances of each high value from the low value opposite: the median lies between
    // the two.
    high.iter().rev().zip(low).map(|(high, low)| high - low).sum()
}

/// Fewest values in which a warm-up can be told from chance.
const WARM_UP_COUNT_MIN: usize = 10;

/// End of the warm-up of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUpEnd {
    /// Not known: there are too few values, or one is not finite.
    Unknown,
    /// The values after this number of first values are steady; mostly the number is zero.
    Found(usize),
    /// There is no end in the first half: the values still rise or fall then. No value should be
    /// left out, because the rest would be no better than the whole series.
    NoEnd,
}

/// Finds where the warm-up of a series ends.
///
/// White (1997), "An effective truncation heuristic for bias reduction in simulation output"
/// (MSER). Leaves out the number of first values for which the mean of the rest has the smallest
/// standard error. Warm-up values in the rest raise this error, and so do fewer values. The rule
/// has no parameter.
pub fn warm_up(values: &[f64]) -> WarmUpEnd {
    if values.len() < WARM_UP_COUNT_MIN || values.iter().any(|value| !value.is_finite()) {
        return WarmUpEnd::Unknown;
    }
    let most = values.len() / 2;
    let best = (0..=most)
        .map(|from| (from, squared_error(&values[from..])))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(0, |(from, _)| from);
    if best == most { WarmUpEnd::NoEnd } else { WarmUpEnd::Found(best) }
}

/// Returns the squared standard error of the mean of the values.
fn squared_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count.powi(2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values around 1 with a standard deviation of about `spread`.
    fn noise(seed: u64, count: usize, spread: f64) -> Vec<f64> {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        (0..count).map(|_| 1.0 + spread * normal()).collect()
    }

    /// The same with steps: from each index on, values are this many times as large.
    fn with_steps(seed: u64, count: usize, steps: &[(usize, f64)]) -> Vec<f64> {
        let mut values = noise(seed, count, 0.01);
        for (from, factor) in steps {
            values[*from..].iter_mut().for_each(|value| *value *= factor);
        }
        values
    }

    fn indices(values: &[f64]) -> Vec<usize> {
        change_points(values, FALSE_ALARM_RATE).iter().map(|change| change.index).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is_and_its_strength_is_no_chance() {
        for seed in 0..20 {
            for factor in [1.08, 0.9, 30.0] {
                for from in [11, 20, 29] {
                    let values = with_steps(seed, 40, &[(from, factor)]);
                    let found = change_points(&values, 0.001);
                    let [change] = found[..] else { panic!("{seed} {from} {factor}: {found:?}") };
                    assert_eq!(change.index, from, "seed {seed}, {factor}");
                    assert!(change.p <= 0.001, "{change:?}");
                }
                // Four ranks of forty cannot be surer than this; the other level may seem to change too.
                for from in [4, 5, 35, 36] {
                    let values = with_steps(seed, 40, &[(from, factor)]);
                    assert!(indices(&values).contains(&from), "{seed} {from} {factor}");
                }
            }
        }
    }

    #[test]
    fn every_step_of_several_is_found_in_its_order() {
        for seed in 0..20 {
            let values = with_steps(seed, 60, &[(12, 1.1), (24, 0.85), (40, 1.2)]);
            assert_eq!(change_points(&values, 0.01).len(), 3, "{seed}");
            let found: Vec<_> = change_points(&values, 0.01).iter().map(|c| c.index).collect();
            assert_eq!(found, [12, 24, 40], "{seed}");
        }
    }

    #[test]
    fn constant_noise_has_change_points_at_the_claimed_rate() {
        let count_of = |make: &dyn Fn(u64) -> Vec<f64>| {
            (0..400).filter(|seed| !indices(&make(*seed)).is_empty()).count()
        };
        // Of 400 series 20 are awaited, with a standard deviation of 4.4.
        let normal = count_of(&|seed| noise(seed, 30, 0.02));
        assert!((3..=37).contains(&normal), "{normal}");
        // A quotient of two normal values has neither a mean nor a variance.
        let wild = |seed| -> Vec<f64> {
            let (a, b) = (noise(seed, 30, 1.0), noise(seed + 1_000, 30, 1.0));
            a.iter().zip(&b).map(|(a, b)| (a - 1.0) / (b - 1.0)).collect()
        };
        let wild = count_of(&wild);
        assert!((3..=37).contains(&wild), "{wild}");
    }

    #[test]
    fn a_stray_value_equal_values_and_few_values_have_no_change() {
        let mut stray = vec![1.0; 20];
        stray[9] = 1e9;
        assert_eq!(indices(&stray), [0; 0]);
        assert_eq!(indices(&[7.0; 50]), [0; 0]);
        assert_eq!(indices(&[]), [0; 0]);
        assert_eq!(indices(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0]), [0; 0], "too few");
        // Two of the 70 ways to choose four of eight.
        assert_eq!(indices(&[1.0, 1.1, 1.2, 1.3, 9.0, 9.1, 9.2, 9.3]), [4]);
        let mut unknown = vec![1.0; 10];
        unknown.extend([2.0; 10]);
        assert_eq!(indices(&unknown), [10]);
        unknown[3] = f64::NAN;
        assert_eq!(indices(&unknown), [0; 0]);
    }

    #[test]
    fn ranks_alone_count_and_a_series_read_backwards_changes_at_the_same_places() {
        for seed in 0..20 {
            let values = with_steps(seed, 40, &[(15, 1.1)]);
            let logs: Vec<_> = values.iter().map(|value| value.ln()).collect();
            let found = change_points(&values, 0.01);
            assert_eq!(found, change_points(&logs, 0.01));
            let backwards: Vec<_> = values.iter().rev().copied().collect();
            let mirrored: Vec<_> =
                change_points(&backwards, 0.01).iter().map(|c| c.index).collect();
            assert_eq!(mirrored, [25], "{seed}");
        }
    }

    #[test]
    fn a_slow_start_is_left_out_and_an_even_series_is_not_touched() {
        let even = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.1, 0.9, 1.0];
        assert_eq!(warm_up(&even), WarmUpEnd::Found(0));
        let slow: Vec<_> = [9.0, 4.0, 2.0].iter().chain(&even).copied().collect();
        assert_eq!(warm_up(&slow), WarmUpEnd::Found(3));
    }

    #[test]
    fn a_series_that_never_settles_is_called_so() {
        let falling: Vec<_> = (0..20).map(|i| f64::from(100 - 5 * i)).collect();
        assert_eq!(warm_up(&falling), WarmUpEnd::NoEnd);
    }

    #[test]
    fn few_values_tell_nothing() {
        assert_eq!(warm_up(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), WarmUpEnd::Unknown);
        assert_eq!(warm_up(&[f64::NAN; 20]), WarmUpEnd::Unknown);
    }

    proptest! {
        #[test]
        fn less_than_half_is_left_out_and_units_do_not_matter(
            values in proptest::collection::vec(1.0..1e3, 0..60),
        ) {
            let found = warm_up(&values);
            if let WarmUpEnd::Found(count) = found {
                prop_assert!(count < values.len() / 2);
            }
            // By powers of two, so that nothing is rounded.
            let scaled: Vec<_> = values.iter().map(|value| value * 1024.0).collect();
            prop_assert_eq!(found, warm_up(&scaled));
        }
    }
}
