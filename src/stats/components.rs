//! How much of a spread is between groups of values, and how much within them: the variance
//! components of a one-way layout with random effects, by the method of moments.
//!
//! Searle, Casella and others (1992), "Variance Components", chapter 3: groups may be of
//! different sizes; an estimate below zero, which chance makes where groups do not differ, is
//! zero.

/// Fewest groups: of two the spread between them is one difference, which says next to nothing.
const GROUP_COUNT_MIN: usize = 3;

/// Variances of what a value is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// Of what all values of a group have in common.
    pub between: f64,
    /// Of what each value has by itself.
    pub within: f64,
}

/// The components of values in groups; a group without a value counts for nothing. `None` below
/// three groups, where no group has two values, and where a value is not finite.
pub fn components(groups: &[Vec<f64>]) -> Option<Components> {
    let groups: Vec<_> = groups.iter().filter(|group| !group.is_empty()).collect();
    let values = || groups.iter().copied().flatten();
    let (group_count, count) = (groups.len() as f64, values().count() as f64);
    if groups.len() < GROUP_COUNT_MIN || count <= group_count || values().any(|v| !v.is_finite()) {
        return None;
    }
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mean = values().sum::<f64>() / count;
    let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
    for group in &groups {
        let (own, size) = (mean_of(group), group.len() as f64);
        between += size * (own - mean).powi(2);
        within += group.iter().map(|value| (value - own).powi(2)).sum::<f64>();
        squares += size.powi(2);
    }
    let within = within / (count - group_count);
    let between = between / (group_count - 1.0);
    // As many values as a group of equal groups would have.
    let size = (count - squares / count) / (group_count - 1.0);
    let components = Components { between: ((between - within) / size).max(0.0), within };
    Some(components).filter(|it| it.between.is_finite() && it.within.is_finite())
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
        assert!((found.within - 0.0066).abs() < 5e-5, "{found:?}");
        assert!((found.between - 0.0724).abs() < 5e-5, "{found:?}");
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
            let within = components(&groups).expect("enough values").within;
            let apart = (0..).zip(&groups).map(|(place, group)| {
                group.iter().map(|value| value + 1e3 * f64::from(place)).collect::<Vec<_>>()
            });
            let found = components(&apart.collect::<Vec<_>>()).expect("enough values");
            prop_assert!((found.within - within).abs() < 1e-6 * (1.0 + within), "{:?}", found);
            prop_assert!(found.between > 1e5, "{:?}", found);
        }

        #[test]
        fn groups_with_one_mean_have_nothing_between_them(groups in groups()) {
            let centred = groups.iter().map(|group| {
                let mean = group.iter().sum::<f64>() / group.len() as f64;
                group.iter().map(|value| value - mean).collect::<Vec<_>>()
            });
            let found = components(&centred.collect::<Vec<_>>()).expect("enough values");
            prop_assert!(found.between < 1e-12, "{:?}", found);
        }

        #[test]
        fn the_order_of_groups_and_a_shift_do_not_matter(groups in groups(), shift in -1e3..1e3) {
            let before = components(&groups).expect("enough values");
            let moved = groups.iter().rev().map(|group| {
                group.iter().map(|value| value + shift).collect::<Vec<f64>>()
            });
            let after = components(&moved.collect::<Vec<_>>()).expect("enough values");
            prop_assert!((before.between - after.between).abs() < 1e-6);
            prop_assert!((before.within - after.within).abs() < 1e-6);
        }
    }
}
