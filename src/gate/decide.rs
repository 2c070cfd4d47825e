//! When octets decide: after 6, 8, 10 and 12 of them, with the probability of an error split over
//! these looks and over all that is judged, so that looking early makes no verdict less sure.

use result::{gate::LookFacts, stats::Trimmed};

use super::{DELTA_MAX, Verdict, octet::Differences};

/// Octets after which it is looked whether they decide.
pub const LOOKS: [usize; 4] = [6, 8, 10, 12];
/// Octets before the first figures.
pub const OCTET_COUNT_MIN: usize = LOOKS[0];
/// Most octets.
pub const OCTET_COUNT_MAX: usize = LOOKS[LOOKS.len() - 1];
/// The highest probability that a run calls anything a regression that is none.
pub const ALPHA_FAIL: f64 = 0.01;
/// The highest probability that it lets anything pass that is one.
pub const ALPHA_PASS: f64 = 0.05;
/// Confidence of the interval of the null.
pub const NULL_CONFIDENCE: f64 = 0.99;
/// By how many standard errors an estimate is off in nine runs of ten, at most.
const NINE_OF_TEN: f64 = 1.645;
/// A δ that is named is a multiple of this share.
const DELTA_STEP: f64 = 0.001;

/// The estimate of the octets so far for one figure of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Octets.
    pub octet_count: usize,
    /// Logarithm of how many times as long B took as A.
    pub estimate: f64,
    /// It is below this with the share of [`ALPHA_FAIL`] at most.
    pub lower: f64,
    /// It is above this with the share of [`ALPHA_PASS`] at most.
    pub upper: f64,
    /// The same of N against A: the interval.
    pub null: [f64; 2],
}

/// Into how many parts the probabilities are split: looks × judged figures of each.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// Figures of cells that are judged, times the attempts that are allowed.
    pub judged_count: usize,
    /// Looks at each.
    pub look_count: usize,
}

impl Split {
    /// A share of `alpha`.
    pub fn share(&self, alpha: f64) -> f64 {
        alpha / (self.look_count * self.judged_count).max(1) as f64
    }
}

/// The estimate of `octets`; `None` for fewer than six.
pub fn look(octets: &[Differences], split: Split) -> Option<Look> {
    let (new, null) = spreads(octets)?;
    Some(Look {
        octet_count: octets.len(),
        estimate: new.mean,
        lower: new.lower(split.share(ALPHA_FAIL)),
        upper: new.upper(split.share(ALPHA_PASS)),
        null: null.interval(NULL_CONFIDENCE),
    })
}

/// The estimates of B and of the null, with their spreads; `None` for fewer than six octets.
pub fn spreads(octets: &[Differences]) -> Option<(Trimmed, Trimmed)> {
    let of = |figure: fn(&Differences) -> f64| {
        Trimmed::of(&octets.iter().map(figure).collect::<Vec<_>>())
    };
    Some((of(|octet| octet.new)?, of(|octet| octet.null)?))
}

/// Whether the bounds are sure: above `delta`, below it, or neither.
pub fn by_bounds(lower: f64, upper: f64, delta: f64) -> Verdict {
    let limit = delta.ln_1p();
    if lower > limit {
        Verdict::Regression
    } else if upper < limit {
        Verdict::Pass
    } else {
        Verdict::Inconclusive
    }
}

/// The limits of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The largest allowed change, as a share: δ, or the floor where that is more.
    pub delta: f64,
    /// The floor of the metric, as a share of a sample: smaller differences are none.
    pub floor: f64,
}

/// The null's verdict on the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Null {
    /// A is surely within ±δ/2 of itself.
    Holds,
    /// It may be, or not: there is much noise.
    Wide,
    /// It surely differs from itself.
    Biased,
}

impl Limits {
    fn null(&self, [low, high]: [f64; 2]) -> Null {
        let floor = self.floor.ln_1p();
        if low > floor || high < -floor {
            Null::Biased
        } else if low.abs().max(high.abs()) <= (self.delta / 2.0).ln_1p() {
            Null::Holds
        } else {
            Null::Wide
        }
    }

    /// By how much A seems to differ from itself, which a change of B must exceed: nothing where it
    /// surely does not by more than is allowed; the estimate where noise may explain it; the most that
    /// it may where it surely does.
    fn itself(&self, null: [f64; 2]) -> f64 {
        match self.null(null) {
            Null::Holds => 0.0,
            Null::Wide => middle(null).abs(),
            Null::Biased => most(null),
        }
    }
}

