//! A run generates, builds, checks and samples its databases one after the other. Only one database
//! is open at a time. Every few seconds the run writes the result so far (`--out`). Runs, gates
//! with a baseline, comparisons with clients, and cells of a sweep call [`RunInput::run`].

pub mod effect;
pub mod extras;
mod files;
mod finished;
pub mod hooks;
pub mod measure;
pub mod minimal;
pub mod plan;
pub mod prepare;
pub mod profile;
mod same_work;
pub mod sampling;
pub mod session;
pub mod shards;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use spec::{Override, RunSpec, Scenario};
use variant::WholeRows;
use workload::Workload;

use report::RunDirectory;
use result::{
    Cell, Environment, Expects, HistogramLog, ProfileFacts, RunResult, SCHEMA, WorkloadFacts,
    databases::{self, DatabaseFacts, DatabaseRun},
};

use crate::{
    figures::{
        claims::{self, ClaimInputs},
        facts,
    },
    machine::{self, environment},
    terminal::{
        Code, Failure, Progress, ProgressForm, UndecidedCodes, WithExitCode, exit::fail, interrupt,
    },
};

use extras::{CheckedExtras, ExtraSamples};
use files::Files;
use hooks::{Cleanup, Hooks};
use plan::{Machine, PlannedCell};
use prepare::{
    Databases, DeviceFigures, FilledWork, InUse, Preparation, Prepared, Request, Source,
    require_one_database, require_same_keys,
};
use sampling::{Sampled, Sampling};

pub use finished::Finished;
pub use same_work::SameWork;

const UNSTEADY: &str = "not steady: times still rose or fell when the run ended; take more samples \
    (--samples, --budget), and look for other programs that run here";

/// The work and the settings of a run.
#[derive(Clone, Debug)]
pub struct RunInput {
    pub source: Source,
    /// Overrides of keys of the run.
    pub run_overrides: Vec<Override>,
    /// The command line, by which the result can be made again.
    pub command: Vec<String>,
    /// The work that the run must do; `None`: any work.
    pub same_work: Option<SameWork>,
    /// The directory of state databases, if the user names one.
    pub data_dir: Option<PathBuf>,
    pub in_use: InUse,
    /// Rows of whole blocks, if the scenario names none and has no claim on whole blocks.
    pub open_whole: WholeRows,
    /// Exit codes for claims that stay open.
    pub open: UndecidedCodes,
    pub device: DeviceFigures,
    pub out: Option<PathBuf>,
    pub progress_form: ProgressForm,
    pub extras: ExtraSamples,
    pub hooks: Hooks,
    /// Shows the finished samples, if the user interrupts and the run cannot stop in time.
    pub show_kept: fn(&RunResult),
}

impl RunInput {
    /// Runs the work on all databases.
    ///
    /// # Errors
    /// Nothing could be sampled, so there is no result.
    pub fn run(&self) -> Result<Finished, Failure> {
        let started_unix_s = machine::unix_s();
        let progress = Progress::new(self.progress_form);
        // Probed before the state is built, so that no warning is about the load of the build.
        let data_path = prepare::data_path(self.data_dir.as_deref());
        let environment = environment::probe(data_path.as_deref().unwrap_or(Path::new(".")));
        // A directory that cannot be written is an error before the work, not after it.
        let out = self.out.as_deref().map(RunDirectory::at).transpose()?;
        let Request { work, run, scenario } =
            Request::generate_or_read(&self.source, &self.run_overrides, &progress)?;
        if let Some(same_work) = &self.same_work {
            same_work.check(&work.workload)?;
        }
        // A claim on whole blocks needs a row of them.
        let open_whole = match &scenario {
            Some(scenario) if scenario.claims_whole_blocks() => WholeRows::One,
            _ => self.open_whole,
        };
        let (run, not_whole) = prepare::with_whole(run, open_whole, &work.workload);
        let machine = Machine::this();
        let cells = plan::cells(&run, &machine);
        let extras = CheckedExtras::new(&self.extras, self.out.as_deref(), &cells, started_unix_s)?;
        let progress = &progress;
        let draw_seed = draw_seed(&run);
        let active = ActiveRun {
            input: self,
            started_unix_s,
            draw_seed,
            environment,
            machine,
            run,
            cells,
            not_whole,
            scenario,
            progress,
        };
        active.run(work, extras, out)
    }
}

