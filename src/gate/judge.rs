//! Runs a whole gate for `stress gate`, and makes its result. A gate compares two builds, two
//! clients, or results with stored results. The claims of the scenario count, too.

use result::{
    Environment, Expects, WorkloadFacts,
    gate::{self, Attempt, Binary, Calibration, Gate, GateResult, Mode, SCHEMA},
    stored::Stored,
};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use spec::Expect;
use variant::CacheMode;

use super::{
    Metric, Outcome, Verdict,
    baseline::{self, Comparison, Times},
    builds::{self, BuildTrio},
    calibration, claimed,
    clients::{ClientPair, ClientTrio},
    host, measure,
    pace::WorkSource,
    sampler::{Plan, Rule, Sampler, SlotSettings, Subject},
    side::Side,
    stage::MeasuringStage,
    work::{GateWork, GateWorkInput, SharedVariant, subjects, temporary},
};

use crate::{
    client::{ClientTask, Export, scratch_beside},
    figures::{claims, facts},
    gate::exit_code,
    machine::{
        self,
        child::{self, Ended},
        environment,
    },
    run::{RunInput, prepare},
    terminal::{
        self, Code, Failure, Progress, UndecidedCodes, WithExitCode, exit::fail, interrupt,
    },
};

/// The comparison of two builds.
#[derive(Clone, Debug)]
pub struct BuildsInput {
    /// The file of A, the build to compare with.
    pub base: PathBuf,
    /// The file of B, the build that is judged. `None`: this program.
    pub new: Option<PathBuf>,
    /// The work of both builds.
    pub work: GateWorkInput,
    /// The slots of the builds.
    pub slots: SlotSettings,
    /// The judged metrics, if the user names them.
    pub metrics: Option<Vec<Metric>>,
    /// Maximal number of attempts if nothing is decided.
    pub attempt_count: usize,
    /// Maximal time of a block.
    pub deadline: Option<Duration>,
    /// Path of the calibration, if the user names one.
    pub calibration: Option<PathBuf>,
}

/// The comparison of results with stored results.
#[derive(Clone, Debug)]
pub struct ResultsInput {
    /// The stored result, or a directory of stored results.
    pub base: PathBuf,
    /// The results that are judged.
    pub new: NewResults,
    /// Whether times are judged.
    pub times: Times,
}

/// Returns the arguments of a process of this program that runs the work and writes its result into
/// the given directory.
pub type Arguments = fn(&Path) -> Vec<OsString>;

/// The source of the judged results.
#[derive(Clone, Debug)]
pub enum NewResults {
    /// Stored results.
    Stored(PathBuf),
    /// Results of runs that start now.
    Run {
        /// The work.
        input: Box<RunInput>,
        /// Number of processes, one after the other. With 1, this process runs the work.
        process_count: usize,
        arguments: Arguments,
        /// Maximal time of a block.
        deadline: Option<Duration>,
    },
}

/// The parts of a gate's result that are known before the comparison.
#[derive(Debug)]
pub struct GateStart {
    command: Vec<String>,
    begun: Instant,
    started_unix_s: u64,
    environment: Environment,
    open: UndecidedCodes,
    delta: f64,
}

/// The outcome of a gate and its facts.
#[derive(Debug)]
pub struct Judgement {
    /// The outcome. After an error, `facts` has the facts that were found before the error.
    outcome: Result<Outcome, Failure>,
    facts: Facts,
}

/// The facts of a gate, as far as they are known: all are unknown at first.
#[derive(Debug, Default)]
struct Facts {
    mode: Mode,
    attempts: Vec<Attempt>,
    baseline: Option<gate::Compared>,
    workload: Option<WorkloadFacts>,
    /// Cache state at the start of a sample, if it is the same on both sides.
    cache: Option<CacheMode>,
    binaries: Vec<Binary>,
    expects: Option<Expects>,
    warnings: Vec<String>,
}

impl Judgement {
    /// Makes the judgement of a gate that fails before any fact is known.
    pub fn failed(mode: Mode, failure: Failure) -> Self {
        Self { outcome: Err(failure), facts: Facts { mode, ..Facts::default() } }
    }

    /// Returns the cache state at the start of a sample, if it is the same on both sides.
    pub const fn cache(&self) -> Option<CacheMode> {
        self.facts.cache
    }
}

impl GateStart {
    /// Begins a gate with state databases in `dir`. A change of at most `delta`, as a share, is no
    /// regression.
    pub fn new(dir: Option<&Path>, delta: f64, open: UndecidedCodes, command: Vec<String>) -> Self {
        let data_path = prepare::data_path(dir);
        Self {
            command,
            begun: Instant::now(),
            started_unix_s: machine::unix_s(),
            environment: environment::probe(data_path.as_deref().unwrap_or(Path::new("."))),
            open,
            delta,
        }
    }

