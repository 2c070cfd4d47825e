//! Takes octets until every figure is decided. Knows neither processes nor files: who is asked
//! for a sample is a [`Taker`], so that what is said of the gate can be tested without a clock.

use result::{
    Counters,
    gate::{Attempt, GateCell, Judged, LookFacts, OctetFacts, PassFacts},
    stats::{self, Warmup},
};
use std::time::Duration;

use crate::{exit::Failure, gate::floor_ns};

use super::{
    Metric, Verdict,
    decide::{self, LOOKS, Look, OCTET_COUNT_MAX, Split},
    octet::{self, Arm, Coin, Differences},
};

pub use super::decide::OCTET_COUNT_MAX as OCTET_COUNT;

/// Most samples of a warm-up. What is not steady by then will show in the null.
const WARM_UP_COUNT_MAX: usize = 40;
/// Most time that a warm-up takes, in samples' wall time, once it has [`WARM_UP_COUNT_MIN`].
const WARM_UP_NS_MAX: u64 = 10_000_000_000;
/// Fewest samples of a warm-up.
const WARM_UP_COUNT_MIN: usize = 2;
/// Most passes over the slots of an octet: more would say little more and fill the result.
const PASS_COUNT_MAX: u64 = 50;

/// A sample as the gate needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// What it did.
    pub counters: Counters,
}

impl Taken {
    const fn time_ns(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::Wall => Some(self.wall_ns),
            Metric::Cpu => self.cpu_ns,
        }
    }
}

/// Who takes samples.
pub trait Taker {
    /// Takes one sample.
    ///
    /// # Errors
    /// There is none: the gate ends.
    fn take(&mut self, arm: Arm, variant: &str) -> Result<Taken, Failure>;

    /// Ends all processes and starts others in their place, which begin cold. Gives the time that
    /// it took.
    ///
    /// # Errors
    /// One does not start: the gate ends.
    fn renew(&mut self) -> Result<Duration, Failure>;

    /// Gives all arms the same CPUs for an octet of `variant`, in turn others with each `number`.
    /// `None` where they may use all.
    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>>;

    /// Begins to look what takes time away: what follows counts.
    fn watch(&mut self);

    /// Pauses looking: what follows does not count.
    fn pause_watch(&mut self);

    /// What took time away while it looked: steal, throttling. Forgets it.
    fn disturbances(&mut self) -> Vec<String>;
}

/// What is measured and how it is judged.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The variants.
    pub variants: Vec<String>,
    /// What is judged of each.
    pub metrics: Vec<Metric>,
    /// The change that is still none, as a share.
    pub delta: f64,
    /// Wall time of all samples of a slot at least: short ones are taken in several passes.
    pub slot_ns: u64,
    /// Seed of the coin.
    pub coin_seed: u64,
    /// Attempts over which the probability of an error is split.
    pub attempt_count: usize,
    /// Whether all octets are taken, decided or not.
    pub takes_all: bool,
}

impl Plan {
    /// How long an attempt takes at most where starting the processes takes `start`, but for what
    /// a sample takes beside its wall time: as long for starts and warm-ups as for samples, and
    /// one start for each octet at least.
    pub fn longest(&self, start: Duration) -> Duration {
        let slots = u32::try_from(self.variants.len() * octet::SLOT_COUNT).unwrap_or(u32::MAX);
        let samples = Duration::from_nanos(self.slot_ns).saturating_mul(slots);
        (start.max(samples) + samples).saturating_mul(OCTET_COUNT_MAX as u32)
    }
}

/// A figure on its way to its verdict.
struct Figure {
    metric: Metric,
    base_ns: u64,
    delta: f64,
    octets: Vec<Differences>,
    looks: Vec<Look>,
    verdict: Option<Verdict>,
}

/// A variant on its way.
struct Cell {
    variant: String,
    counters: Counters,
    changes: Vec<String>,
    warm_up_counts: [u64; 3],
    passes_per_octet: u64,
    samples_per_slot: u64,
    figures: Vec<Figure>,
    octets: Vec<OctetFacts>,
    /// The processes that were warmed up for it.
    generation: u64,
}