/// Runs a workload and returns its cells, without a result, for `stress describe --table`.
///
/// # Errors
/// A sample is wrong, or the run ended early.
pub fn measure(
    workload: Workload,
    run: &RunSpec,
    progress: &Progress,
) -> Result<Vec<Cell>, Failure> {
    require_one_database(run, "work that is measured in passing runs")?;
    require_same_keys(run, "samples taken in passing ask for the workload's keys")?;
    let machine = Machine::this();
    let databases = Databases { dir: None, in_use: InUse::Refuse };
    let preparation = Preparation {
        run,
        scenario: None,
        draw_seed: draw_seed(run),
        databases,
        device: &DeviceFigures::Measured,
        machine: &machine,
        progress,
    };
    let prepared = preparation.prepare(workload)?;
    let cells = plan::cells(run, &machine);
    let sampling = Sampling::new(&prepared, run, &cells, machine, progress);
    let sampled = sampling.run(|_| Ok(()));
    let cells = sampling.cells(&sampled);
    prepare::check_lists(&prepared.session, run, progress)?;
    if let Some(difference) = sampled.disagreements.first() {
        fail!(Code::Disagree, "{difference}");
    }
    match sampled.failure {
        Some(failure) => Err(failure),
        None => interrupt::check().map(|()| cells),
    }
}

/// A run under way: the facts that all its databases share.
struct ActiveRun<'a> {
    input: &'a RunInput,
    started_unix_s: u64,
    draw_seed: u64,
    environment: Environment,
    machine: Machine,
    run: RunSpec,
    cells: Vec<PlannedCell>,
    /// Reason for a run without whole rows, if it would have some by default.
    not_whole: Option<String>,
    scenario: Option<Scenario>,
    progress: &'a Progress,
}

/// The results of a run so far.
#[derive(Clone, Debug, Default)]
struct PartialResult {
    /// Results of each database.
    ran: Vec<DatabaseRun>,
    /// Latencies on all databases together.
    logs: Vec<HistogramLog>,
    agree: Option<bool>,
    disagreements: Vec<String>,
    is_unsteady: bool,
    /// Warnings that do not follow from a figure of the run.
    warnings: Vec<String>,
    profile: Option<ProfileFacts>,
    /// The used part of the budget.
    spent: Duration,
}

