//! The course of a run: each of its databases is generated, built, checked and sampled as if it
//! were the only one, and while it is sampled a result of all so far is written every few
//! seconds. One database is open at a time.

use report::Out;
use result::{
    Device, Environment, HistogramLog, ProfileFacts, RunResult, SCHEMA,
    databases::{self, DatabaseFacts, Ran},
};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use executor::recover::TxSignatures;
use spec::{RunSpec, Scenario};
use workload::Workload;

use super::{Finished, check_lists, expects, generate, open, sign};

use crate::{
    cli::RunArgs,
    environment,
    exit::{Code, Failure},
    extras::Extras,
    facts, interrupt,
    open::InUse,
    plan::Machine,
    progress::Progress,
    sampling::{Sampled, Sampling},
    session::Session,
};

/// Said where a run's times have not settled.
const UNSTEADY: &str = "not steady: times still rose or fell when the run ended; take more samples \
    (--samples, --budget), and look what else runs here";

/// Least time between two results of a run that goes on: each is written whole.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// A run, with what is the same for all its databases.
pub(super) struct Course<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) command: Vec<String>,
    pub(super) started_unix_s: u64,
    pub(super) environment: Environment,
    pub(super) machine: Machine,
    pub(super) run: RunSpec,
    pub(super) scenario: Option<Scenario>,
    pub(super) progress: &'a Progress,
}

/// A database that is open, and what is run on it.
struct Opened {
    session: Session,
    device: Option<Device>,
    signatures: Option<Vec<TxSignatures>>,
}

/// What came out so far.
#[derive(Clone, Debug, Default)]
struct SoFar {
    ran: Vec<Ran>,
    /// Latencies on all of them together.
    logs: Vec<HistogramLog>,
    agree: Option<bool>,
    disagreements: Vec<String>,
    is_unsteady: bool,
    profile: Option<ProfileFacts>,
    /// What of the budget is used.
    spent: Duration,
}

/// The files that a run writes.
struct Files {
    out: Option<Out>,
    /// The result and its logs.
    written: Vec<PathBuf>,
    /// Those of extra samples.
    more: Vec<PathBuf>,
    /// When a result was last written.
    last: Option<Instant>,
}

impl Files {
    fn write(&mut self, result: &RunResult, logs: &[HistogramLog]) -> anyhow::Result<()> {
        if let Some(out) = &mut self.out {
            self.written = out.write(result, logs)?;
            self.last = Some(Instant::now());
        }
        Ok(())
    }

    /// Whether a result of what is finished so far is to be written now.
    fn is_due(&self) -> bool {
        self.out.is_some() && is_due(self.last.map(|last| last.elapsed()))
    }
}

