//! Decides figures in four looks, after 6, 8, 10 and 12 octets. An octet is one observation of the
//! gate: samples of A, of B, and of N, a second process of A (`octet.rs`). The probability of an
//! error is split over the looks and over all judged figures, so early looks make no verdict less
//! sure. `cell` passes octets to a [`Figure`]; `baseline` uses the same bounds with one look.

use result::{gate::LookFacts, stats::Trimmed};

use super::{DELTA_MAX, Metric, Verdict, octet::Differences};

/// Counts of octets after which a look tests whether they decide.
pub const LOOKS: [usize; 4] = [6, 8, 10, 12];
/// Number of octets before the first look.
pub const OCTET_COUNT_MIN: usize = LOOKS[0];
/// Maximal number of octets.
pub const OCTET_COUNT_MAX: usize = LOOKS[LOOKS.len() - 1];
/// Maximal probability that a run calls a figure a regression although it is none.
pub const ALPHA_FAIL: f64 = 0.01;
/// Maximal probability that a run passes a figure although it is a regression.
pub const ALPHA_PASS: f64 = 0.05;
/// Confidence of the interval of the null, the change of N against A.
pub const NULL_CONFIDENCE: f64 = 0.99;
/// Maximal error of an estimate in nine runs of ten, in standard errors: the normal distribution's
/// quantile of 0.95, as errors have either sign.
const NINE_OF_TEN: f64 = 1.645;
/// A proposed δ is a multiple of this share.
const DELTA_STEP: f64 = 0.001;

/// The estimate of a figure by the octets so far, with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Number of octets.
    pub octet_count: usize,
    /// Logarithm of the metric of B over that of A and N.
    pub estimate: f64,
    /// Lower bound. The true change is below it with a probability of at most one part of
    /// [`ALPHA_FAIL`].
    pub lower: f64,
    /// Upper bound. The true change is above it with a probability of at most one part of
    /// [`ALPHA_PASS`].
    pub upper: f64,
    /// Interval of the logarithm of the metric of N over that of A.
    pub null: [f64; 2],
}

/// Number of parts into which a probability of error is split: looks × judged figures.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// Number of judged figures of all cells, times the number of allowed attempts.
    pub judged_count: usize,
    /// Number of looks at each figure.
    pub look_count: usize,
}

impl Split {
    /// Returns one part of `alpha`.
    pub fn share(&self, alpha: f64) -> f64 {
        alpha / (self.look_count * self.judged_count).max(1) as f64
    }
}

/// A metric of a variant under measurement, with its estimates and its verdict.
#[derive(Debug)]
pub struct Figure {
    pub metric: Metric,
    /// Median of the metric over the samples of A in the warm-up.
    pub base: u64,
    pub limits: Limits,
    /// The estimate of each octet so far.
    pub octets: Vec<Differences>,
    /// The looks so far.
    pub looks: Vec<Look>,
    verdict: Option<Verdict>,
    /// The smallest δ that could be decided with this noise, if noise leaves the figure open.
    pub delta_to_decide: Option<f64>,
}

impl Figure {
    /// Makes a figure without octets.
    pub const fn new(metric: Metric, base: u64, limits: Limits) -> Self {
        Self {
            metric,
            base,
            limits,
            octets: Vec::new(),
            looks: Vec::new(),
            verdict: None,
            delta_to_decide: None,
        }
    }

    /// Tests whether the octets decide the figure, unless it is already decided.
    pub fn look(&mut self, split: Split) {
        if !self.is_open() {
            return;
        }
        let Some(look) = look(&self.octets, split) else { return };
        self.looks.push(look);
        self.verdict = verdict(&look, self.limits);
        if self.verdict == Some(Verdict::Inconclusive) {
            self.delta_to_decide = delta_to_decide(&self.octets, split, self.limits.delta);
        }
    }

    /// Whether more octets may decide the figure.
    pub const fn is_open(&self) -> bool {
        self.verdict.is_none()
    }

    /// Returns the verdict; inconclusive if there were too few octets.
    pub fn verdict(&self) -> Verdict {
        self.verdict.unwrap_or(Verdict::Inconclusive)
    }
}

/// Returns the estimate of `octets`; `None` for fewer than six.
pub fn look(octets: &[Differences], split: Split) -> Option<Look> {
    let (new, null) = estimates(octets)?;
    Some(Look {
        octet_count: octets.len(),
        estimate: new.mean,
        lower: new.lower(split.share(ALPHA_FAIL)),
        upper: new.upper(split.share(ALPHA_PASS)),
        null: null.interval(NULL_CONFIDENCE),
    })
}

