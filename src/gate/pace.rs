//! Estimates the time of a gate for `stage`, which shows it: by the warm-ups before the first
//! octet, and by the octets after it. If the time is long, options are proposed that make the gate
//! shorter. They depend on the cause: if several passes fill a slot, a smaller block only makes
//! more passes.

use std::time::{Duration, Instant};

use report::units;

use super::{
    decide::{OCTET_COUNT_MAX, OCTET_COUNT_MIN},
    sampler::{Plan, Rule},
    steps::{OctetWork, multiplied, shorter_slot_ns},
};
use crate::run::prepare::{Source, is_smaller_if_quick};

/// Minimal estimated time of a gate for which options that shorten it are proposed.
const LONG: Duration = Duration::from_secs(120);
/// Minimal number of passes of an octet for which a larger block is proposed. A larger block takes
/// fewer passes, and each sample has a cost outside its clock.
const MANY_PASSES: u64 = 4;
/// A shorter slot is proposed if an octet then takes at most this share of the time.
const SHORTER_MAX: f64 = 0.8;
/// An estimate is printed again if it is wrong by more than this factor.
const RESTATE_FACTOR: u32 = 2;

/// The source of the work, by which options for less work are proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkSource {
    /// A scenario. Options make its state and block smaller, also `--quick`.
    Scenario,
    /// A scenario whose block `--quick` does not make smaller: it is as small, or the user gives
    /// its size.
    SmallScenario,
    /// A scenario for an executor that is not of this project: it names its own variants, so
    /// options cannot reduce their number.
    Executor,
    /// A workload file or an export, whose work is fixed.
    Fixed,
}

impl From<&Source> for WorkSource {
    fn from(source: &Source) -> Self {
        match source {
            Source::Scenario { .. } if is_smaller_if_quick(source) => Self::Scenario,
            Source::Scenario { .. } => Self::SmallScenario,
            Source::File(_) => Self::Fixed,
        }
    }
}

impl WorkSource {
    const fn less_work(self) -> &'static str {
        match self {
            Self::Scenario => "a smaller state and block (--slots, --gas, --quick)",
            Self::SmallScenario | Self::Executor => "a smaller state and block (--slots, --gas)",
            Self::Fixed => "a workload of fewer slots and less gas",
        }
    }

    const fn smaller_state(self) -> &'static str {
        match self {
            Self::Fixed => "a workload of fewer slots",
            _ => "a smaller state (--slots)",
        }
    }

    const fn larger_block(self) -> &'static str {
        match self {
            Self::Fixed => "a workload of more gas, which takes fewer passes",
            _ => "a larger block (--gas), which takes fewer passes",
        }
    }
}

/// The estimated and measured time of octets.
#[derive(Debug)]
pub struct Pace {
    /// The plan of the gate.
    pub plan: Plan,
    source: WorkSource,
    /// The options that make the gate shorter.
    remedies: String,
    /// Estimated time of an octet, by the warm-ups.
    estimate: Option<Duration>,
    /// The time of all octets that the user was told.
    shown_time: Option<Duration>,
    /// The octet under way.
    under_way: Option<UnderWay>,
    /// Number of octets that have ended.
    ended_count: u32,
    /// Sum of the times of the octets that have ended.
    took: Duration,
}

/// The octet under way: the number of octets before it, and its start.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    done_count: usize,
    began: Instant,
}

impl Pace {
    /// Makes the pace of a gate that begins: no time is known.
    pub fn new(plan: &Plan, source: WorkSource) -> Self {
        Self {
            plan: plan.clone(),
            source,
            remedies: String::new(),
            estimate: None,
            shown_time: None,
            under_way: None,
            ended_count: 0,
            took: Duration::ZERO,
        }
    }

    /// Estimates the gate by the `work` of an octet, and returns the estimate in words. `None`
    /// after the first octet, in the warm-up of another attempt.
    pub fn first_estimate(&mut self, work: &OctetWork) -> Option<String> {
        if self.ended_count > 0 {
            return None;
        }
        let octet = work.time(work.requested);
        self.estimate = Some(octet);
        self.remedies = self.remedies(work);
        self.shown_time = Some(all_octets_time(octet));
        let words = self.words(octet, 0);
        Some(format!("estimate before the first octet: an octet takes about {words}"))
    }

