//! Shows the progress of a gate, for `judge` and `stress gate calibrate`: the octet and the time
//! left. Notes give the estimated time of the whole gate.

use std::time::{Duration, Instant};

use report::units;

use super::{
    decide::{LOOKS, OCTET_COUNT_MAX},
    pace::{Pace, WorkSource},
    sampler::Plan,
    steps::{Activity, InOctet, Step},
};
use crate::terminal::{Live, Progress, progress::Stage};

/// Minimal time between two drawings, as samples follow each other within milliseconds.
const INTERVAL: Duration = Duration::from_millis(500);
/// Length of an octet on the progress bar.
const OCTET_LENGTH: u64 = 1_000;
/// Length of the whole progress bar.
const LENGTH: u64 = OCTET_LENGTH * OCTET_COUNT_MAX as u64;

/// The measuring stage of a gate.
pub struct MeasuringStage<'a> {
    progress: &'a Progress,
    stage: Stage<'a>,
    lines: Lines,
    drawn_at: Option<Instant>,
}

impl<'a> MeasuringStage<'a> {
    /// Begins the stage.
    pub fn new(progress: &'a Progress, plan: &Plan, source: WorkSource) -> Self {
        if let Some(note) = variants(plan.subjects.len(), source) {
            progress.note(&note);
        }
        let lines = Lines::new(plan, source, Instant::now());
        Self { progress, stage: progress.stage("comparing", 0), lines, drawn_at: None }
    }

    /// Shows a step at its start.
    pub fn show(&mut self, step: Step) {
        let now = Instant::now();
        if let Some(remark) = self.lines.remark(step, now) {
            self.progress.note(&remark);
        }
        let is_old = self.drawn_at.is_none_or(|at| now.duration_since(at) >= INTERVAL);
        if !is_old && !is_slow(step) {
            return;
        }
        if let Some(live) = self.lines.live(step, now) {
            self.stage.show(live);
            self.drawn_at = Some(now);
        }
    }

    /// Ends the stage.
    pub fn finish(self) {
        self.stage.finish();
    }
}

/// The texts of the stage.
struct Lines {
    pace: Pace,
    begun: Instant,
    try_number: u32,
    has_octets: bool,
}

impl Lines {
    fn new(plan: &Plan, source: WorkSource, begun: Instant) -> Self {
        Self { pace: Pace::new(plan, source), begun, try_number: 1, has_octets: false }
    }

    /// Returns the remark on a step, if the step has one.
    fn remark(&mut self, step: Step, now: Instant) -> Option<String> {
        match step {
            Step::WarmUp { .. } => {
                // A warm-up after octets begins another attempt.
                self.try_number += u32::from(self.has_octets);
                self.has_octets = false;
                None
            }
            Step::Warm(work) => self.pace.first_estimate(&work),
            Step::Octet(InOctet { done_count, .. }) => {
                self.has_octets = true;
                self.pace.record(done_count, now)
            }
        }
    }

    /// Returns the lines for a step; `None` if the lines stay as they are.
    fn live(&self, step: Step, now: Instant) -> Option<Live> {
        let so_far = units::rough_time(now.saturating_duration_since(self.begun));
        let (head, below, position) = match step {
            Step::Warm(_) => return None,
            Step::WarmUp { done_count, sample_count } => (
                format!(
                    "warming up, variant {} of {}",
                    done_count + 1,
                    self.pace.plan.subjects.len()
                ),
                format!("{so_far} so far; {}", units::things(sample_count, "sample")),
                0,
            ),
            Step::Octet(octet) => (
                self.octet(octet, now),
                format!("{so_far} so far; {}{}", activity(octet.activity), self.looks()),
                position(octet),
            ),
        };
        let try_words = match self.try_number {
            1 => String::new(),
            number => format!("try {number}, "),
        };
        Some(Live { head: try_words + &head, below, position, length: LENGTH })
    }

    /// Formats the octet and the time left: `octet 3 of at most 12, up to 18 min left`.
    fn octet(&self, octet: InOctet, now: Instant) -> String {
        let (most, about) = match self.pace.plan.takes_all {
            true => ("", "about"),
            false => ("at most ", "up to"),
        };
        let time_left = self.pace.time_left(now).map(units::rough_time);
        let time_left = time_left.map_or_else(String::new, |time| format!(", {about} {time} left"));
        format!("octet {} of {most}{OCTET_COUNT_MAX}{time_left}", octet.done_count + 1)
    }

    /// Names the counts of octets after which the gate may decide.
    fn looks(&self) -> String {
        if self.pace.plan.takes_all {
            return String::new();
        }
        let looks = LOOKS.map(|count| count.to_string()).join(", ");
        format!("; looks after {looks} octets")
    }
}

/// States the number of variants, and the options that reduce it; `None` for one variant.
fn variants(count: usize, source: WorkSource) -> Option<String> {
    let options = match source {
        WorkSource::Executor => "",
        _ => "; --design, --threads and --io-threads name fewer",
    };
    (count > 1).then(|| format!("{count} variants are compared{options}"))
}

/// Whether the step may last long, so that its lines are drawn at its start.
const fn is_slow(step: Step) -> bool {
    matches!(
        step,
        Step::WarmUp { sample_count: 0, .. }
            | Step::Octet(InOctet { activity: Activity::Starting, .. })
    )
}

const fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Starting => "starting processes",
        Activity::WarmingUp => "warming up",
        Activity::Sampling => "sampling",
    }
}

