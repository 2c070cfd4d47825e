//! How long a gate may take, for the user: before the first octet by the warm-ups, then by the octets,
//! which have all that a sample costs beside its time. A long one comes with the options that make
//! it shorter.

use std::time::{Duration, Instant};

use report::units;

use super::{
    decide::{OCTET_COUNT_MAX, OCTET_COUNT_MIN},
    steps::OctetWork,
    taker::{Plan, Rule},
};
use crate::prepare::Source;

/// A gate that may take as long says so.
const LONG: Duration = Duration::from_secs(120);
/// An estimate that is off by more is printed again.
const OFF_BY: u32 = 2;

/// Source of the work, which says how there may be less of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkSource {
    /// A scenario: options make its state and block smaller.
    Scenario,
    /// A scenario for an executor that is not this project's, and names its own variants.
    Executor,
    /// A workload file, or the export of one: its work is fixed.
    Fixed,
}

impl From<&Source> for WorkSource {
    fn from(source: &Source) -> Self {
        match source {
            Source::Scenario { .. } => Self::Scenario,
            Source::File(_) => Self::Fixed,
        }
    }
}

impl WorkSource {
    const fn less(self) -> &'static str {
        match self {
            Self::Scenario | Self::Executor => {
                "a smaller state and block (--slots, --gas, --quick)"
            }
            Self::Fixed => "a workload of fewer slots and less gas",
        }
    }
}

/// The time of octets, as it is estimated and as it was.
#[derive(Debug)]
pub struct Pace {
    variant_count: usize,
    is_cold: bool,
    takes_all: bool,
    source: WorkSource,
    /// The options that make the gate shorter.
    remedies: String,
    /// Time of an octet by the warm-ups.
    estimate: Option<Duration>,
    /// Time of all octets, as it was said.
    said: Option<Duration>,
    /// The octet under way, and its begin.
    under_way: Option<UnderWay>,
    /// Octets that have ended, and their time.
    ended_count: u32,
    took: Duration,
}

/// An octet under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    done_count: usize,
    began: Instant,
}

impl Pace {
    /// Of a gate that nothing is known of.
    pub fn new(plan: &Plan, source: WorkSource) -> Self {
        Self {
            variant_count: plan.subjects.len(),
            is_cold: plan.subjects.iter().any(|subject| subject.rule == Rule::Counters),
            takes_all: plan.takes_all,
            source,
            remedies: String::new(),
            estimate: None,
            said: None,
            under_way: None,
            ended_count: 0,
            took: Duration::ZERO,
        }
    }

    /// The estimate before the first octet, where `work` is the time of one; `None` where it is short,
    /// and where octets have ended. Processes are replaced once they have worked as long as their start
    /// and warm-up took.
    pub fn warm(&mut self, work: &OctetWork) -> Option<String> {
        if self.ended_count > 0 {
            return None;
        }
        let idle = work.start.unwrap_or_default().saturating_add(work.warm_up);
        let octet = work.samples.saturating_add(idle.max(work.samples));
        self.estimate = Some(octet);
        self.remedies = self.remedies(work);
        let all = all(octet);
        (all >= LONG).then(|| {
            self.said = Some(all);
            let words = self.words(octet, 0);
            format!("estimate before the first octet: an octet takes about {words}")
        })
    }

    /// Hears that an octet is under way at `now`, after `done_count` others. Gives the measured estimate
    /// once, after the first; `None` where it is short or was said.
    pub fn at(&mut self, done_count: usize, now: Instant) -> Option<String> {
        let before = self.under_way.filter(|before| before.done_count != done_count);
        if self.under_way.is_none() || before.is_some() {
            self.under_way = Some(UnderWay { done_count, began: now });
        }
        // Before the first octet of a second try there was a warm-up.
        let before = before.filter(|_| done_count > 0)?;
        let took = now.duration_since(before.began);
        self.took = self.took.saturating_add(took);
        self.ended_count += 1;
        let all = all(took);
        let is_near = |said: Duration| {
            all <= said.saturating_mul(OFF_BY) && said <= all.saturating_mul(OFF_BY)
        };
        let is_said = self.said.is_some_and(is_near);
        (self.ended_count == 1 && all >= LONG && !is_said)
            .then(|| format!("measured, after the first octet: one takes {}", self.words(took, 1)))
    }