/// The verdict of a look, or `None` where more octets may still tell. While the null does not hold
/// nothing passes, and only a change is a regression that lies above δ by more than A seems to
/// differ from itself. At the end a biased null leaves nothing to trust, and a wide one leaves it
/// open.
pub fn verdict(look: &Look, limits: Limits) -> Option<Verdict> {
    let null = limits.null(look.null);
    let lower = look.lower - limits.itself(look.null);
    let is_last = look.octet_count >= OCTET_COUNT_MAX;
    match (by_bounds(lower, look.upper, limits.delta), null) {
        (Verdict::Regression, _) => Some(Verdict::Regression),
        (_, Null::Biased) => is_last.then_some(Verdict::Untrusted),
        (Verdict::Pass, Null::Holds) => Some(Verdict::Pass),
        (_, Null::Wide | Null::Holds) => is_last.then_some(Verdict::Inconclusive),
    }
}

/// Where a change lies above δ by its bounds, and yet is no regression because A seems to differ from
/// itself by as much: how much that is, and the change that would be one by its lower bound.
pub fn hidden_by_null(look: &Look, limits: Limits) -> Option<[f64; 2]> {
    let is_hidden = look.lower > limits.delta.ln_1p() && limits.null(look.null) == Null::Wide;
    let itself = limits.itself(look.null);
    is_hidden.then(|| [itself.exp_m1(), (limits.delta.ln_1p() + itself).exp_m1()])
}

fn middle([low, high]: [f64; 2]) -> f64 {
    f64::midpoint(low, high)
}

/// How far an interval reaches from 0.
fn most([low, high]: [f64; 2]) -> f64 {
    low.abs().max(high.abs())
}

/// How many times as many octets as those of the look would decide if estimates and deviations
/// stayed as they are: errors fall with the square root of the number. `None` where none would.
pub fn times_to_decide(look: &Look, limits: Limits) -> Option<f64> {
    if limits.null(look.null) == Null::Biased {
        return None;
    }
    let limit = limits.delta.ln_1p();
    let [low, high] = look.null;
    let (null, null_reach) = (middle(look.null).abs(), (high - low) / 2.0);
    let estimate = look.estimate;
    // Each: the factor by which the present reach must shrink, so that it fits into the room there
    // is.
    let shrinks = if estimate < limit {
        let room = (limits.delta / 2.0).ln_1p() - null;
        vec![shrink(null_reach, room)?, shrink(look.upper - estimate, limit - estimate)?]
    } else {
        vec![shrink(estimate - look.lower, estimate - limit - null)?]
    };
    let most = shrinks.into_iter().fold(1.0, f64::max);
    Some(most.powi(2)).filter(|times| times.is_finite())
}

/// The smallest δ that octets with these spreads, of B and of the null, decide in nine runs of ten
/// where nothing differs, if the spreads are the true ones; they are estimates, so it is most runs
/// and not nine of ten: the upper bound must lie below δ, and the interval of the null within ±δ/2.
/// It follows from the noise alone, not from the estimates.
pub fn smallest_delta(new: &Trimmed, null: &Trimmed, split: Split) -> f64 {
    let [_, null] = off(null).interval(NULL_CONFIDENCE);
    bounded_delta(new, split).max(2.0 * null.exp_m1())
}

/// The same where there is no null.
fn bounded_delta(spread: &Trimmed, split: Split) -> f64 {
    off(spread).upper(split.share(ALPHA_PASS)).exp_m1()
}

/// An estimate with this spread where nothing differs, in the worst of nine runs of ten.
fn off(spread: &Trimmed) -> Trimmed {
    Trimmed { mean: NINE_OF_TEN * spread.error, ..*spread }
}

/// The δ that is named where the noise of `octets` leaves their verdict at `delta` open: the
/// [`smallest_delta`]. `None` where that is no more than `delta`, so that the noise forbids
/// nothing, and below six octets.
pub fn delta_to_decide(octets: &[Differences], split: Split, delta: f64) -> Option<f64> {
    let (new, null) = spreads(octets)?;
    named(smallest_delta(&new, &null, split), delta)
}

/// The same between stored results, where a figure has this spread.
pub fn delta_between(spread: &Trimmed, split: Split, delta: f64) -> Option<f64> {
    named(bounded_delta(spread, split), delta)
}

