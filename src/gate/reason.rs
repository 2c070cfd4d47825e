//! Writes the reason of a verdict for `cell`: which build is slower by the most telling figure, by
//! how much, and how sure that is.
//!
//! Wall time is more telling than CPU time, and CPU time is more telling than counts. The gate is
//! about time, and a small count can change by thousands of percent. Among figures of one kind, the
//! one with the largest change is the most telling.

use result::gate::LookFacts;
use std::cmp::Ordering;

use super::{
    Metric, Verdict,
    decide::{self, Limits, Look},
    floor,
};

/// Minimal size of a bound that is shown, as a share. A smaller bound counts as no change.
const SHOWN_MIN: f64 = 0.0005;

/// A figure that may be the most telling one of a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headline {
    pub metric: Metric,
    /// The change of the figure, as a share or as a logarithm: it only orders figures.
    pub change: f64,
}

impl Headline {
    /// Compares figures: the greatest is the most telling.
    pub fn order(&self, other: &Self) -> Ordering {
        let (own, its) = (precedence(self.metric), precedence(other.metric));
        own.cmp(&its).then(self.change.total_cmp(&other.change))
    }
}

/// Returns the most telling figure and its text.
pub fn most_telling(
    all: impl IntoIterator<Item = (Headline, String)>,
) -> Option<(Headline, String)> {
    all.into_iter().max_by(|a, b| a.0.order(&b.0))
}

const fn precedence(metric: Metric) -> u8 {
    match metric {
        Metric::Wall => 2,
        Metric::Cpu => 1,
        _ => 0,
    }
}

/// The facts of a figure for the sentence about it.
#[derive(Debug)]
pub struct FigureVerdict<'a> {
    pub variant: &'a str,
    pub metric: Metric,
    pub verdict: Verdict,
    /// The last look, on which the verdict rests.
    pub look: Look,
    pub limits: Limits,
    /// The requested δ, as a share.
    pub delta: f64,
    /// The number of samples that would decide, and the option that takes them, in words; empty if
    /// the figure is decided.
    pub remedy: String,
}

impl FigureVerdict<'_> {
    /// States the verdict as a sentence about B.
    pub fn sentence(&self) -> String {
        let LookFacts { change, lower, null, octet_count: octets, .. } = self.look.into();
        let [_, upper] = self.limits.bounds(&self.look).map(f64::exp_m1);
        // Negative if B is surely faster, also if one process of A was slow.
        let gain = (self.look.upper + self.limits.null_change(self.look.null)).exp_m1();
        let (variant, metric) = (self.variant, self.metric);
        let [does, base, more, less] = phrases(metric);
        let direction = if change < 0.0 { less } else { more };
        let compared = format!("B {does} {} {direction} than A: {variant}, {metric}", size(change));
        let allowed = self.allowed();
        match self.verdict {
            Verdict::Regression => {
                let lower = size(lower);
                format!("{compared}; surely more than {lower}, {allowed} ({octets} octets)")
            }
            Verdict::Pass if gain <= -SHOWN_MIN => {
                format!("{compared}; surely more than {} ({octets} octets)", size(gain))
            }
            Verdict::Pass if lower >= SHOWN_MIN => {
                let upper = size(upper);
                format!("{compared}; surely less than {upper}, {allowed} ({octets} octets)")
            }
            Verdict::Pass => format!(
                "B {does} no {more} than allowed: {variant}, {metric} {}; surely less than {}, \
                 {allowed} ({octets} octets)",
                signed(change),
                signed(upper)
            ),
            Verdict::Untrusted => {
                let [low, high] = null.map(signed);
                format!(
                    "{variant} {metric}: A surely differs from itself, by {low} to {high}: something \
                     favours one process, and no change of the build can be told from it"
                )
            }
            Verdict::Inconclusive
            | Verdict::ClaimFails
            | Verdict::WorkChanged
            | Verdict::NotJudged => format!(
                "B may {base} {more} than allowed: {variant}, {metric} {}",
                self.between_bounds()
            ),
        }
    }

    /// States an open figure without its variant, to follow a sentence about the variant.
    pub fn open(&self) -> String {
        format!("{}: {}", self.metric, self.between_bounds())
    }

    /// States the change of an open figure, its bounds, and the number of samples that would
    /// decide.
    fn between_bounds(&self) -> String {
        let facts = LookFacts::from(self.look);
        let [change, lower, upper] = [facts.change, facts.lower, facts.upper].map(signed);
        format!(
            "{change}, between {lower} and {upper}; {} ({} octets){}{}",
            self.allowed(),
            facts.octet_count,
            self.hidden(),
            self.remedy
        )
    }

    /// States the largest allowed change, and the metric's floor if the floor is above the
    /// requested δ.
    fn allowed(&self) -> String {
        let allowed = format!("{:.1} % are allowed", self.limits.delta * 100.0);
        if self.limits.delta <= self.delta {
            return allowed;
        }
        let floor = floor(self.metric);
        match self.metric {
            Metric::Wall | Metric::Cpu => format!("{allowed}, the floor of {} µs", floor / 1_000),
            Metric::Bytes => format!("{allowed}, the floor of {} KiB", floor / 1_024),
            _ => format!("{allowed}, the floor of {floor}"),
        }
    }

    /// States that the null leaves the figure open although B's own bounds decide. Empty for other
    /// figures.
    fn hidden(&self) -> String {
        let Some(hidden) = decide::hidden_by_null(&self.look, self.limits) else {
            return String::new();
        };
        let (itself, bound) = (size(hidden.null_change), signed(hidden.bound));
        match hidden.verdict {
            Verdict::Pass => format!(
                ": no pass, as A may differ from itself by {itself}, so the upper bound would have \
                 to be below {bound}"
            ),
            _ => format!(
                ": no regression, as A seems to differ from itself by {itself}, so the lower bound \
                 would have to be above {bound}"
            ),
        }
    }
}

