//! Tests of the gate's rules on octets with known values.

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

/// Octets with a wide null: its values are 5 % and -3 % in turn, so its mean is 1 %.
fn wide(count: usize, new: f64) -> Vec<Differences> {
    let side = |i: usize| if i.is_multiple_of(2) { 0.04 } else { -0.04 };
    let octet = |i| Differences { new: new + side(i) * 1e-3, null: 0.01 + side(i) };
    (0..count).map(octet).collect()
}

#[test]
fn a_wide_null_is_no_reason_for_distrust_and_says_how_many_samples_would_decide() {
    for new in [0.0, 0.035] {
        assert_eq!(judged(&wide(6, new), 0.03), None, "{new}");
        assert_eq!(judged(&wide(12, new), 0.03), Some(Verdict::Inconclusive), "{new}");
    }
    let limits = Limits { delta: 0.03, floor: FLOOR };
    let last = look(&wide(12, 0.0), ONE).expect("twelve");
    // B's own bounds decide both: only the null leaves them open, up to the named bound.
    for (new, decided, itself) in
        [(0.0, Verdict::Pass, last.null[1]), (0.035, Verdict::Regression, 0.01)]
    {
        let open = look(&wide(12, new), ONE).expect("twelve");
        let hidden = hidden_by_null(&open, limits).expect("the null is as wide");
        assert_eq!(hidden.verdict, decided);
        assert!((hidden.null_change.ln_1p() - itself).abs() < 1e-9, "{hidden:?}");
        let is_pass = decided == Verdict::Pass;
        let reach = open.estimate - if is_pass { open.upper } else { open.lower };
        for (further, verdict) in [(-1e-4, Verdict::Inconclusive), (1e-4, decided)] {
            let bound = hidden.bound.ln_1p() + if is_pass { -further } else { further };
            let octets = wide(12, bound + reach);
            assert_eq!(judged(&octets, 0.03), Some(verdict), "{hidden:?}");
        }
    }
    assert_eq!(hidden_by_null(&Look { upper: 0.1, ..last }, limits), None);
    let times = octet_factor(&last, limits).expect("no bias");
    // The bound of B and the far end of the null must fit into 2.956 %.
    let [null_reach, mean] =
        [last.null[1] - last.null[0], last.null[1] + last.null[0]].map(|v| v / 2.0);
    let reach = last.upper - last.estimate + null_reach;
    let room = 0.03_f64.ln_1p() - last.estimate - mean;
    assert!((times - (reach / room).powi(2)).abs() < 1e-9, "{times} {last:?}");
    // Close to δ the null is sooner within ±δ/2 than beside the change.
    let close = Look { estimate: 0.024, upper: 0.0241, ..last };
    let sooner = (null_reach / (0.015_f64.ln_1p() - mean)).powi(2);
    let found = octet_factor(&close, limits).expect("no bias");
    assert!((found - sooner).abs() < 1e-9, "{found} {sooner}");
    assert!(times > 4.0, "{times}");
    let biased = look(&octets(12, |_| 0.0, 0.02), ONE).expect("twelve");
    assert_eq!(octet_factor(&biased, limits), None);
    // No number decides a change that lies exactly at δ.
    let at_delta = Look { estimate: 0.03_f64.ln_1p(), ..last };
    assert_eq!(octet_factor(&at_delta, limits), None);
}

#[test]
fn the_named_factor_of_octets_decides() {
    // 12 octets are too few.
    let noisy = |count: usize| {
        let noise = |i: usize| 0.03 * ((i * 7 % 12) as f64 / 5.5 - 1.0);
        let octet = |i| Differences { new: noise(i), null: noise(i + 5) };
        (0..count).map(octet).collect::<Vec<_>>()
    };
    let limits = Limits { delta: 0.03, floor: FLOOR };
    let open = look(&noisy(12), ONE).expect("twelve");
    assert_eq!(verdict(&open, limits), Some(Verdict::Inconclusive));
    let times = octet_factor(&open, limits).expect("it can be decided");
    let enough = look(&noisy((12.0 * times).ceil() as usize), ONE).expect("more");
    assert_eq!(verdict(&enough, limits), Some(Verdict::Pass), "{times}");
}

/// Octets with noise of 3 %, in B and in the null.
fn noisy() -> Vec<Differences> {
    let noise = |i: usize| 0.03 * ((i * 7 % 12) as f64 / 5.5 - 1.0);
    (0..12).map(|i| Differences { new: noise(i), null: noise(i + 5) }).collect()
}

/// The same octets, moved until the sum of B and the null lies this number of standard errors above
/// no difference.
fn around(octets: &[Differences], errors: f64) -> Vec<Differences> {
    let (new, null) = estimates(octets).expect("twelve");
    let sum = new.error.hypot(null.error);
    let by = |spread: &Trimmed| errors * spread.error.powi(2) / sum - spread.mean;
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
fn an_improvement_beyond_the_far_end_of_a_wide_null_passes() {
    // Bounds of -13.7 and -11.6 %, and a null of -1.6 to +1.7 %.
    let limits = Limits { delta: 0.03, floor: FLOOR };
    let [lower, estimate, upper] = [-0.137, -0.125, -0.116].map(f64::ln_1p);
    let improved =
        Look { octet_count: 6, estimate, lower, upper, null: [-0.016, 0.017].map(f64::ln_1p) };
    assert_eq!(verdict(&improved, limits), Some(Verdict::Pass));
    // Either end may be the far one.
    for null in [[-0.02, 0.005], [-0.005, 0.02]] {
        for (upper, decided) in [(0.0095, Some(Verdict::Pass)), (0.0097, None)] {
            let look = Look { estimate: 0.0, upper, null, ..improved };
            assert_eq!(verdict(&look, limits), decided, "{look:?}");
        }
    }
}

#[test]
fn a_change_far_beyond_what_the_null_shows_is_a_regression_all_the_same() {
    assert_eq!(judged(&octets(6, |_| 0.1, 0.02), 0.03), Some(Verdict::Regression));
    assert_eq!(judged(&octets(6, |_| -0.1, 0.02), 0.03), None);
}

#[test]
fn bounds_are_those_of_a_calculation_by_hand() {
    // Six octets of 0, 1, …, 5 %: 1 to 4 are left, mean 2.5; winsorised 1, 1, 2, 3, 4, 4: variance
    // 1.9, error sqrt(1.9) / (0.6 sqrt(6)) = 0.93789. Student's t with 3 degrees of freedom is
    // 7.4533 at 1 - 0.01/4. Tables lack 1 - 0.05/4: it lies between 0.975 (3.182) and 0.99 (4.541).
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