/// How long three processes are used. Where one lies in memory makes it faster or slower than
/// another of the same build, for as long as it lives: so each octet has new ones, and within an
/// octet they are replaced after the pass with which they have worked as long as starting and
/// warming them up took. Variants share them.
#[derive(Default)]
struct Life {
    number: u64,
    cost_ns: u64,
    spent_ns: u64,
}

impl Life {
    fn renew(&mut self, taker: &mut impl Taker) -> Result<(), Failure> {
        taker.pause_watch();
        let took = taker.renew()?;
        let cost_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        *self = Self { number: self.number + 1, cost_ns, spent_ns: 0 };
        Ok(())
    }

    const fn is_over(&self) -> bool {
        self.spent_ns > 0 && self.spent_ns >= self.cost_ns
    }
}

/// Measures once and judges; `shown` hears how many octets are done.
///
/// # Errors
/// A sample could not be taken.
pub fn attempt(
    plan: &Plan,
    taker: &mut impl Taker,
    mut shown: impl FnMut(usize),
) -> Result<(Verdict, Attempt), Failure> {
    let mut cells = Vec::with_capacity(plan.variants.len());
    for variant in &plan.variants {
        cells.push(Cell::warmed_up(plan, variant, taker)?);
    }
    if let Some(cell) = cells.iter().find(|cell| !cell.changes.is_empty()) {
        let reason = format!("{}: {}", cell.variant, cell.changes.join(", "));
        return Ok(ended(plan, Verdict::WorkChanged, reason, Vec::new(), cells));
    }
    drop(taker.disturbances());
    let mut coin = Coin::new(plan.coin_seed);
    let mut life = Life::default();
    for number in 0..OCTET_COUNT_MAX {
        if cells.iter().all(|cell| !plan.takes_all && !cell.is_open()) {
            break;
        }
        shown(number);
        life.renew(taker)?;
        for cell in cells.iter_mut().filter(|cell| plan.takes_all || cell.is_open()) {
            cell.octet(&mut coin, &mut life, taker)?;
            if !cell.changes.is_empty() {
                let reason = format!("{}: {}", cell.variant, cell.changes.join(", "));
                return Ok(ended(plan, Verdict::WorkChanged, reason, Vec::new(), cells));
            }
            cell.look(plan);
        }
    }
    let disturbances = taker.disturbances();
    let verdict = Verdict::worst(cells.iter().map(Cell::verdict));
    let (verdict, reason) = if disturbances.is_empty() {
        (verdict, reason(verdict, &cells))
    } else {
        (Verdict::Untrusted, disturbances.join("; "))
    };
    Ok(ended(plan, verdict, reason, disturbances, cells))
}

fn ended(
    plan: &Plan,
    verdict: Verdict,
    reason: String,
    disturbances: Vec<String>,
    cells: Vec<Cell>,
) -> (Verdict, Attempt) {
    let cells = cells.into_iter().map(Cell::facts).collect();
    let coin_seed = plan.coin_seed;
    (verdict, Attempt { verdict, reason, coin_seed, disturbances, cells })
}

/// The verdict in words, by the figure that it rests on.
fn reason(verdict: Verdict, cells: &[Cell]) -> String {
    let figures = cells.iter().flat_map(|cell| cell.figures.iter().map(move |f| (cell, f)));
    let of_verdict = figures.filter(|(_, figure)| figure.verdict() == verdict);
    let last = of_verdict.filter_map(|(cell, figure)| Some((cell, figure, *figure.looks.last()?)));
    // The slowest says it best.
    let Some((cell, figure, look)) = last.max_by(|a, b| a.2.estimate.total_cmp(&b.2.estimate))
    else {
        return "nothing was measured".to_owned();
    };
    let look = LookFacts::from(look);
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let (what, limit) =
        (format!("{} {}", cell.variant, figure.metric.name()), figure.delta * 100.0);
    let sure = match verdict {
        Verdict::Regression => format!("surely above {}", percent(look.lower)),
        Verdict::Pass => format!("surely below {}", percent(look.upper)),
        Verdict::Untrusted => {
            let [low, high] = look.null.map(percent);
            return format!(
                "{what}: A against itself is {low} to {high}, and ±{:.2} % are allowed; the \
                 machine is too noisy for {limit:.1} %",
                limit / 2.0
            );
        }
        _ => format!("between {} and {}", percent(look.lower), percent(look.upper)),
    };
    let octets = look.octet_count;
    format!("{what}: {}, {sure}; {limit:.1} % are allowed ({octets} octets)", percent(look.change))
}

