//! Judges the claims of a scenario (`[[expect]]`) on a result. The less favourable end of the
//! figure's interval decides: the lower end for a minimum, the upper end for a maximum. If a figure
//! needs an interval and has none, the claim is inconclusive. A claim on rows that were not run is
//! skipped. A claim is on whole blocks unless it says `execution(…)`.
//!
//! The inputs are cells of results, so a stored result can be judged too.

mod figure;

use std::{collections::HashSet, time::Duration};

use result::{Claim, ClaimVerdict, Expects, RunResult, stats};
use spec::{Bound, Expect, Metric, Scope, When};
use variant::{CacheMode, Design, StoreKind};

use crate::terminal::{Code, UndecidedCodes};

use figure::{Figure, SAMPLES_NEEDED, Sampled};

pub use figure::ClaimInputs;

/// Judges all claims of a scenario. With `skipped`, the overridden keys of the work, it judges
/// none: the claims are on the work without overrides.
pub fn judge(expects: &[Expect], skipped: Option<&[String]>, inputs: &ClaimInputs<'_>) -> Expects {
    let count = expects.len() as u64;
    if let Some(keys) = skipped.filter(|_| count > 0) {
        let status = format!("skipped: the work was overridden ({})", keys.join(", "));
        return Expects { count, status: Some(status), claims: Vec::new() };
    }
    let claims: Vec<Claim> = expects.iter().flat_map(|expect| judge_one(expect, inputs)).collect();
    let status = worst(&claims).map(|verdict| verdict.name().to_owned());
    Expects { count, status, claims }
}

/// Turns a deadline into claims: in each of `designs` a whole block takes at most `most`.
pub fn deadline_claims(most: Duration, designs: impl IntoIterator<Item = Design>) -> Vec<Expect> {
    let bound = Bound::Max(most.as_secs_f64() * 1e3);
    let claims = designs.into_iter().map(|design| Expect {
        metric: Metric::MsPerBlock(design),
        scope: Scope::Whole,
        bound,
        when: When::default(),
    });
    claims.collect()
}

/// Judges a deadline on each design of a result.
pub fn judge_deadline(most: Duration, result: &RunResult) -> Expects {
    let Some(cell) = result.cells.first() else { return Expects::default() };
    let mut seen = HashSet::new();
    let designs = result.cells.iter().map(|cell| cell.design).filter(|design| seen.insert(*design));
    let inputs = ClaimInputs {
        workload: &result.workload,
        cells: &result.cells,
        databases: &result.databases,
        cache: cell.cache.want.unwrap_or_default(),
    };
    judge(&deadline_claims(most, designs), None, &inputs)
}

/// Joins the judged claims of several results of one run. Each claim gets its worst verdict.
pub fn join<'a>(results: impl IntoIterator<Item = &'a Expects>) -> Expects {
    let mut results = results.into_iter();
    let mut all = results.next().cloned().unwrap_or_default();
    for claim in results.flat_map(|other| &other.claims) {
        let identity = |claim: &Claim| (claim.metric.clone(), claim.store, claim.bound);
        match all.claims.iter_mut().find(|own| identity(own) == identity(claim)) {
            Some(own) if rank(claim.verdict) < rank(own.verdict) => *own = claim.clone(),
            Some(_) => {}
            None => all.claims.push(claim.clone()),
        }
    }
    all.status = worst(&all.claims).map(|verdict| verdict.name().to_owned()).or(all.status);
    all
}

/// Returns the worst verdict of all claims; `None` without claims. A failed claim is worse than an
/// inconclusive claim, and an inconclusive claim is worse than a claim that was not judged.
pub fn worst(claims: &[Claim]) -> Option<ClaimVerdict> {
    claims.iter().map(|claim| claim.verdict).min_by_key(|verdict| rank(*verdict))
}

/// Ranks verdicts from the worst, 0, to the best.
const fn rank(verdict: ClaimVerdict) -> u8 {
    match verdict {
        ClaimVerdict::Fails => 0,
        ClaimVerdict::Inconclusive => 1,
        ClaimVerdict::NotJudged => 2,
        ClaimVerdict::Holds => 3,
        ClaimVerdict::Skipped => 4,
    }
}

/// Returns the program's exit code for all claims together.
pub fn exit_code<'a>(claims: impl IntoIterator<Item = &'a Claim>, open: UndecidedCodes) -> Code {
    let codes = claims.into_iter().map(|claim| match claim.verdict {
        ClaimVerdict::Fails => Code::Claim,
        ClaimVerdict::Inconclusive => open.inconclusive,
        ClaimVerdict::NotJudged => open.not_judged,
        ClaimVerdict::Holds | ClaimVerdict::Skipped => Code::Fine,
    });
    let codes: Vec<Code> = codes.collect();
    let by_rank = [Code::Claim, Code::Inconclusive, Code::NotJudged];
    by_rank.into_iter().find(|code| codes.contains(code)).unwrap_or(Code::Fine)
}

