//! Takes the samples of a run on one open database: rounds over the cells until the budget is spent
//! or all requested samples are taken. Makes the cells of the result.

mod estimate;
mod live;
mod requested;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use executor::{sample::SampleRecords, trace::Trace};
use report::units;
use spec::RunSpec;
use variant::StoreKind;
use workload::Workload;

use result::{Cell, HistogramLog, LogKind, ProfileFacts, stats::WarmUpEnd};

use crate::{
    figures::{
        cells::{self, CellInput, CellSamples},
        facts::AskedKeys,
    },
    run::{
        measure::{KnownCosts, Measuring, Unmeasured},
        plan::{self, CellProgress, Machine, PlannedCell, Rounds},
        prepare::{FreshWork, FreshWorks, Prepared},
    },
    terminal::{Code, Failure, Progress, interrupt},
};

use live::LiveStatus;
use requested::RequestedKeys;

/// Minimal number of samples of a cell to distinguish a trend from chance.
const UNSTEADY_COUNT_MIN: usize = 20;

/// All measurements on a database so far.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Samples of each cell, in the order of the plan.
    by_cell: Vec<CellSamples>,
    /// Step times of each cell, once they are measured, for a schedule by known costs.
    known_costs: Vec<KnownCosts>,
    /// Number and times of each cell's samples.
    taken: Vec<CellProgress>,
    /// Keys that samples on each store have asked for.
    requested_keys: BTreeMap<StoreKind, RequestedKeys>,
    /// Differences from the reference, and rejections of the work.
    pub disagreements: Vec<String>,
    /// Cause of an early end of the run.
    pub failure: Option<Failure>,
    /// The profile of a variant, if the user asks for one.
    pub profile: Option<ProfileFacts>,
    /// Time that the rounds took: the used part of the budget.
    pub spent: Duration,
}

impl Sampled {
    /// Records that a sample of the cell at `index` took `time`.
    fn note_sample(&mut self, index: usize, time: Duration) {
        let taken = &mut self.taken[index];
        taken.sample_count = self.by_cell[index].count();
        taken.fastest = if taken.last.is_zero() { time } else { time.min(taken.fastest) };
        taken.last = time;
    }

    /// Whether all samples equal the reference; `None` before the first sample.
    pub fn agree(&self) -> Option<bool> {
        let has_samples = self.by_cell.iter().any(|samples| !samples.is_empty());
        let differs = !self.disagreements.is_empty();
        (has_samples || differs).then_some(!differs)
    }
}

/// The cells of a run and their settings, ready for samples.
#[derive(Debug)]
pub struct Sampling<'a> {
    prepared: &'a Prepared,
    run: &'a RunSpec,
    machine: Machine,
    progress: &'a Progress,
    planned: &'a [PlannedCell],
    keys: AskedKeys,
    /// The user's command before each sample.
    prepare: Option<&'a str>,
}

impl<'a> Sampling<'a> {
    /// Prepares samples of the cells in `planned`.
    pub fn new(
        prepared: &'a Prepared,
        run: &'a RunSpec,
        planned: &'a [PlannedCell],
        machine: Machine,
        progress: &'a Progress,
    ) -> Self {
        Self {
            prepared,
            run,
            machine,
            progress,
            planned,
            keys: AskedKeys::of(prepared.session.workload()),
            prepare: None,
        }
    }

    /// Adds a command of the user before each sample.
    #[must_use]
    pub fn with_prepare(self, prepare: Option<&'a str>) -> Self {
        Self { prepare, ..self }
    }

    /// Takes samples until the budget is spent or the requested number is taken, a result is wrong,
    /// or the user interrupts. `after_sample` is called after each sample with all samples so far.
    /// Its time does not count for the budget.
    ///
    /// A failure of a store or of `after_sample` also ends the sampling, and is returned beside the
    /// earlier samples.
    pub fn run(&self, mut after_sample: impl FnMut(&Sampled) -> anyhow::Result<()>) -> Sampled {
        let rounds = self.rounds();
        let by_cell = vec![CellSamples::default(); self.planned.len()];
        let known_costs = vec![Vec::new(); self.planned.len()];
        let cells = self.planned.iter();
        let taken = cells.map(|cell| CellProgress::alike(*cell, 0, Duration::ZERO)).collect();
        let mut sampled = Sampled { by_cell, known_costs, taken, ..Sampled::default() };
        let mut round = 0;
        if let Some(note) =
            self.slow_device().or_else(|| estimate::before(rounds, self.planned.len()))
        {
            self.progress.note(&note);
        }
        loop {
            let cells = rounds.next(round, sampled.spent, &sampled.taken);
            if cells.is_empty() {
                break;
            }
            let begun = Instant::now();
            let mut after_samples = Duration::ZERO;
            self.round(round, &cells, &mut sampled, |sampled| {
                let begun = Instant::now();
                let done = after_sample(sampled);
                after_samples += begun.elapsed();
                done
            });
            sampled.spent += begun.elapsed().saturating_sub(after_samples);
            let is_over = sampled.failure.is_some() || !sampled.disagreements.is_empty();
            if interrupt::happened() || is_over {
                break;
            }
            if round == 0
                && let Some(note) = estimate::after_first(rounds, sampled.spent, &sampled.taken)
            {
                self.progress.note(&note);
            }
            round += 1;
        }
        sampled
    }