impl ActiveRun<'_> {
    /// Runs the work on all databases. `first` is the work of the first database.
    fn run(
        self,
        first: FilledWork,
        extras: CheckedExtras,
        out: Option<RunDirectory>,
    ) -> Result<Finished, Failure> {
        let count = self.run.database_count;
        let mut files = Files::new(out);
        let (mut first, mut extras) = (Some(first), Some(extras));
        let (mut partial, mut failure, mut cleanup) = (PartialResult::default(), None, None);
        for index in 0..count {
            let prepared = match self.open(index, first.take()) {
                Ok(prepared) => prepared,
                Err(error) if index == 0 => return Err(error),
                Err(error) => {
                    failure = self.record(error, index, &mut partial);
                    break;
                }
            };
            let budget = budget_share(self.run.budget, partial.spent, count - index);
            let run = RunSpec { budget, ..self.run.clone() };
            let extras = extras.take_if(|extras| index + 1 == count && !extras.is_empty());
            // Only after this point there are samples, after which the command must run.
            cleanup =
                cleanup.or_else(|| self.input.hooks.cleanup.as_deref().map(Cleanup::register));
            failure = self.sample(&prepared, &run, extras, &mut partial, &mut files);
            if failure.is_some() || partial.agree != Some(true) || interrupt::happened() {
                break;
            }
        }
        interrupt::hold_to_end();
        self.progress.clear();
        let cleaned = cleanup.map_or(Ok(()), Cleanup::run);
        partial.warnings.extend(cleaned.as_ref().err().map(|error| format!("{error:#}")));
        let mut result = self.result(&partial, failure.as_ref());
        // The file may lack the last rounds, an early end between two databases, and extra samples.
        if let Err(error) = files.write(&result, &partial.logs) {
            let failure = failure.get_or_insert(Failure { code: Code::Io, error });
            result = self.result(&partial, Some(&*failure));
        }
        // All samples are taken, so the run itself is complete. The program still fails.
        let failure = failure.or(cleaned.with_exit_code(Code::Io).err());
        Ok(Finished { result, failure, written: files.into_paths() })
    }

    /// Records a wrong list, or the failure to make a later database, so that earlier results are
    /// kept and shown. Returns the failure that the result itself does not report.
    fn record(&self, error: Failure, index: u32, partial: &mut PartialResult) -> Option<Failure> {
        match error.code {
            // The result says itself that it was interrupted.
            Code::Interrupted => None,
            Code::Disagree => {
                partial.agree = Some(false);
                partial.disagreements.push(format!("{}{error}", self.prefix(index)));
                None
            }
            _ => Some(error),
        }
    }

    /// Samples an open database, and adds its results to the earlier ones. The whole result is
    /// written every few seconds, so an early end of the run loses little.
    fn sample(
        &self,
        prepared: &Prepared,
        run: &RunSpec,
        extras: Option<CheckedExtras>,
        partial: &mut PartialResult,
        files: &mut Files,
    ) -> Option<Failure> {
        let sampling = Sampling::new(prepared, run, &self.cells, self.machine, self.progress)
            .with_prepare(self.input.hooks.prepare.as_deref());
        let open = OpenDatabase { active: self, before: partial.clone(), prepared, sampling };
        let mut sampled = open.sampling.run(|sampled| {
            let begun = Instant::now();
            if !files.keeps_now() && !files.is_due() {
                return Ok(());
            }
            let (result, logs) = open.unfinished(sampled);
            let written = if files.is_due() { files.write(&result, &logs) } else { Ok(()) };
            files.keep(begun, result, self.input.show_kept);
            written
        });
        // The result is written before the next long step: extra samples, the next database, or the
        // closing of stores.
        let is_last = open.before.ran.len() + 1 == self.run.database_count as usize;
        if extras.is_some() || !is_last || interrupt::happened() {
            let (result, logs) = open.unfinished(&sampled);
            if let Err(error) = files.write(&result, &logs) {
                sampled.failure.get_or_insert(Failure { code: Code::Io, error });
            }
            files.keep(Instant::now(), result, self.input.show_kept);
        }
        if let Some(extras) = extras {
            let work = self.facts(prepared).workload;
            files.add_extra(extras.take(&open.sampling, &mut sampled, &work));
        }
        *partial = open.total(&sampled);
        match sampled.failure {
            Some(failure) => Some(failure),
            None if interrupt::happened() => None,
            None => self.after_samples(prepared, partial),
        }
    }

    /// Measures the device's ceiling again, and checks the lists for engines that take no list.
    /// This comes after the samples, as the measurement reads blocks that samples may ask for.
    fn after_samples(&self, prepared: &Prepared, partial: &mut PartialResult) -> Option<Failure> {
        if let (Some(before), Some(disk), Some(ran)) =
            (&prepared.device, &prepared.disk, partial.ran.last_mut())
        {
            ran.facts.device = Some(prepare::measure_again(before, disk, self.progress));
        }
        if partial.agree == Some(false) {
            return None;
        }
        let checked = prepare::check_lists(&prepared.session, &self.run, self.progress);
        let index = u32::try_from(partial.ran.len().saturating_sub(1)).unwrap_or(u32::MAX);
        checked.err().and_then(|error| self.record(error, index, partial))
    }

    /// Generates the work of a database unless `work` has it, and builds and opens its stores.
    fn open(&self, index: u32, work: Option<FilledWork>) -> Result<Prepared, Failure> {
        let FilledWork { workload, fill } = match (work, &self.scenario) {
            (Some(work), _) => work,
            (None, Some(scenario)) => {
                FilledWork::generate(&scenario.for_database(index), self.progress)?
            }
            (None, None) => unreachable!("a workload file has one database: {index}"),
        };
        if self.run.database_count > 1 {
            let (count, seed) = (self.run.database_count, workload.seed);
            self.progress.note(&format!("database {} of {count}: seed {seed}", index + 1));
        }
        let scenario = self.scenario.as_ref().map(|scenario| scenario.for_database(index));
        let preparation = Preparation {
            run: &self.run,
            scenario: scenario.as_ref(),
            draw_seed: self.draw_seed,
            databases: Databases { dir: self.input.data_dir.as_deref(), in_use: self.input.in_use },
            device: &self.input.device,
            machine: &self.machine,
            progress: self.progress,
        };
        Ok(Prepared { fill: Some(fill), ..preparation.prepare(workload)? })
    }

    /// Returns the prefix that names a database in messages; empty for a run with one database.
    fn prefix(&self, index: u32) -> String {
        match self.run.database_count {
            1 => String::new(),
            _ => format!("database {}: ", index + 1),
        }
    }

    fn facts(&self, prepared: &Prepared) -> DatabaseFacts {
        let overridden = self.scenario.as_ref().map(|scenario| scenario.overridden.clone());
        let stores = prepared.session.stores().iter();
        DatabaseFacts {
            workload: prepared.workload_facts(overridden.unwrap_or_default()),
            device: prepared.device.clone(),
            stores: stores.map(|open| facts::store(open.as_ref())).collect(),
        }
    }

    /// Returns the result so far, on one database or more.
    fn result(&self, partial: &PartialResult, failure: Option<&Failure>) -> RunResult {
        let is_one = self.run.database_count == 1;
        let first = &partial.ran[0];
        let mut cells = match is_one {
            true => first.cells.clone(),
            false => databases::pool(&partial.ran, &partial.logs),
        };
        result::ratios::fill(&mut cells);
        let all: Vec<_> = partial.ran.iter().map(|ran| ran.facts.clone()).collect();
        let databases = if is_one { Vec::new() } else { all };
        let warnings = environment::warnings(&self.environment);
        let mut warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        let devices = partial.ran.iter().filter_map(|ran| ran.facts.device.as_ref());
        let doubts = facts::doubts(devices, &cells, failure.map(|failure| &failure.error));
        let patched = facts::patched_doubt(&environment::patched());
        warnings.extend(patched.iter().chain(&doubts).map(ToString::to_string));
        warnings.extend(partial.is_unsteady.then(|| UNSTEADY.to_owned()));
        warnings.extend_from_slice(&partial.warnings);
        let lacks_databases = partial.ran.len() < self.run.database_count as usize;
        let DatabaseFacts { workload, device, stores } = first.facts.clone();
        let mut result = RunResult {
            schema: SCHEMA,
            tool: facts::tool(&self.environment.build),
            command: self.input.command.clone(),
            started_unix_s: self.started_unix_s,
            draw_seed: self.draw_seed,
            expects: self.expects(&workload, &cells, &databases),
            workload,
            warnings,
            environment: self.environment.at_end(),
            device,
            stores,
            choices: self.machine.choices(&self.run),
            not_whole: self.not_whole.clone(),
            prepare: self.input.hooks.prepare.clone(),
            cleanup: self.input.hooks.cleanup.clone(),
            agree: partial.agree,
            disagreements: partial.disagreements.clone(),
            interrupted: interrupt::happened() || failure.is_some() || lacks_databases,
            cells,
            clients: Vec::new(),
            databases,
            profile: partial.profile.clone(),
            conclusion: None,
        };
        result.conclusion = report::conclusion(&result);
        result
    }

    fn expects(
        &self,
        workload: &WorkloadFacts,
        cells: &[Cell],
        databases: &[DatabaseFacts],
    ) -> Expects {
        let Some(scenario) = &self.scenario else { return Expects::default() };
        let inputs = ClaimInputs { workload, cells, databases, cache: scenario.run.cache };
        claims::judge(&scenario.expects, scenario.skipped_expects(), &inputs)
    }
}

