//! One variant of a gate under measurement: its warm-up, its octets, its verdict. `measure` owns a
//! [`Cell`] for each variant, and calls it octet by octet.

use result::{
    Counters,
    gate::{GateCell, Judged, LookFacts, OctetFacts, PassFacts},
    stats::{self, WarmUpEnd},
};
use std::time::Duration;

use super::{
    DELTA_MAX, DecidedBy, Metric, Verdict,
    decide::{self, Figure, LOOKS, Limits, Split},
    floor,
    octet::{self, Arm, Coin},
    reason::{FigureVerdict, Headline, most_telling},
    sampler::{Plan, Rule, Sample, Sampler, Subject},
    steps::{OctetWork, Passes, SampleTime, multiplied, shorter_slot_ns},
};
use crate::terminal::{Code, Failure, exit::fail};

/// Maximal number of samples of a warm-up. If times are still unsteady then, they widen the null.
const WARM_UP_COUNT_MAX: usize = 40;
/// Maximal wall time of the samples of a warm-up, once it has [`WARM_UP_COUNT_MIN`] samples.
const WARM_UP_NS_MAX: u64 = 10_000_000_000;
/// Minimal number of samples of a warm-up.
const WARM_UP_COUNT_MIN: usize = 2;
/// Maximal number of passes of an octet. More passes would add little precision, and fill the
/// result.
pub const PASS_COUNT_MAX: u64 = 50;

/// A variant under measurement.
pub struct Cell {
    variant: String,
    rule: Rule,
    counters: Counters,
    changes: Vec<String>,
    warm_up_counts: [u64; 3],
    /// Number of uncounted samples that a new process takes first.
    warm_again_count: u64,
    /// Median wall time of a sample of A in the warm-up.
    sample_ns: u64,
    passes_per_octet: u64,
    samples_per_slot: u64,
    figures: Vec<Figure>,
    octets: Vec<OctetFacts>,
    /// The generation of processes that is warmed up for this variant.
    generation: u64,
}

/// The processes of A, B and N from their start to their end. All variants share them. A process is
/// faster or slower for its whole life, by the layout of its memory, so each octet has new
/// processes. Within an octet, processes are replaced once their counted samples have taken as long
/// as their start and warm-up.
#[derive(Default)]
pub struct Generation {
    /// Number of generations so far, with this one.
    number: u64,
    /// Time of the start and of the warm-up.
    cost_ns: u64,
    /// Wall time of the counted samples.
    spent_ns: u64,
}

impl Generation {
    /// Replaces the processes of all arms.
    ///
    /// # Errors
    /// A process does not start.
    pub fn restart(&mut self, sampler: &mut dyn Sampler) -> Result<(), Failure> {
        sampler.pause_watch();
        let took = sampler.restart()?;
        let cost_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        *self = Self { number: self.number + 1, cost_ns, spent_ns: 0 };
        Ok(())
    }

    const fn is_over(&self) -> bool {
        self.spent_ns > 0 && self.spent_ns >= self.cost_ns
    }
}