    /// The most time that is left at `now`; `None` as long as no time of an octet is known.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let octet = self.took.checked_div(self.ended_count).or(self.estimate)?;
        let UnderWay { done_count, began } = self.under_way?;
        let later = times(octet, OCTET_COUNT_MAX.saturating_sub(done_count + 1));
        Some(later.saturating_add(octet.saturating_sub(now.duration_since(began))))
    }

    /// `42 s: the first figures after 6, in about 5 min, …`, after `done_count` octets.
    fn words(&self, octet: Duration, done_count: usize) -> String {
        let minutes = |count: usize| minutes(times(octet, count.saturating_sub(done_count)));
        let last = minutes(OCTET_COUNT_MAX);
        let ends = match self.takes_all {
            true => format!("all {OCTET_COUNT_MAX} in about {last} min"),
            false => format!(
                "the first figures after {OCTET_COUNT_MIN}, in about {} min, the verdict after \
                 {OCTET_COUNT_MAX} at most, in up to {last} min",
                minutes(OCTET_COUNT_MIN)
            ),
        };
        format!("{}: {ends}; for less take {}", units::rough_time(octet), self.remedies)
    }

    fn remedies(&self, work: &OctetWork) -> String {
        let has_designs = self.source != WorkSource::Executor;
        let variants = (self.variant_count > 1 && has_designs)
            .then_some("one variant (--design NAME, --threads N, --io-threads N)");
        let warm = self.is_cold.then_some("warm samples (--cache warm)");
        let slot = work.has_passes.then_some("a shorter --slot");
        let all = [variants, Some(self.source.less()), warm, slot].into_iter().flatten();
        all.collect::<Vec<_>>().join(", or ")
    }
}

/// Time of all octets.
fn all(octet: Duration) -> Duration {
    times(octet, OCTET_COUNT_MAX)
}

