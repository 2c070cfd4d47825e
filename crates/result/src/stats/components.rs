//! Estimates the spread of values between groups, and within them. A group has the values of one
//! database (`pooled.rs`). The two are the variance components of a one-way layout with random
//! effects, by the method of moments. Groups are trimmed, so an outlier affects neither component.
//!
//! Searle, Casella and others (1992), "Variance Components", chapter 3. Groups may differ in size.
//! A negative estimate becomes zero. If groups do not differ, chance makes the estimate negative in
//! about half of all cases.
//!
//! Lee and Fung (1985), "Behaviour of trimmed F and sine-wave F statistics in one-way
//! classification". Means of groups are trimmed, and squares within groups are winsorised. A group
//! of fewer than five values has nothing to trim, and is used as it is.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::{sample::sorted, trimmed};

/// Fewest groups. The spread between two groups is one difference, which says almost nothing.
const GROUP_COUNT_MIN: usize = 3;

/// Probability from which on chance explains the differences between groups.
pub const CHANCE_P: f64 = 0.05;

/// Variances of the two parts of a value: its group's part and its own part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// Variance of the part that all values of a group have in common.
    pub between_variance: f64,
    /// Variance of the part that is each value's own. Divided by the number of a group's values, it
    /// is the variance of the group's trimmed mean.
    pub within_variance: f64,
    /// Probability that groups would lie this far apart by chance, if they did not differ (F test);
    /// `None` where all values are equal. The test assumes independent values: the probability is
    /// too small if values of a group depend on each other.
    pub p: Option<f64>,
}

/// Figures of a group without its outliers.
struct Group {
    /// Number of values that trimming leaves.
    kept_count: f64,
    /// Mean of these values.
    mean: f64,
    /// Sum of the squared distances of the winsorised values from their mean.
    squares: f64,
}

impl Group {
    /// Trims a group; `None` without values, and if a value is not finite.
    fn trim(values: &[f64]) -> Option<Self> {
        let mut values = sorted(values).filter(|values| !values.is_empty())?;
        let kept = trimmed::kept(&values);
        let (kept_count, mean) = (kept.len() as f64, trimmed::mean(kept));
        trimmed::winsorise(&mut values);
        let winsorised_mean = trimmed::mean(&values);
        let squares = values.iter().map(|value| (value - winsorised_mean).powi(2)).sum();
        Some(Self { kept_count, mean, squares })
    }
}

/// Estimates the variance components of values in groups. Ignores groups without values. `None`
/// below three groups, if no group has two values, and if a value is not finite.
pub fn components(groups: &[Vec<f64>]) -> Option<Components> {
    let groups = groups.iter().filter(|group| !group.is_empty());
    let count = groups.clone().map(Vec::len).sum::<usize>() as f64;
    let groups: Vec<Group> = groups.map(|group| Group::trim(group)).collect::<Option<_>>()?;
    let kept_count: f64 = groups.iter().map(|group| group.kept_count).sum();
    let (group_freedom, value_freedom) =
        (groups.len() as f64 - 1.0, kept_count - groups.len() as f64);
    if groups.len() < GROUP_COUNT_MIN || value_freedom < 1.0 {
        return None;
    }
    let mean = groups.iter().map(|group| group.kept_count * group.mean).sum::<f64>() / kept_count;
    let squares = groups.iter().map(|group| group.kept_count * (group.mean - mean).powi(2));
    let between = squares.sum::<f64>() / group_freedom;
    let within = groups.iter().map(|group| group.squares).sum::<f64>() / value_freedom;
    // The size of each group if all groups were equal in size.
    let counts = groups.iter().map(|group| group.kept_count.powi(2));
    let size = (kept_count - counts.sum::<f64>() / kept_count) / group_freedom;
    let components = Components {
        between_variance: ((between - within) / size).max(0.0),
        within_variance: within * count / kept_count,
        p: chance(between, within, [group_freedom, value_freedom]),
    };
    let is_finite = components.between_variance.is_finite() && within.is_finite();
    is_finite.then_some(components)
}