impl Cell {
    /// Takes samples of each arm until their times are steady, compares their counters, and
    /// computes the number of samples in a slot.
    ///
    /// # Errors
    /// A sample could not be taken, or does not report a judged metric.
    pub fn warmed_up(
        plan: &Plan,
        subject: &Subject,
        sampler: &mut dyn Sampler,
    ) -> Result<Self, Failure> {
        let variant = subject.variant.as_str();
        // Processes that sampled another variant would be warm in part.
        sampler.restart()?;
        sampler.confine(variant, 0);
        let mut samples = [Vec::new(), Vec::new(), Vec::new()];
        for (arm, samples) in Arm::ALL.into_iter().zip(&mut samples) {
            while !is_warm(samples) {
                samples.push(sampler.sample(arm, variant)?);
            }
        }
        let counters = samples[0][0].counters.clone();
        let figures = figures(plan, subject, &samples)?;
        let wall = samples[0].iter().map(|sample| sample.wall_ns as f64).collect::<Vec<_>>();
        let wall_ns = stats::median(&wall).unwrap_or(0.0).max(1.0);
        let sample_count = (plan.slot_ns as f64 / wall_ns).ceil().max(1.0) as u64;
        let passes_per_octet = sample_count.min(PASS_COUNT_MAX);
        let unsteady = samples.iter().map(|samples| unsteady_count(samples));
        let mut cell = Self {
            variant: variant.to_owned(),
            rule: subject.rule,
            changes: Vec::new(),
            warm_up_counts: samples.each_ref().map(|samples| samples.len() as u64),
            warm_again_count: unsteady.max().unwrap_or(0),
            sample_ns: wall_ns as u64,
            passes_per_octet,
            samples_per_slot: sample_count.div_ceil(passes_per_octet),
            figures,
            octets: Vec::new(),
            generation: 0,
            counters,
        };
        // No time is measured if the work differs.
        for (arm, samples) in Arm::ALL.into_iter().zip(&samples) {
            for sample in samples {
                cell.record_changes(arm, sample);
            }
        }
        Ok(cell)
    }

    /// Returns the counters in which a sample differs from the first sample of A, in words.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Returns the changed counters with the variant's name.
    pub fn changes_in_words(&self) -> String {
        format!("{}: {}", self.variant, self.changes.join(", "))
    }

    /// Records the counters in which a sample differs from the first sample of A.
    fn record_changes(&mut self, arm: Arm, sample: &Sample) {
        for mut change in self.counters.differences(&sample.counters) {
            if arm != Arm::New {
                // A counter that differs between two samples of A is not exact.
                change.push_str(" in A itself");
            }
            if !self.changes.contains(&change) {
                self.changes.push(change);
            }
        }
    }

    /// Takes all passes of an octet.
    ///
    /// # Errors
    /// A sample could not be taken.
    pub fn octet(
        &mut self,
        coin: &mut Coin,
        generation: &mut Generation,
        sampler: &mut dyn Sampler,
    ) -> Result<(), Failure> {
        let mut facts = OctetFacts::default();
        for _ in 0..self.passes_per_octet {
            if generation.is_over() {
                generation.restart(sampler)?;
            }
            if self.generation != generation.number {
                facts.cpus = sampler.confine(&self.variant, self.octets.len());
                self.warm_again(generation, sampler)?;
            }
            let pass_number =
                self.octets.len() * self.passes_per_octet as usize + facts.passes.len();
            let first = if coin.toss() { Arm::New } else { Arm::Base };
            sampler.watch();
            let pass = self.pass(octet::order(pass_number, first), sampler)?;
            generation.spent_ns += pass.wall_ns.iter().sum::<u64>();
            facts.passes.push(pass);
        }
        sampler.pause_watch();
        for figure in &mut self.figures {
            let estimate = octet::octet_differences(&facts, figure.metric, self.samples_per_slot);
            figure.octets.extend(estimate);
        }
        self.octets.push(facts);
        Ok(())
    }

    /// Warms new processes by uncounted samples, the same number of each arm, so that all have done
    /// equal work. The number is the largest number of unsteady samples that an arm had in the
    /// first warm-up. It is limited by the maximal time of a warm-up, and by an arm's counted
    /// samples in an octet.
    fn warm_again(
        &mut self,
        generation: &mut Generation,
        sampler: &mut dyn Sampler,
    ) -> Result<(), Failure> {
        sampler.pause_watch();
        let mut spent_ns = [0_u64; 3];
        let counted_count = self.octet_sample_count() / Arm::ALL.len() as u64;
        for number in 0..self.warm_again_count.min(counted_count) as usize {
            if number >= WARM_UP_COUNT_MIN && spent_ns.iter().any(|ns| *ns >= WARM_UP_NS_MAX) {
                break;
            }
            for (arm, spent_ns) in Arm::ALL.into_iter().zip(&mut spent_ns) {
                let sample = sampler.sample(arm, &self.variant)?;
                self.record_changes(arm, &sample);
                *spent_ns += sample.wall_ns;
            }
        }
        generation.cost_ns = generation.cost_ns.saturating_add(spent_ns.iter().sum());
        self.generation = generation.number;
        Ok(())
    }

