//! Takes octets until every figure is decided, and judges them. `judge` calls [`attempts`], which
//! tries again if the verdict stays open. `stress gate calibrate` calls [`attempt`].

use result::gate::Attempt;

use super::{
    DecidedBy, Outcome, Verdict,
    cell::{Cell, Generation},
    decide::{self, LOOKS, OCTET_COUNT_MAX, Split},
    octet::Coin,
    sampler::{Plan, Sampler},
    steps::{OctetWork, Step, TrackedSampler},
};
use crate::terminal::Failure;

/// Measures again while the verdict is inconclusive or untrusted, as often as the plan allows, each
/// time with another seed of the coin. `show` gets each step. Returns all attempts, also one that
/// ends with a failure, and the outcome of the last attempt.
pub fn attempts(
    plan: &Plan,
    sampler: &mut dyn Sampler,
    mut show: impl FnMut(Step),
) -> (Vec<Attempt>, Result<Outcome, Failure>) {
    let mut attempts = Vec::new();
    let mut plan = plan.clone();
    loop {
        let (attempt, failure) = try_once(&plan, sampler, &mut show);
        let outcome = Outcome { verdict: attempt.verdict, reason: attempt.reason.clone() };
        attempts.push(attempt);
        let is_open = matches!(outcome.verdict, Verdict::Inconclusive | Verdict::Untrusted);
        match failure {
            Some(failure) => return (attempts, Err(failure)),
            None if is_open && attempts.len() < plan.attempt_count => {
                plan.coin_seed = plan.coin_seed.wrapping_add(1);
            }
            None => return (attempts, Ok(outcome)),
        }
    }
}

/// Measures once and judges; `show` gets each step.
///
/// # Errors
/// A sample could not be taken.
pub fn attempt(
    plan: &Plan,
    sampler: &mut dyn Sampler,
    mut show: impl FnMut(Step),
) -> Result<Attempt, Failure> {
    let (attempt, failure) = try_once(plan, sampler, &mut show);
    failure.map_or(Ok(attempt), Err)
}

/// Measures once and judges. After a failure, the attempt has the octets before the failure.
fn try_once(
    plan: &Plan,
    sampler: &mut dyn Sampler,
    show: &mut dyn FnMut(Step),
) -> (Attempt, Option<Failure>) {
    let mut under_way = Try { plan, sampler, show, cells: Vec::with_capacity(plan.subjects.len()) };
    let failure = under_way.measure().err();
    let Try { sampler, cells, .. } = under_way;
    let disturbances = sampler.disturbances();
    let Outcome { verdict, reason } = match &failure {
        None => judged(plan, &cells, &disturbances),
        Some(failure) => {
            let reason = format!("not judged: {failure}");
            Outcome { verdict: Verdict::Inconclusive, reason }
        }
    };
    let cells = cells.into_iter().map(Cell::facts).collect();
    (Attempt { verdict, reason, coin_seed: plan.coin_seed, disturbances, cells }, failure)
}

/// An attempt under way.
struct Try<'a> {
    plan: &'a Plan,
    sampler: &'a mut dyn Sampler,
    show: &'a mut dyn FnMut(Step),
    cells: Vec<Cell>,
}

impl Try<'_> {
    /// Warms up all variants, and takes their octets unless a counter has changed.
    fn measure(&mut self) -> Result<(), Failure> {
        let mut works = Vec::with_capacity(self.plan.subjects.len());
        for (done_count, subject) in self.plan.subjects.iter().enumerate() {
            let mut tracked = TrackedSampler::new(self.sampler, self.show, done_count, None);
            let cell = Cell::warmed_up(self.plan, subject, &mut tracked)?;
            let (start, sample) = (tracked.start(), tracked.mean_sample_time());
            works.push(cell.octet_work(self.plan.slot_ns, start, sample));
            self.cells.push(cell);
        }
        drop(self.sampler.disturbances());
        if self.cells.iter().any(|cell| !cell.changes().is_empty()) {
            return Ok(());
        }
        (self.show)(Step::Warm(OctetWork::of_all(&works)));
        self.take_octets()
    }

    /// Takes octets until every figure is decided, or until a sample does other work.
    fn take_octets(&mut self) -> Result<(), Failure> {
        let Plan { coin_seed, attempt_count, takes_all, .. } = *self.plan;
        // The warm-up has shown which metrics are reported. Others take no share of the error.
        let figure_count: usize = self.cells.iter().map(Cell::figure_count).sum();
        let split = Split { judged_count: figure_count * attempt_count, look_count: LOOKS.len() };
        let mut coin = Coin::new(coin_seed);
        let mut generation = Generation::default();
        for done_count in 0..OCTET_COUNT_MAX {
            let mut open: Vec<_> =
                self.cells.iter_mut().filter(|cell| takes_all || cell.is_open()).collect();
            if open.is_empty() {
                break;
            }
            let sample_count = open.iter().map(|cell| cell.octet_sample_count()).sum();
            let mut tracked =
                TrackedSampler::new(self.sampler, self.show, done_count, Some(sample_count));
            generation.restart(&mut tracked)?;
            for cell in &mut open {
                cell.octet(&mut coin, &mut generation, &mut tracked)?;
                if !cell.changes().is_empty() {
                    tracked.pause_watch();
                    return Ok(());
                }
                cell.look(split);
            }
        }
        Ok(())
    }
}

/// Judges all cells. A regression stands even if time was lost or work changed. A and B alternate,
/// so both lost time, and the loss only widens the bounds.
fn judged(plan: &Plan, cells: &[Cell], disturbances: &[String]) -> Outcome {
    let verdict = Verdict::worst(cells.iter().map(|cell| cell.verdict().0));
    let reason = most_telling_reason(verdict, plan, cells);
    let changed = cells.iter().find(|cell| !cell.changes().is_empty());
    let (verdict, reason) = match (changed.map(Cell::changes_in_words), disturbances) {
        (None, []) => (verdict, reason + &delta_in_words(verdict, cells)),
        (Some(changes), _) if verdict == Verdict::Regression => {
            (verdict, format!("{reason}; and {changes}"))
        }
        (None, causes) if verdict == Verdict::Regression => {
            let doubt = "A and B alternate, so that both lost time and the verdict stands";
            (verdict, format!("{reason}; and {doubt}: {}", causes.join("; ")))
        }
        (Some(changes), _) => (Verdict::WorkChanged, changes),
        (None, causes) => (Verdict::Untrusted, causes.join("; ")),
    };
    Outcome { verdict, reason }
}

/// States the δ that can be decided with the noise of the open figures. Empty if noise is not the
/// reason for an open verdict.
fn delta_in_words(verdict: Verdict, cells: &[Cell]) -> String {
    let is_open = verdict == Verdict::Inconclusive;
    let open = cells.iter().filter(|cell| is_open && cell.verdict().0 == verdict);
    decide::delta_in_words(open.flat_map(Cell::deltas_to_decide))
}

/// States the verdict by its most telling figure. A pass by counts alone comes before other passes,
/// as its reason also names the times that are still open.
fn most_telling_reason(verdict: Verdict, plan: &Plan, cells: &[Cell]) -> String {
    let reasons = cells.iter().filter_map(|cell| {
        let (headline, text) = cell.reason(verdict, plan)?;
        Some((cell.verdict() == (verdict, DecidedBy::Counters), headline, text))
    });
    let most_telling = reasons.max_by(|a, b| a.0.cmp(&b.0).then(a.1.order(&b.1)));
    most_telling.map_or_else(|| "nothing was measured".to_owned(), |(_, _, text)| text)
}

#[cfg(test)]
mod tests;
