//! Orders the samples of an octet, and estimates changes from them, for `cell` and `calibration`. A
//! pass has eight slots of A and B: ABBA then BAAB, or the other way round. So steady drift and the
//! position in a half of the pass cancel. A pass also has four slots of N, a second process of A,
//! two in each half. N against A is the null: the same build must not seem to differ from itself.
//!
//! If samples are short, an octet has several passes, and not slots of several samples. A machine's
//! speed jumps within seconds, so compared samples must lie within milliseconds.

use std::iter::zip;

use result::{
    gate::{OctetFacts, PassFacts},
    stats::Trimmed,
};

use super::{Metric, floor};

/// The process that takes a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// A: the build to compare with.
    Base,
    /// B: the build that is judged.
    New,
    /// N: a second process of A.
    Null,
}

impl Arm {
    /// All arms.
    pub const ALL: [Self; 3] = [Self::Base, Self::New, Self::Null];

    /// Returns the index of the arm's build: 0 for A and N, 1 for B.
    pub const fn side(self) -> usize {
        match self {
            Self::Base | Self::Null => 0,
            Self::New => 1,
        }
    }

    /// Returns the letter of the arm: A, B or N.
    pub const fn letter(self) -> char {
        match self {
            Self::Base => 'A',
            Self::New => 'B',
            Self::Null => 'N',
        }
    }

    fn from_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|arm| arm.letter() == letter)
    }
}

/// Number of slots of each arm in a pass.
const SLOTS_OF_ARM: usize = 4;
/// Number of slots of a pass, with the slots of N.
pub const SLOT_COUNT: usize = SLOTS_OF_ARM * Arm::ALL.len();

/// A seeded coin, which chooses the first build of each pass.
#[derive(Clone, Copy, Debug)]
pub struct Coin {
    state: u64,
}

impl Coin {
    /// Makes the coin of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next random bit, by `SplitMix64`: whether B comes first.
    pub const fn toss(&mut self) -> bool {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 63 == 1
    }
}

/// Returns the first three slots of a half of a pass, with N at `null_index`. [`order`] mirrors
/// them.
const fn half(null_index: usize, first: Arm, second: Arm) -> [Arm; 3] {
    match null_index {
        0 => [Arm::Null, first, second],
        1 => [first, Arm::Null, second],
        _ => [first, second, Arm::Null],
    }
}

/// Returns the order of the slots of pass `number`. `first` is the first of A and B. In each half,
/// the two slots of N are its ends (NABBAN), its second and fifth slots (ANBBNA), or its middle
/// (ABNNBA). So over three passes N has each position as often as A. A sample after a sample of the same process is some percent faster, as
/// its data is in the CPU's caches. So each arm must follow itself about equally often, and N is
/// never at the ends of two halves in a row.
pub fn order(number: usize, first: Arm) -> [Arm; SLOT_COUNT] {
    let second = if first == Arm::New { Arm::Base } else { Arm::New };
    // Index of N among the first three slots of each half: 0 is outside, 1 between, 2 inside.
    let [early, late] = [[0, 1], [1, 0], [2, 2]][number % 3];
    let ([a, b, c], [d, e, f]) = (half(early, first, second), half(late, second, first));
    [a, b, c, c, b, a, d, e, f, f, e, d]
}

/// The estimate of a metric by a pass or an octet: logarithms of ratios, for the same gas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Differences {
    /// B against the mean of A and N, as two processes of a build estimate its value better than
    /// one.
    pub new: f64,
    /// N against A.
    pub null: f64,
}

/// Estimates a pass from the values of a metric in its slots, in `order`. `None` unless all values
/// are positive. The contrast of B to A and N together is orthogonal to that of N to A. So noise
/// that moves A and N by as much in opposite directions does not move the estimate of B.
pub fn differences(order: &[Arm], values: &[f64]) -> Option<Differences> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let [base, new, null] = Arm::ALL.map(|arm| mean_log(order, values, arm));
    Some(Differences { new: new - f64::midpoint(base, null), null: null - base })
}

/// Returns the mean logarithm of an arm's values.
fn mean_log(order: &[Arm], values: &[f64], arm: Arm) -> f64 {
    let slots = zip(order, values).filter(|(slot, _)| **slot == arm);
    let (sum, count) =
        slots.fold((0.0, 0), |(sum, count), (_, value)| (sum + value.ln(), count + 1));
    sum / f64::from(count)
}

/// Estimates an octet by the trimmed mean over its passes, or by the mean if they are too few to
/// trim. The passes of an octet are not independent of each other, so no error is estimated here.
/// `None` without a pass.
pub fn octet_mean(passes: impl Iterator<Item = Differences>) -> Option<Differences> {
    let (new, null): (Vec<_>, Vec<_>) = passes.map(|pass| (pass.new, pass.null)).unzip();
    (!new.is_empty()).then(|| Differences { new: trimmed_mean(&new), null: trimmed_mean(&null) })
}

fn trimmed_mean(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Trimmed::of(values).map_or(mean, |trimmed| trimmed.mean)
}

/// Estimates a metric of an octet whose slots have `samples_per_slot` samples in each pass. `None`
/// if no pass has all values.
pub fn octet_differences(
    octet: &OctetFacts,
    metric: Metric,
    samples_per_slot: u64,
) -> Option<Differences> {
    // A count below the floor is raised to the floor, so that it has a logarithm.
    let min_value = if metric.is_count() { (floor(metric) * samples_per_slot) as f64 } else { 0.0 };
    octet_mean(octet.passes.iter().filter_map(|pass| pass_differences(pass, metric, min_value)))
}