    fn pass(
        &mut self,
        order: [Arm; octet::SLOT_COUNT],
        sampler: &mut dyn Sampler,
    ) -> Result<PassFacts, Failure> {
        let mut facts = PassFacts {
            generation: self.generation,
            order: order.iter().map(|arm| arm.letter()).collect(),
            ..PassFacts::default()
        };
        for arm in order {
            let mut sums = Metric::ALL.iter().map(|_| Some(0_u64)).collect::<Vec<_>>();
            for _ in 0..self.samples_per_slot {
                let sample = sampler.sample(arm, &self.variant)?;
                self.record_changes(arm, &sample);
                for (sum, metric) in sums.iter_mut().zip(Metric::ALL) {
                    *sum = sum.zip(sample.value(*metric)).map(|(sum, value)| sum + value);
                }
            }
            for (metric, sum) in Metric::ALL.iter().zip(sums) {
                let is_judged = self.figures.iter().any(|figure| figure.metric == *metric);
                match metric {
                    Metric::Wall => facts.wall_ns.push(sum.unwrap_or_default()),
                    Metric::Cpu => facts.cpu_ns.push(sum),
                    _ if !is_judged => {}
                    Metric::Blocks => facts.blocks.push(sum),
                    Metric::Bytes => facts.bytes.push(sum),
                    Metric::Requests => facts.requests.push(sum),
                    Metric::Allocations => facts.allocations.push(sum),
                    Metric::Instructions => facts.instructions.push(sum),
                }
            }
        }
        Ok(facts)
    }

    /// Returns the number of judged figures: one for each metric that the samples report.
    pub const fn figure_count(&self) -> usize {
        self.figures.len()
    }

    /// Returns the number of counted samples in an octet.
    pub const fn octet_sample_count(&self) -> u64 {
        self.passes_per_octet * self.samples_per_slot * octet::SLOT_COUNT as u64
    }

    /// Estimates the time of an octet. `slot_ns`: requested wall time of a slot. `start`: time to
    /// start the processes. `sample`: mean time of a sample, including the time outside its clock.
    pub fn octet_work(&self, slot_ns: u64, start: Option<Duration>, sample: Duration) -> OctetWork {
        let sample_count = self.octet_sample_count();
        let per_slot = shorter_slot_ns(slot_ns).div_ceil(self.sample_ns.max(1)).max(1);
        let shorter_count = sample_count.min(per_slot.saturating_mul(octet::SLOT_COUNT as u64));
        let time = Duration::from_nanos(self.sample_ns.saturating_mul(self.samples_per_slot));
        OctetWork {
            start,
            requested: self.sample_time(sample_count, sample),
            shorter: self.sample_time(shorter_count, sample),
            passes: Passes { count: self.passes_per_octet, time },
        }
    }

    /// Returns the time of `counted_count` samples of an octet, and of the uncounted samples that
    /// warm three new processes.
    fn sample_time(&self, counted_count: u64, sample: Duration) -> SampleTime {
        let arm_count = Arm::ALL.len() as u64;
        let warm_up_count = self.warm_again_count.min(counted_count / arm_count) * arm_count;
        SampleTime {
            warm_up: multiplied(sample, warm_up_count),
            counted: multiplied(sample, counted_count),
        }
    }

    /// Tests whether the octets so far decide, if their number is one of the looks.
    pub fn look(&mut self, split: Split) {
        if !LOOKS.contains(&self.octets.len()) {
            return;
        }
        self.figures.iter_mut().for_each(|figure| figure.look(split));
    }

    /// Whether more octets may decide a figure.
    pub fn is_open(&self) -> bool {
        self.figures.iter().any(Figure::is_open)
    }

