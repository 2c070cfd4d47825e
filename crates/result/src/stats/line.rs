//! Fits a straight line to positive values whose scatter is proportional to their size, and bounds
//! one further value. `src/limit/fit.rs` fits block times (y) over gas (x).
//!
//! Draper and Smith (1998), "Applied Regression Analysis", chapters 1 and 9. The fit of `y = a + b
//! x` minimises relative errors: it is the ordinary fit of `y / x = b + a / x`. Quantiles are those
//! of Student's t.

use super::{sample::CONFIDENCE, trimmed::student_quantile};

/// Fewest points. Two points determine the line, further ones its error.
const POINT_COUNT_MIN: usize = 3;
/// Number of halvings of an interval, enough until its ends are neighbouring numbers.
const HALVING_COUNT: usize = 200;

/// A point to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position of the point, above 0.
    pub x: f64,
    /// Value of the point, above 0.
    pub y: f64,
}

/// A fitted line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Value of the line at x = 0.
    pub intercept: f64,
    /// Growth of the value with each unit of x.
    pub slope: f64,
    /// Standard deviation of `y / x` from the line.
    deviation: f64,
    /// Number of points.
    count: f64,
    /// Mean of `1 / x` over the points.
    inverse_mean: f64,
    /// Sum of the squared distances of `1 / x` from its mean.
    squares: f64,
    /// Least and largest x of the points.
    pub ends: [f64; 2],
}

/// Where the upper bound of a line reaches a value, relative to a range of x that begins at the
/// line's least point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossing {
    /// Below the range: the bound reaches the value at the first x already.
    Below,
    /// At this x in the range.
    At(f64),
    /// Above the range, or nowhere.
    Above,
}

impl Line {
    /// Fits a line to points. `None` below three points, if all points have the same x, and if a
    /// coordinate is not both positive and finite.
    pub fn fit(points: &[Point]) -> Option<Self> {
        let is_usable =
            |point: &Point| [point.x, point.y].iter().all(|c| *c > 0.0 && c.is_finite());
        if points.len() < POINT_COUNT_MIN || !points.iter().all(is_usable) {
            return None;
        }
        let count = points.len() as f64;
        let scaled: Vec<_> =
            points.iter().map(|point| (point.x.recip(), point.y / point.x)).collect();
        let inverse_mean = scaled.iter().map(|(inverse, _)| inverse).sum::<f64>() / count;
        let mean_rate = scaled.iter().map(|(_, rate)| rate).sum::<f64>() / count;
        let squares: f64 = scaled.iter().map(|(inverse, _)| (inverse - inverse_mean).powi(2)).sum();
        let products =
            scaled.iter().map(|(inverse, rate)| (inverse - inverse_mean) * (rate - mean_rate));
        let intercept = products.sum::<f64>() / squares;
        let slope = mean_rate - intercept * inverse_mean;
        let residuals = scaled.iter().map(|(inverse, rate)| rate - slope - intercept * inverse);
        let deviation = (residuals.map(|it| it * it).sum::<f64>() / (count - 2.0)).sqrt();
        let xs = points.iter().map(|point| point.x);
        let ends = [xs.clone().fold(f64::INFINITY, f64::min), xs.fold(0.0, f64::max)];
        let is_line =
            ends[0] < ends[1] && [intercept, slope, deviation].iter().all(|it| it.is_finite());
        is_line.then_some(Self { intercept, slope, deviation, count, inverse_mean, squares, ends })
    }

    /// The expected value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Returns the x at which the expected value is `y`; `None` if the line does not rise.
    pub fn reaches(&self, y: f64) -> Option<f64> {
        (self.slope > 0.0).then(|| (y - self.intercept) / self.slope)
    }

    /// Returns the bound that one further value at `x` stays below with a probability of 95 %.
    pub fn upper(&self, x: f64) -> f64 {
        self.at(x) + self.quantile(CONFIDENCE) * self.error(x)
    }

    /// Returns the interval that holds one further value at `x` with a probability of 95 %.
    pub fn interval(&self, x: f64) -> [f64; 2] {
        let reach = self.quantile(f64::midpoint(1.0, CONFIDENCE)) * self.error(x);
        [self.at(x) - reach, self.at(x) + reach]
    }