    /// Returns the result of `judgement`, and the exit code or failure of the program.
    pub fn result(&self, judgement: Judgement) -> (GateResult, Result<Code, Failure>) {
        let Judgement { outcome, facts } = judgement;
        let verdict = outcome.as_ref().ok().map(|outcome| outcome.verdict);
        // A high load casts no doubt on a sure verdict of builds that took turns.
        let is_sure = matches!(verdict, Some(Verdict::Pass | Verdict::Regression));
        let is_sure_by_turns = is_sure && facts.mode == Mode::Against;
        let ended = outcome.map(|outcome| (facts.code(outcome.verdict, self.open), outcome.reason));
        let mut warnings = facts.warnings;
        let of_machine = environment::warnings(&self.environment).into_iter();
        warnings.extend(of_machine.map(|warning| match is_sure_by_turns {
            true => warning.beside_turns(),
            false => warning.to_string(),
        }));
        let (exit_code, reason) = match &ended {
            Ok((code, reason)) => (*code, reason.clone()),
            Err(failure) => (failure.code, String::new()),
        };
        let result = GateResult {
            schema: SCHEMA,
            tool: facts::tool(&self.environment.build),
            command: self.command.clone(),
            started_unix_s: self.started_unix_s,
            took_s: self.begun.elapsed().as_secs_f64(),
            workload: facts.workload,
            environment: self.environment.at_end(),
            warnings,
            binaries: facts.binaries,
            gate: Gate {
                mode: facts.mode,
                verdict,
                exit_code: exit_code as u8,
                reason,
                delta: self.delta,
                attempts: facts.attempts,
                baseline: facts.baseline,
            },
            expects: facts.expects,
        };
        (result, ended.map(|(code, _)| code))
    }
}

/// Judges two builds, interleaved.
pub fn against(builds: &BuildsInput, start: &GateStart) -> Judgement {
    let mut facts = Facts { mode: Mode::Against, ..Facts::default() };
    // The comparison fills the facts before they move, also if it fails.
    Judgement { outcome: facts.compare_builds(builds, start), facts }
}

/// Judges two clients, interleaved on one exported block.
pub fn clients(pair: &ClientPair, start: &GateStart) -> Judgement {
    let mut facts = Facts { mode: Mode::Against, ..Facts::default() };
    Judgement { outcome: facts.compare_clients(pair, start), facts }
}

/// Judges new or stored results against stored results.
pub fn with_baseline(results: &ResultsInput, start: &GateStart) -> Judgement {
    let mut facts = Facts { mode: Mode::Baseline, ..Facts::default() };
    Judgement { outcome: facts.compare_results(results, start), facts }
}

impl Facts {
    /// Returns the program's exit code for `verdict`. If the verdict alone gives exit code 0, times
    /// that were not judged decide the code, and then the claims.
    fn code(&self, verdict: Verdict, open: UndecidedCodes) -> Code {
        let mut times = self.baseline.iter().flat_map(|compared| &compared.times);
        match exit_code(verdict, open) {
            Code::Fine if times.any(|shift| shift.verdict == Verdict::NotJudged) => open.not_judged,
            Code::Fine => {
                claims::exit_code(self.expects.iter().flat_map(|expects| &expects.claims), open)
            }
            code => code,
        }
    }

    /// Compares two builds. It is an error if the work is not valid, or if a build crashes, hangs
    /// or does other work.
    fn compare_builds(
        &mut self,
        builds: &BuildsInput,
        start: &GateStart,
    ) -> Result<Outcome, Failure> {
        check_unpatched().with_exit_code(Code::Usage)?;
        let progress = Progress::new(terminal::progress_form());
        let work = GateWork::prepare(&builds.work, &progress)?;
        self.workload = Some(work.facts.clone());
        let new = builds.new.clone().map_or_else(builds::this_program, Ok)?;
        work.check_difference(&builds.base, &new)?;
        let mut trio =
            BuildTrio::start(&builds.base, &new, builds.slots.timeout, &work, &progress)?;
        self.binaries = trio.binaries();
        self.warnings = calibration_warnings(builds, trio.variants(), start)?;
        let given = given_claims(builds.deadline, &work);
        let (source, expects, not_judged) = match trio.executor() {
            Some(executor) => {
                let not_judged = claims_not_judged(executor, given.len(), builds.deadline)?;
                (WorkSource::Executor, Vec::new(), not_judged)
            }
            None => {
                self.cache = work.cache();
                self.warnings.extend(host::warning(&work, &progress)?);
                (WorkSource::from(&builds.work.source), given, None)
            }
        };
        for binary in self.binaries.iter().filter(|b| b.slow_read_ns > 0 || b.reads_one_twice) {
            self.warnings.push(format!(
                "{} ({}) was made worse on purpose: it is no build's speed",
                binary.arm, binary.path
            ));
        }
        let subjects = subjects(trio.variants(), builds.metrics.as_deref());
        let plan = Plan::new(subjects, start.delta, builds.slots, builds.attempt_count);
        let measured = self.measure(&plan, &mut trio, source, &progress)?;
        let by_figures = not_judged.into_iter().fold(measured, Outcome::or_worse);
        self.warnings.extend(trio.warning());
        let outcome = if by_figures.verdict == Verdict::WorkChanged || expects.is_empty() {
            trio.end()?;
            by_figures
        } else {
            let (judged, disturbances) = trio.judge(&expects)?;
            let judged =
                self.expects.insert(serde_json::from_value(judged).with_exit_code(Code::Io)?);
            claimed::with_claims(by_figures, judged, &disturbances, start.open)
        };
        progress.clear();
        Ok(outcome)
    }