impl Course<'_> {
    /// Runs on all databases, `first` being the first one's work.
    pub(super) fn run(
        self,
        first: Workload,
        extras: Extras,
        out: Option<Out>,
    ) -> Result<Finished, Failure> {
        let count = self.run.database_count;
        let mut files = Files { out, written: Vec::new(), more: Vec::new(), last: None };
        let (mut first, mut extras) = (Some(first), Some(extras));
        let (mut sofar, mut failure) = (SoFar::default(), None);
        for index in 0..count {
            let opened = match self.open(index, first.take()) {
                Ok(opened) => opened,
                Err(error) if index == 0 => return Err(error),
                Err(error) => {
                    failure = self.kept(error, index, &mut sofar);
                    break;
                }
            };
            let budget = share(self.run.budget, sofar.spent, count - index);
            let run = RunSpec { budget, ..self.run.clone() };
            let extras = extras.take_if(|extras| index + 1 == count && !extras.is_empty());
            failure = self.sample(&opened, &run, extras, &mut sofar, &mut files);
            if failure.is_some() || sofar.agree != Some(true) || interrupt::happened() {
                break;
            }
        }
        self.progress.clear();
        let mut result = self.result(&sofar, failure.as_ref().map(|failure| &failure.error));
        // The last rounds, what ended a run between two databases and what came of extra samples
        // are in no file yet.
        if let Err(error) = files.write(&result, &sofar.logs) {
            let failure = failure.get_or_insert(Failure { code: Code::Io, error });
            result = self.result(&sofar, Some(&failure.error));
        }
        files.written.append(&mut files.more);
        Ok(Finished { result, failure, written: files.written })
    }

    /// What is to be told of a database that could not be made, after others were sampled: what
    /// came out on them is kept, and shown.
    fn kept(&self, error: Failure, index: u32, sofar: &mut SoFar) -> Option<Failure> {
        match error.code {
            // The run says so by itself.
            Code::Interrupted => None,
            Code::Disagree => {
                sofar.agree = Some(false);
                sofar.disagreements.push(format!("{}{error}", self.prefix(index)));
                None
            }
            _ => Some(error),
        }
    }

    /// Samples an open database, and adds what came out to what there was before. Every few
    /// seconds all of it is written, so that whatever ends the run leaves nearly all of it.
    fn sample(
        &self,
        opened: &Opened,
        run: &RunSpec,
        extras: Option<Extras>,
        sofar: &mut SoFar,
        files: &mut Files,
    ) -> Option<Failure> {
        let sampling = Sampling::new(&opened.session, run, opened.device.as_ref(), self.machine)
            .with_signatures(opened.signatures.clone());
        let before = sofar.clone();
        let write = |sampled: &Sampled, files: &mut Files| {
            let now = self.with(&before, opened, &sampling, sampled);
            files.write(&self.result(&now, sampled.failure.as_ref()), &now.logs)
        };
        let mut sampled = sampling.run(self.progress, |sampled| match files.is_due() {
            true => write(sampled, files),
            false => Ok(()),
        });
        // Extra samples, or building the next database, take long.
        let is_last = before.ran.len() + 1 == self.run.database_count as usize;
        if files.out.is_some()
            && (extras.is_some() || !is_last)
            && let Err(error) = write(&sampled, files)
        {
            sampled.failure.get_or_insert(error);
        }
        if let Some(extras) = extras {
            let work = self.facts(opened).workload;
            files.more = extras.take(&sampling, &mut sampled, &work, self.progress);
        }
        *sofar = self.with(&before, opened, &sampling, &sampled);
        sampled.failure.map(|error| Failure { code: Code::Io, error })
    }

    /// Generates the work of a database, unless it is there, builds and opens its stores.
    fn open(&self, index: u32, workload: Option<Workload>) -> Result<Opened, Failure> {
        let workload = match (workload, &self.scenario) {
            (Some(workload), _) => workload,
            (None, Some(scenario)) => generate(&scenario.of_database(index), self.progress)?,
            (None, None) => unreachable!("a workload file has one database: {index}"),
        };
        if self.run.database_count > 1 {
            let (count, seed) = (self.run.database_count, workload.seed);
            self.progress.note(&format!("database {} of {count}: seed {seed}", index + 1));
        }
        let in_use = if self.args.wait { InUse::Wait } else { InUse::Refuse };
        let at = (self.args.data_dir.as_ref(), in_use);
        let (session, device) = open(workload, &self.run, at, &self.machine, self.progress)?;
        check_lists(&session, &self.run, self.progress)?;
        let cores = self.machine.core_count;
        let signatures = sign(session.workload(), &self.run, cores, self.progress)?;
        Ok(Opened { session, device, signatures })
    }

    /// What came out before, and on the database that is open.
    fn with(
        &self,
        before: &SoFar,
        opened: &Opened,
        sampling: &Sampling<'_>,
        sampled: &Sampled,
    ) -> SoFar {
        let mut all = before.clone();
        let prefix = self.prefix(u32::try_from(all.ran.len()).unwrap_or(u32::MAX));
        let differences = sampled.disagreements.iter();
        all.disagreements.extend(differences.map(|what| format!("{prefix}{what}")));
        all.agree = match (all.agree, sampled.agree()) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (before, now) => before.or(now),
        };
        all.is_unsteady |= sampling.is_unsteady(sampled);
        all.profile = sampled.profile.clone();
        all.spent += sampled.spent;
        all.ran.push(Ran { facts: self.facts(opened), cells: sampling.cells(sampled) });
        databases::add_logs(&mut all.logs, sampling.logs(sampled));
        all
    }

    /// How a database is named where there are several.
    fn prefix(&self, index: u32) -> String {
        match self.run.database_count {
            1 => String::new(),
            _ => format!("database {}: ", index + 1),
        }
    }

    fn facts(&self, opened: &Opened) -> DatabaseFacts {
        let overridden = self.scenario.as_ref().map(|scenario| scenario.overridden.clone());
        DatabaseFacts {
            workload: facts::workload(opened.session.workload(), overridden.unwrap_or_default()),
            device: opened.device.clone(),
            stores: facts::stores(&opened.session),
        }
    }

    /// The result of what came out so far, on one database or more.
    fn result(&self, sofar: &SoFar, failure: Option<&anyhow::Error>) -> RunResult {
        let is_one = self.run.database_count == 1;
        let first = &sofar.ran[0];
        let cells = match is_one {
            true => first.cells.clone(),
            false => databases::pool(&sofar.ran, &sofar.logs),
        };
        let all: Vec<_> = sofar.ran.iter().map(|ran| ran.facts.clone()).collect();
        let databases = if is_one { Vec::new() } else { all };
        let of_machine = environment::warnings(&self.environment);
        let mut warnings: Vec<_> = of_machine.iter().map(ToString::to_string).collect();
        warnings.extend(facts::doubts(&cells, failure));
        warnings.extend(sofar.is_unsteady.then(|| UNSTEADY.to_owned()));
        let is_short = sofar.ran.len() < self.run.database_count as usize;
        let DatabaseFacts { workload, device, stores } = first.facts.clone();
        let mut result = RunResult {
            schema: SCHEMA,
            tool: facts::tool(&self.environment.build),
            command: self.command.clone(),
            started_unix_s: self.started_unix_s,
            expects: expects(self.scenario.as_ref(), &workload, &cells, &databases),
            workload,
            warnings,
            environment: self.environment.clone(),
            device,
            stores,
            choices: self.machine.choices(&self.run),
            agree: sofar.agree,
            disagreements: sofar.disagreements.clone(),
            interrupted: interrupt::happened() || failure.is_some() || is_short,
            cells,
            databases,
            profile: sofar.profile.clone(),
            conclusion: None,
        };
        result.conclusion = report::conclude(&result);
        result
    }
}

