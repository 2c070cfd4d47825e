//! Tests of the gate on builds whose speed is known: times are drawn, so no test needs a clock.

use proptest::prelude::*;

use super::{
    super::{
        DecidedBy, Metric,
        cell::PASS_COUNT_MAX,
        decide::LOOKS,
        drawn::{Disk, Drawn},
        octet::{self, Arm, Coin},
        sampler::{Rule, Sample, Subject},
    },
    *,
};
use result::gate::OctetFacts;
use std::time::Duration;

mod errors;

fn subject(variant: &str, metrics: &[Metric]) -> Subject {
    Subject { variant: variant.to_owned(), metrics: metrics.to_vec(), rule: Rule::All }
}

fn plan() -> Plan {
    Plan {
        subjects: vec![subject("memory/x", &[Metric::Wall])],
        delta: 0.03,
        slot_ns: 1,
        coin_seed: 1,
        attempt_count: 1,
        takes_all: false,
    }
}

fn judged(drawn: &mut Drawn) -> (Verdict, Attempt) {
    try_on(&plan(), drawn)
}

fn try_on(plan: &Plan, sampler: &mut dyn Sampler) -> (Verdict, Attempt) {
    let attempt = attempt(plan, sampler, |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
    (attempt.verdict, attempt)
}

#[test]
fn a_build_against_itself_passes_and_is_never_a_regression() {
    let verdicts: Vec<_> =
        (0..200).map(|seed| judged(&mut Drawn::new(seed, 1.0, 0.01)).0).collect();
    assert!(!verdicts.contains(&Verdict::Regression), "{verdicts:?}");
    let pass_count = verdicts.iter().filter(|verdict| **verdict == Verdict::Pass).count();
    // The others are open, or their null is: one sample a slot varies by 1 % here, with strays.
    assert!(pass_count > 170, "{pass_count} of 200");
    // On a machine that is too noisy nothing is said, and still nothing is wrong.
    let verdicts: Vec<_> = (0..200).map(|seed| judged(&mut Drawn::new(seed, 1.0, 0.1)).0).collect();
    assert!(!verdicts.contains(&Verdict::Regression), "{verdicts:?}");
}

#[test]
fn a_slower_build_is_caught_through_noise_and_drift() {
    let caught = |factor, drift| {
        let verdict = |seed| judged(&mut Drawn { drift, ..Drawn::new(seed, factor, 0.01) }).0;
        (0..100).filter(|seed| verdict(*seed) == Verdict::Regression).count()
    };
    assert!(caught(1.10, 0.0) > 95);
    assert!(caught(1.10, 1e-3) > 95);
    assert!(caught(1.05, 0.0) > 80);
    assert_eq!(caught(1.0, 1e-3), 0);
}

#[test]
fn a_faster_build_passes() {
    let (verdict, attempt) = judged(&mut Drawn::new(3, 0.8, 0.005));
    assert_eq!(verdict, Verdict::Pass);
    let look = attempt.cells[0].figures[0].looks[0];
    assert!(look.change < -0.15 && look.octet_count == 6, "{look:?}");
}

#[test]
fn one_read_more_ends_the_gate_before_anything_is_timed() {
    let mut drawn = Drawn { more_reads: 1, ..Drawn::new(1, 1.0, 0.01) };
    let (verdict, attempt) = judged(&mut drawn);
    assert_eq!(verdict, Verdict::WorkChanged);
    assert_eq!(attempt.cells[0].counter_changes, ["store_reads: 1000 → 1001"]);
    assert!(attempt.reason.contains("store_reads: 1000 → 1001"), "{}", attempt.reason);
    assert!(attempt.cells[0].octets.is_empty());
}

#[test]
fn work_that_changes_on_the_way_ends_the_gate_and_hides_no_regression_of_another_cell() {
    let slow =
        |variant: &str, arm| if (variant, arm) == ("memory/x", Arm::New) { 1.2 } else { 1.0 };
    let subjects = ["memory/x", "memory/y"].map(|variant| subject(variant, &[Metric::Wall]));
    let plan = Plan { subjects: subjects.to_vec(), takes_all: true, ..plan() };
    let judged = |factor_of: fn(&str, Arm) -> f64| {
        let mut drawn = Drawn { factor_of, more_reads: 1, ..Drawn::new(1, 1.0, 0.01) };
        // After the first look, which decides.
        drawn.same_until = 600;
        try_on(&plan, &mut drawn)
    };
    let (verdict, found) = judged(|_, _| 1.0);
    assert_eq!(verdict, Verdict::WorkChanged);
    assert!((7..=12).contains(&found.cells[0].octets.len()), "{}", found.cells[0].octets.len());
    let (verdict, found) = judged(slow);
    assert_eq!(verdict, Verdict::Regression);
    let reason = &found.reason;
    assert!(reason.starts_with("B is "), "{reason}");
    assert!(reason.contains(" % slower than A: memory/x, wall; surely more than "), "{reason}");
    assert!(reason.contains("store_reads: 1000 → 1001"), "{reason}");
}

fn stolen(seed: u64, factor: f64) -> Drawn {
    Drawn { disturbances: vec!["2 % stolen".to_owned()], ..Drawn::new(seed, factor, 0.003) }
}

#[test]
fn what_took_time_away_leaves_nothing_to_trust_but_a_sure_regression() {
    let (verdict, attempt) = judged(&mut stolen(1, 1.0));
    assert_eq!((verdict, attempt.reason.as_str()), (Verdict::Untrusted, "2 % stolen"));
    let (verdict, attempt) = judged(&mut stolen(1, 1.2));
    assert_eq!(verdict, Verdict::Regression);
    assert!(attempt.reason.ends_with("and the verdict stands: 2 % stolen"), "{}", attempt.reason);
    assert_eq!(attempt.disturbances, ["2 % stolen"]);
}

/// B is slower in `memory/slow`; in `memory/biased` N is.
fn slow_beside_biased(variant: &str, arm: Arm) -> f64 {
    match (variant, arm) {
        ("memory/slow", Arm::New) => 1.1,
        ("memory/biased", Arm::Null) => 1.02,
        _ => 1.0,
    }
}

#[test]
fn a_regression_is_final_whatever_another_cell_says_and_is_never_tried_again() {
    let subjects = |names: &[&str]| {
        names.iter().map(|name| subject(name, &[Metric::Wall])).collect::<Vec<_>>()
    };
    let tried = |names: &[&str], drawn: &mut Drawn| {
        let plan = Plan { subjects: subjects(names), attempt_count: 2, ..plan() };
        let (kept, outcome) = attempts(&plan, drawn, |_| {});
        let outcome = outcome.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(kept.last().map(|last| last.verdict), Some(outcome.verdict));
        (outcome, kept)
    };
    for seed in 0..20 {
        let drawn = |noise| Drawn { factor_of: slow_beside_biased, ..Drawn::new(seed, 1.0, noise) };
        for names in [["memory/slow", "memory/biased"], ["memory/biased", "memory/slow"]] {
            let (outcome, kept) = tried(&names, &mut drawn(0.003));
            assert_eq!((outcome.verdict, kept.len()), (Verdict::Regression, 1), "{seed}");
            let reason = &outcome.reason;
            assert!(reason.contains(" slower than A: memory/slow, wall; "), "{reason}");
            let biased = kept[0].cells.iter().find(|cell| cell.variant == "memory/biased");
            assert_eq!(biased.map(|cell| cell.verdict), Some(Verdict::Untrusted), "{seed}");
        }
        let (outcome, kept) = tried(&["memory/biased"], &mut drawn(0.003));
        assert_eq!((outcome.verdict, kept.len()), (Verdict::Untrusted, 2), "{seed}");
        assert!(outcome.reason.contains("A surely differs from itself"), "{}", outcome.reason);
        assert_ne!(kept[0].coin_seed, kept[1].coin_seed);
    }
    // Stolen time is tried again, and a quiet second try decides: two looks at each try.
    let (outcome, kept) = tried(&["memory/x"], &mut Drawn { disturbed_count: 2, ..stolen(3, 1.0) });
    assert_eq!((outcome.verdict, kept[0].verdict), (Verdict::Pass, Verdict::Untrusted));
    let (outcome, kept) = tried(&["memory/x"], &mut Drawn { disturbed_count: 2, ..stolen(3, 1.2) });
    assert_eq!((outcome.verdict, kept.len()), (Verdict::Regression, 1));
}

#[test]
fn a_machine_that_is_too_noisy_leaves_it_open_and_says_how_many_samples_would_do() {
    for seed in 0..20 {
        let (verdict, attempt) = judged(&mut Drawn::new(seed, 1.0, 0.1));
        assert_eq!(verdict, Verdict::Inconclusive, "{}", attempt.reason);
        let cell = &attempt.cells[0];
        let [figure] = cell.figures.as_slice() else { panic!("one figure") };
        let wanted = figure.samples_to_decide;
        let words =
            wanted.map_or("no number of samples".to_owned(), |n| format!("about {n} samples"));
        assert!(attempt.reason.contains(&words), "{}", attempt.reason);
        let had = cell.octets.len() as u64 * 4;
        assert!(wanted.is_none_or(|wanted| wanted > had), "{wanted:?} of {had}");
        assert!(wanted.is_none() || attempt.reason.contains("(--slot-time "), "{}", attempt.reason);
    }
    // Where it is decided there is nothing to be said.
    let (_, attempt) = judged(&mut Drawn::new(3, 1.0, 0.001));
    let figure = &attempt.cells[0].figures[0];
    assert_eq!((figure.samples_to_decide, figure.delta_to_decide), (None, None));
    assert!(!attempt.reason.contains("--delta"), "{}", attempt.reason);
}

#[test]
fn the_delta_that_noise_decides_is_named_and_decides_on_other_runs_of_a_machine_as_noisy() {
    let mut decided_count = 0;
    for seed in 0..40 {
        let (_, open) = judged(&mut Drawn::new(seed, 1.0, 0.1));
        let delta = open.cells[0].figures[0].delta_to_decide.unwrap();
        let words = format!("with --delta {:.1}% noise like this", delta * 100.0);
        assert!(open.reason.contains(&words), "{}", open.reason);
        let plan = Plan { delta, ..plan() };
        for other in 100..140 {
            let (verdict, _) = try_on(&plan, &mut Drawn::new(other, 1.0, 0.1));
            assert_ne!(verdict, Verdict::Regression, "{seed} {other}");
            decided_count += u64::from(verdict == Verdict::Pass);
        }
    }
    // Most runs, as the text says. It would be 90 % if the spreads were known, and not estimated.
    assert!(decided_count > 960, "{decided_count} of 1600");
}

#[test]
fn a_metric_that_is_not_told_is_an_error_where_it_was_asked_for() {
    let plan = Plan { subjects: vec![subject("memory/x", &[Metric::Blocks])], ..plan() };
    let failure = attempt(&plan, &mut Drawn::new(1, 1.0, 0.01), |_| {}).unwrap_err();
    assert!(failure.to_string().contains("--metric blocks"), "{failure}");
}

#[test]
fn a_metric_that_is_not_told_takes_no_share_of_an_errors_probability() {
    let bounds = |metrics: &[Metric]| {
        let subject = Subject { rule: Rule::Counts, ..subject("rocksdb/x", metrics) };
        let plan = Plan { subjects: vec![subject], ..plan() };
        let (_, attempt) = try_on(&plan, &mut Drawn::new(1, 1.0, 0.01));
        let look = attempt.cells[0].figures[0].looks[0];
        (look.lower, look.upper)
    };
    let times = [Metric::Wall, Metric::Cpu];
    assert_eq!(bounds(&times), bounds(Metric::ALL));
    assert!(bounds(&times).0 < bounds(&times[..1]).0);
}

/// A cold disk, on which times vary by a tenth.
fn cold(seed: u64, disk: Disk) -> (Verdict, Attempt) {
    let subject = Subject { rule: Rule::Counts, ..subject("rocksdb/x", Metric::ALL) };
    let plan = Plan { subjects: vec![subject], ..plan() };
    let mut drawn = Drawn { disk: Some(disk), ..Drawn::new(seed, 1.0, 0.1) };
    try_on(&plan, &mut drawn)
}

#[test]
fn where_noise_leaves_times_open_counters_decide_and_the_reason_says_so() {
    let disk = Disk { blocks: 5_000, spread: 0.0005, times_read: [1, 1] };
    for seed in 0..20 {
        let (verdict, attempt) = cold(seed, disk);
        let cell = &attempt.cells[0];
        assert_eq!((verdict, cell.decided_by), (Verdict::Pass, DecidedBy::Counters), "{seed}");
        let reason = &attempt.reason;
        assert!(reason.starts_with("by its counters: B "), "{reason}");
        let words = ["than allowed: rocksdb/x, ", " than A: rocksdb/x, "];
        assert!(words.iter().any(|words| reason.contains(words)), "{reason}");
        assert!(reason.contains("Not decided: wall: "), "{reason}");
        let verdicts = cell.figures.iter().map(|figure| (figure.metric, figure.verdict));
        for (metric, verdict) in verdicts {
            let expected = if metric.is_count() { Verdict::Pass } else { Verdict::Inconclusive };
            assert_eq!(verdict, expected, "{metric}");
        }
    }
}

#[test]
fn a_build_that_reads_each_block_twice_below_the_reader_is_caught_by_counters() {
    // The store counts as many blocks and keys; the kernel sees twice as many bytes and requests.
    for spread in [0.0, 0.01] {
        for seed in 0..20 {
            let (verdict, attempt) = cold(seed, Disk { blocks: 5_000, spread, times_read: [1, 2] });
            assert_eq!(verdict, Verdict::Regression, "{}", attempt.reason);
            let reason = &attempt.reason;
            let words = ["more bytes than A: ", "more requests than A: "];
            assert!(words.iter().any(|words| reason.contains(words)), "{reason}");
            let cell = &attempt.cells[0];
            let of = |metric| cell.figures.iter().find(|figure| figure.metric == metric);
            let verdicts = [Metric::Bytes, Metric::Requests]
                .map(|metric| of(metric).map(|figure| figure.verdict));
            assert_eq!(verdicts, [Some(Verdict::Regression); 2]);
            assert_ne!(of(Metric::Blocks).map(|figure| figure.verdict), Some(Verdict::Regression));
        }
    }
}

#[test]
fn counters_that_vary_more_than_the_limit_decide_nothing() {
    let (verdict, attempt) = cold(1, Disk { blocks: 5_000, spread: 0.3, times_read: [1, 1] });
    assert_eq!(verdict, Verdict::Inconclusive, "{}", attempt.reason);
    assert_eq!(attempt.cells[0].decided_by, DecidedBy::All);
}

#[test]
fn small_samples_have_a_larger_delta_and_the_result_says_which() {
    struct Small(Drawn);
    impl Sampler for Small {
        fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure> {
            let taken = self.0.sample(arm, variant)?;
            // About 100 µs: the floor of 20 µs is a fifth.
            Ok(Sample { wall_ns: taken.wall_ns / 500, ..taken })
        }
        fn restart(&mut self) -> Result<Duration, Failure> {
            self.0.restart()
        }
        fn confine(&mut self, _variant: &str, _number: usize) -> Option<Vec<usize>> {
            None
        }
        fn watch(&mut self) {}
        fn pause_watch(&mut self) {}
        fn disturbances(&mut self) -> Vec<String> {
            Vec::new()
        }
    }
    let mut small = Small(Drawn::new(5, 1.1, 0.005));
    let (verdict, found) = try_on(&plan(), &mut small);
    assert_eq!(verdict, Verdict::Pass);
    let delta = found.cells[0].figures[0].delta;
    assert!((0.19..0.21).contains(&delta), "{delta}");
}

#[test]
fn all_slots_are_kept_and_short_samples_make_passes() {
    let plan = Plan { slot_ns: 140_000_000, takes_all: true, ..plan() };
    let plan = Plan { subjects: vec![subject("memory/x", &[Metric::Wall, Metric::Cpu])], ..plan };
    let mut drawn = Drawn::new(9, 1.0, 0.001);
    let (_, attempt) = try_on(&plan, &mut drawn);
    let cell = &attempt.cells[0];
    assert_eq!((cell.passes_per_octet, cell.samples_per_slot), (3, 1));
    assert_eq!((cell.octets.len(), cell.figures.len()), (12, 2));
    let passes = || cell.octets.iter().flat_map(|octet| &octet.passes);
    assert_eq!(passes().count(), 12 * 3);
    let slots: usize = passes().map(|pass| pass.wall_ns.len()).sum();
    // Each generation warms up too, by fewer samples than it took to see that the first was steady.
    let generations = passes().map(|pass| pass.generation).max().unwrap();
    let warm_up = drawn.taken_count - slots as u64;
    let counts = cell.warm_up_sample_counts;
    let again = (warm_up - counts.iter().sum::<u64>()) / (generations * 3);
    assert!((2..*counts.iter().max().unwrap()).contains(&again), "{again} of {counts:?}");
    assert_eq!(warm_up, counts.iter().sum::<u64>() + generations * 3 * again);
    // A disturbance of a warm-up disturbs nothing that counts.
    assert_eq!(drawn.unwatched_count, warm_up);
    // The octets take turns on the CPUs.
    assert!(cell.octets.iter().enumerate().all(|(i, octet)| octet.cpus == Some(vec![i % 2])));
}

#[test]
fn the_shortest_samples_fill_a_slot_of_each_of_the_most_passes() {
    let plan = Plan { slot_ns: 50_000_000 * PASS_COUNT_MAX * 3, ..plan() };
    let mut drawn = Drawn::new(9, 1.0, 0.001);
    let (_, attempt) = try_on(&plan, &mut drawn);
    let cell = &attempt.cells[0];
    assert_eq!(cell.passes_per_octet, PASS_COUNT_MAX);
    let per_octet = cell.passes_per_octet * cell.samples_per_slot;
    assert!((150..=200).contains(&per_octet), "{per_octet}");
}

#[test]
fn processes_live_as_long_as_starting_them_took_and_no_longer_than_an_octet() {
    let lives = |start, slot_ns| {
        let mut drawn = Drawn { start, ..Drawn::new(2, 1.0, 0.001) };
        let plan = Plan { slot_ns, ..plan() };
        let (_, attempt) = try_on(&plan, &mut drawn);
        let of_octet = |octet: &OctetFacts| {
            octet.passes.iter().map(|pass| pass.generation).collect::<Vec<_>>()
        };
        attempt.cells[0].octets.iter().map(of_octet).collect::<Vec<_>>()
    };
    // Each octet has processes of its own, also where starting them takes long.
    let long = lives(Duration::from_secs(60), 250_000_000);
    assert_eq!(long[..2], [[1; 5], [2; 5]]);
    // A pass takes 0.6 s here, starting and warming up more than that and less than five.
    let short = lives(Duration::ZERO, 250_000_000);
    let generations: std::collections::BTreeSet<_> = short[0].iter().collect();
    assert!((2..=5).contains(&generations.len()), "{short:?}");
}

#[test]
fn what_a_process_happens_to_get_is_no_difference_of_builds() {
    let verdicts = |factor: f64, start| {
        let verdict = |seed| {
            let drawn = Drawn { process_noise: 0.012, ..Drawn::new(seed, factor, 0.005) };
            let plan = Plan { slot_ns: 1_500_000_000, ..plan() };
            let mut drawn = Drawn { start, ..drawn };
            try_on(&plan, &mut drawn).0
        };
        (0..60).map(verdict).collect::<Vec<_>>()
    };
    let count = |verdicts: &[Verdict], of| verdicts.iter().filter(|it| **it == of).count();
    let quick = Duration::from_millis(10);
    let (same, slower) = (verdicts(1.0, quick), verdicts(1.10, quick));
    assert_eq!(count(&same, Verdict::Regression), 0, "{same:?}");
    assert!(count(&same, Verdict::Pass) > 50, "{same:?}");
    assert!(count(&slower, Verdict::Regression) > 55, "{slower:?}");
    // Where starting them takes long there are as many processes as octets: too few to pass.
    let same = verdicts(1.0, Duration::from_secs(100));
    assert_eq!(count(&same, Verdict::Regression), 0, "{same:?}");
    assert!(count(&same, Verdict::Pass) < 30, "{same:?}");
}

#[test]
fn who_is_started_first_has_no_better_chances_however_many_variants_there_are() {
    for count in 1..=4 {
        let variants = (0..count).map(|number| format!("memory/{number}"));
        let subjects = variants.map(|variant| subject(&variant, &[Metric::Wall])).collect();
        let plan = Plan { subjects, takes_all: true, ..plan() };
        let mut drawn = Drawn { first_factor: 0.9, ..Drawn::new(count, 1.0, 0.0005) };
        drawn.start = Duration::from_secs(100);
        let (_, attempt) = try_on(&plan, &mut drawn);
        for cell in &attempt.cells {
            let octets = cell
                .octets
                .iter()
                .filter_map(|octet| octet::octet_differences(octet, Metric::Wall, 1));
            let mean = octets.map(|octet| octet.new).sum::<f64>() / cell.octets.len() as f64;
            assert!(mean.abs() < 1e-3, "{} of {count}: {mean}", cell.variant);
        }
    }
}

/// Sampler with speed jumps of a third, longer than a pass and shorter than an octet, as where a
/// neighbour comes and goes. The samples of a slot in a row would all lie on one side of a jump.
struct Jumping(Drawn);

impl Sampler for Jumping {
    fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure> {
        let place = self.0.taken_count / 70;
        let factor = if Coin::new(place).toss() { 4 } else { 3 };
        let taken = self.0.sample(arm, variant)?;
        Ok(Sample { wall_ns: taken.wall_ns * factor / 3, ..taken })
    }

    fn restart(&mut self) -> Result<Duration, Failure> {
        self.0.restart()
    }

    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>> {
        self.0.confine(variant, number)
    }

    fn watch(&mut self) {}

    fn pause_watch(&mut self) {}

    fn disturbances(&mut self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn passes_see_through_a_machine_whose_speed_jumps() {
    let verdicts = |factor, slot_ns| {
        let plan = Plan { slot_ns, ..plan() };
        let verdict = |seed| {
            let mut jumping = Jumping(Drawn::new(seed, factor, 0.005));
            try_on(&plan, &mut jumping).0
        };
        (0..60).map(verdict).collect::<Vec<_>>()
    };
    let count = |verdicts: &[Verdict], of| verdicts.iter().filter(|it| **it == of).count();
    let (same, slower) = (verdicts(1.0, 1_500_000_000), verdicts(1.05, 1_500_000_000));
    assert!(count(&same, Verdict::Pass) > 55, "{same:?}");
    assert!(count(&slower, Verdict::Regression) > 55, "{slower:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn a_verdict_has_its_reason_and_its_looks(
        seed: u64,
        factor in 0.8..1.3,
        noise in 0.0..0.05,
    ) {
        let (verdict, attempt) = judged(&mut Drawn::new(seed, factor, noise));
        prop_assert_eq!(verdict, attempt.verdict);
        let names = ["memory/x, wall", "memory/x wall: A surely"];
        prop_assert!(names.iter().any(|name| attempt.reason.contains(name)), "{}", attempt.reason);
        let figure = &attempt.cells[0].figures[0];
        prop_assert!(!figure.looks.is_empty() && figure.looks.len() <= LOOKS.len());
        let last = figure.looks[figure.looks.len() - 1];
        prop_assert_eq!(last.octet_count as usize, attempt.cells[0].octets.len());
        if verdict == Verdict::Regression {
            prop_assert!(last.lower > figure.delta);
        }
    }
}