fn position(octet: InOctet) -> u64 {
    let within = (octet.share * OCTET_LENGTH as f64) as u64;
    octet.done_count as u64 * OCTET_LENGTH + within
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Metric,
            drawn::Drawn,
            measure,
            sampler::{Rule, Subject},
        },
        *,
    };

    fn plan(names: &[&str]) -> Plan {
        let subject = |name: &&str| Subject {
            variant: (*name).to_owned(),
            metrics: vec![Metric::Wall],
            rule: Rule::All,
        };
        Plan {
            subjects: names.iter().map(subject).collect(),
            delta: 0.03,
            slot_ns: 140_000_000,
            coin_seed: 1,
            attempt_count: 1,
            takes_all: false,
        }
    }

    /// The lines of a gate whose every step takes a second, step by step.
    fn shown(plan: &Plan, drawn: &mut Drawn) -> Vec<(Step, Live)> {
        let begun = Instant::now();
        let mut lines = Lines::new(plan, WorkSource::Fixed, begun);
        let mut now = begun;
        let mut all = Vec::new();
        let show = |step: Step| {
            now += Duration::from_secs(1);
            lines.remark(step, now);
            all.extend(lines.live(step, now).map(|live| (step, live)));
        };
        measure::attempts(plan, drawn, show).1.unwrap_or_else(|failure| panic!("{failure}"));
        all
    }

    #[test]
    fn several_variants_are_counted_at_once_with_the_options_that_name_fewer() {
        let told = variants(7, WorkSource::Fixed);
        let expected = "7 variants are compared; --design, --threads and --io-threads name fewer";
        assert_eq!(told.as_deref(), Some(expected));
        let told = variants(7, WorkSource::Executor);
        assert_eq!(told.as_deref(), Some("7 variants are compared"), "an executor names its own");
        assert_eq!(variants(1, WorkSource::Fixed), None);
    }

    #[test]
    fn the_bar_moves_within_each_octet_and_never_back() {
        let plan = Plan { takes_all: true, ..plan(&["memory/x", "memory/y"]) };
        let all = shown(&plan, &mut Drawn::new(1, 1.0, 0.001));
        let positions: Vec<u64> = all.iter().map(|(_, live)| live.position).collect();
        assert!(positions.is_sorted(), "{positions:?}");
        assert!(all.iter().all(|(_, live)| live.length == 12_000 && live.position < live.length));
        for octet in 0..12 {
            let within = (octet * 1_000)..((octet + 1) * 1_000);
            let moves: std::collections::BTreeSet<_> =
                positions.iter().filter(|position| within.contains(*position)).collect();
            assert!(moves.len() > 10, "octet {octet}: {moves:?}");
        }
    }

    #[test]
    fn an_octet_is_named_with_its_unit_and_the_looks_that_may_end_the_gate() {
        let all = shown(&plan(&["memory/x", "memory/y"]), &mut Drawn::new(3, 1.0, 0.1));
        for (step, Live { head, below, .. }) in &all {
            match step {
                Step::Octet(octet) => {
                    let name = format!("octet {} of at most 12", octet.done_count + 1);
                    assert!(head.starts_with(&name), "{head}");
                    assert!(below.ends_with("; looks after 6, 8, 10, 12 octets"), "{below}");
                }
                _ => assert!(head.starts_with("warming up, variant "), "{head}"),
            }
        }
        let has = |words: &str| all.iter().any(|(_, live)| live.below.contains(words));
        assert!(["starting processes", "warming up", "sampling"].into_iter().all(has));
        assert!(all.iter().any(|(_, live)| live.head == "warming up, variant 2 of 2"));
    }

    #[test]
    fn time_left_is_that_of_the_octets_that_are_left() {
        let plan = Plan { takes_all: true, ..plan(&["memory/x"]) };
        let all = shown(&plan, &mut Drawn::new(1, 1.0, 0.001));
        let is_octet = |step: &Step| matches!(step, Step::Octet(_));
        let octets: Vec<_> = all.iter().filter(|(step, _)| is_octet(step)).collect();
        let last = &octets[octets.len() - 1].1.head;
        assert!(last.starts_with("octet 12 of 12, about ") && last.ends_with(" s left"), "{last}");
        // Each step is a second, so all that follow are the time that is left.
        let (middle, (_, live)) = (octets.len() / 2, octets[octets.len() / 2]);
        let left_s = (octets.len() - middle) as f64;
        let words =
            live.head.split(", about ").nth(1).and_then(|left| left.strip_suffix(" min left"));
        let told_s = 60.0 * words.and_then(|left| left.parse::<f64>().ok()).expect("minutes");
        assert!((told_s / left_s - 1.0).abs() < 0.2, "{told_s} of {left_s}: {}", live.head);
    }

    #[test]
    fn a_second_try_is_counted() {
        // Stolen time leaves the first one open.
        let stolen = vec!["2 % stolen".to_owned()];
        let mut drawn =
            Drawn { disturbances: stolen, disturbed_count: 2, ..Drawn::new(3, 1.0, 0.003) };
        let all = shown(&Plan { attempt_count: 2, ..plan(&["memory/x"]) }, &mut drawn);
        let heads: Vec<&str> = all.iter().map(|(_, live)| live.head.as_str()).collect();
        assert!(heads[0].starts_with("warming up, variant 1 of 1"), "{}", heads[0]);
        let last = heads[heads.len() - 1];
        assert!(last.starts_with("try 2, octet "), "{last}");
        let first = heads.iter().position(|head| head.starts_with("try 2, warming up"));
        assert!(first.is_some_and(|first| heads[..first].iter().all(|head| !head.contains("try"))));
    }
}