    /// Returns the variant's verdict, and whether all figures or the counts alone gave it.
    pub fn verdict(&self) -> (Verdict, DecidedBy) {
        let all = Verdict::worst(self.figures.iter().map(Figure::verdict));
        if !self.changes.is_empty() {
            return (Verdict::worst([all, Verdict::WorkChanged]), DecidedBy::All);
        }
        let (counts, times): (Vec<_>, Vec<_>) =
            self.figures.iter().partition(|figure| figure.metric.is_count());
        let [counts, times] =
            [counts, times].map(|figures| Verdict::worst(figures.into_iter().map(Figure::verdict)));
        match (self.rule, times, counts) {
            (Rule::Counts, Verdict::Inconclusive, Verdict::Pass) => {
                (Verdict::Pass, DecidedBy::Counters)
            }
            _ => (all, DecidedBy::All),
        }
    }

    /// Returns the most telling figure with this verdict, and its text. If the counts alone gave
    /// the verdict, the text also names the open figures.
    pub fn reason(&self, verdict: Verdict, plan: &Plan) -> Option<(Headline, String)> {
        let (headline, text) = most_telling(self.figure_verdicts(verdict, plan).map(|figure| {
            (Headline { metric: figure.metric, change: figure.look.estimate }, figure.sentence())
        }))?;
        if self.verdict() != (verdict, DecidedBy::Counters) {
            return Some((headline, text));
        }
        let open: Vec<_> =
            self.figure_verdicts(Verdict::Inconclusive, plan).map(|figure| figure.open()).collect();
        let open = open.join("; ");
        Some((headline, format!("by its counters: {text}. Not decided: {open}")))
    }

    /// Returns the figures with this verdict, with the facts for a sentence about each.
    fn figure_verdicts(
        &self,
        verdict: Verdict,
        plan: &Plan,
    ) -> impl Iterator<Item = FigureVerdict<'_>> {
        let of_verdict = self.figures.iter().filter(move |figure| figure.verdict() == verdict);
        of_verdict.filter_map(move |figure| {
            Some(FigureVerdict {
                variant: &self.variant,
                metric: figure.metric,
                verdict,
                look: *figure.looks.last()?,
                limits: figure.limits,
                delta: plan.delta,
                remedy: match verdict {
                    Verdict::Inconclusive => self.remedy(figure, plan),
                    _ => String::new(),
                },
            })
        })
    }

    /// States how many samples would decide, and the option that takes them.
    fn remedy(&self, figure: &Figure, plan: &Plan) -> String {
        let Some((count, factor)) = self.samples_to_decide(figure) else {
            return ": no number of samples would tell it from the limit".to_owned();
        };
        let taken_ns = mean_slot_ns(&self.octets);
        let slot = Duration::from_nanos((taken_ns.max(plan.slot_ns) as f64 * factor) as u64);
        format!(
            ": about {count} samples of each build would decide, and it had {} (--slot-time {}ms)",
            self.samples_of_each(),
            slot.as_millis().max(1)
        )
    }

    /// Returns the number of counted samples of an arm in all octets.
    fn samples_of_each(&self) -> u64 {
        self.octets.len() as u64 * self.octet_sample_count() / Arm::ALL.len() as u64
    }

    /// Returns the number of samples of each build that would decide an open figure, and its ratio
    /// to the present number. `None` if the figure is decided, or if no number would decide it.
    fn samples_to_decide(&self, figure: &Figure) -> Option<(u64, f64)> {
        if figure.verdict() != Verdict::Inconclusive {
            return None;
        }
        let factor = decide::octet_factor(figure.looks.last()?, figure.limits)?;
        Some(((self.samples_of_each() as f64 * factor).ceil() as u64, factor))
    }

    /// Returns, for each figure that noise leaves open, the smallest δ that could be decided.
    pub fn deltas_to_decide(&self) -> impl Iterator<Item = f64> {
        self.figures.iter().filter_map(|figure| figure.delta_to_decide)
    }

    /// Returns the variant's part of the result.
    pub fn facts(self) -> GateCell {
        let (verdict, decided_by) = self.verdict();
        let figures = self.figures.iter().map(|figure| Judged {
            metric: figure.metric,
            verdict: figure.verdict(),
            delta: figure.limits.delta,
            base: figure.base,
            samples_to_decide: self.samples_to_decide(figure).map(|(count, _)| count),
            delta_to_decide: figure.delta_to_decide.filter(|delta| *delta <= DELTA_MAX),
            looks: figure.looks.iter().copied().map(LookFacts::from).collect(),
        });
        GateCell {
            figures: figures.collect(),
            variant: self.variant,
            counters: self.counters,
            counter_changes: self.changes,
            warm_up_sample_counts: self.warm_up_counts,
            passes_per_octet: self.passes_per_octet,
            samples_per_slot: self.samples_per_slot,
            verdict,
            decided_by,
            octets: self.octets,
        }
    }
}

