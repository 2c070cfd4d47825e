//! Claims in a verdict: those of the scenario, and a deadline.

use result::{Claim, Expects};

use serde_json::Value;

use super::{Outcome, Verdict};
use crate::exit::Strictness;

/// `sofar` with the claims. While `disturbances` went on none was judged: neither one that fails nor
/// one that holds is worth anything then.
pub fn with_claims(
    sofar: Outcome,
    expects: &Expects,
    disturbances: &[String],
    strictness: Strictness,
) -> Outcome {
    let of_verdict = |verdict: result::Verdict| {
        expects.claims.iter().find(|claim| claim.verdict == verdict).map(words)
    };
    let open = || {
        of_verdict(result::Verdict::Inconclusive)
            .or_else(|| of_verdict(result::Verdict::NotJudged))
            .filter(|_| strictness == Strictness::Strict)
    };
    let of_claims = if disturbances.is_empty() {
        let fails = of_verdict(result::Verdict::Fails).map(|reason| (Verdict::ClaimFails, reason));
        fails.or_else(|| Some((Verdict::Inconclusive, open()?)))
    } else {
        Some((Verdict::Untrusted, disturbances.join("; ")))
    };
    match of_claims {
        Some((verdict, reason)) => sofar.or_worse(Outcome { verdict, reason }),
        None => sofar,
    }
}

/// A claim with its verdict and the figures behind it, as JSON writes it.
fn words(claim: &Claim) -> String {
    let figure = claim.near_end.or(claim.value).map(Value::from);
    let found = figure.unwrap_or_else(|| Value::from(claim.reason.clone()));
    let Claim { metric, bound, limit, verdict, .. } = claim;
    format!("{metric} {bound} {} {verdict}: {found}", Value::from(*limit))
}

#[cfg(test)]
mod tests {
    use result::example;

    use super::*;

    const QUIET: &[String] = &[];

    fn expects(verdict: result::Verdict) -> Expects {
        let mut expects = example::typical().expects;
        expects.claims[0].verdict = verdict;
        expects
    }

    fn concluded(sofar: Verdict, claim: result::Verdict, disturbances: &[String]) -> [Verdict; 2] {
        [Strictness::Lenient, Strictness::Strict].map(|strictness| {
            let sofar = Outcome { verdict: sofar, reason: "by times".to_owned() };
            with_claims(sofar, &expects(claim), disturbances, strictness).verdict
        })
    }

    #[test]
    fn a_claim_that_fails_is_named_and_a_regression_stands_above_it() {
        let fails = result::Verdict::Fails;
        assert_eq!(concluded(Verdict::Pass, fails, QUIET), [Verdict::ClaimFails; 2]);
        assert_eq!(concluded(Verdict::Inconclusive, fails, QUIET), [Verdict::ClaimFails; 2]);
        assert_eq!(concluded(Verdict::Regression, fails, QUIET), [Verdict::Regression; 2]);
        assert_eq!(concluded(Verdict::Untrusted, fails, QUIET), [Verdict::Untrusted; 2]);
        let sofar = Outcome { verdict: Verdict::Pass, reason: String::new() };
        let outcome = with_claims(sofar, &expects(fails), QUIET, Strictness::Lenient);
        assert!(outcome.reason.starts_with("bal_bytes(batched-io) max"), "{}", outcome.reason);
    }

    #[test]
    fn a_claim_that_was_not_judged_counts_only_where_it_must_be() {
        for open in [result::Verdict::Inconclusive, result::Verdict::NotJudged] {
            let found = concluded(Verdict::Pass, open, QUIET);
            assert_eq!(found, [Verdict::Pass, Verdict::Inconclusive]);
        }
        let holds = result::Verdict::Holds;
        assert_eq!(concluded(Verdict::Pass, holds, QUIET), [Verdict::Pass; 2]);
    }

    #[test]
    fn claims_judged_while_time_was_taken_away_are_not_trusted_and_hide_no_regression() {
        let stolen = ["the hypervisor took 3.0 %".to_owned()];
        for claim in [result::Verdict::Fails, result::Verdict::Holds] {
            assert_eq!(concluded(Verdict::Pass, claim, &stolen), [Verdict::Untrusted; 2]);
            assert_eq!(concluded(Verdict::Regression, claim, &stolen), [Verdict::Regression; 2]);
        }
    }
}