    /// Returns the 95 % confidence interval of the slope.
    pub fn slope_interval(&self) -> [f64; 2] {
        let error =
            self.deviation * (self.count.recip() + self.inverse_mean.powi(2) / self.squares).sqrt();
        let reach = self.quantile(f64::midpoint(1.0, CONFIDENCE)) * error;
        [self.slope - reach, self.slope + reach]
    }

    /// Finds the least x from the least point to `last` at which [`Self::upper`] is `y` or more. This
    /// bound is convex: it is below `y` up to that x, and not below `y` beyond it.
    pub fn crossing(&self, y: f64, last: f64) -> Crossing {
        let [first, _] = self.ends;
        if self.upper(first) >= y {
            return Crossing::Below;
        }
        if self.upper(last) < y {
            return Crossing::Above;
        }
        let (mut below, mut above) = (first, last);
        for _ in 0..HALVING_COUNT {
            let middle = f64::midpoint(below, above);
            match self.upper(middle) < y {
                true => below = middle,
                false => above = middle,
            }
        }
        Crossing::At(below)
    }

    /// Standard error of one further value at `x`, with the error of the line itself.
    fn error(&self, x: f64) -> f64 {
        let distance = (x.recip() - self.inverse_mean).powi(2) / self.squares;
        x * self.deviation * (1.0 + self.count.recip() + distance).sqrt()
    }