impl Cell {
    /// Takes samples of each arm until they are steady, compares what they did, and says how
    /// many make a slot.
    fn warmed_up(plan: &Plan, variant: &str, taker: &mut impl Taker) -> Result<Self, Failure> {
        // What was sampled before is none of its warm-up.
        taker.renew()?;
        taker.confine(variant, 0);
        let mut taken = [Vec::new(), Vec::new(), Vec::new()];
        for (arm, taken) in Arm::ALL.into_iter().zip(&mut taken) {
            while !is_warm(taken) {
                taken.push(taker.take(arm, variant)?);
            }
        }
        let counters = taken[0][0].counters.clone();
        let base_ns = |metric| {
            let times = taken[0].iter().filter_map(|sample: &Taken| sample.time_ns(metric));
            stats::median(&times.map(|ns| ns as f64).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let figure = |metric: &Metric| {
            let base_ns = base_ns(*metric);
            let floor = if base_ns > 0.0 { floor_ns(*metric) as f64 / base_ns } else { 0.0 };
            Figure {
                metric: *metric,
                base_ns: base_ns as u64,
                delta: plan.delta.max(floor),
                octets: Vec::new(),
                looks: Vec::new(),
                verdict: None,
            }
        };
        let sample_count =
            (plan.slot_ns as f64 / base_ns(Metric::Wall).max(1.0)).ceil().max(1.0) as u64;
        let passes_per_octet = sample_count.min(PASS_COUNT_MAX);
        let mut cell = Self {
            variant: variant.to_owned(),
            changes: Vec::new(),
            warm_up_counts: taken.each_ref().map(|taken| taken.len() as u64),
            passes_per_octet,
            samples_per_slot: sample_count.div_ceil(passes_per_octet),
            figures: plan.metrics.iter().map(figure).collect(),
            octets: Vec::new(),
            generation: 0,
            counters,
        };
        // Before anything is timed: in A itself, then in B.
        for (arm, taken) in Arm::ALL.into_iter().zip(&taken) {
            for sample in taken {
                cell.compare(arm, sample);
            }
        }
        Ok(cell)
    }

    /// Remembers what a sample did otherwise than the first one of A.
    fn compare(&mut self, arm: Arm, sample: &Taken) {
        let differences = self.counters.differences(&sample.counters);
        let told = |change: String| match arm {
            Arm::New => change,
            // A counter that is not the same in two samples of A is none.
            Arm::Base | Arm::Null => format!("{change} in A itself"),
        };
        for change in differences.into_iter().map(told) {
            if !self.changes.contains(&change) {
                self.changes.push(change);
            }
        }
    }

    fn octet(
        &mut self,
        coin: &mut Coin,
        life: &mut Life,
        taker: &mut impl Taker,
    ) -> Result<(), Failure> {
        let mut facts = OctetFacts::default();
        for _ in 0..self.passes_per_octet {
            if life.is_over() {
                life.renew(taker)?;
            }
            if self.generation != life.number {
                facts.cpus = taker.confine(&self.variant, self.octets.len());
                self.warm_again(life, taker)?;
            }
            let number = self.octets.len() * self.passes_per_octet as usize + facts.passes.len();
            let first = if coin.toss() { Arm::New } else { Arm::Base };
            taker.watch();
            let pass = self.pass(octet::order(number, first), taker)?;
            life.spent_ns += pass.wall_ns.iter().sum::<u64>();
            facts.passes.push(pass);
        }
        taker.pause_watch();
        for figure in &mut self.figures {
            figure.octets.extend(octet::of_facts(&facts, figure.metric));
        }
        self.octets.push(facts);
        Ok(())
    }

    /// Samples of new processes that do not count: as many of each as the slowest of the first
    /// needed, so that all have done equal work, but no longer than theirs, and no more than those
    /// of an octet that do count.
    fn warm_again(&mut self, life: &mut Life, taker: &mut impl Taker) -> Result<(), Failure> {
        taker.pause_watch();
        let mut spent_ns = [0_u64; 3];
        let needed = self.warm_up_counts.into_iter().max().unwrap_or_default() as usize;
        let counted =
            (self.passes_per_octet * self.samples_per_slot) as usize * octet::SLOTS_OF_ARM;
        for number in 0..needed.min(counted) {
            if number >= WARM_UP_COUNT_MIN && spent_ns.iter().any(|ns| *ns >= WARM_UP_NS_MAX) {
                break;
            }
            for (arm, spent_ns) in Arm::ALL.into_iter().zip(&mut spent_ns) {
                let sample = taker.take(arm, &self.variant)?;
                self.compare(arm, &sample);
                *spent_ns += sample.wall_ns;
            }
        }
        life.cost_ns = life.cost_ns.saturating_add(spent_ns.iter().sum());
        self.generation = life.number;
        Ok(())
    }

    fn pass(
        &mut self,
        order: [Arm; octet::SLOT_COUNT],
        taker: &mut impl Taker,
    ) -> Result<PassFacts, Failure> {
        let mut facts = PassFacts {
            generation: self.generation,
            order: order.iter().map(|arm| arm.letter()).collect(),
            wall_ns: Vec::with_capacity(order.len()),
            cpu_ns: Vec::with_capacity(order.len()),
        };
        for arm in order {
            let (mut wall_ns, mut cpu_ns) = (0, Some(0_u64));
            for _ in 0..self.samples_per_slot {
                let sample = taker.take(arm, &self.variant)?;
                self.compare(arm, &sample);
                wall_ns += sample.wall_ns;
                cpu_ns = cpu_ns.zip(sample.cpu_ns).map(|(sum, ns)| sum + ns);
            }
            facts.wall_ns.push(wall_ns);
            facts.cpu_ns.push(cpu_ns);
        }
        Ok(facts)
    }

    fn look(&mut self, plan: &Plan) {
        if !LOOKS.contains(&self.octets.len()) {
            return;
        }
        let judged_count = plan.variants.len() * plan.metrics.len() * plan.attempt_count;
        let split = Split { judged_count, look_count: LOOKS.len() };
        for figure in self.figures.iter_mut().filter(|figure| figure.verdict.is_none()) {
            if let Some(look) = decide::look(&figure.octets, split) {
                figure.looks.push(look);
                figure.verdict = decide::verdict(&look, figure.delta);
            }
        }
    }

    fn is_open(&self) -> bool {
        self.figures.iter().any(|figure| figure.verdict.is_none())
    }

    fn verdict(&self) -> Verdict {
        Verdict::worst(self.figures.iter().map(Figure::verdict))
    }

    fn facts(self) -> GateCell {
        GateCell {
            variant: self.variant,
            counters: self.counters,
            counter_changes: self.changes,
            warm_up_sample_counts: self.warm_up_counts,
            passes_per_octet: self.passes_per_octet,
            samples_per_slot: self.samples_per_slot,
            figures: self.figures.into_iter().map(Figure::facts).collect(),
            octets: self.octets,
        }
    }
}

impl Figure {
    /// Its verdict; inconclusive where the kernel told too few of its times.
    fn verdict(&self) -> Verdict {
        self.verdict.unwrap_or(Verdict::Inconclusive)
    }

    fn facts(self) -> Judged {
        Judged {
            metric: self.metric,
            verdict: self.verdict(),
            delta: self.delta,
            base_ns: self.base_ns,
            looks: self.looks.into_iter().map(LookFacts::from).collect(),
        }
    }
}

/// Whether a warm-up has ended: by the rule where there are samples enough, or because it has
/// taken all the time that it may.
fn is_warm(taken: &[Taken]) -> bool {
    let times: Vec<_> = taken.iter().map(|sample| sample.wall_ns as f64).collect();
    let spent_ns: u64 = taken.iter().map(|sample| sample.wall_ns).sum();
    let is_long = spent_ns >= WARM_UP_NS_MAX && taken.len() >= WARM_UP_COUNT_MIN;
    let is_steady = matches!(stats::warm_up(&times), Warmup::Found(_));
    is_steady || is_long || taken.len() >= WARM_UP_COUNT_MAX
}

#[cfg(test)]
mod tests;
