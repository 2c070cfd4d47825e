//! Taking samples: whole rounds over all cells until the budget is spent, and what the result
//! says of the cells.

use std::time::{Duration, Instant};

use executor::{
    engine::EngineError,
    recover::{self, RecoverError, Recovered, TxSignatures},
    sample::Measurement,
    trace::Trace,
};
use spec::RunSpec;
use variant::{CacheMode, Schedule, Variant};

use result::{Cell, Device, HistogramLog, LogKind, ProfileFacts, stats::Warmup};

use crate::{
    cells::{self, CellInput, CellSamples},
    facts::{self, DeclaredKeys},
    interrupt,
    plan::{self, Machine, PlannedCell, Rounds},
    progress::Progress,
    session::{How, Session},
};

/// Samples of a cell from which on a series that does not settle is told from chance.
const UNSTEADY_COUNT_MIN: usize = 20;

/// All measurements so far.
#[derive(Debug, Default)]
pub struct Sampled {
    /// By cell, in the order of the plan.
    by_cell: Vec<CellSamples>,
    /// By cell: times of steps for a schedule that goes by them, once they are measured.
    known_costs: Vec<Vec<Vec<Duration>>>,
    /// Where a result is not the reference's, or a list was rejected.
    pub disagreements: Vec<String>,
    /// What ended the run before its time.
    pub failure: Option<anyhow::Error>,
    /// Where the CPU's time of a variant goes, where that was asked for.
    pub profile: Option<ProfileFacts>,
    /// Time that the rounds took: what of the budget is used.
    pub spent: Duration,
}

impl Sampled {
    /// Whether all samples equal the reference; `None` before the first.
    pub fn agree(&self) -> Option<bool> {
        let has_samples = self.by_cell.iter().any(|samples| !samples.is_empty());
        let differs = !self.disagreements.is_empty();
        (has_samples || differs).then_some(!differs)
    }
}

/// The cells of a run, ready to be sampled.
#[derive(Debug)]
pub struct Sampling<'a> {
    session: &'a Session,
    run: &'a RunSpec,
    device: Option<&'a Device>,
    machine: Machine,
    planned: Vec<PlannedCell>,
    declared: DeclaredKeys,
    present_share: f64,
    /// Of all transactions, where senders are to be recovered.
    signatures: Option<Vec<TxSignatures>>,
}

impl<'a> Sampling<'a> {
    /// The cells of `run` over the stores of `session`, which are open in the run's order.
    pub fn new(
        session: &'a Session,
        run: &'a RunSpec,
        device: Option<&'a Device>,
        machine: Machine,
    ) -> Self {
        Self {
            session,
            run,
            device,
            machine,
            planned: plan::cells(run, &machine),
            declared: facts::declared_keys(session.workload()),
            present_share: facts::present_share(session.workload()),
            signatures: None,
        }
    }

    /// Recovers the senders from `signatures`, if there are any, before each sample.
    pub fn with_signatures(self, signatures: Option<Vec<TxSignatures>>) -> Self {
        Self { signatures, ..self }
    }

    /// Takes samples until the budget is spent, a result is wrong or the user interrupts.
    /// `after_round` is called with all that is there after each round; the time that it takes is
    /// not the budget's.
    ///
    /// A failure of a store or of `after_round` ends it too, and is in what is returned beside
    /// what was taken before it.
    pub fn run(
        &self,
        progress: &Progress,
        mut after_round: impl FnMut(&Sampled) -> anyhow::Result<()>,
    ) -> Sampled {
        let rounds = Rounds { sample_count: self.run.sample_count, budget: self.run.budget };
        let by_cell = vec![CellSamples::default(); self.planned.len()];
        let known_costs = vec![Vec::new(); self.planned.len()];
        let mut sampled = Sampled { by_cell, known_costs, ..Sampled::default() };
        let (mut round, mut last) = (0, Duration::ZERO);
        while rounds.go_on(round, sampled.spent, last) {
            let begun = Instant::now();
            self.round(round, progress, &mut sampled);
            last = begun.elapsed();
            sampled.spent += last;
            if let Err(error) = after_round(&sampled) {
                sampled.failure.get_or_insert(error);
            }
            let is_over = sampled.failure.is_some() || !sampled.disagreements.is_empty();
            if interrupt::happened() || is_over {
                break;
            }
            round += 1;
        }
        sampled
    }

    fn round(&self, round: u32, progress: &Progress, sampled: &mut Sampled) {
        let total = self.planned.len() as u64;
        for (done, place) in
            (0..).zip(plan::order(self.planned.len(), round, self.session.workload().seed))
        {
            let cell = &self.planned[place];
            let name = cell.name();
            let stage = progress.stage(&format!("round {}, {name}", round + 1), 0);
            stage.set(done, total);
            // Nothing is drawn while the clock runs.
            let paused = progress.pause();
            let recovered = match self.recover(cell) {
                Ok(recovered) => recovered,
                Err(RecoverError::Cancelled) => return,
                Err(error) => {
                    sampled.failure = Some(anyhow::Error::new(error).context(name));
                    return;
                }
            };
            let taken = self.take(place, None, sampled);
            drop(paused);
            match taken {
                Ok(measurement) => {
                    let difference = measurement.disagreement.as_ref();
                    sampled.disagreements.extend(difference.map(|d| format!("{name}: {d}")));
                    sampled.by_cell[place].add(&self.input(cell), &measurement);
                    if let Some(recovered) = recovered {
                        sampled.by_cell[place].add_recovery(&recovered);
                    }
                }
                Err(EngineError::Cancelled) => return,
                Err(error @ (EngineError::List { .. } | EngineError::Step { .. })) => {
                    sampled.disagreements.push(format!("{name}: {error}"));
                }
                Err(error @ EngineError::Store(_)) => {
                    sampled.failure = Some(anyhow::Error::new(error).context(name));
                    return;
                }
            }
        }
    }