    /// Records that an octet is under way at `now`, after `done_count` others. Returns the measured
    /// estimate once, after the first octet. `None` if the gate is short, or if the first estimate
    /// was about right.
    pub fn record(&mut self, done_count: usize, now: Instant) -> Option<String> {
        if self.under_way.is_some_and(|octet| octet.done_count == done_count) {
            return None;
        }
        let before = self.under_way.replace(UnderWay { done_count, began: now });
        // Another attempt begins with octet 0, after a warm-up, which is no octet's time.
        let before = before.filter(|_| done_count > 0)?;
        let took = now.duration_since(before.began);
        self.took = self.took.saturating_add(took);
        self.ended_count += 1;
        let all = all_octets_time(took);
        let is_about_right = self.shown_time.is_some_and(|shown| {
            all <= shown.saturating_mul(RESTATE_FACTOR)
                && shown <= all.saturating_mul(RESTATE_FACTOR)
        });
        (self.ended_count == 1 && all >= LONG && !is_about_right)
            .then(|| format!("measured, after the first octet: one takes {}", self.words(took, 1)))
    }

    /// Returns the maximal time left at `now`; `None` before the time of an octet is known.
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        let octet = self.took.checked_div(self.ended_count).or(self.estimate)?;
        let UnderWay { done_count, began } = self.under_way?;
        let later = multiplied(octet, OCTET_COUNT_MAX.saturating_sub(done_count + 1) as u64);
        Some(later.saturating_add(octet.saturating_sub(now.duration_since(began))))
    }

    /// Formats the time of an octet and of all octets: `42 s: the first figures after 6, in about 5
    /// min, …`. `done_count`: number of octets so far.
    fn words(&self, octet: Duration, done_count: usize) -> String {
        let first = about(multiplied(octet, OCTET_COUNT_MIN.saturating_sub(done_count) as u64));
        let last = about(multiplied(octet, OCTET_COUNT_MAX.saturating_sub(done_count) as u64));
        let ends = match self.plan.takes_all {
            true => format!("all {OCTET_COUNT_MAX} in about {last}"),
            false => format!(
                "the first figures after {OCTET_COUNT_MIN}, in about {first}, the verdict after \
                 {OCTET_COUNT_MAX} at most, in up to {last}"
            ),
        };
        let remedies = match all_octets_time(octet) >= LONG && !self.remedies.is_empty() {
            true => format!("; for less take {}", self.remedies),
            false => String::new(),
        };
        format!("{}: {ends}{remedies}", units::rough_time(octet))
    }

    fn remedies(&self, work: &OctetWork) -> String {
        let mut all = Vec::new();
        let subjects = &self.plan.subjects;
        if subjects.len() > 1 && self.source != WorkSource::Executor {
            all.push("one variant (--design NAME, --threads N, --io-threads N)".to_owned());
        }
        if subjects.iter().any(|subject| subject.rule == Rule::Counts) {
            all.push("warm samples (--cache warm)".to_owned());
        }
        if work.passes.count <= 1 {
            all.push(self.source.less_work().to_owned());
            return all.join(", or ");
        }
        // A smaller block has shorter samples, so more samples fill the slot.
        if work.start.is_some_and(|start| start > work.requested.counted) {
            all.push(self.source.smaller_state().to_owned());
        }
        if let Some(shorter) = self.shorter_slot(work) {
            all.push(shorter);
            if work.passes.count >= MANY_PASSES {
                all.push(self.source.larger_block().to_owned());
            }
        }
        all.join(", or ")
    }

    /// Proposes a shorter slot, with its share of the time; `None` if it saves too little.
    fn shorter_slot(&self, work: &OctetWork) -> Option<String> {
        let shorter_ns = shorter_slot_ns(self.plan.slot_ns);
        let (all, shorter) = (work.time(work.requested), work.time(work.shorter));
        let share = shorter.as_secs_f64() / all.as_secs_f64();
        (shorter_ns > 0 && share <= SHORTER_MAX).then(|| {
            format!(
                "a shorter slot (one of {} takes {} passes of {}: --slot-time {}ms takes about {} of that)",
                short(Duration::from_nanos(self.plan.slot_ns)),
                work.passes.count,
                short(work.passes.time),
                shorter_ns / 1_000_000,
                share_in_words(share)
            )
        })
    }
}

/// Formats milliseconds or seconds: `200 ms`, `11 ms`, `3.5 ms`, `1.5 s`.
fn short(time: Duration) -> String {
    match time.as_secs_f64() * 1e3 {
        ms if ms < 9.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    }
}