    /// Takes one sample of each cell at the indices `cells`, in the order of the round.
    fn round(
        &self,
        round: u32,
        cells: &[usize],
        sampled: &mut Sampled,
        mut after_sample: impl FnMut(&Sampled) -> anyhow::Result<()>,
    ) {
        // Fresh keys are drawn by the number of the sample in the run.
        let first_number = u64::from(round) * self.planned.len() as u64;
        let order = plan::order(cells.len(), round, self.workload().seed);
        let indices: Vec<usize> = order.into_iter().map(|place| cells[place]).collect();
        for (position, index) in indices.iter().copied().enumerate() {
            let begun = Instant::now();
            let cell = &self.planned[index];
            let name = cell.name();
            let fresh = match self.fresh_work(cell, first_number + position as u64) {
                Ok(fresh) => fresh,
                Err(Failure { code: Code::Interrupted, .. }) => return,
                Err(failure) => {
                    sampled.failure = Some(failure.context(name));
                    return;
                }
            };
            self.begin(round, &indices, position, sampled);
            let (work, signatures) = match &fresh {
                Some(fresh) => (&fresh.work, &fresh.signatures),
                None => (self.prepared.session.work(), &self.prepared.signatures),
            };
            let requested_keys = sampled.requested_keys.entry(cell.store).or_default();
            let measuring = Measuring {
                work,
                signatures: signatures.as_deref(),
                records: match self.prepared.device {
                    Some(_) => SampleRecords::Requests,
                    None => SampleRecords::None,
                },
                asked_before_share: requested_keys.add_plan(work.workload()),
                ..self.measuring(cell)
            };
            let measured = match measuring.measure(&mut sampled.known_costs[index]) {
                Ok(measured) => measured,
                Err(Unmeasured::Cancelled) => return,
                Err(Unmeasured::Failed(error)) => {
                    sampled.failure = Some(Failure { code: Code::Io, error }.context(name));
                    return;
                }
            };
            let differences = measured.differences.iter().map(|difference| difference.line(&name));
            sampled.disagreements.extend(differences);
            let samples = &mut sampled.by_cell[index];
            if let Some(measurement) = &measured.measurement {
                let keys = fresh.as_ref().map_or(self.keys, |_| AskedKeys::of(work.workload()));
                let ceiling = measured.trace_ceiling.clone();
                samples.add(&measuring.input(keys, self.prepared.device.as_ref()), measurement);
                ceiling.into_iter().for_each(|ceiling| samples.add_trace_ceiling(ceiling));
                measured.recovered.iter().for_each(|recovered| samples.add_recovery(recovered));
                if let Some(first) = samples.last().filter(|_| round == 0) {
                    let time = units::time_ns(first.wall_ns as f64);
                    self.progress.log(&format!("{name}: {time} in its first sample"));
                }
            }
            sampled.note_sample(index, begun.elapsed());
            if let Err(error) = after_sample(sampled) {
                sampled.failure.get_or_insert(Failure { code: Code::Io, error });
                return;
            }
        }
    }

    /// Shows that the sample of the cell at `indices[position]` begins. `indices` are the cells of
    /// the round.
    fn begin(&self, round: u32, indices: &[usize], position: usize, sampled: &Sampled) {
        let index = indices[position];
        let live = self.progress.wants_live(sampled.taken[index].last).then(|| {
            let medians: Vec<_> = sampled.by_cell.iter().map(CellSamples::mgas_per_s).collect();
            let status = LiveStatus {
                rounds: self.rounds(),
                round,
                done: &indices[..position],
                pending: &indices[position..],
                spent: sampled.spent,
                taken: &sampled.taken,
                medians: &medians,
                database_count: self.run.database_count,
            };
            status.live()
        });
        let name = format!("round {}, {}", round + 1, self.name(index));
        self.progress.sample(&name, live).set(position as u64, indices.len() as u64);
    }

    /// Returns an estimate of the first round, if the device makes it long.
    fn slow_device(&self) -> Option<String> {
        let device = self.prepared.device.as_ref()?;
        let inputs = self.planned.iter().map(|cell| self.input(cell));
        let times: Vec<_> = inputs.map(|input| cells::time_by_device(&input)).collect();
        estimate::on_slow_device(self.rounds(), device, &times)
    }

    const fn rounds(&self) -> Rounds {
        Rounds { sample_count: self.run.sample_count, budget: self.run.budget }
    }

    /// Makes a fresh work for sample `number` of `cell`, if the cell has fresh works.
    fn fresh_work(&self, cell: &PlannedCell, number: u64) -> Result<Option<FreshWork>, Failure> {
        let works = self.prepared.fresh.as_ref();
        let works = works.filter(|_| FreshWorks::are_for(cell, self.run));
        let silent = self.progress.silent_between_samples();
        let progress = silent.as_ref().unwrap_or(self.progress);
        works.map(|works| works.make(number, cell, self.run, progress)).transpose()
    }

