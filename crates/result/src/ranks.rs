//! Rank correlation.

/// Ranks from 1 on, in the order of the values; equal values share the mean of their ranks.
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

/// Spearman's rank correlation of pairs: Pearson's of their ranks. `None` of fewer than three, and where
/// all values of a side are equal.
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
    use super::*;

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
}