/// Makes the judged figures of a variant from the samples of its warm-up, by arm. A metric that a
/// sample does not report is an error, or is left out under [`Rule::Counts`].
fn figures(
    plan: &Plan,
    subject: &Subject,
    samples: &[Vec<Sample>; 3],
) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::with_capacity(subject.metrics.len());
    for metric in subject.metrics.iter().copied() {
        let mut all = samples.iter().flatten();
        if all.any(|sample| sample.value(metric).is_none()) {
            if subject.rule == Rule::Counts {
                continue;
            }
            fail!(
                Code::Usage,
                "--metric {metric}: neither this machine nor the build reports it for {}: leave it out",
                subject.variant
            );
        }
        let values = samples[0].iter().filter_map(|sample| sample.value(metric));
        let values: Vec<_> = values.map(|value| value as f64).collect();
        let base = stats::median(&values).unwrap_or(0.0);
        let min_change = floor(metric) as f64;
        let floor_share = match (metric.is_count(), base > 0.0) {
            // A count below the floor is compared as if it were equal to the floor.
            (true, _) => min_change / base.max(min_change),
            (false, true) => min_change / base,
            (false, false) => 0.0,
        };
        let limits = Limits { delta: plan.delta.max(floor_share), floor: floor_share };
        figures.push(Figure::new(metric, base as u64, limits));
    }
    Ok(figures)
}

/// Returns the mean wall time of a slot in an octet. A slot's time is the sum over all passes.
fn mean_slot_ns(octets: &[OctetFacts]) -> u64 {
    let slots = octets.iter().flat_map(|octet| &octet.passes).flat_map(|pass| &pass.wall_ns);
    let slot_count = (octets.len() * octet::SLOT_COUNT) as u64;
    slots.sum::<u64>().checked_div(slot_count).unwrap_or(0)
}

/// Whether the warm-up of an arm has ended: times are steady, or its maximal time or number of
/// samples is reached.
fn is_warm(samples: &[Sample]) -> bool {
    let spent_ns: u64 = samples.iter().map(|sample| sample.wall_ns).sum();
    let is_long = spent_ns >= WARM_UP_NS_MAX && samples.len() >= WARM_UP_COUNT_MIN;
    let is_steady = matches!(warm_up(samples), WarmUpEnd::Found(_));
    is_steady || is_long || samples.len() >= WARM_UP_COUNT_MAX
}

/// Returns the number of samples before the times were steady; all samples if the times never were.
fn unsteady_count(samples: &[Sample]) -> u64 {
    match warm_up(samples) {
        WarmUpEnd::Found(count) => count.max(WARM_UP_COUNT_MIN) as u64,
        WarmUpEnd::Unknown | WarmUpEnd::NoEnd => samples.len() as u64,
    }
}

fn warm_up(samples: &[Sample]) -> WarmUpEnd {
    stats::warm_up(&samples.iter().map(|sample| sample.wall_ns as f64).collect::<Vec<_>>())
}
