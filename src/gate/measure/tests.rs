//! The gate against builds whose speed is known, without a clock: times are drawn.

use proptest::prelude::*;

use super::{super::octet::Coin, *};

/// Builds that take a known time, with noise as a shared machine has it.
struct Drawn {
    coin: Coin,
    /// How many times as long B takes.
    factor: f64,
    /// How much a sample varies, as a share.
    noise: f64,
    /// How much slower the machine becomes with each sample.
    drift: f64,
    taken_count: u64,
    /// Reads of a sample of B more than of A.
    more_reads: u64,
    disturbances: Vec<String>,
    /// By how much processes of one build differ, as a share.
    process_noise: f64,
    /// How many times as long each process takes.
    process_factors: [f64; 3],
    /// How many times as long that one takes that was started first: each in turn.
    first_factor: f64,
    start_count: usize,
    /// What starting them takes.
    start: Duration,
    is_watched: bool,
    /// Samples that were taken while nobody looked.
    unwatched_count: u64,
}

impl Drawn {
    fn new(seed: u64, factor: f64, noise: f64) -> Self {
        Self {
            coin: Coin::new(seed),
            factor,
            noise,
            drift: 0.0,
            taken_count: 0,
            more_reads: 0,
            disturbances: Vec::new(),
            process_noise: 0.0,
            process_factors: [1.0; 3],
            first_factor: 1.0,
            start_count: 0,
            start: Duration::from_millis(1_200),
            is_watched: false,
            unwatched_count: 0,
        }
    }

    /// About normal, with a stray value now and then.
    fn draw(&mut self) -> f64 {
        let tosses = (0..64).filter(|_| self.coin.toss()).count() as f64;
        let is_stray = (0..6).all(|_| self.coin.toss());
        let normal = (tosses - 32.0) / 4.0;
        if is_stray { normal.abs() * 8.0 } else { normal }
    }
}

impl Taker for Drawn {
    fn take(&mut self, arm: Arm, _variant: &str) -> Result<Taken, Failure> {
        self.taken_count += 1;
        self.unwatched_count += u64::from(!self.is_watched);
        let factor = if arm == Arm::New { self.factor } else { 1.0 };
        let drift = (self.drift * self.taken_count as f64).exp();
        let factor = factor * self.process_factors[arm as usize];
        let wall_ns = (5e7 * factor * drift * (self.noise * self.draw()).exp()) as u64;
        let store_reads = Some(1_000 + if arm == Arm::New { self.more_reads } else { 0 });
        let counters = Counters { gas: 1_000_000, store_reads, ..Counters::default() };
        Ok(Taken { wall_ns, cpu_ns: Some(wall_ns), counters })
    }

    fn renew(&mut self) -> Result<Duration, Failure> {
        self.process_factors = [(); 3].map(|()| (self.process_noise * self.draw()).exp());
        self.process_factors[self.start_count % 3] *= self.first_factor;
        self.start_count += 1;
        Ok(self.start)
    }

    fn watch(&mut self) {
        self.is_watched = true;
    }

    fn pause_watch(&mut self) {
        self.is_watched = false;
    }

    fn confine(&mut self, _variant: &str, number: usize) -> Option<Vec<usize>> {
        Some(vec![number % 2])
    }

    fn disturbances(&mut self) -> Vec<String> {
        self.disturbances.clone()
    }
}

fn plan() -> Plan {
    Plan {
        variants: vec!["memory/x".to_owned()],
        metrics: vec![Metric::Wall],
        delta: 0.03,
        slot_ns: 1,
        coin_seed: 1,
        attempt_count: 1,
        takes_all: false,
    }
}