/// Returns the estimates of B and of the null, with their spreads; `None` for fewer than six
/// octets.
pub fn estimates(octets: &[Differences]) -> Option<(Trimmed, Trimmed)> {
    let (new, null): (Vec<_>, Vec<_>) = octets.iter().map(|octet| (octet.new, octet.null)).unzip();
    Some((Trimmed::of(&new)?, Trimmed::of(&null)?))
}

/// Returns the verdict by the bounds of a change: a regression if both are above `delta`, a pass if
/// both are below `delta`. The bounds are logarithms, `delta` is a share.
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
    /// The largest allowed change, as a share: the larger of δ and the floor.
    pub delta: f64,
    /// The floor of the metric, as a share of A's value. Smaller differences do not count.
    pub floor: f64,
}

/// The class of a null by its interval, the difference of A from itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NullVerdict {
    /// The difference is surely within ±δ/2.
    Narrow,
    /// The difference may exceed ±δ/2, by noise.
    Wide,
    /// The difference is surely larger than the floor.
    Biased,
}

impl Limits {
    fn null_verdict(self, null: [f64; 2]) -> NullVerdict {
        let ([low, high], floor) = (null, self.floor.ln_1p());
        if low > floor || high < -floor {
            NullVerdict::Biased
        } else if far_end(null) <= (self.delta / 2.0).ln_1p() {
            NullVerdict::Narrow
        } else {
            NullVerdict::Wide
        }
    }

    /// Returns the change of B that a difference of A from itself may explain. It is 0 if the null
    /// is narrow, the estimate of a wide null, or the far end of a biased null.
    pub fn null_change(self, null: [f64; 2]) -> f64 {
        match self.null_verdict(null) {
            NullVerdict::Narrow => 0.0,
            NullVerdict::Wide => middle(null).abs(),
            NullVerdict::Biased => far_end(null),
        }
    }

    /// Returns B's bounds, moved apart by the null; they decide. The lower bound falls by
    /// [`Self::null_change`]. The upper bound rises by the far end of a null that is not narrow. A
    /// slow process of A makes B seem faster, and noise may hide that the process is slow.
    pub fn bounds(self, look: &Look) -> [f64; 2] {
        let margin = match self.null_verdict(look.null) {
            NullVerdict::Narrow => 0.0,
            NullVerdict::Wide | NullVerdict::Biased => far_end(look.null),
        };
        [look.lower - self.null_change(look.null), look.upper + margin]
    }
}

/// Returns the verdict of a look, or `None` if more octets may decide. A wide null only moves the
/// bounds apart ([`Limits::bounds`]). With a biased null nothing passes: after the last octet the
/// verdict is a regression or untrusted.
pub fn verdict(look: &Look, limits: Limits) -> Option<Verdict> {
    let [lower, upper] = limits.bounds(look);
    let is_last = look.octet_count >= OCTET_COUNT_MAX;
    match (by_bounds(lower, upper, limits.delta), limits.null_verdict(look.null)) {
        (Verdict::Regression, _) => Some(Verdict::Regression),
        (_, NullVerdict::Biased) => is_last.then_some(Verdict::Untrusted),
        (Verdict::Pass, _) => Some(Verdict::Pass),
        _ => is_last.then_some(Verdict::Inconclusive),
    }
}

/// A verdict that B's own bounds give, and that a wide null leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenVerdict {
    /// Regression or pass.
    pub verdict: Verdict,
    /// The difference of A from itself that counts against the verdict, as a share.
    pub null_change: f64,
    /// The limit that the bound of B would have to pass, as a share.
    pub bound: f64,
}

/// Returns the verdict that a wide null leaves open. `None` if B's own bounds decide nothing, or if
/// the null hides nothing.
pub fn hidden_by_null(look: &Look, limits: Limits) -> Option<HiddenVerdict> {
    let verdict = by_bounds(look.lower, look.upper, limits.delta);
    let [lower, upper] = limits.bounds(look);
    let limit = limits.delta.ln_1p();
    let [below, above] = [look.lower - lower, upper - look.upper];
    let (null_change, bound) = match verdict {
        Verdict::Regression => (below, limit + below),
        _ => (above, limit - above),
    };
    let is_hidden = verdict != Verdict::Inconclusive
        && limits.null_verdict(look.null) == NullVerdict::Wide
        && by_bounds(lower, upper, limits.delta) == Verdict::Inconclusive;
    is_hidden.then(|| HiddenVerdict {
        verdict,
        null_change: null_change.exp_m1(),
        bound: bound.exp_m1(),
    })
}

fn middle([low, high]: [f64; 2]) -> f64 {
    f64::midpoint(low, high)
}

/// Returns the larger distance of an interval's ends from 0.
fn far_end([low, high]: [f64; 2]) -> f64 {
    low.abs().max(high.abs())
}