/// Judges a claim once for each store that it is about. A claim on the work has no store.
fn judge_one(expect: &Expect, inputs: &ClaimInputs<'_>) -> Vec<Claim> {
    if expect.when.cache.is_some_and(|cache| cache != inputs.cache) {
        let reason = format!("the run is {}", inputs.cache);
        return vec![claim(expect, None, ClaimVerdict::Skipped, Some(reason))];
    }
    if let Metric::BalBytes(list) = expect.metric {
        return vec![by_figure(expect, None, figure::bal_bytes(list, inputs), inputs)];
    }
    let mut seen = HashSet::new();
    let stores = inputs.cells.iter().map(|cell| cell.store).filter(|store| seen.insert(*store));
    let mut stores: Vec<StoreKind> = stores.collect();
    if let Some(wanted) = expect.when.store {
        stores.retain(|store| *store == wanted);
        if stores.is_empty() {
            let reason = format!("the run has no cell on {wanted}");
            return vec![claim(expect, None, ClaimVerdict::Skipped, Some(reason))];
        }
    }
    stores.into_iter().map(|store| judge_on_store(expect, store, inputs)).collect()
}

fn judge_on_store(expect: &Expect, store: StoreKind, inputs: &ClaimInputs<'_>) -> Claim {
    let reason = match not_proved_cold(expect, store, inputs) {
        Some(reason) => reason,
        None => match figure::of_store(expect, store, inputs) {
            Ok(figure) => return by_figure(expect, Some(store), figure, inputs),
            Err(design) => no_row(expect, design),
        },
    };
    claim(expect, Some(store), ClaimVerdict::NotJudged, Some(reason))
}

/// Returns the reason for not judging a claim without a row of its design, with the remedy.
fn no_row(expect: &Expect, design: Design) -> String {
    match expect.scope {
        Scope::Whole => format!(
            "the run has no whole block of {design}: leave --whole none out, or say run.whole = \"one\", where \
             the work can be whole; execution({}) claims execution alone",
            expect.metric
        ),
        Scope::Execution => format!(
            "the run has no row of {design} but whole blocks: run.execution_alone = true adds it"
        ),
    }
}

/// Returns the reason for not judging a claim on cold runs: cold was asked for, but is not proved
/// on `store`.
fn not_proved_cold(expect: &Expect, store: StoreKind, inputs: &ClaimInputs<'_>) -> Option<String> {
    let cells = inputs.cells.iter().filter(|cell| cell.store == store);
    let mut doubtful = cells.filter(|cell| cell.cache.proved != Some(true));
    let wants_cold = expect.when.cache == Some(CacheMode::Cold);
    let cell = doubtful.next().filter(|_| wants_cold)?;
    Some(format!("cold is not proved: {}", cell.cache.reason))
}

fn by_figure(
    expect: &Expect,
    store: Option<StoreKind>,
    figure: Figure,
    inputs: &ClaimInputs<'_>,
) -> Claim {
    match figure {
        Figure::Exact(value) => {
            let verdict = verdict(expect.bound, value);
            Claim { value: Some(value), ..claim(expect, store, verdict, None) }
        }
        Figure::Sampled(Sampled { median, ci95: Some([low, high]), .. }) => {
            let near_end = if matches!(expect.bound, Bound::Min(_)) { low } else { high };
            let judged = claim(expect, store, verdict(expect.bound, near_end), None);
            Claim { value: Some(median), near_end: Some(near_end), ..judged }
        }
        Figure::Sampled(Sampled { median, ci95: None, choice_count }) => {
            let reason = format!("no interval: {}", needed(choice_count, inputs));
            let judged = claim(expect, store, ClaimVerdict::Inconclusive, Some(reason));
            Claim { value: Some(median), ..judged }
        }
        Figure::Missing(reason) => {
            claim(expect, store, ClaimVerdict::Inconclusive, Some(reason.to_owned()))
        }
    }
}

fn verdict(bound: Bound, value: f64) -> ClaimVerdict {
    let holds = match bound {
        Bound::Min(min) => value >= min,
        Bound::Max(max) => value <= max,
    };
    if holds { ClaimVerdict::Holds } else { ClaimVerdict::Fails }
}

/// States how many values an interval needs, and which option sets their number.
fn needed(choice_count: usize, inputs: &ClaimInputs<'_>) -> String {
    let count = stats::interval_count_min(stats::confidence_of_each(choice_count));
    match (choice_count, inputs.databases.is_empty()) {
        (1, true) => SAMPLES_NEEDED.to_owned(),
        (1, false) => "a database is one value, and six are needed (--databases 6)".to_owned(),
        (_, true) => format!(
            "the fastest of {choice_count} is sought, which takes {count} samples (--samples {count})"
        ),
        (_, false) => format!(
            "a database is one value, and the fastest of {choice_count} is sought, which takes \
             {count} (--databases {count})"
        ),
    }
}

/// Makes a judged claim without a value.
fn claim(
    expect: &Expect,
    store: Option<StoreKind>,
    verdict: ClaimVerdict,
    reason: Option<String>,
) -> Claim {
    let (bound, limit) = match expect.bound {
        Bound::Min(min) => (result::Bound::Min, min),
        Bound::Max(max) => (result::Bound::Max, max),
    };
    Claim {
        metric: expect.text(),
        store,
        bound,
        limit,
        value: None,
        near_end: None,
        verdict,
        reason,
    }
}

#[cfg(test)]
mod tests;