/// A δ as it is named: a bound must lie below it.
fn named(smallest: f64, delta: f64) -> Option<f64> {
    let above = ((smallest / DELTA_STEP).floor() + 1.0) * DELTA_STEP;
    (smallest.is_finite() && above > delta).then_some(above)
}

/// The δ that decides on all figures whose own are these, in words and as an option; nothing where
/// none names one, or where it is more than may be asked.
pub fn delta_in_words(deltas: impl IntoIterator<Item = f64>) -> String {
    let delta = deltas.into_iter().fold(0.0, f64::max);
    if delta <= 0.0 || delta > DELTA_MAX {
        return String::new();
    }
    format!(
        "; with --delta {:.1}% noise like this decides most runs in which nothing differs",
        delta * 100.0
    )
}

/// The number of values of each side that would decide, where `count` values have these bounds and
/// this estimate between them; `None` where no number would.
pub fn values_to_decide(
    [lower, estimate, upper]: [f64; 3],
    delta: f64,
    count: usize,
) -> Option<u64> {
    let limit = delta.ln_1p();
    let times = match estimate < limit {
        true => shrink(upper - estimate, limit - estimate)?.powi(2),
        false => shrink(estimate - lower, estimate - limit)?.powi(2),
    };
    times.is_finite().then(|| (count as f64 * times).ceil() as u64)
}

fn shrink(reach: f64, room: f64) -> Option<f64> {
    (room > 0.0).then(|| reach / room)
}