    /// Compares two clients. It is an error if the export cannot be read, or if a client gives no
    /// sample.
    fn compare_clients(
        &mut self,
        pair: &ClientPair,
        start: &GateStart,
    ) -> Result<Outcome, Failure> {
        // An interrupt stops the clients before the program ends.
        let _hold = interrupt::hold();
        let progress = Progress::new(terminal::progress_form());
        let export = Export::open(&pair.dir).with_exit_code(Code::Usage)?;
        export.check(pair.cache).with_exit_code(Code::Usage)?;
        let work = facts::workload(&export.workload().with_exit_code(Code::Usage)?, Vec::new());
        let (gas, batch_count) = (work.gas, work.batch_count);
        (self.workload, self.cache) = (Some(work), Some(pair.cache));
        let (cache, timeout) = (pair.cache, pair.slots.timeout);
        let task = ClientTask { export: &export, gas, batch_count, cache, timeout };
        let dir = scratch_beside(&pair.dir).with_exit_code(Code::Io)?;
        let stage = progress.stage("making the clients' databases", 0);
        let mut trio =
            ClientTrio::start(pair.starts.clone(), task, dir, &|percent| stage.set(percent, 100))?;
        stage.finish();
        self.binaries = trio.binaries();
        let variant = format!("client/{}", pair.starts[1].name);
        let subject = Subject { variant, metrics: pair.metrics.clone(), rule: Rule::All };
        let plan = Plan::new(vec![subject], start.delta, pair.slots, pair.attempt_count);
        let outcome = self.measure(&plan, &mut trio, WorkSource::Fixed, &progress);
        interrupt::hold_to_end();
        // The clients have reported their versions by now.
        self.binaries = trio.binaries();
        self.warnings.extend(trio.doubts());
        // The clients end in any case, before their databases are removed.
        let ended = trio.end();
        progress.clear();
        outcome.and_then(|outcome| ended.map(|()| outcome))
    }

    /// Compares new or stored results with stored results. It is an error if a result cannot be
    /// read, or if a run fails.
    fn compare_results(
        &mut self,
        results: &ResultsInput,
        start: &GateStart,
    ) -> Result<Outcome, Failure> {
        let base = Side::read(&results.base).with_input_code()?;
        baseline::can_be_judged(&base, results.times).with_exit_code(Code::Usage)?;
        let new = match &results.new {
            NewResults::Stored(path) => Side::read(path).with_input_code()?,
            NewResults::Run { input, process_count, arguments, deadline } => {
                let results = match process_count {
                    1 => vec![run_here(input)?],
                    count => run_in_processes(*count, *arguments)?,
                };
                let new = run_side(results, *deadline)?;
                self.workload = Some(new.results()[0].result.workload.clone());
                new
            }
        };
        let expects = claims::join(new.results().iter().map(|stored| &stored.result.expects));
        let expects = self.expects.insert(expects);
        let mut all = base.results().iter().chain(new.results());
        let code = match all.any(|stored| stored.agrees() == Some(false)) {
            true => Code::Disagree,
            false => Code::Usage,
        };
        let judged = baseline::judge(&base, &new, start.delta, results.times);
        let Comparison { outcome, facts: compared } = judged.with_exit_code(code)?;
        if let Times::Absolute = results.times {
            self.warnings.push(compared.times_note.clone());
        }
        self.baseline = Some(compared);
        Ok(claimed::with_claims(outcome, expects, &[], start.open))
    }

    fn measure(
        &mut self,
        plan: &Plan,
        sampler: &mut dyn Sampler,
        source: WorkSource,
        progress: &Progress,
    ) -> Result<Outcome, Failure> {
        let mut stage = MeasuringStage::new(progress, plan, source);
        let (attempts, outcome) = measure::attempts(plan, sampler, |step| stage.show(step));
        self.attempts = attempts;
        stage.finish();
        outcome
    }
}