fn pass_differences(pass: &PassFacts, metric: Metric, min_value: f64) -> Option<Differences> {
    let order = pass.order.chars().map(Arm::from_letter).collect::<Option<Vec<_>>>()?;
    // All slots have the same gas, so gas cancels.
    let values = pass.values(metric).into_iter().map(|value| Some((value? as f64).max(min_value)));
    let values = values.collect::<Option<Vec<_>>>()?;
    (values.len() == order.len()).then(|| differences(&order, &values)).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn letters(order: &[Arm]) -> String {
        order.iter().map(|arm| arm.letter()).collect()
    }

    #[test]
    fn without_the_null_an_octet_is_abba_and_baab() {
        for number in 0..3 {
            for (first, expected) in [(Arm::Base, "ABBABAAB"), (Arm::New, "BAABABBA")] {
                let order = order(number, first);
                let pair: Vec<_> = order.into_iter().filter(|arm| *arm != Arm::Null).collect();
                assert_eq!(letters(&pair), expected, "{}", letters(&order));
            }
        }
        assert_eq!(letters(&order(0, Arm::Base)), "NABBANBNAANB");
        assert_eq!(letters(&order(2, Arm::New)), "BANNABABNNBA");
    }

    #[test]
    fn over_three_passes_every_place_is_shared() {
        let mut at = [[0; 3]; 6];
        for number in 0..3 {
            let order = order(number, Arm::Base);
            for (place, arm) in order.iter().enumerate() {
                at[place % 6][*arm as usize] += 1;
            }
        }
        assert!(at.iter().all(|counts| *counts == [2, 2, 2]), "{at:?}");
    }

    /// How often an arm follows itself, over all ways in which the coins of three passes fall, over
    /// and over.
    #[test]
    fn each_process_follows_itself_about_as_often_as_the_others() {
        let mut follows = [0_u32; 3];
        for coins in 0..8_usize {
            let first = |number: usize| if coins >> number & 1 == 1 { Arm::New } else { Arm::Base };
            let slots: Vec<_> = (0..3).flat_map(|number| order(number, first(number))).collect();
            for (slot, next) in slots.iter().zip(slots.iter().cycle().skip(1)) {
                follows[*slot as usize] += u32::from(slot == next);
            }
        }
        let [base, new, null] = follows.map(|count| f64::from(count) / 8.0);
        assert_eq!(base, new);
        assert!((base - null).abs() <= 0.25, "{follows:?}");
    }

    #[test]
    fn a_coin_has_two_sides_and_remembers_its_seed() {
        let tosses = |seed| {
            let mut coin = Coin::new(seed);
            (0..64).map(|_| coin.toss()).collect::<Vec<_>>()
        };
        assert_eq!(tosses(7), tosses(7));
        assert_ne!(tosses(7), tosses(8));
        let heads = tosses(7).into_iter().filter(|side| *side).count();
        assert!((16..=48).contains(&heads), "{heads} of 64");
    }

    proptest! {
        #[test]
        fn a_steady_drift_is_no_difference_and_a_factor_is_found_exactly(
            number in 0..12_usize,
            is_new_first: bool,
            drift in -0.05..0.05_f64,
            factor in 0.5..2.0_f64,
            luck in 0.9..1.1_f64,
        ) {
            let order = order(number, if is_new_first { Arm::New } else { Arm::Base });
            let values = order.iter().enumerate().map(|(slot, arm)| {
                let own: f64 = match arm {
                    Arm::Base => 1.0,
                    Arm::New => factor,
                    Arm::Null => luck,
                };
                own * (drift * slot as f64).exp()
            });
            let values: Vec<_> = values.collect();
            let found = differences(&order, &values).expect("all above zero");
            prop_assert!((found.new - (factor.ln() - luck.ln() / 2.0)).abs() < 1e-9, "{:?}", found);
            prop_assert!((found.null - luck.ln()).abs() < 1e-9, "{:?}", found);
        }
    }

    #[test]
    fn a_count_below_the_floor_is_none_and_one_above_it_is_compared() {
        let order = order(0, Arm::Base);
        let of = |base: u64, new: u64| {
            let count = |arm: &Arm| Some(if *arm == Arm::New { new } else { base });
            let pass = PassFacts {
                order: letters(&order),
                requests: order.iter().map(count).collect(),
                ..PassFacts::default()
            };
            let octet = OctetFacts { cpus: None, passes: vec![pass] };
            octet_differences(&octet, Metric::Requests, 1).map(|found| found.new)
        };
        assert_eq!(of(0, 16), Some(0.0));
        assert!((of(0, 32).unwrap() - 2_f64.ln()).abs() < 1e-12);
        assert!((of(1_000, 2_000).unwrap() - 2_f64.ln()).abs() < 1e-12);
        let none = OctetFacts { cpus: None, passes: vec![PassFacts::default()] };
        assert_eq!(octet_differences(&none, Metric::Requests, 1), None);
    }

    #[test]
    fn a_slot_without_time_is_no_observation() {
        let order = order(0, Arm::Base);
        let mut values = [1.0; SLOT_COUNT];
        values[3] = 0.0;
        assert_eq!(differences(&order, &values), None);
    }
}
