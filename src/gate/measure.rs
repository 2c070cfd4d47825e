//! Takes octets until every figure is decided, and tries again where nothing was.

use result::gate::Attempt;

use super::{
    DecidedBy, Outcome, Verdict,
    cell::{Cell, Life},
    decide::{self, LOOKS, OCTET_COUNT_MAX, Split},
    octet::Coin,
    steps::{Followed, OctetWork, Step},
    taker::{Plan, Taker},
};
use crate::terminal::exit::Failure;

/// Tries until something is decided, or as often as the plan says, each time with another coin. A
/// regression is final. `shown` hears how far a try is, `kept` gets each try, also one that a failure
/// ends.
///
/// # Errors
/// A sample could not be taken.
pub fn attempts(
    plan: &Plan,
    taker: &mut dyn Taker,
    mut shown: impl FnMut(Step),
    mut kept: impl FnMut(Attempt),
) -> Result<Outcome, Failure> {
    let mut plan = plan.clone();
    let mut left = plan.attempt_count;
    loop {
        let (attempt, failure) = self::try_once(&plan, taker, &mut shown);
        let (verdict, reason) = (attempt.verdict, attempt.reason.clone());
        kept(attempt);
        if let Some(failure) = failure {
            return Err(failure);
        }
        left = left.saturating_sub(1);
        let is_open = matches!(verdict, Verdict::Inconclusive | Verdict::Untrusted);
        if !is_open || left == 0 {
            return Ok(Outcome { verdict, reason });
        }
        plan.coin_seed = plan.coin_seed.wrapping_add(1);
    }
}

/// Measures once and judges; `shown` hears how far it is.
///
/// # Errors
/// A sample could not be taken.
pub fn attempt(
    plan: &Plan,
    taker: &mut dyn Taker,
    mut shown: impl FnMut(Step),
) -> Result<(Verdict, Attempt), Failure> {
    let (attempt, failure) = try_once(plan, taker, &mut shown);
    failure.map_or_else(|| Ok((attempt.verdict, attempt)), Err)
}

/// The same, with all octets before the failure that ended it.
fn try_once(
    plan: &Plan,
    taker: &mut dyn Taker,
    shown: &mut dyn FnMut(Step),
) -> (Attempt, Option<Failure>) {
    let mut cells = Vec::with_capacity(plan.subjects.len());
    let failure = take(plan, &mut cells, taker, shown).err();
    let disturbances = taker.disturbances();
    let (verdict, reason) = match &failure {
        None => judged(plan, &cells, &disturbances),
        Some(failure) => (Verdict::Inconclusive, format!("not judged: {failure}")),
    };
    let cells = cells.into_iter().map(Cell::facts).collect();
    let coin_seed = plan.coin_seed;
    (Attempt { verdict, reason, coin_seed, disturbances, cells }, failure)
}

/// Warms up all variants, and takes their octets.
fn take(
    plan: &Plan,
    cells: &mut Vec<Cell>,
    taker: &mut dyn Taker,
    shown: &mut dyn FnMut(Step),
) -> Result<(), Failure> {
    let mut work = OctetWork::default();
    for (done_count, subject) in plan.subjects.iter().enumerate() {
        let mut followed = Followed::warming_up(taker, shown, done_count);
        let cell = Cell::warmed_up(plan, subject, &mut followed)?;
        work.add(&followed, cell.sample_counts(plan.slot_ns));
        cells.push(cell);
    }
    drop(taker.disturbances());
    if cells.iter().all(|cell| cell.changes().is_empty()) {
        shown(Step::Warm(work));
        octets(plan, cells, taker, shown)?;
    }
    Ok(())
}

/// Takes octets until all is decided, or a sample does other work.
fn octets(
    plan: &Plan,
    cells: &mut [Cell],
    taker: &mut dyn Taker,
    shown: &mut dyn FnMut(Step),
) -> Result<(), Failure> {
    // Metrics that nobody reports are known after the warm-up, and are not judged.
    let figure_count: usize = cells.iter().map(Cell::figure_count).sum();
    let judged_count = figure_count * plan.attempt_count;
    let split = Split { judged_count, look_count: LOOKS.len() };
    let mut coin = Coin::new(plan.coin_seed);
    let mut life = Life::default();
    for number in 0..OCTET_COUNT_MAX {
        if cells.iter().all(|cell| !plan.takes_all && !cell.is_open()) {
            break;
        }
        let open = cells.iter().filter(|cell| plan.takes_all || cell.is_open());
        let sample_count = open.map(Cell::octet_sample_count).sum();
        let mut followed = Followed::octet(taker, shown, number, sample_count);
        life.renew(&mut followed)?;
        for cell in cells.iter_mut().filter(|cell| plan.takes_all || cell.is_open()) {
            cell.octet(&mut coin, &mut life, &mut followed)?;
            if !cell.changes().is_empty() {
                followed.pause_watch();
                return Ok(());
            }
            cell.look(split);
        }
    }
    Ok(())
}

/// The verdict on all cells, and why. A regression stays one also where time was taken away: A and
/// B lie so close together that it was taken from both, and its part of the spread is in the
/// bounds.
fn judged(plan: &Plan, cells: &[Cell], disturbances: &[String]) -> (Verdict, String) {
    let of_figures = Verdict::worst(cells.iter().map(|cell| cell.verdict().0));
    let changed = cells.iter().find(|cell| !cell.changes().is_empty());
    let regression = (of_figures == Verdict::Regression).then(|| reason(of_figures, plan, cells));
    let also = |reason: String, doubt: &str| format!("{reason}; and {doubt}");
    match (regression, changed, disturbances) {
        (Some(reason), Some(cell), _) => {
            (Verdict::Regression, also(reason, &cell.changes_in_words()))
        }
        (Some(reason), None, []) => (Verdict::Regression, reason),
        (Some(reason), None, some) => {
            let doubt = "A and B alternate, so that both lost time and the verdict stands";
            (Verdict::Regression, also(reason, &format!("{doubt}: {}", some.join("; "))))
        }
        (None, Some(cell), _) => (Verdict::WorkChanged, cell.changes_in_words()),
        (None, None, []) => {
            (of_figures, reason(of_figures, plan, cells) + &delta_to_decide(of_figures, cells))
        }
        (None, None, some) => (Verdict::Untrusted, some.join("; ")),
    }
}

/// The δ that noise like that of the open figures decides; nothing where it is not noise that
/// leaves the verdict open.
fn delta_to_decide(verdict: Verdict, cells: &[Cell]) -> String {
    let is_open = |cell: &&Cell| (verdict, cell.verdict().0) == (Verdict::Inconclusive, verdict);
    decide::delta_in_words(cells.iter().filter(is_open).flat_map(Cell::deltas_to_decide))
}

/// The verdict in words, by the figure that tells it. Of a pass, those that only counters decided
/// come first: they leave something open.
fn reason(verdict: Verdict, plan: &Plan, cells: &[Cell]) -> String {
    let by_counters = |cell: &Cell| cell.verdict() == (verdict, DecidedBy::Counters);
    let reasons = cells.iter().filter_map(|cell| {
        let (telling, text) = cell.reason(verdict, plan)?;
        Some((by_counters(cell), telling, text))
    });
    let told = reasons.max_by(|a, b| a.0.cmp(&b.0).then(a.1.order(&b.1)));
    told.map_or_else(|| "nothing was measured".to_owned(), |(_, _, text)| text)
}

#[cfg(test)]
mod tests;
