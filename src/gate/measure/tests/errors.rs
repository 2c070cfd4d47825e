//! Tests of the gate's error rates, by simulated builds and processes whose speed is known.

use super::{
    super::super::decide::{self, Limits, Look},
    *,
};

/// Number of gates by which a rate is estimated.
const GATE_COUNT: u64 = 1_000;
/// False regressions of [`GATE_COUNT`]: α and three standard deviations.
const FALSE_REGRESSION_MAX: usize = 10 + 10;
/// False passes of [`GATE_COUNT`]: α and three standard deviations.
const FALSE_PASS_MAX: usize = 50 + 21;
const LIMITS: Limits = Limits { delta: 0.03, floor: 0.0004 };

/// Builds and processes of known speed.
#[derive(Clone, Copy, Debug)]
struct Truth {
    /// Time of A, B and N, as a multiple.
    times: [f64; 3],
    /// Deviation of a sample, as a share.
    noise: f64,
    /// Passes of an octet.
    pass_count: usize,
}

impl Truth {
    fn octet(&self, drawn: &mut Drawn) -> octet::Differences {
        let passes = (0..self.pass_count).map(|number| {
            let first = if drawn.coin.toss() { Arm::New } else { Arm::Base };
            let order = octet::order(number, first);
            let rate = |arm: Arm| self.times[arm as usize] * (self.noise * drawn.draw()).exp();
            octet::differences(&order, &order.map(rate)).expect("times above zero")
        });
        octet::octet_mean(passes).expect("a pass")
    }

    /// The verdict of the gate with this seed, and the look that decides.
    fn gate(&self, seed: u64) -> (Verdict, Look) {
        let mut drawn = Drawn::new(seed, 1.0, 0.0);
        let split = Split { judged_count: 1, look_count: LOOKS.len() };
        let mut octets = Vec::new();
        loop {
            octets.push(self.octet(&mut drawn));
            if !LOOKS.contains(&octets.len()) {
                continue;
            }
            let look = decide::look(&octets, split).expect("six or more");
            if let Some(verdict) = decide::verdict(&look, LIMITS) {
                return (verdict, look);
            }
        }
    }

    fn gates(&self) -> Vec<(Verdict, Look)> {
        (0..GATE_COUNT).map(|seed| self.gate(seed)).collect()
    }
}

fn count(gates: &[(Verdict, Look)], wanted: Verdict) -> usize {
    gates.iter().filter(|(verdict, _)| *verdict == wanted).count()
}

/// Gates that name an improvement.
fn improvement_count(gates: &[(Verdict, Look)]) -> usize {
    let is_faster = |(verdict, look): &&(Verdict, Look)| {
        *verdict == Verdict::Pass && look.upper + LIMITS.null_change(look.null) < 0.0
    };
    gates.iter().filter(is_faster).count()
}

/// Times of A and N where B takes `new`: alike, or one of the two is slower or faster.
fn unequal_twins(new: f64) -> impl Iterator<Item = [f64; 3]> {
    let twins = [[1.0; 2], [1.01, 1.0], [1.02, 1.0], [0.98, 1.0], [1.0, 1.01], [1.0, 1.02]];
    twins.into_iter().map(move |[base, null]| [base, new, null])
}

/// At δ either verdict is wrong. A or N slower than its twin makes B seem faster, and noise may
/// hide it.
#[test]
fn false_verdicts_stay_within_alpha_whatever_the_null_hides() {
    for times in unequal_twins(1.03) {
        for (noise, pass_count) in [(0.01, 1), (0.02, 1), (0.04, 4)] {
            let truth = Truth { times, noise, pass_count };
            let gates = truth.gates();
            let passes = count(&gates, Verdict::Pass);
            assert!(passes <= FALSE_PASS_MAX, "{passes} false passes, {truth:?}");
            let regressions = count(&gates, Verdict::Regression);
            assert!(regressions <= FALSE_REGRESSION_MAX, "{regressions} false ones, {truth:?}");
        }
    }
}

#[test]
fn equal_builds_pass_although_their_samples_vary_by_four_percent() {
    let gates = Truth { times: [1.0; 3], noise: 0.04, pass_count: 16 }.gates();
    let passes = count(&gates, Verdict::Pass);
    assert!(passes > 980, "{passes}");
    assert_eq!(count(&gates, Verdict::Regression), 0);
}

#[test]
fn a_large_improvement_is_named_beside_a_wide_null_and_a_slow_process_of_a_is_none() {
    let improved = Truth { times: [1.0, 0.875, 1.0], noise: 0.04, pass_count: 1 };
    let found = improvement_count(&improved.gates());
    assert!(found > 980, "{found}");
    for times in unequal_twins(1.0) {
        for (noise, pass_count) in [(0.01, 1), (0.04, 4)] {
            let truth = Truth { times, noise, pass_count };
            let wrong = improvement_count(&truth.gates());
            assert!(wrong <= FALSE_PASS_MAX, "{wrong} false improvements, {truth:?}");
        }
    }
}

/// Noise hides whether A differs from itself here; it does not hide a change of three times δ.
#[test]
fn where_the_null_is_wide_a_large_change_is_found() {
    let slower = Truth { times: [1.0, 1.10, 1.0], noise: 0.05, pass_count: 1 };
    let caught = count(&slower.gates(), Verdict::Regression);
    assert!(caught > 700, "{caught}");
}

/// Processes of a build differ more than their samples, over a whole gate.
#[test]
fn errors_are_as_rare_as_claimed_where_the_truth_lies_exactly_at_the_limit() {
    let at_delta = |seed| Drawn { process_noise: 0.013, ..Drawn::new(seed, 1.03, 0.005) };
    let verdicts: Vec<_> = (0..GATE_COUNT).map(|seed| judged(&mut at_delta(seed)).0).collect();
    let rate = |wrong| verdicts.iter().filter(|verdict| **verdict == wrong).count();
    let wrong = [rate(Verdict::Pass), rate(Verdict::Regression)];
    assert!(wrong[0] <= FALSE_PASS_MAX && wrong[1] <= FALSE_REGRESSION_MAX, "{wrong:?}");
}