    /// Quantile of Student's t with the line's degrees of freedom: the number of points minus two.
    fn quantile(&self, probability: f64) -> f64 {
        student_quantile(probability, self.count - 2.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{SeedableRng, rngs::ChaCha12Rng};

    use super::*;

    /// Sizes from 1 on, each twice as large as the last or larger.
    fn sizes() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(2.0..5.0_f64, 1..4).prop_map(|ratios| {
            let mut sizes = vec![1.0];
            for ratio in ratios {
                sizes.push(sizes[sizes.len() - 1] * ratio);
            }
            sizes
        })
    }

    /// Values at sizes, some at each, with errors of up to a fifth.
    fn scattered() -> impl Strategy<Value = Vec<Point>> {
        let line = (0.0..3.0_f64, 0.1..3.0_f64);
        let errors = proptest::collection::vec(-0.2..0.2_f64, 16);
        (sizes(), 2..5_usize, line, errors).prop_map(|(sizes, repeats, (a, b), errors)| {
            let xs = sizes.iter().flat_map(|x| std::iter::repeat_n(*x, repeats));
            xs.zip(errors.iter().cycle())
                .map(|(x, error)| Point { x, y: (a + b * x) * (1.0 + error) })
                .collect()
        })
    }

    #[test]
    fn a_line_without_scatter_is_found_and_crosses_where_it_does() {
        let points = [1.0, 2.0, 4.0, 8.0].map(|x| Point { x, y: 0.5 + 0.25 * x });
        let line = Line::fit(&points).unwrap();
        assert!((line.intercept - 0.5).abs() < 1e-12 && (line.slope - 0.25).abs() < 1e-12);
        assert!((line.upper(6.0) - 2.0).abs() < 1e-9, "no scatter, no distance");
        assert!((line.reaches(2.0).unwrap() - 6.0).abs() < 1e-9);
        let Crossing::At(x) = line.crossing(2.0, 8.0) else { panic!("it crosses") };
        assert!((x - 6.0).abs() < 1e-6, "{x}");
        assert_eq!(line.crossing(0.7, 8.0), Crossing::Below);
        assert_eq!(line.crossing(3.0, 8.0), Crossing::Above);
    }

    #[test]
    fn bounds_are_those_of_the_textbook_formula() {
        // 1/x = 1, 2, 3, 4 and y/x = 2, 3, 5, 6: slope of the rates 1.4, mean 4, squares 5, s² = 0.2 / 2.
        let points = [(1.0, 2.0), (2.0, 3.0), (3.0, 5.0), (4.0, 6.0)];
        let points: Vec<_> =
            points.map(|(inverse, rate)| Point { x: 1.0 / inverse, y: rate / inverse }).to_vec();
        let line = Line::fit(&points).unwrap();
        assert!((line.intercept - 1.4).abs() < 1e-12 && (line.slope - 0.5).abs() < 1e-12);
        // At 1/x = 2: 0.1 (1 + 1/4 + 0.25/5), t = 2.920 one-sided and 4.303 two-sided with 2 degrees of freedom.
        let error = 0.5 * (0.1_f64 * 1.3).sqrt();
        assert!((line.upper(0.5) - (1.65 + 2.920 * error)).abs() < 1e-3);
        let [low, high] = line.interval(0.5);
        assert!((low - (1.65 - 4.303 * error)).abs() < 1e-3);
        assert!((high - (1.65 + 4.303 * error)).abs() < 1e-3);
        // At 1/x = 0, without the error of a value.
        let error = (0.1 * (0.25 + 6.25 / 5.0_f64)).sqrt();
        assert!((line.slope_interval()[1] - (0.5 + 4.303 * error)).abs() < 1e-3);
    }

    #[test]
    fn too_few_points_one_size_and_values_that_are_no_times_make_no_line() {
        let at = |x, y| Point { x, y };
        for points in [
            &[][..],
            &[at(1.0, 1.0), at(2.0, 2.0)],
            &[at(19_995_045.0, 1.0), at(19_995_045.0, 2.0), at(19_995_045.0, 3.0)],
            &[at(1.0, 1.0), at(2.0, 2.0), at(0.0, 3.0)],
            &[at(1.0, 1.0), at(2.0, 2.0), at(3.0, 0.0)],
            &[at(1.0, 1.0), at(2.0, f64::NAN), at(3.0, 2.0)],
            &[at(1.0, 1.0), at(2.0, f64::INFINITY), at(3.0, 2.0)],
        ] {
            assert_eq!(Line::fit(points), None, "{points:?}");
        }
    }

    #[test]
    fn about_one_further_value_in_twenty_is_above_the_bound() {
        let mut random = ChaCha12Rng::seed_from_u64(7);
        let mut value = |x: f64| {
            let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            Point { x, y: (0.3 + 0.05 * x) * (1.0 + 0.02 * normal) }
        };
        let above = (0..2_000).filter(|_| {
            let points: Vec<_> = [20.0, 60.0, 200.0, 20.0, 60.0, 200.0].map(&mut value).to_vec();
            value(100.0).y > Line::fit(&points).unwrap().upper(100.0)
        });
        let share = above.count() as f64 / 2_000.0;
        assert!((0.03..0.07).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn the_bound_rises_where_sizes_double(points in scattered(), steps in 2..40_usize) {
            let line = Line::fit(&points).unwrap();
            prop_assume!(line.slope > 0.0);
            let [first, last] = line.ends;
            let at = |step: usize| first + (2.0 * last - first) * step as f64 / steps as f64;
            for step in 1..=steps {
                prop_assert!(line.upper(at(step)) > line.upper(at(step - 1)));
            }
        }

        #[test]
        fn all_below_a_crossing_is_below_the_value_and_all_above_is_not(
            points in scattered(),
            y in 0.1..60.0_f64,
            share in 0.0..1.0_f64,
        ) {
            let line = Line::fit(&points).unwrap();
            let [first, last] = line.ends;
            let between = |from: f64, to: f64| from + (to - from) * share;
            match line.crossing(y, last) {
                Crossing::Below => prop_assert!(line.upper(first) >= y),
                Crossing::Above => prop_assert!(line.upper(between(first, last)) < y),
                Crossing::At(x) => {
                    prop_assert!(line.upper(between(first, x)) < y);
                    prop_assert!(line.upper(between(x * (1.0 + 1e-9), last)) >= y);
                }
            }
        }

        #[test]
        fn units_do_not_matter(points in scattered(), unit in 1e-6..1e6_f64, x in 0.5..50.0_f64) {
            let line = Line::fit(&points).unwrap();
            let scaled: Vec<_> =
                points.iter().map(|of| Point { x: of.x * unit, y: of.y / unit }).collect();
            let other = Line::fit(&scaled).unwrap();
            prop_assert!((other.upper(x * unit) * unit / line.upper(x) - 1.0).abs() < 1e-6);
        }
    }
}