/// Returns the verdict on `count` claims of a scenario if B is `executor`, which is not of this
/// project. The claims are not judged, as they are on designs, which only `stress` has. `None`
/// without claims.
///
/// # Errors
/// A `deadline` is given, as a deadline is a claim on designs.
fn claims_not_judged(
    executor: &str,
    count: usize,
    deadline: Option<Duration>,
) -> Result<Option<Outcome>, Failure> {
    if deadline.is_some() {
        fail!(
            Code::Usage,
            "--deadline is a claim on designs of stress, and B is {executor}: leave it out"
        );
    }
    let reason =
        format!("{count} claims of the scenario are on designs, and B is {executor}: not judged");
    Ok((count > 0).then_some(Outcome { verdict: Verdict::NotJudged, reason }))
}

/// Checks that this program is built without patched libraries. A patch could also change the
/// reference, with which all samples are compared.
fn check_unpatched() -> anyhow::Result<()> {
    let patched = environment::patched();
    if patched.is_empty() {
        return Ok(());
    }
    bail!(
        "this program is built with {}, and so is the reference that would judge it; run the gate \
         of a build without patches, and name this one by --program",
        patched.join(", ")
    )
}

/// Makes the side of a run's results. The deadline is judged on each result.
fn run_side(mut results: Vec<Stored>, deadline: Option<Duration>) -> Result<Side, Failure> {
    if let Some(deadline) = deadline {
        for stored in &mut results {
            let judged = claims::judge_deadline(deadline, &stored.result);
            let expects = &mut stored.result.expects;
            expects.count += judged.count;
            expects.claims.extend(judged.claims);
        }
    }
    Side::from_results(PathBuf::from("this run"), results).with_exit_code(Code::Usage)
}

/// Exit codes of a run whose result can be judged. With any other code the run ended early, failed
/// or disagrees.
const JUDGED_CODES: [Code; 4] = [Code::Fine, Code::Claim, Code::Inconclusive, Code::NotJudged];

/// Runs the work in this process.
fn run_here(input: &RunInput) -> Result<Stored, Failure> {
    let finished = input.run()?;
    let stored = Stored::new(PathBuf::from("this run"), finished.result.clone());
    match finished.code(input.open)? {
        code if JUDGED_CODES.contains(&code) => Ok(stored),
        code => fail!(code, "the run gave no result to judge"),
    }
}

fn run_in_processes(count: usize, arguments: Arguments) -> Result<Vec<Stored>, Failure> {
    let dir = temporary()?;
    (1..=count)
        .map(|number| run_in_process(&dir.path().join(number.to_string()), arguments))
        .collect()
}

/// Runs the work in another process of this program, which writes its result into `dir`.
fn run_in_process(dir: &Path, arguments: Arguments) -> Result<Stored, Failure> {
    fs::create_dir(dir).context("cannot make a directory").with_exit_code(Code::Io)?;
    let ended = child::run(&arguments(dir)).with_exit_code(Code::Io)?;
    interrupt::check()?;
    if !JUDGED_CODES.iter().any(|code| ended == Ended::Code(*code as i32)) {
        fail!(ended.code(), "a process of the run gave no result to judge: {}", ended.describe());
    }
    Stored::read(dir).with_exit_code(Code::Io)
}

/// Returns the claims of the scenario that hold for this work, and the deadline.
fn given_claims(deadline: Option<Duration>, work: &GateWork) -> Vec<Expect> {
    let scenario = work.scenario.as_ref().filter(|scenario| scenario.skipped_expects().is_none());
    let mut all = scenario.map_or(Vec::new(), |scenario| scenario.expects.clone());
    let designs = work.run.designs.iter().copied();
    all.extend(deadline.map_or(Vec::new(), |most| claims::deadline_claims(most, designs)));
    all
}

/// Returns a warning for each variant for which the requested δ is below the δ of this machine's
/// calibration. The default calibration need not exist.
fn calibration_warnings(
    builds: &BuildsInput,
    variants: &[SharedVariant],
    start: &GateStart,
) -> Result<Vec<String>, Failure> {
    let Some(path) = builds.calibration.clone().or_else(calibration::default_path) else {
        return Ok(Vec::new());
    };
    let calibration = match Calibration::read(&path).with_exit_code(Code::Io)? {
        Some(calibration) => calibration,
        None if builds.calibration.is_some() => fail!(
            Code::Usage,
            "{}: there is no such file; `stress gate calibrate` writes one",
            path.display()
        ),
        None => return Ok(Vec::new()),
    };
    let warnings = variants.iter().filter_map(|SharedVariant { name, .. }| {
        calibration::warning(&calibration, name, start.delta, &start.environment)
    });
    let mut warnings: Vec<_> = warnings.collect();
    // A calibration of another machine gives each variant the same warning.
    warnings.dedup();
    Ok(warnings)
}