impl From<Look> for LookFacts {
    fn from(look: Look) -> Self {
        Self {
            octet_count: look.octet_count as u64,
            change: look.estimate.exp_m1(),
            lower: look.lower.exp_m1(),
            upper: look.upper.exp_m1(),
            null: look.null.map(f64::exp_m1),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: Split = Split { judged_count: 1, look_count: LOOKS.len() };
    const FLOOR: f64 = 0.001;

    fn octets(count: usize, new: impl Fn(usize) -> f64, null: f64) -> Vec<Differences> {
        let jitter = |i: usize| if i.is_multiple_of(2) { 1e-4 } else { -1e-4 };
        (0..count)
            .map(|i| Differences { new: new(i) + jitter(i), null: null + jitter(i + 1) })
            .collect()
    }

    fn judged(octets: &[Differences], delta: f64) -> Option<Verdict> {
        let limits = Limits { delta, floor: FLOOR };
        verdict(&look(octets, ONE).expect("six or more"), limits)
    }

    #[test]
    fn what_is_plain_is_decided_at_the_first_look() {
        assert_eq!(judged(&octets(6, |_| 0.0, 0.0), 0.03), Some(Verdict::Pass));
        assert_eq!(judged(&octets(6, |_| 0.1, 0.0), 0.03), Some(Verdict::Regression));
        assert_eq!(judged(&octets(6, |_| -0.1, 0.0), 0.03), Some(Verdict::Pass));
    }

    #[test]
    fn what_lies_at_delta_is_open_until_the_end_and_then_inconclusive() {
        let at_delta = |count| octets(count, |_| 0.03_f64.ln_1p(), 0.0);
        assert_eq!(judged(&at_delta(6), 0.03), None);
        assert_eq!(judged(&at_delta(12), 0.03), Some(Verdict::Inconclusive));
    }

    #[test]
    fn a_null_that_surely_differs_leaves_nothing_to_trust() {
        for new in [0.0, 0.04] {
            let biased = |count| octets(count, move |_| new, 0.02);
            assert_eq!(judged(&biased(6), 0.03), None, "{new}");
            assert_eq!(judged(&biased(12), 0.03), Some(Verdict::Untrusted), "{new}");
        }
        // Less than half of δ, and yet surely another speed.
        assert_eq!(judged(&octets(12, |_| 0.0, 0.005), 0.03), Some(Verdict::Untrusted));
        // Surely not the same, but by less than the floor.
        assert_eq!(judged(&octets(6, |_| 0.0, 0.0005), 0.03), Some(Verdict::Pass));
    }

    /// A null that seems to be 1 %, from values of 4 % to either side of that.
    fn wide(count: usize, new: f64) -> Vec<Differences> {
        let side = |i: usize| if i.is_multiple_of(2) { 0.04 } else { -0.04 };
        let octet = |i| Differences { new: new + side(i) * 1e-3, null: 0.01 + side(i) };
        (0..count).map(octet).collect()
    }

    #[test]
    fn a_null_that_is_merely_wide_is_no_reason_for_distrust_and_says_how_many_would_do() {
        for new in [0.0, 0.035] {
            assert_eq!(judged(&wide(6, new), 0.03), None, "{new}");
            assert_eq!(judged(&wide(12, new), 0.03), Some(Verdict::Inconclusive), "{new}");
        }
        let limits = Limits { delta: 0.03, floor: FLOOR };
        let last = look(&wide(12, 0.0), ONE).expect("twelve");
        assert_eq!(hidden_by_null(&last, limits), None, "it is below the limit");
        // Above the limit by its own bounds: only the null leaves it open, up to the named change.
        let above = look(&wide(12, 0.035), ONE).expect("twelve");
        let [itself, sure] = hidden_by_null(&above, limits).expect("the null is as wide");
        assert!((itself - 0.01_f64.exp_m1()).abs() < 1e-9, "{itself}");
        assert!(above.lower > 0.03_f64.ln_1p() && itself < sure, "{above:?}");
        let reach = above.estimate - above.lower;
        for (lower, verdict) in [(0.99, Verdict::Inconclusive), (1.01, Verdict::Regression)] {
            let new = (sure * lower).ln_1p() + reach;
            let octets = wide(12, new);
            assert_eq!(judged(&octets, 0.03), Some(verdict), "{new}");
        }
        let times = times_to_decide(&last, limits).expect("no bias");
        // The null must fit into 1.489 %.
        let [reach, mean] =
            [last.null[1] - last.null[0], last.null[1] + last.null[0]].map(|v| v / 2.0);
        let room = 0.015_f64.ln_1p() - mean;
        assert!((times - (reach / room).powi(2)).abs() < 1e-9, "{times} {last:?}");
        assert!(times > 4.0, "{times}");
        let biased = look(&octets(12, |_| 0.0, 0.02), ONE).expect("twelve");
        assert_eq!(times_to_decide(&biased, limits), None);
        // No number decides a change that lies exactly at δ.
        let at_delta = Look { estimate: 0.03_f64.ln_1p(), ..last };
        assert_eq!(times_to_decide(&at_delta, limits), None);
    }

    #[test]
    fn what_times_to_decide_says_decides() {
        // 12 octets are too few.
        let noisy = |count: usize| {
            let noise = |i: usize| 0.03 * ((i * 7 % 12) as f64 / 5.5 - 1.0);
            let octet = |i| Differences { new: noise(i), null: noise(i + 5) };
            (0..count).map(octet).collect::<Vec<_>>()
        };
        let limits = Limits { delta: 0.03, floor: FLOOR };
        let open = look(&noisy(12), ONE).expect("twelve");
        assert_eq!(verdict(&open, limits), Some(Verdict::Inconclusive));
        let times = times_to_decide(&open, limits).expect("it can be decided");
        let enough = look(&noisy((12.0 * times).ceil() as usize), ONE).expect("more");
        assert_eq!(verdict(&enough, limits), Some(Verdict::Pass), "{times}");
    }

    /// Octets with noise of 3 %, in B and in the null.
    fn noisy() -> Vec<Differences> {
        let noise = |i: usize| 0.03 * ((i * 7 % 12) as f64 / 5.5 - 1.0);
        (0..12).map(|i| Differences { new: noise(i), null: noise(i + 5) }).collect()
    }

    /// The same octets, moved by this number of standard errors above no difference.
    fn around(octets: &[Differences], errors: f64) -> Vec<Differences> {
        let (new, null) = spreads(octets).expect("twelve");
        let by = |spread: &Trimmed| errors * spread.error - spread.mean;
        let moved =
            |of: &Differences| Differences { new: of.new + by(&new), null: of.null + by(&null) };
        octets.iter().map(moved).collect()
    }

    #[test]
    fn the_delta_that_is_named_is_the_smallest_that_the_same_noise_decides() {
        let octets = noisy();
        assert_eq!(judged(&octets, 0.03), Some(Verdict::Inconclusive));
        let delta = delta_to_decide(&octets, ONE, 0.03).expect("the noise forbids it");
        assert!(delta > 0.03, "{delta}");
        for errors in [0.0, 1.0, NINE_OF_TEN] {
            assert_eq!(judged(&around(&octets, errors), delta), Some(Verdict::Pass), "{errors}");
        }
        let smaller = delta - 1.1 * DELTA_STEP;
        let open = judged(&around(&octets, NINE_OF_TEN), smaller);
        assert_eq!(open, Some(Verdict::Inconclusive), "{smaller}");
        // More that is judged is more that must be sure.
        let many = delta_to_decide(&octets, Split { judged_count: 1_000_000, ..ONE }, 0.03);
        assert!(many.is_some_and(|many| many > delta), "{many:?} {delta}");
    }

    #[test]
    fn the_delta_that_is_named_does_not_know_the_change() {
        let octets = noisy();
        let delta = |errors| delta_to_decide(&around(&octets, errors), ONE, 0.03);
        for errors in [-30.0, -1.0, 1.0, 30.0] {
            let (here, there) = (delta(0.0).expect("noise"), delta(errors).expect("noise"));
            assert!((here - there).abs() < 1e-9, "{errors}: {here} {there}");
        }
    }

    #[test]
    fn where_noise_forbids_nothing_no_delta_is_named() {
        // A change at δ, without noise, and too few octets.
        assert_eq!(delta_to_decide(&octets(12, |_| 0.03_f64.ln_1p(), 0.0), ONE, 0.03), None);
        assert_eq!(delta_to_decide(&octets(5, |_| 0.1, 0.0), ONE, 0.03), None);
        assert_eq!(delta_in_words([]), "");
        // More than the option takes.
        assert_eq!(delta_in_words([0.07, 1.2]), "");
        let words = delta_in_words([0.05, 0.071]);
        assert!(words.starts_with("; with --delta 7.1% noise like this"), "{words}");
        assert!(!words.contains("pass"), "{words}");
    }

    #[test]
    fn a_change_far_beyond_what_the_null_shows_is_a_regression_all_the_same() {
        assert_eq!(judged(&octets(6, |_| 0.1, 0.02), 0.03), Some(Verdict::Regression));
        assert_eq!(judged(&octets(6, |_| -0.1, 0.02), 0.03), None);
    }

    #[test]
    fn bounds_are_those_of_a_calculation_by_hand() {
        // Six octets of 0, 1, …, 5 %: 1 to 4 are left, mean 2.5; winsorised 1, 1, 2, 3, 4, 4:
        // variance 1.9, error sqrt(1.9) / (0.6 sqrt(6)) = 0.93789. Student's t with 3 degrees of
        // freedom: 7.4533 at 1 - 0.01/4, 4.1765 at 1 - 0.05/4 is not tabled: 0.9875 is
        // between 3.182 (0.975) and 4.541 (0.99).
        let octets: Vec<_> = (0..6).map(|i| Differences { new: f64::from(i), null: 0.0 }).collect();
        let look = look(&octets, ONE).expect("six");
        assert_eq!(look.estimate, 2.5);
        assert!((look.lower - (2.5 - 7.4533 * 0.93789)).abs() < 1e-3, "{look:?}");
        let reach = (look.upper - 2.5) / 0.93789;
        assert!(3.182 < reach && reach < 4.541, "{look:?}");
        assert_eq!(look.null, [0.0, 0.0]);
    }

    #[test]
    fn more_that_is_judged_widens_the_bounds_and_not_the_null() {
        let octets = octets(8, |i| 1e-3 * i as f64, 0.0);
        let one = look(&octets, ONE).expect("eight");
        let four = look(&octets, Split { judged_count: 4, ..ONE }).expect("eight");
        assert!(four.lower < one.lower && four.upper > one.upper);
        assert_eq!((four.null, four.estimate), (one.null, one.estimate));
    }

    proptest! {
        #[test]
        fn a_verdict_never_contradicts_its_bounds(
            new in proptest::collection::vec(-0.2..0.2, 6..13),
            delta in 0.005..0.1,
        ) {
            let octets: Vec<_> =
                new.iter().map(|new| Differences { new: *new, null: 0.0 }).collect();
            let look = look(&octets, ONE).expect("six or more");
            prop_assert!(look.lower <= look.estimate && look.estimate <= look.upper);
            match verdict(&look, Limits { delta, floor: 0.0 }) {
                Some(Verdict::Regression) => prop_assert!(look.estimate > delta.ln_1p()),
                Some(Verdict::Pass) => prop_assert!(look.estimate < delta.ln_1p()),
                Some(Verdict::Untrusted) => prop_assert!(false, "the null is exact"),
                _ => {}
            }
        }
    }
}