    /// Recovers the senders, on as many threads as `cell` executes with.
    fn recover(&self, cell: &PlannedCell) -> Result<Option<Recovered>, RecoverError> {
        let Some(signatures) = &self.signatures else { return Ok(None) };
        let (workload, threads) = (self.session.workload(), cell.variant.thread_count);
        recover::recover(workload, signatures, threads, interrupt::flag()).map(Some)
    }

    /// Takes a sample of the cell at `place`. What its schedule must know is measured before, by
    /// a sample in block order that is not counted.
    fn take(
        &self,
        place: usize,
        trace: Option<&Trace>,
        sampled: &mut Sampled,
    ) -> Result<Measurement, EngineError> {
        let cell = &self.planned[place];
        let take = |how: How<'_>| {
            self.session.take(self.store(cell), how, cache_mode(self.run), interrupt::flag())
        };
        if cell.variant.schedule == Schedule::KnownCost && sampled.known_costs[place].is_empty() {
            let variant = Variant { schedule: Schedule::BlockOrder, ..cell.variant };
            let first = take(How { variant, known_costs: &[], trace: None })?;
            let difference = first.disagreement;
            let difference = difference.map(|d| format!("{}, in block order: {d}", cell.name()));
            sampled.disagreements.extend(difference);
            sampled.known_costs[place] = first.executed.step_times;
        }
        take(How { variant: cell.variant, known_costs: &sampled.known_costs[place], trace })
    }

    /// Name of the cell at `place`.
    pub fn name(&self, place: usize) -> String {
        self.planned[place].name()
    }

    /// Places of all cells.
    pub fn places(&self) -> Vec<usize> {
        (0..self.planned.len()).collect()
    }

    /// The one of the cells at `places` that has the shortest median time; `None` before the first
    /// sample.
    pub fn fastest(&self, sampled: &Sampled, places: &[usize]) -> Option<usize> {
        let time = |place: &usize| Some((sampled.by_cell[*place].wall_ns()?, *place));
        let times = places.iter().filter_map(time);
        times.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, place)| place)
    }

    /// Takes one more sample of the cell at `place`, which counts for no figure, and traces it
    /// where `trace` is given. Whether it is right: not where it was cancelled, or where its
    /// result is wrong; then that is a disagreement of the run. `doing` is what progress says.
    ///
    /// # Errors
    /// The store failed.
    pub fn extra(
        &self,
        place: usize,
        doing: &str,
        trace: Option<&Trace>,
        sampled: &mut Sampled,
        progress: &Progress,
    ) -> anyhow::Result<bool> {
        let name = self.planned[place].name();
        let stage = progress.stage(&format!("{doing} {name}"), 0);
        let paused = progress.pause();
        let taken = self.take(place, trace, sampled);
        drop(paused);
        stage.finish();
        let difference = match taken {
            Ok(measurement) => measurement.disagreement.map(|d| d.to_string()),
            Err(EngineError::Cancelled) => return Ok(false),
            Err(error @ (EngineError::List { .. } | EngineError::Step { .. })) => {
                Some(error.to_string())
            }
            Err(error @ EngineError::Store(_)) => {
                return Err(anyhow::Error::new(error).context(name));
            }
        };
        let is_right = difference.is_none();
        sampled.disagreements.extend(difference.map(|d| format!("{name}, {doing}: {d}")));
        Ok(is_right)
    }

    /// Stores are opened in the order of the run's list.
    fn store(&self, cell: &PlannedCell) -> usize {
        self.run.stores.iter().position(|store| *store == cell.store).unwrap_or_default()
    }

    fn input(&self, cell: &PlannedCell) -> CellInput<'_> {
        let store = &self.session.stores()[self.store(cell)];
        CellInput {
            store: store.name(),
            never_cold: store.never_cold(),
            slots_per_block: store.slots_per_block(),
            variant: cell.variant,
            cache: cache_mode(self.run),
            workload: self.session.workload(),
            declared: self.declared,
            present_share: self.present_share,
            device: self.device,
            core_count: self.machine.core_count.get(),
        }
    }

    fn with_samples<'s>(
        &'s self,
        sampled: &'s Sampled,
    ) -> impl Iterator<Item = (&'s PlannedCell, &'s CellSamples)> {
        self.planned.iter().zip(&sampled.by_cell).filter(|(_, samples)| !samples.is_empty())
    }

    /// Samples of each cell that has any.
    fn of_cells<'s>(&'s self, sampled: &'s Sampled) -> impl Iterator<Item = &'s CellSamples> {
        self.with_samples(sampled).map(|(_, samples)| samples)
    }

    fn left_out(&self, sampled: &Sampled) -> Option<usize> {
        cells::left_out(self.of_cells(sampled))
    }

    /// Whether times still rose or fell at the end, of so many samples that it is no chance.
    pub fn is_unsteady(&self, sampled: &Sampled) -> bool {
        let least = sampled.by_cell.iter().map(CellSamples::count).min().unwrap_or(0);
        least >= UNSTEADY_COUNT_MIN && cells::warm_up(self.of_cells(sampled)) == Warmup::NoEnd
    }

    /// What the result says of each cell that has a sample.
    pub fn cells(&self, sampled: &Sampled) -> Vec<Cell> {
        let warm_up = self.left_out(sampled);
        let cells = self.with_samples(sampled);
        cells.map(|(cell, samples)| samples.cell(&self.input(cell), warm_up)).collect()
    }

    /// The histograms of each cell that has a sample, to be written as logs.
    pub fn logs(&self, sampled: &Sampled) -> Vec<HistogramLog> {
        let warm_up = self.left_out(sampled);
        let mut logs = Vec::new();
        for (cell, samples) in self.with_samples(sampled) {
            let kinds = [LogKind::Transactions, LogKind::Reads];
            let histograms = kinds.into_iter().zip(samples.latencies(warm_up));
            logs.extend(histograms.map(|(what, histogram)| HistogramLog {
                variant: cell.name(),
                what,
                histogram,
            }));
        }
        logs
    }
}