/// What of the budget the next database has, where so many are left: what some have not used is
/// the others'.
fn share(budget: Duration, spent: Duration, left_count: u32) -> Duration {
    budget.saturating_sub(spent) / left_count.max(1)
}

/// Whether a result is to be written when the last one, if any, is so old.
fn is_due(age: Option<Duration>) -> bool {
    age.is_none_or(|age| age >= WRITE_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_share_a_budget_and_what_one_leaves_is_the_others() {
        let second = Duration::from_secs(1);
        assert_eq!(share(60 * second, Duration::ZERO, 1), 60 * second);
        // Each uses its whole share: all have the same.
        let mut spent = Duration::ZERO;
        for left_count in (1..=6).rev() {
            let own = share(60 * second, spent, left_count);
            assert_eq!(own, 10 * second);
            spent += own;
        }
        assert_eq!(share(60 * second, 4 * second, 5), Duration::from_millis(11_200));
        assert_eq!(share(60 * second, 70 * second, 2), Duration::ZERO);
    }

    #[test]
    fn the_first_round_is_written_at_once_and_then_one_every_few_seconds() {
        assert!(is_due(None) && is_due(Some(WRITE_INTERVAL)));
        assert!(!is_due(Some(Duration::ZERO)) && !is_due(Some(WRITE_INTERVAL / 2)));
    }
}