    /// Returns the settings of a sample of `cell`, without a trace and without recovery of senders.
    fn measuring(&self, cell: &PlannedCell) -> Measuring<'_> {
        Measuring {
            session: &self.prepared.session,
            work: self.prepared.session.work(),
            asked_before_share: None,
            store_index: self.store_index(cell),
            variant: cell.variant,
            cache: self.run.cache,
            signatures: None,
            trace: None,
            records: SampleRecords::None,
            prepare: self.prepare,
            core_count: self.machine.core_count,
            progress: self.progress,
        }
    }

    fn workload(&self) -> &Workload {
        self.prepared.session.workload()
    }

    /// Returns the name of the cell at `index`.
    pub fn name(&self, index: usize) -> String {
        self.planned[index].name()
    }

    /// Returns the indices of all cells.
    pub fn indices(&self) -> Vec<usize> {
        (0..self.planned.len()).collect()
    }

    /// Returns the cell at `indices` with the shortest median time; `None` before the first sample.
    pub fn fastest(&self, sampled: &Sampled, indices: &[usize]) -> Option<usize> {
        let times =
            indices.iter().filter_map(|index| Some((sampled.by_cell[*index].wall_ns()?, *index)));
        times.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
    }

    /// Takes one more sample of the cell at `index`, which counts for no figure: for `trace`, or
    /// else for a profile. Returns whether the sample is right. A cancelled sample is not right,
    /// and a wrong result is added to the run's disagreements.
    ///
    /// # Errors
    /// The store failed.
    pub fn extra(
        &self,
        index: usize,
        trace: Option<&Trace>,
        sampled: &mut Sampled,
    ) -> anyhow::Result<bool> {
        let name = self.name(index);
        let label = if trace.is_some() { "tracing" } else { "profiling" };
        let stage = self.progress.stage(&format!("{label} {name}"), 0);
        let measuring = Measuring { trace, ..self.measuring(&self.planned[index]) };
        let measured = measuring.measure(&mut sampled.known_costs[index]);
        stage.finish();
        match measured {
            Ok(measured) => {
                let name = format!("{name}, {label}");
                let differences =
                    measured.differences.iter().map(|difference| difference.line(&name));
                sampled.disagreements.extend(differences);
                Ok(measured.differences.is_empty())
            }
            Err(Unmeasured::Cancelled) => Ok(false),
            Err(Unmeasured::Failed(error)) => Err(error.context(name)),
        }
    }

    /// Returns the index of the cell's store: stores are open in the order of the run's list.
    fn store_index(&self, cell: &PlannedCell) -> usize {
        self.run.stores.iter().position(|store| *store == cell.store).unwrap_or_default()
    }

    fn input(&self, cell: &PlannedCell) -> CellInput<'_> {
        self.measuring(cell).input(self.keys, self.prepared.device.as_ref())
    }

    fn with_samples<'s>(
        &'s self,
        sampled: &'s Sampled,
    ) -> impl Iterator<Item = (&'s PlannedCell, &'s CellSamples)> {
        self.planned.iter().zip(&sampled.by_cell).filter(|(_, samples)| !samples.is_empty())
    }

    /// Returns the samples of each cell that has samples.
    fn samples_of_cells<'s>(
        &'s self,
        sampled: &'s Sampled,
    ) -> impl Iterator<Item = &'s CellSamples> {
        self.with_samples(sampled).map(|(_, samples)| samples)
    }

    fn warm_up_count(&self, sampled: &Sampled) -> Option<usize> {
        cells::left_out_count(self.samples_of_cells(sampled))
    }

    /// Whether times still rose or fell at the end of the run, with enough samples to exclude
    /// chance.
    pub fn is_unsteady(&self, sampled: &Sampled) -> bool {
        let least_count = sampled.by_cell.iter().map(CellSamples::count).min().unwrap_or(0);
        least_count >= UNSTEADY_COUNT_MIN
            && cells::warm_up(self.samples_of_cells(sampled)) == WarmUpEnd::NoEnd
    }

    /// Returns the cells of the result: those that have samples.
    pub fn cells(&self, sampled: &Sampled) -> Vec<Cell> {
        let warm_up_count = self.warm_up_count(sampled);
        let cells = self.with_samples(sampled);
        cells.map(|(cell, samples)| samples.cell(&self.input(cell), warm_up_count)).collect()
    }

    /// Returns the histograms of each cell that has samples, for the logs.
    pub fn logs(&self, sampled: &Sampled) -> Vec<HistogramLog> {
        let warm_up_count = self.warm_up_count(sampled);
        let mut logs = Vec::new();
        for (cell, samples) in self.with_samples(sampled) {
            let kinds = [LogKind::Transactions, LogKind::Reads];
            let histograms = kinds.into_iter().zip(samples.latencies(warm_up_count));
            logs.extend(histograms.map(|(kind, histogram)| HistogramLog {
                variant: cell.name(),
                kind,
                histogram,
            }));
        }
        logs
    }
}