const fn cache_mode(run: &RunSpec) -> CacheMode {
    match run.cache {
        CacheMode::Cold => CacheMode::Cold,
        CacheMode::Warm => CacheMode::Warm,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    #[test]
    fn nothing_agrees_before_the_first_sample() {
        let mut sampled =
            Sampled { by_cell: vec![CellSamples::default(); 3], ..Sampled::default() };
        assert_eq!(sampled.agree(), None);
        sampled.failure = Some(anyhow::anyhow!("the disk is gone"));
        assert_eq!(sampled.agree(), None);
        // A list that is rejected gives no sample, and is wrong all the same.
        sampled.disagreements.push("list rejected".to_owned());
        assert_eq!(sampled.agree(), Some(false));
    }

    /// Calls `test` with a run of five rounds of milliseconds.
    fn with_sampling(test: impl FnOnce(&Sampling<'_>)) {
        let text = "schema = 1\nname = \"t\"\ndescription = \"\"\n[state]\naccounts = 10\n\
            slots = 1_000\n[block]\ngas = \"200k\"\n[[load]]\nkind = \"sload-storm\"\n\
            [run]\nstores = [\"memory\"]\nsamples = 5\nthreads = [2]\n";
        let scenario = spec::Scenario::parse("t.toml", text, &[]).unwrap();
        let workload = generator::generate(&scenario, |_| {}).unwrap();
        let store = executor::store::memory::MemoryStore::build(&workload.genesis, u64::MAX);
        let mut session = Session::new(workload).unwrap();
        session.add(crate::session::OpenStore::Memory(store.unwrap()));
        let machine = Machine { core_count: NonZeroUsize::MIN, ..Machine::this() };
        test(&Sampling::new(&session, &scenario.run, None, machine));
    }

    #[test]
    fn a_failure_in_a_late_round_ends_the_run_and_loses_no_sample() {
        with_sampling(|sampling| {
            let mut round = 0;
            let sampled = sampling.run(&Progress::new(crate::progress::Look::Lines), |_| {
                round += 1;
                if round == 3 { Err(anyhow::anyhow!("no space")) } else { Ok(()) }
            });
            assert_eq!((round, sampled.agree()), (3, Some(true)));
            assert_eq!(sampled.failure.as_ref().unwrap().to_string(), "no space");
            let cells = sampling.cells(&sampled);
            assert_eq!(cells.iter().map(|cell| cell.samples.len()).collect::<Vec<_>>(), [3, 3, 3]);
            let keys = cells.iter().map(|cell| cell.samples[0].unique_keys).collect::<Vec<_>>();
            assert!(keys[0] > 0 && keys.iter().all(|count| *count == keys[0]), "{keys:?}");
            // One of transactions and one of reads for each cell.
            assert_eq!(sampling.logs(&sampled).len(), 6);
        });
    }

    #[test]
    fn what_is_done_after_a_round_is_not_of_the_budget() {
        with_sampling(|sampling| {
            let (begun, pause) = (Instant::now(), Duration::from_millis(20));
            let mut paused = Duration::ZERO;
            let sampled = sampling.run(&Progress::new(crate::progress::Look::Lines), |_| {
                std::thread::sleep(pause);
                paused += pause;
                Ok(())
            });
            let all = begun.elapsed();
            assert!(paused == 5 * pause && !sampled.spent.is_zero());
            assert!(sampled.spent + paused <= all, "{:?} of {all:?}", sampled.spent);
        });
    }
}