fn judged(drawn: &mut Drawn) -> (Verdict, Attempt) {
    attempt(&plan(), drawn, |_| {}).unwrap_or_else(|failure| panic!("{failure}"))
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
fn what_took_time_away_leaves_nothing_to_trust() {
    let disturbances = vec!["2 % stolen".to_owned()];
    let (verdict, attempt) = judged(&mut Drawn { disturbances, ..Drawn::new(1, 1.1, 0.01) });
    assert_eq!((verdict, attempt.reason.as_str()), (Verdict::Untrusted, "2 % stolen"));
}

#[test]
fn small_samples_have_a_larger_delta_and_the_result_says_which() {
    struct Small(Drawn);
    impl Taker for Small {
        fn take(&mut self, arm: Arm, variant: &str) -> Result<Taken, Failure> {
            let taken = self.0.take(arm, variant)?;
            // About 100 µs: the floor of 20 µs is a fifth.
            Ok(Taken { wall_ns: taken.wall_ns / 500, ..taken })
        }
        fn renew(&mut self) -> Result<Duration, Failure> {
            self.0.renew()
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
    let (verdict, found) = attempt(&plan(), &mut small, |_| {}).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(verdict, Verdict::Pass);
    let delta = found.cells[0].figures[0].delta;
    assert!((0.19..0.21).contains(&delta), "{delta}");
}

#[test]
fn all_slots_are_kept_and_short_samples_make_passes() {
    let plan =
        Plan { slot_ns: 140_000_000, metrics: Metric::ALL.to_vec(), takes_all: true, ..plan() };
    let mut drawn = Drawn::new(9, 1.0, 0.001);
    let (_, attempt) = attempt(&plan, &mut drawn, |_| {}).unwrap_or_else(|f| panic!("{f}"));
    let cell = &attempt.cells[0];
    assert_eq!((cell.passes_per_octet, cell.samples_per_slot), (3, 1));
    assert_eq!((cell.octets.len(), cell.figures.len()), (12, 2));
    let passes = || cell.octets.iter().flat_map(|octet| &octet.passes);
    assert_eq!(passes().count(), 12 * 3);
    let slots: usize = passes().map(|pass| pass.wall_ns.len()).sum();
    // Each generation warms up too, as long as the slowest of the first one, and with no more
    // samples than count.
    let counts = cell.warm_up_sample_counts;
    let generations = passes().map(|pass| pass.generation).max().unwrap();
    let again = counts.into_iter().max().unwrap().min(3 * 4);
    let warm_up = counts.iter().sum::<u64>() + generations * 3 * again;
    assert_eq!(drawn.taken_count, warm_up + slots as u64);
    // What disturbs a warm-up disturbs nothing that counts.
    assert_eq!(drawn.unwatched_count, warm_up);
    // The octets take turns on the CPUs.
    assert!(cell.octets.iter().enumerate().all(|(i, octet)| octet.cpus == Some(vec![i % 2])));
}

#[test]
fn the_shortest_samples_fill_a_slot_of_each_of_the_most_passes() {
    let plan = Plan { slot_ns: 50_000_000 * PASS_COUNT_MAX * 3, ..plan() };
    let mut drawn = Drawn::new(9, 1.0, 0.001);
    let (_, attempt) = attempt(&plan, &mut drawn, |_| {}).unwrap_or_else(|f| panic!("{f}"));
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
        let (_, attempt) = attempt(&plan, &mut drawn, |_| {}).unwrap_or_else(|f| panic!("{f}"));
        let of_octet = |octet: &OctetFacts| {
            octet.passes.iter().map(|pass| pass.generation).collect::<Vec<_>>()
        };
        attempt.cells[0].octets.iter().map(of_octet).collect::<Vec<_>>()
    };
    // Whatever starting takes, each octet has processes of its own.
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
            attempt(&plan, &mut drawn, |_| {}).unwrap_or_else(|f| panic!("{f}")).0
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
        let variants = (0..count).map(|number| format!("memory/{number}")).collect();
        let plan = Plan { variants, takes_all: true, ..plan() };
        let mut drawn = Drawn { first_factor: 0.9, ..Drawn::new(count, 1.0, 0.0005) };
        drawn.start = Duration::from_secs(100);
        let (_, attempt) = attempt(&plan, &mut drawn, |_| {}).unwrap_or_else(|f| panic!("{f}"));
        for cell in &attempt.cells {
            let octets =
                cell.octets.iter().filter_map(|octet| octet::of_facts(octet, Metric::Wall));
            let mean = octets.map(|octet| octet.new).sum::<f64>() / cell.octets.len() as f64;
            assert!(mean.abs() < 1e-3, "{} of {count}: {mean}", cell.variant);
        }
    }
}

/// Whose speed jumps by a third for longer than a pass and shorter than an octet, as where a
/// neighbour comes and goes: the samples of a slot in a row would all lie on one side of a jump.
struct Jumping(Drawn);

impl Taker for Jumping {
    fn take(&mut self, arm: Arm, variant: &str) -> Result<Taken, Failure> {
        let place = self.0.taken_count / 70;
        let factor = if Coin::new(place).toss() { 4 } else { 3 };
        let taken = self.0.take(arm, variant)?;
        Ok(Taken { wall_ns: taken.wall_ns * factor / 3, ..taken })
    }

    fn renew(&mut self) -> Result<Duration, Failure> {
        self.0.renew()
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
            attempt(&plan, &mut jumping, |_| {}).unwrap_or_else(|f| panic!("{f}")).0
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
        prop_assert!(attempt.reason.contains("memory/x wall"), "{}", attempt.reason);
        let figure = &attempt.cells[0].figures[0];
        prop_assert!(!figure.looks.is_empty() && figure.looks.len() <= LOOKS.len());
        let last = figure.looks[figure.looks.len() - 1];
        prop_assert_eq!(last.octet_count as usize, attempt.cells[0].octets.len());
        if verdict == Verdict::Regression {
            prop_assert!(factor > 1.0 && last.lower > figure.delta);
        }
    }
}