/// States a share in words. The limits lie about midway between two words.
fn share_in_words(share: f64) -> &'static str {
    match share {
        share if share < 0.3 => "a quarter",
        share if share < 0.42 => "a third",
        share if share < 0.6 => "half",
        _ => "two thirds",
    }
}

/// Formats a rough time. From [`LONG`] on, it is in minutes, rounded up.
fn about(time: Duration) -> String {
    match time >= LONG {
        true => format!("{} min", time.as_secs().div_ceil(60)),
        false => units::rough_time(time),
    }
}

/// Returns the maximal time of all octets.
fn all_octets_time(octet: Duration) -> Duration {
    multiplied(octet, OCTET_COUNT_MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Metric,
            sampler::Subject,
            steps::{Passes, SampleTime},
        },
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

    /// The work of an octet whose samples fill a slot in one pass.
    fn work(start: u64, warm_up: u64, counted: u64) -> OctetWork {
        let [start, warm_up, counted] = [start, warm_up, counted].map(seconds);
        let requested = SampleTime { warm_up, counted };
        let passes = Passes { count: 1, time: counted };
        OctetWork { start: Some(start), requested, shorter: requested, passes }
    }

    /// The same work if `count` passes fill a slot, and `shorter_count` passes a shorter slot.
    fn of_passes(work: OctetWork, count: u64, shorter_count: u64) -> OctetWork {
        let SampleTime { warm_up, counted } = work.requested;
        let counted = counted.mul_f64(shorter_count as f64 / count as f64);
        let time = Duration::from_micros(11_300);
        OctetWork {
            shorter: SampleTime { warm_up, counted },
            passes: Passes { count, time },
            ..work
        }
    }

    #[test]
    fn the_estimate_before_the_first_octet_has_starts_warm_ups_and_samples_of_all_variants() {
        let words = pace().first_estimate(&work(30, 20, 10)).expect("first");
        let expected = "estimate before the first octet: an octet takes about 60 s: the first figures \
                        after 6, in about 6 min, the verdict after 12 at most, in up to 12 min; for less take ";
        assert!(words.starts_with(expected), "{words}");
        // Where samples take longer than a start, processes are replaced within the octet.
        let words = pace().first_estimate(&work(5, 5, 60)).expect("first");
        assert!(words.contains("about 2 min: ") && words.contains("in up to 24 min"), "{words}");
        let calibrating = Plan { takes_all: true, ..plan(3, Rule::All) };
        let mut calibrating = Pace { plan: calibrating, ..pace() };
        let words = calibrating.first_estimate(&work(30, 20, 10)).expect("first");
        assert!(words.contains("60 s: all 12 in about 12 min; for less"), "{words}");
    }

    #[test]
    fn a_short_gate_says_how_long_it_takes_and_needs_no_remedies() {
        let words = pace().first_estimate(&work(3, 1, 4)).expect("first");
        let expected = "an octet takes about 8.0 s: the first figures after 6, in about 48 s, the verdict \
                        after 12 at most, in up to 96 s";
        assert!(words.ends_with(expected), "{words}");
    }

    /// The options that a gate names which lasts as long as it says.
    fn told(variant_count: usize, rule: Rule, source: WorkSource, work: &OctetWork) -> String {
        let mut pace = Pace::new(&plan(variant_count, rule), source);
        let before = pace.first_estimate(work).expect("first");
        let begun = Instant::now();
        assert_eq!(pace.record(0, begun), None);
        let after = pace.record(1, begun + seconds(1_000)).expect("it takes many times as long");
        let remedies = |words: &str| words.split("for less take ").nth(1).map(str::to_owned);
        assert_eq!(remedies(&before), remedies(&after));
        remedies(&after).unwrap_or_default()
    }

    const VARIANT: &str = "one variant (--design NAME, --threads N, --io-threads N)";
    const SMALLER: &str = "a smaller state and block (--slots, --gas)";

    #[test]
    fn where_a_sample_fills_the_slot_the_remedy_is_less_work() {
        let quick = "a smaller state and block (--slots, --gas, --quick)";
        let fixed = "a workload of fewer slots and less gas";
        for (variant_count, rule, source, expected) in [
            (3, Rule::All, WorkSource::Scenario, vec![VARIANT, quick]),
            (1, Rule::All, WorkSource::SmallScenario, vec![SMALLER]),
            (1, Rule::All, WorkSource::Fixed, vec![fixed]),
            (3, Rule::All, WorkSource::Executor, vec![SMALLER]),
            (
                2,
                Rule::Counts,
                WorkSource::Fixed,
                vec![VARIANT, "warm samples (--cache warm)", fixed],
            ),
        ] {
            let told = told(variant_count, rule, source, &work(30, 20, 10));
            assert_eq!(told, expected.join(", or "));
        }
    }

    #[test]
    fn where_passes_fill_the_slot_the_remedy_is_a_shorter_slot_or_a_larger_block() {
        let larger = "a larger block (--gas), which takes fewer passes";
        let slot = |count: u64, share: &str| {
            format!(
                "a shorter slot (one of 200 ms takes {count} passes of 11 ms: --slot-time 50ms takes about \
                 {share} of that)"
            )
        };
        let told = |source, work| told(1, Rule::All, source, &work);
        let scenario = WorkSource::Scenario;
        let many = of_passes(work(1, 2, 40), 18, 5);
        assert_eq!(told(scenario, many), format!("{}, or {larger}", slot(18, "a quarter")));
        let fixed = "a workload of more gas, which takes fewer passes";
        let expected = format!("{}, or {fixed}", slot(18, "a quarter"));
        assert_eq!(told(WorkSource::Fixed, many), expected);
        // With two passes a larger block saves nothing.
        assert_eq!(told(scenario, of_passes(work(1, 2, 40), 2, 1)), slot(2, "half"));
        // Where starts take the time, little of it is in the slots.
        let starting = of_passes(work(60, 2, 10), 18, 5);
        assert_eq!(told(scenario, starting), "a smaller state (--slots)");
    }

    #[test]
    fn a_long_first_octet_gives_the_measured_estimate_once() {
        let begun = Instant::now();
        let mut pace = pace();
        assert_eq!(pace.record(0, begun), None);
        assert_eq!(pace.record(0, begun + seconds(20)), None, "the same octet");
        let words = pace.record(1, begun + seconds(42)).expect("long");
        assert!(words.starts_with("measured, after the first octet: one takes 42 s: "), "{words}");
        assert!(words.contains("first figures after 6, in about 4 min"), "{words}");
        assert!(words.contains("after 12 at most, in up to 8 min"), "{words}");
        assert_eq!(pace.record(2, begun + seconds(84)), None);
        // The times of a second try.
        assert_eq!(
            (pace.first_estimate(&work(30, 20, 10)), pace.record(0, begun + seconds(90))),
            (None, None)
        );
        assert_eq!(pace.record(1, begun + seconds(132)), None);
    }

    #[test]
    fn a_short_gate_and_a_true_estimate_are_not_told_again() {
        let begun = Instant::now();
        for (shown_time, is_told) in
            [(None, true), (Some(200), false), (Some(60), true), (Some(900), true)]
        {
            let mut pace = Pace { shown_time: shown_time.map(seconds), ..pace() };
            assert_eq!(pace.record(0, begun), None);
            assert_eq!(pace.record(1, begun + seconds(20)).is_some(), is_told, "{shown_time:?}");
        }
        let mut short = pace();
        assert_eq!(short.record(0, begun), None);
        assert_eq!(short.record(1, begun + seconds(9)), None);
    }

    #[test]
    fn time_left_is_absent_before_an_estimate_and_improves_with_each_octet() {
        let begun = Instant::now();
        let after = |count| begun + seconds(count);
        let mut unknown = pace();
        unknown.record(0, begun);
        assert_eq!(unknown.time_left(after(5)), None);
        let mut pace = pace();
        pace.first_estimate(&work(30, 20, 10));
        assert_eq!(pace.time_left(begun), None, "no octet has begun");
        pace.record(0, begun);
        assert_eq!(pace.time_left(after(20)), Some(seconds(40 + 11 * 60)));
        // The octet takes longer: none of its time is left, and all of the others'.
        assert_eq!(pace.time_left(after(90)), Some(seconds(11 * 60)));
        pace.record(1, after(100));
        assert_eq!(pace.time_left(after(100)), Some(seconds(11 * 100)));
        pace.record(2, after(180));
        assert_eq!(pace.time_left(after(200)), Some(seconds(70 + 9 * 90)));
        pace.record(11, after(1_000));
        assert!(pace.time_left(after(100_000)).is_some_and(|left| left.is_zero()));
    }
}