fn times(octet: Duration, count: usize) -> Duration {
    octet.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

fn minutes(time: Duration) -> u64 {
    time.as_secs().div_ceil(60)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Metric, taker::Subject},
        *,
    };

    fn plan(variant_count: usize, rule: Rule) -> Plan {
        let subject = Subject { variant: "memory/x".to_owned(), metrics: vec![Metric::Wall], rule };
        Plan {
            subjects: vec![subject; variant_count],
            delta: 0.03,
            slot_ns: 200_000_000,
            coin_seed: 1,
            attempt_count: 1,
            takes_all: false,
        }
    }

    fn pace() -> Pace {
        Pace::new(&plan(3, Rule::All), WorkSource::Scenario)
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn work(start: u64, warm_up: u64, samples: u64) -> OctetWork {
        let [start, warm_up, samples] = [start, warm_up, samples].map(seconds);
        OctetWork { start: Some(start), warm_up, samples, has_passes: false }
    }

    #[test]
    fn the_estimate_before_the_first_octet_has_starts_warm_ups_and_samples_of_all_variants() {
        let words = pace().warm(&work(30, 20, 10)).expect("long");
        let expected = "estimate before the first octet: an octet takes about 60 s: the first figures \
                        after 6, in about 6 min, the verdict after 12 at most, in up to 12 min; for less take ";
        assert!(words.starts_with(expected), "{words}");
        // Where samples take longer than a start, processes are replaced within the octet.
        let words = pace().warm(&work(5, 5, 60)).expect("long");
        assert!(words.contains("about 2 min: ") && words.contains("in up to 24 min"), "{words}");
        assert_eq!(pace().warm(&work(3, 1, 4)), None, "12 octets of 8 s are short");
        let mut calibrating = Pace { takes_all: true, ..pace() };
        let words = calibrating.warm(&work(30, 20, 10)).expect("long");
        assert!(words.contains("60 s: all 12 in about 12 min; for less"), "{words}");
    }

    #[test]
    fn a_long_gate_names_the_options_that_make_it_shorter_and_no_others() {
        let told = |variant_count, rule, source, has_passes| {
            let work = OctetWork { has_passes, ..work(30, 20, 10) };
            let mut pace = Pace::new(&plan(variant_count, rule), source);
            let before = pace.warm(&work).expect("long");
            let begun = Instant::now();
            assert_eq!(pace.at(0, begun), None);
            let after = pace.at(1, begun + seconds(300)).expect("it takes five times as long");
            let remedies = |words: &str| words.split("for less take ").nth(1).map(str::to_owned);
            assert_eq!(remedies(&before), remedies(&after));
            remedies(&after).expect("remedies")
        };
        let variant = "one variant (--design NAME, --threads N, --io-threads N)";
        let smaller = "a smaller state and block (--slots, --gas, --quick)";
        let fixed = "a workload of fewer slots and less gas";
        for (given, expected) in [
            ((3, Rule::All, WorkSource::Scenario, false), vec![variant, smaller]),
            ((1, Rule::All, WorkSource::Scenario, true), vec![smaller, "a shorter --slot"]),
            ((1, Rule::All, WorkSource::Fixed, false), vec![fixed]),
            ((3, Rule::All, WorkSource::Executor, false), vec![smaller]),
            (
                (2, Rule::Counters, WorkSource::Fixed, false),
                vec![variant, fixed, "warm samples (--cache warm)"],
            ),
        ] {
            let (variant_count, rule, source, has_passes) = given;
            assert_eq!(told(variant_count, rule, source, has_passes), expected.join(", or "));
        }
    }

    #[test]
    fn a_long_first_octet_gives_the_measured_estimate_once() {
        let begun = Instant::now();
        let mut pace = pace();
        assert_eq!(pace.at(0, begun), None);
        assert_eq!(pace.at(0, begun + seconds(20)), None, "the same octet");
        let words = pace.at(1, begun + seconds(42)).expect("long");
        assert!(words.starts_with("measured, after the first octet: one takes 42 s: "), "{words}");
        assert!(words.contains("first figures after 6, in about 4 min"), "{words}");
        assert!(words.contains("after 12 at most, in up to 8 min"), "{words}");
        assert_eq!(pace.at(2, begun + seconds(84)), None);
        // Of a second try.
        assert_eq!((pace.warm(&work(30, 20, 10)), pace.at(0, begun + seconds(90))), (None, None));
        assert_eq!(pace.at(1, begun + seconds(132)), None);
    }

    #[test]
    fn a_short_gate_and_a_true_estimate_are_not_told_again() {
        let begun = Instant::now();
        for (said, is_told) in
            [(None, true), (Some(200), false), (Some(60), true), (Some(900), true)]
        {
            let mut pace = Pace { said: said.map(seconds), ..pace() };
            assert_eq!(pace.at(0, begun), None);
            assert_eq!(pace.at(1, begun + seconds(20)).is_some(), is_told, "{said:?}");
        }
        let mut short = pace();
        assert_eq!(short.at(0, begun), None);
        assert_eq!(short.at(1, begun + seconds(9)), None);
    }

    #[test]
    fn time_left_is_absent_before_an_estimate_and_improves_with_each_octet() {
        let begun = Instant::now();
        let after = |count| begun + seconds(count);
        let mut unknown = pace();
        unknown.at(0, begun);
        assert_eq!(unknown.left(after(5)), None);
        let mut pace = pace();
        pace.warm(&work(30, 20, 10));
        assert_eq!(pace.left(begun), None, "no octet has begun");
        pace.at(0, begun);
        assert_eq!(pace.left(after(20)), Some(seconds(40 + 11 * 60)));
        // It takes longer than that: no time is left of it, and all of the others.
        assert_eq!(pace.left(after(90)), Some(seconds(11 * 60)));
        pace.at(1, after(100));
        assert_eq!(pace.left(after(100)), Some(seconds(11 * 100)));
        pace.at(2, after(180));
        assert_eq!(pace.left(after(200)), Some(seconds(70 + 9 * 90)));
        pace.at(11, after(1_000));
        assert!(pace.left(after(100_000)).is_some_and(|left| left.is_zero()));
    }
}