/// Returns the probability that the mean squares between groups and within them are this far apart
/// by chance.
fn chance(between: f64, within: f64, [of_groups, of_values]: [f64; 2]) -> Option<f64> {
    let ratio = between / within;
    if ratio.is_nan() {
        return None;
    }
    // No F value lies above a ratio that is infinite.
    if !(ratio * of_groups).is_finite() {
        return Some(0.0);
    }
    Some(FisherSnedecor::new(of_groups, of_values).ok()?.sf(ratio))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn components_are_those_of_a_published_example() {
        // Snedecor and Cochran, Statistical Methods: calcium in turnip leaves, four leaves, four
        // determinations each: within 0.0066, between 0.0724.
        let leaves = [
            vec![3.28, 3.09, 3.03, 3.03],
            vec![3.52, 3.48, 3.38, 3.38],
            vec![2.88, 2.80, 2.81, 2.76],
            vec![3.34, 3.38, 3.23, 3.26],
        ];
        let found = components(&leaves).expect("enough values");
        assert!((found.within_variance - 0.0066).abs() < 5e-5, "{found:?}");
        assert!((found.between_variance - 0.0724).abs() < 5e-5, "{found:?}");
        // F = 44.9 with 3 and 12 degrees of freedom.
        assert!(found.p.is_some_and(|p| p < 1e-5), "{found:?}");
    }

    #[test]
    fn probabilities_are_those_of_the_published_table_of_fisher() {
        // Degrees of freedom of groups and of values, 5 % point.
        for (freedom, ratio) in [([2.0, 6.0], 5.143), ([3.0, 12.0], 3.490), ([5.0, 24.0], 2.621)] {
            let p = chance(ratio, 1.0, freedom).expect("a number");
            assert!((p - 0.05).abs() < 1e-4, "{freedom:?}: {p}");
        }
        assert_eq!(chance(0.0, 1.0, [2.0, 6.0]), Some(1.0));
        assert_eq!(chance(1.0, 0.0, [2.0, 6.0]), Some(0.0));
        assert_eq!(chance(1e300, 1e-300, [2.0, 6.0]), Some(0.0));
        assert_eq!(chance(0.0, 0.0, [2.0, 6.0]), None);
    }

    /// Pseudo-random values that are about normal (a sum of twelve even ones, less 6): groups of
    /// them differ only by chance.
    fn drawn(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed;
        let mut even = || {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as f64 / 2.0_f64.powi(64)
        };
        (0..count).map(|_| (0..12).map(|_| even()).sum::<f64>() - 6.0).collect()
    }

    #[test]
    fn groups_that_do_not_differ_are_found_to_as_often_as_the_probability_says() {
        let found: Vec<_> = (0..1_000)
            .filter_map(|seed| {
                let values = drawn(seed * 1_000_003, 6 * 10);
                components(&values.chunks(10).map(<[f64]>::to_vec).collect::<Vec<_>>())
            })
            .collect();
        let share = |is: &dyn Fn(&Components) -> bool| {
            found.iter().filter(|one| is(one)).count() as f64 / found.len() as f64
        };
        // An estimate above zero is no proof of a difference.
        let above = share(&|one| one.between_variance > 0.0);
        assert!((0.3..0.6).contains(&above), "{above}");
        let small = share(&|one| one.p.is_some_and(|p| p < CHANCE_P));
        assert!((0.02..0.08).contains(&small), "{small}");
        let within = found.iter().map(|one| one.within_variance).sum::<f64>() / 1_000.0;
        assert!((1.0..1.4).contains(&within), "{within}");
    }

    #[test]
    fn one_stray_value_changes_neither_part_much() {
        let groups: Vec<Vec<f64>> = (0..6)
            .map(|group| drawn(group, 10).iter().map(|v| v * 0.01 + group as f64 * 0.1).collect())
            .collect();
        let mut stray = groups.clone();
        stray[2][3] = 1e6;
        let (before, after) = (components(&groups), components(&stray));
        let (before, after) = (before.expect("enough values"), after.expect("enough values"));
        let ratio = after.within_variance / before.within_variance;
        assert!((0.5..2.0).contains(&ratio), "{before:?} {after:?}");
        let ratio = after.between_variance / before.between_variance;
        assert!((0.9..1.1).contains(&ratio), "{before:?} {after:?}");
        assert!(after.p.is_some_and(|p| p < 1e-6), "{after:?}");
    }

    #[test]
    fn few_groups_single_values_and_odd_values_have_no_components() {
        let pair = || vec![1.0, 2.0];
        assert_eq!(components(&[pair(), pair()]), None);
        assert_eq!(components(&[pair(), pair(), Vec::new()]), None);
        assert_eq!(components(&[vec![1.0], vec![2.0], vec![3.0]]), None);
        assert_eq!(components(&[pair(), pair(), vec![f64::NAN, 1.0]]), None);
        assert!(components(&[pair(), vec![2.0], vec![3.0]]).is_some());
    }

    fn groups() -> impl Strategy<Value = Vec<Vec<f64>>> {
        proptest::collection::vec(proptest::collection::vec(-10.0..10.0_f64, 2..9), 3..9)
    }

    proptest! {
        #[test]
        fn what_all_values_of_a_group_have_in_common_is_between(groups in groups()) {
            let within = components(&groups).expect("enough values").within_variance;
            let apart = (0..).zip(&groups).map(|(place, group)| {
                group.iter().map(|value| value + 1e3 * f64::from(place)).collect::<Vec<_>>()
            });
            let found = components(&apart.collect::<Vec<_>>()).expect("enough values");
            prop_assert!((found.within_variance - within).abs() < 1e-6 * (1.0 + within), "{:?}", found);
            prop_assert!(found.between_variance > 1e5, "{:?}", found);
        }

        #[test]
        fn groups_with_one_mean_have_nothing_between_them(groups in groups()) {
            let centred = groups.iter().map(|group| {
                let mean = Group::trim(group).expect("has values").mean;
                group.iter().map(|value| value - mean).collect::<Vec<_>>()
            });
            let found = components(&centred.collect::<Vec<_>>()).expect("enough values");
            prop_assert!(found.between_variance < 1e-12, "{:?}", found);
        }

        #[test]
        fn the_order_of_groups_and_a_shift_do_not_matter(groups in groups(), shift in -1e3..1e3) {
            let before = components(&groups).expect("enough values");
            let moved = groups.iter().rev().map(|group| {
                group.iter().map(|value| value + shift).collect::<Vec<f64>>()
            });
            let after = components(&moved.collect::<Vec<_>>()).expect("enough values");
            prop_assert!((before.between_variance - after.between_variance).abs() < 1e-6);
            prop_assert!((before.within_variance - after.within_variance).abs() < 1e-6);
        }
    }
}