/// Returns the number of octets that would decide, over the number of octets of `look`. Estimates
/// and deviations are assumed to stay, so that errors fall with the square root of the number.
/// `None` if no number would decide.
pub fn octet_factor(look: &Look, limits: Limits) -> Option<f64> {
    if limits.null_verdict(look.null) == NullVerdict::Biased {
        return None;
    }
    let limit = limits.delta.ln_1p();
    let [low, high] = look.null;
    let (null, null_reach) = (middle(look.null).abs(), (high - low) / 2.0);
    let Look { estimate, lower, upper, .. } = *look;
    // The factor by which a reach (estimate to bound) must shrink to fit its room (estimate to
    // limit).
    let factor = if estimate < limit {
        let reach = upper - estimate;
        // A pass needs room for the far end of a wide null, or a null that is no longer wide.
        let beside_wide = ratio(reach + null_reach, limit - estimate - null);
        let beside_narrow = ratio(null_reach, (limits.delta / 2.0).ln_1p() - null)
            .zip(ratio(reach, limit - estimate))
            .map(|(of_null, of_new)| of_null.max(of_new));
        beside_wide.into_iter().chain(beside_narrow).reduce(f64::min)?
    } else {
        ratio(estimate - lower, estimate - limit - null)?
    };
    Some(factor.max(1.0).powi(2)).filter(|factor| factor.is_finite())
}

/// Returns the smallest δ at which about nine of ten runs of two equal builds pass, with noise like
/// this. `new` has the error of B's estimate, `null` that of the null's; their means do not count.
/// A run passes if the null lies within ±δ/2 and the upper bound below δ. It also passes if the
/// upper bound plus the far end of a wide null is below δ.
pub fn smallest_delta(new: &Trimmed, null: &Trimmed, split: Split) -> f64 {
    let [_, null_upper] = worst_of_nine_in_ten(null).interval(NULL_CONFIDENCE);
    let beside_narrow = smallest_delta_without_null(new, split).max(2.0 * null_upper.exp_m1());
    // The estimates of B and of the null are independent, so the squares of their errors add up.
    let sum = Trimmed { mean: NINE_OF_TEN * new.error.hypot(null.error), ..*new };
    let [_, null_reach] = Trimmed { mean: 0.0, ..*null }.interval(NULL_CONFIDENCE);
    let beside_wide = (sum.upper(split.share(ALPHA_PASS)) + null_reach).exp_m1();
    beside_narrow.min(beside_wide)
}

/// Returns the smallest δ of [`smallest_delta`], for a figure without a null.
fn smallest_delta_without_null(spread: &Trimmed, split: Split) -> f64 {
    worst_of_nine_in_ten(spread).upper(split.share(ALPHA_PASS)).exp_m1()
}

/// Returns the largest estimate in nine of ten runs of two equal builds, with this error.
fn worst_of_nine_in_ten(spread: &Trimmed) -> Trimmed {
    Trimmed { mean: NINE_OF_TEN * spread.error, ..*spread }
}

/// Returns the [`smallest_delta`] for the noise of `octets`, to propose it. `None` if it is at most
/// `delta`, since noise then does not prevent a verdict, and for fewer than six octets.
pub fn delta_to_decide(octets: &[Differences], split: Split, delta: f64) -> Option<f64> {
    let (new, null) = estimates(octets)?;
    next_delta_step(smallest_delta(&new, &null, split), delta)
}

/// Returns the δ to propose for a figure of stored results, which have no null. `None` if it is at
/// most `delta`.
pub fn delta_to_decide_without_null(spread: &Trimmed, split: Split, delta: f64) -> Option<f64> {
    next_delta_step(smallest_delta_without_null(spread, split), delta)
}

/// Rounds a δ up to the next step above it, as a bound must lie below δ. `None` if the step is not
/// above `delta`.
fn next_delta_step(smallest: f64, delta: f64) -> Option<f64> {
    let above = ((smallest / DELTA_STEP).floor() + 1.0) * DELTA_STEP;
    (smallest.is_finite() && above > delta).then_some(above)
}

/// States the largest of the proposed δ, which decides all figures, as an option. Empty if there is
/// none, or if it is above [`DELTA_MAX`].
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

/// Returns the number of values of each side that would decide, if `count` values have these bounds
/// and this estimate, as logarithms. `None` if no number would decide.
pub fn values_to_decide(
    [lower, estimate, upper]: [f64; 3],
    delta: f64,
    count: usize,
) -> Option<u64> {
    let limit = delta.ln_1p();
    let factor = match estimate < limit {
        true => ratio(upper - estimate, limit - estimate)?.powi(2),
        false => ratio(estimate - lower, estimate - limit)?.powi(2),
    };
    factor.is_finite().then(|| (count as f64 * factor).ceil() as u64)
}

/// Returns `reach` over `room`; `None` without room.
fn ratio(reach: f64, room: f64) -> Option<f64> {
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
mod tests;