/// Returns the words for a change of a metric: the verb after B, its base form, an increase, a
/// decrease.
const fn phrases(metric: Metric) -> [&'static str; 4] {
    match metric {
        Metric::Wall => ["is", "be", "slower", "faster"],
        Metric::Cpu => ["takes", "take", "more CPU time", "less CPU time"],
        Metric::Blocks => ["reads", "read", "more blocks", "fewer blocks"],
        Metric::Bytes => ["reads", "read", "more bytes", "fewer bytes"],
        Metric::Requests => ["makes", "make", "more requests", "fewer requests"],
        Metric::Allocations => ["makes", "make", "more allocations", "fewer allocations"],
        Metric::Instructions => ["takes", "take", "more instructions", "fewer instructions"],
    }
}

/// Formats a share in percent, with its sign.
pub fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// Formats a share in percent, without its sign.
fn size(share: f64) -> String {
    format!("{:.1} %", share.abs() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentence on a metric with this verdict: change, lower and upper bound are shares.
    fn told(metric: Metric, verdict: Verdict, bounds: [f64; 3]) -> String {
        beside_null(metric, verdict, bounds, [-0.002, 0.002])
    }

    /// The same, beside this interval of the null.
    fn beside_null(
        metric: Metric,
        verdict: Verdict,
        [change, lower, upper]: [f64; 3],
        null: [f64; 2],
    ) -> String {
        let look = Look {
            octet_count: 8,
            estimate: change.ln_1p(),
            lower: lower.ln_1p(),
            upper: upper.ln_1p(),
            null,
        };
        let limits = Limits { delta: 0.03, floor: 0.0 };
        let remedy = match verdict {
            Verdict::Inconclusive => ": about 96 samples of each build would decide".to_owned(),
            _ => String::new(),
        };
        FigureVerdict { variant: "memory/x", metric, verdict, look, limits, delta: 0.03, remedy }
            .sentence()
    }

    #[test]
    fn a_verdict_says_which_side_is_slower() {
        let wall = |verdict, shares| told(Metric::Wall, verdict, shares);
        assert_eq!(
            wall(Verdict::Regression, [0.166, 0.113, 0.22]),
            "B is 16.6 % slower than A: memory/x, wall; surely more than 11.3 %, 3.0 % are allowed \
             (8 octets)"
        );
        assert_eq!(
            wall(Verdict::Pass, [-0.142, -0.16, -0.13]),
            "B is 14.2 % faster than A: memory/x, wall; surely more than 13.0 % (8 octets)"
        );
        assert_eq!(
            wall(Verdict::Pass, [0.015, 0.01, 0.021]),
            "B is 1.5 % slower than A: memory/x, wall; surely less than 2.1 %, 3.0 % are allowed (8 \
             octets)"
        );
        assert_eq!(
            wall(Verdict::Pass, [0.001, -0.004, 0.006]),
            "B is no slower than allowed: memory/x, wall +0.1 %; surely less than +0.6 %, 3.0 % are \
             allowed (8 octets)"
        );
        assert_eq!(
            wall(Verdict::Inconclusive, [0.02, -0.01, 0.05]),
            "B may be slower than allowed: memory/x, wall +2.0 %, between -1.0 % and +5.0 %; 3.0 % \
             are allowed (8 octets): about 96 samples of each build would decide"
        );
        let biased = wall(Verdict::Untrusted, [0.0, -0.01, 0.01]);
        assert!(biased.starts_with("memory/x wall: A surely differs from itself"), "{biased}");
    }

    #[test]
    fn a_wide_null_weakens_a_pass_and_is_named_where_it_prevents_one() {
        let wall = |verdict, bounds, null| beside_null(Metric::Wall, verdict, bounds, null);
        assert_eq!(
            wall(Verdict::Pass, [-0.125, -0.137, -0.116], [-0.017, 0.017]),
            "B is 12.5 % faster than A: memory/x, wall; surely more than 11.6 % (8 octets)"
        );
        // A seems to differ from itself by more.
        assert_eq!(
            wall(Verdict::Pass, [-0.015, -0.02, -0.01], [-0.005, 0.035]),
            "B is no slower than allowed: memory/x, wall -1.5 %; surely less than +2.5 %, 3.0 % \
             are allowed (8 octets)"
        );
        assert_eq!(
            wall(Verdict::Inconclusive, [0.0, -0.01, 0.01], [-0.035, 0.035]),
            "B may be slower than allowed: memory/x, wall +0.0 %, between -1.0 % and +1.0 %; 3.0 % \
             are allowed (8 octets): no pass, as A may differ from itself by 3.6 %, so the upper \
             bound would have to be below -0.5 %: about 96 samples of each build would decide"
        );
    }

    #[test]
    fn a_count_is_more_or_fewer_and_no_speed() {
        let more = told(Metric::Requests, Verdict::Regression, [1.0, 0.9, 1.1]);
        assert!(more.starts_with("B makes 100.0 % more requests than A: memory/x, "), "{more}");
        let fewer = told(Metric::Blocks, Verdict::Pass, [-0.5, -0.6, -0.4]);
        assert!(fewer.starts_with("B reads 50.0 % fewer blocks than A: memory/x, "), "{fewer}");
        let cpu = told(Metric::Cpu, Verdict::Pass, [0.0, -0.01, 0.01]);
        assert!(cpu.starts_with("B takes no more CPU time than allowed: memory/x, cpu"), "{cpu}");
    }

    fn headline_text(all: &[(Metric, f64)]) -> String {
        let all = all.iter().map(|(metric, change)| {
            let headline = Headline { metric: *metric, change: *change };
            (headline, format!("{metric} {change}"))
        });
        most_telling(all).expect("there are some").1
    }

    #[test]
    fn a_time_tells_before_any_counter_however_much_that_changed() {
        let (wall, requests) = ((Metric::Wall, 0.04), (Metric::Requests, 519.328));
        for all in [[wall, requests], [requests, wall]] {
            assert_eq!(headline_text(&all), "wall 0.04");
        }
        let cpu = (Metric::Cpu, 0.5);
        assert_eq!(headline_text(&[requests, cpu, wall]), "wall 0.04");
        assert_eq!(headline_text(&[requests, cpu]), "cpu 0.5");
    }

    #[test]
    fn of_like_figures_the_one_that_changed_most_tells() {
        assert_eq!(headline_text(&[(Metric::Wall, -0.1), (Metric::Wall, 0.2)]), "wall 0.2");
        let counters = [(Metric::Bytes, 0.3), (Metric::Blocks, 0.2), (Metric::Requests, 0.1)];
        assert_eq!(headline_text(&counters), "bytes 0.3");
        assert_eq!(most_telling([]), None);
    }
}
