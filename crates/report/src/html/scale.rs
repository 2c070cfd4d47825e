//! The scale of an axis: the position of each value, and the round values that have ticks.

use crate::units;

/// First digits of the ticks of a logarithmic axis, in tenths, from coarse to fine.
const DIGITS: [&[usize]; 3] = [&[10], &[10, 20, 50], &[10, 20, 30, 50, 70]];
/// Steps from one first digit to the next, in tenths, where [`DIGITS`] give too few ticks.
const STEPS: [usize; 3] = [10, 5, 2];
/// Smallest number of ticks of a logarithmic axis: fewer do not tell the scale.
const TICK_COUNT_MIN: usize = 3;

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Linear, between these ends.
    Linear { min: f64, max: f64 },
    /// Logarithmic, between these ends, which are above zero.
    Log { min: f64, max: f64 },
}

impl Scale {
    /// A linear scale from zero, or from the lowest value below zero, to a little above the largest
    /// value.
    pub(super) fn linear(values: impl IntoIterator<Item = f64>) -> Self {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (min, max) = finite.fold((0.0, 0.0), |(low, high), value| {
            (f64::min(low, value * 1.04), f64::max(high, value * 1.04))
        });
        Self::Linear { min, max: if max > min { max } else { 1.0 } }
    }

    /// A logarithmic scale of whole decades that holds all values; zeros are left out.
    pub(super) fn decades(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = ends(values);
        let min = 10_f64.powf(low.log10().floor());
        Self::Log { min, max: 10_f64.powf(high.log10().ceil()).max(min * 10.0) }
    }

    /// A logarithmic scale from the smallest to the largest value, with a factor of `room` beyond
    /// each.
    pub(super) fn log(values: impl IntoIterator<Item = f64>, room: f64) -> Self {
        let (min, max) = ends(values);
        Self::Log { min: min / room, max: max * room }
    }

    /// Share of the axis at which `value` lies, between 0 and 1.
    pub(super) fn at(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear { min, max } => (value - min) / (max - min),
            Self::Log { min, max } => (value / min).ln() / (max / min).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// Position of `value` on the axis in per cent, between 0 and 100.
    pub(super) fn percent(self, value: f64) -> f64 {
        self.at(value) * 100.0
    }

    /// Round values along the axis.
    pub(super) fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { min, max } => {
                let step = nice_step((max - min) / 4.0);
                let first = (min / step).ceil();
                let all = (0..=8).map(|n| (first + f64::from(n)) * step + 0.0);
                all.take_while(|tick| *tick <= max).collect()
            }
            Self::Log { min, max } => {
                let coarsest = match (max / min).log10() {
                    d if d <= 1.2 => 2,
                    d if d <= 2.6 => 1,
                    _ => 0,
                };
                let digits = DIGITS[coarsest..].iter().map(|digits| digits.to_vec());
                let finer = STEPS.iter().map(|step| (10..100).step_by(*step).collect());
                let all =
                    digits.chain(finer).map(|digits: Vec<usize>| log_ticks(min, max, &digits));
                // The coarsest that has enough of them, else the finest.
                all.reduce(|a, b| if a.len() >= TICK_COUNT_MIN { a } else { b }).unwrap_or_default()
            }
        }
    }

    /// The value at the upper end.
    pub(super) const fn max(self) -> f64 {
        match self {
            Self::Linear { max, .. } | Self::Log { max, .. } => max,
        }
    }
}

/// Values between `min` and `max` whose first digits are `digits`, in tenths.
fn log_ticks(min: f64, max: f64, digits: &[usize]) -> Vec<f64> {
    let first = min.log10().floor() as i32;
    let powers = (first..=max.log10().ceil() as i32).map(|power| 10_f64.powi(power));
    let all = powers.flat_map(|power| digits.iter().map(move |d| *d as f64 / 10.0 * power));
    all.filter(|tick| (min * 0.999..=max * 1.001).contains(tick)).collect()
}

/// A tick's value as text.
pub(super) fn tick(value: f64) -> String {
    if value.fract() == 0.0 && value >= 0.0 {
        units::count(value as u64)
    } else {
        units::number(value)
    }
}

/// The smallest and the largest of the values above zero; 1 and 1 without such values.
fn ends(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let sound = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
    let ends = sound.map(|value| (value, value));
    ends.reduce(|(low, high), (value, _)| (low.min(value), high.max(value))).unwrap_or((1.0, 1.0))
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= least * 0.999);
    digits.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_lie_on_the_axis() {
        let scale = Scale::linear([3.0, 264.0]);
        assert_eq!(scale.ticks(), [0.0, 100.0, 200.0]);
        assert_eq!(Scale::decades([2.0e5, 3.0e8]), Scale::Log { min: 1e5, max: 1e9 });
        let ticks = Scale::decades([3.0, 40.0]).ticks();
        assert_eq!(ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        for scale in [Scale::linear([]), Scale::decades([0.0]), Scale::log([5.0], 1.2)] {
            for tick in scale.ticks() {
                assert!((0.0..=1.0).contains(&scale.at(tick)), "{scale:?} {tick}");
            }
        }
    }

    #[test]
    fn a_linear_axis_reaches_below_zero_where_values_do() {
        let scale = Scale::linear([-0.02, 0.07]);
        assert_eq!(scale.ticks(), [0.0, 0.05]);
        assert!(scale.at(-0.02) > 0.0 && scale.at(-0.02) < scale.at(0.0));
        assert!(Scale::linear([-3.0, -1.0]).ticks().contains(&-2.0));
    }

    #[test]
    fn a_short_logarithmic_axis_has_ticks_enough_to_be_read() {
        for median in [1.0, 1.3, 1.7, 2.6, 4.0, 5.1, 7.7, 9.9, 1_234.0, 0.031] {
            let ticks = Scale::log([median], 1.25).ticks();
            assert!((TICK_COUNT_MIN..12).contains(&ticks.len()), "{median}: {ticks:?}");
        }
    }

    #[test]
    fn a_value_lies_on_the_axis_whatever_it_is() {
        for scale in [Scale::linear([1.0]), Scale::log([4.0, 4.0], 1.0), Scale::decades([7.0])] {
            for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
                assert!((0.0..=1.0).contains(&scale.at(value)), "{scale:?} {value}");
            }
        }
    }
}