/// A database under measurement, and the results of earlier databases.
struct OpenDatabase<'a> {
    active: &'a ActiveRun<'a>,
    before: PartialResult,
    prepared: &'a Prepared,
    sampling: Sampling<'a>,
}

impl OpenDatabase<'_> {
    /// Returns the earlier results with those of this database.
    fn total(&self, sampled: &Sampled) -> PartialResult {
        let mut all = self.before.clone();
        let prefix = self.active.prefix(u32::try_from(all.ran.len()).unwrap_or(u32::MAX));
        let differences = sampled.disagreements.iter();
        all.disagreements.extend(differences.map(|difference| format!("{prefix}{difference}")));
        all.agree = match (all.agree, sampled.agree()) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (before, now) => before.or(now),
        };
        all.is_unsteady |= self.sampling.is_unsteady(sampled);
        all.profile = sampled.profile.clone();
        all.spent += sampled.spent;
        let facts = self.active.facts(self.prepared);
        all.ran.push(DatabaseRun { facts, cells: self.sampling.cells(sampled) });
        databases::add_logs(&mut all.logs, self.sampling.logs(sampled));
        all
    }

    /// Returns the result of a run that goes on. If no later result is written, the file says that
    /// the run was interrupted.
    fn unfinished(&self, sampled: &Sampled) -> (RunResult, Vec<HistogramLog>) {
        let now = self.total(sampled);
        let mut result = self.active.result(&now, sampled.failure.as_ref());
        result.interrupted = true;
        (result, now.logs)
    }
}

/// Returns the seed of the run's own draws.
fn draw_seed(run: &RunSpec) -> u64 {
    run.draw_seed.unwrap_or_else(machine::fresh_seed)
}

/// Returns the next database's share of the budget that is left for `left_count` databases.
fn budget_share(budget: Duration, spent: Duration, left_count: u32) -> Duration {
    budget.saturating_sub(spent) / left_count.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_share_a_budget_and_what_one_leaves_is_the_others() {
        let second = Duration::from_secs(1);
        assert_eq!(budget_share(60 * second, Duration::ZERO, 1), 60 * second);
        // Each uses its whole share: all have the same.
        let mut spent = Duration::ZERO;
        for left_count in (1..=6).rev() {
            let own = budget_share(60 * second, spent, left_count);
            assert_eq!(own, 10 * second);
            spent += own;
        }
        assert_eq!(budget_share(60 * second, 4 * second, 5), Duration::from_millis(11_200));
        assert_eq!(budget_share(60 * second, 70 * second, 2), Duration::ZERO);
    }
}
