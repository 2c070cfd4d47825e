//! Adds the verdicts on claims to the verdict of a gate, for `judge`. A deadline is one of the
//! claims.

use result::{Claim, Expects};

use serde_json::Value;

use super::{Outcome, Verdict};
use crate::terminal::{Code, UndecidedCodes};

/// Returns the worse of `by_figures` and the outcome of the claims, which is that of the worst
/// claim. An inconclusive claim counts only if it changes the exit code. If there were
/// `disturbances` while the claims were judged, their outcome is [`Verdict::Untrusted`].
pub fn with_claims(
    by_figures: Outcome,
    expects: &Expects,
    disturbances: &[String],
    open: UndecidedCodes,
) -> Outcome {
    if !disturbances.is_empty() {
        let reason = disturbances.join("; ");
        return by_figures.or_worse(Outcome { verdict: Verdict::Untrusted, reason });
    }
    let by_rank = [
        (result::ClaimVerdict::Fails, Verdict::ClaimFails),
        (result::ClaimVerdict::Inconclusive, Verdict::Inconclusive),
        (result::ClaimVerdict::NotJudged, Verdict::NotJudged),
    ];
    let mut of_claims = by_rank.into_iter().filter_map(|(of_claim, verdict)| {
        let claim = expects.claims.iter().find(|claim| claim.verdict == of_claim)?;
        let counts = verdict != Verdict::Inconclusive || open.inconclusive != Code::Fine;
        counts.then(|| Outcome { verdict, reason: words(claim) })
    });
    match of_claims.next() {
        Some(outcome) => by_figures.or_worse(outcome),
        None => by_figures,
    }
}

/// States a claim, its verdict, and its figure in the form of JSON. In the place of a missing
/// figure stands the reason of the verdict.
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

    fn expects(verdict: result::ClaimVerdict) -> Expects {
        let mut expects = example::typical().expects;
        expects.claims[0].verdict = verdict;
        expects
    }

    const STRICT: UndecidedCodes =
        UndecidedCodes { inconclusive: Code::Inconclusive, ..UndecidedCodes::DEFAULT };

    fn concluded(
        found: Verdict,
        claim: result::ClaimVerdict,
        disturbances: &[String],
    ) -> [Verdict; 2] {
        [UndecidedCodes::DEFAULT, STRICT].map(|open| {
            let found = Outcome { verdict: found, reason: "by times".to_owned() };
            with_claims(found, &expects(claim), disturbances, open).verdict
        })
    }

    #[test]
    fn a_claim_that_fails_is_named_and_a_regression_stands_above_it() {
        let fails = result::ClaimVerdict::Fails;
        assert_eq!(concluded(Verdict::Pass, fails, QUIET), [Verdict::ClaimFails; 2]);
        assert_eq!(concluded(Verdict::Inconclusive, fails, QUIET), [Verdict::ClaimFails; 2]);
        assert_eq!(concluded(Verdict::Regression, fails, QUIET), [Verdict::Regression; 2]);
        assert_eq!(concluded(Verdict::Untrusted, fails, QUIET), [Verdict::Untrusted; 2]);
        let found = Outcome { verdict: Verdict::Pass, reason: String::new() };
        let outcome = with_claims(found, &expects(fails), QUIET, STRICT);
        assert!(outcome.reason.starts_with("bal_bytes(batched-io) max"), "{}", outcome.reason);
    }

    #[test]
    fn a_claim_that_was_not_judged_is_no_pass_and_an_open_one_only_where_it_may_be() {
        let found = concluded(Verdict::Pass, result::ClaimVerdict::Inconclusive, QUIET);
        assert_eq!(found, [Verdict::Pass, Verdict::Inconclusive]);
        let not_judged = result::ClaimVerdict::NotJudged;
        assert_eq!(concluded(Verdict::Pass, not_judged, QUIET), [Verdict::NotJudged; 2]);
        assert_eq!(concluded(Verdict::Regression, not_judged, QUIET), [Verdict::Regression; 2]);
        for fine in [result::ClaimVerdict::Holds, result::ClaimVerdict::Skipped] {
            assert_eq!(concluded(Verdict::Pass, fine, QUIET), [Verdict::Pass; 2]);
        }
    }

    #[test]
    fn claims_judged_while_time_was_taken_away_are_not_trusted_and_hide_no_regression() {
        let stolen = ["the hypervisor took 3.0 %".to_owned()];
        for claim in [result::ClaimVerdict::Fails, result::ClaimVerdict::Holds] {
            assert_eq!(concluded(Verdict::Pass, claim, &stolen), [Verdict::Untrusted; 2]);
            assert_eq!(concluded(Verdict::Regression, claim, &stolen), [Verdict::Regression; 2]);
        }
    }
}
