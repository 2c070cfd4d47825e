//! The verdict of a gate: two builds interleaved, or a result against a stored one, with the
//! claims of the scenario; and the result that says so.

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

use anyhow::{Context, anyhow, bail};
use spec::Expect;
use variant::CacheMode;

use super::{
    Metric, Outcome, Verdict,
    baseline::{self, Compared, Times},
    builds::{self, Driving, Trio},
    calibration, claimed,
    clients::{ClientPair, ClientTrio},
    host, measure,
    pace::WorkSource,
    shown::Shown,
    side::Side,
    taker::{Plan, Rule, Subject, Taker},
    work::{Work, WorkInput, subjects, temporary},
};

use crate::{
    client::{Export, Task, scratch_beside},
    figures::{claims, facts},
    gate::exit_code,
    machine::{
        self,
        child::{self, Ended},
        environment,
    },
    run::{RunInput, prepare},
    terminal::{
        self,
        exit::{Code, Failure, OpenCodes, OrExit},
        interrupt,
        progress::Progress,
    },
};

/// Two builds to be compared.
#[derive(Clone, Debug)]
pub struct Builds {
    /// A, to compare with.
    pub base: PathBuf,
    /// B, which is judged; this program where none is named.
    pub new: Option<PathBuf>,
    /// The work of both.
    pub work: WorkInput,
    /// How they are driven.
    pub driving: Driving,
    /// The judged metrics, where the user named them.
    pub metrics: Option<Vec<Metric>>,
    /// How often it is tried where nothing is decided.
    pub attempt_count: usize,
    /// No block may take longer.
    pub deadline: Option<Duration>,
    /// Where the calibration is; where calibrating writes it if nothing is said.
    pub calibration: Option<PathBuf>,
}

/// Results to be judged against stored ones.
#[derive(Clone, Debug)]
pub struct Results {
    /// The stored one, or the directory of one or several.
    pub base: PathBuf,
    /// Those that are judged.
    pub new: New,
    /// Whether times are judged.
    pub times: Times,
}

/// The results that are judged against stored ones.
#[derive(Clone, Debug)]
pub enum New {
    /// Stored, too.
    Stored(PathBuf),
    /// Of a run now.
    Run {
        /// The work.
        input: Box<RunInput>,
        /// By whom.
        by: RunBy,
        /// No block may take longer.
        deadline: Option<Duration>,
    },
}

/// The process that runs the side judged against stored results.
#[derive(Clone, Debug)]
pub enum RunBy {
    /// This process.
    ThisProcess,
    /// So many others, one after the other.
    Processes {
        /// How many.
        count: usize,
        /// The arguments of one that writes its result into this directory.
        words: fn(&Path) -> Vec<OsString>,
    },
}

/// The parts that every result of a gate has.
#[derive(Debug)]
pub struct Frame {
    command: Vec<String>,
    begun: Instant,
    started_unix_s: u64,
    environment: Environment,
    open: OpenCodes,
    delta: f64,
}

/// The result's own facts, as far as they are known.
#[derive(Debug, Default)]
pub struct Judgement {
    /// The other side.
    pub mode: Mode,
    /// `None` where something failed before there was one.
    outcome: Option<Outcome>,
    attempts: Vec<Attempt>,
    baseline: Option<gate::Compared>,
    workload: Option<WorkloadFacts>,
    /// Content of caches when a sample starts, where one is known of both sides.
    pub cache: Option<CacheMode>,
    binaries: Vec<Binary>,
    expects: Option<Expects>,
    warnings: Vec<String>,
}

impl Judgement {
    /// The verdict; nothing is sure where there is none.
    pub fn verdict(&self) -> Verdict {
        self.outcome.as_ref().map_or(Verdict::Inconclusive, |outcome| outcome.verdict)
    }

    /// How the program ends on it: an open verdict does not hide that something was not judged.
    pub fn code(&self, open: OpenCodes) -> Code {
        let not_judged = |compared: &gate::Compared| {
            compared.times.iter().any(|shift| shift.verdict == Verdict::NotJudged)
        };
        match (exit_code(self.verdict(), open), &self.expects) {
            (Code::Fine, _) if self.baseline.as_ref().is_some_and(not_judged) => open.not_judged,
            (Code::Fine, Some(expects)) => claims::code(&expects.claims, open),
            (code, _) => code,
        }
    }
}

impl Frame {
    /// Of a gate that begins now, with databases in `data_dir`, where a change up to `delta` is
    /// none.
    pub fn new(data_dir: Option<&Path>, delta: f64, open: OpenCodes, command: Vec<String>) -> Self {
        let data_path = prepare::data_path(data_dir);
        Self {
            command,
            begun: Instant::now(),
            started_unix_s: machine::unix_s(),
            environment: environment::probe(data_path.as_deref().unwrap_or(Path::new("."))),
            open,
            delta,
        }
    }

    /// The result of `judgement`.
    pub fn result(&self, judgement: Judgement) -> GateResult {
        let (verdict, code) = (judgement.verdict(), judgement.code(self.open));
        let mut warnings = judgement.warnings;
        let is_sure = matches!(verdict, Verdict::Pass | Verdict::Regression);
        let in_turns = is_sure && judgement.mode == Mode::Against;
        let of_machine = environment::warnings(&self.environment).into_iter();
        warnings.extend(of_machine.map(|warning| match in_turns {
            true => warning.beside_turns(),
            false => warning.to_string(),
        }));
        GateResult {
            schema: SCHEMA,
            tool: facts::tool(&self.environment.build),
            command: self.command.clone(),
            started_unix_s: self.started_unix_s,
            took_s: self.begun.elapsed().as_secs_f64(),
            workload: judgement.workload,
            environment: self.environment.at_end(),
            warnings,
            binaries: judgement.binaries,
            gate: Gate {
                mode: judgement.mode,
                verdict: Some(verdict),
                exit_code: code as u8,
                reason: judgement.outcome.map_or_else(String::new, |outcome| outcome.reason),
                delta: self.delta,
                attempts: judgement.attempts,
                baseline: judgement.baseline,
            },
            expects: judgement.expects,
        }
    }
}

/// Judges two builds, interleaved.
///
/// # Errors
/// The work is not valid, or a build crashes, hangs or does other work than it says.
pub fn against(builds: &Builds, frame: &Frame, judgement: &mut Judgement) -> Result<(), Failure> {
    is_oracle().or_exit(Code::Usage)?;
    let progress = Progress::new(terminal::look());
    let work = Work::of(&builds.work, &progress)?;
    judgement.workload = Some(work.facts.clone());
    let mut expects = expects(builds.deadline, &work);
    let new = builds.new.clone().map_or_else(builds::this_program, Ok)?;
    work.differs(&builds.base, &new)?;
    let mut trio = Trio::start(&builds.base, &new, builds.driving.timeout, &work, &progress)?;
    judgement.binaries = trio.binaries();
    judgement.cache = work.cache().filter(|_| trio.executor().is_none());
    let names: Vec<_> = trio.variants().iter().map(|variant| variant.name.clone()).collect();
    judgement.warnings = calibrated(builds.calibration.as_deref(), &names, frame)?;
    let not_judged = match trio.executor() {
        Some(executor) => without_claims(executor, &mut expects, builds.deadline)?,
        None => None,
    };
    if trio.executor().is_none() {
        judgement.warnings.extend(host::warning(&work, &progress)?);
    }
    let handicapped = judgement.binaries.iter().filter(|b| b.slow_read_ns > 0 || b.reads_one_twice);
    judgement.warnings.extend(handicapped.map(|binary| {
        format!(
            "{} ({}) was made worse on purpose: it is no build's speed",
            binary.arm, binary.path
        )
    }));
    let plan = Plan {
        subjects: subjects(trio.variants(), builds.metrics.as_deref()),
        delta: frame.delta,
        slot_ns: builds.driving.slot_ns,
        coin_seed: builds.driving.coin_seed.unwrap_or(work.facts.seed),
        attempt_count: builds.attempt_count,
        takes_all: false,
    };
    let source = match trio.executor() {
        Some(_) => WorkSource::Executor,
        None => WorkSource::from(&builds.work.source),
    };
    let sofar = measured(&plan, &mut trio, source, &progress, &mut judgement.attempts)?;
    let sofar = not_judged.into_iter().fold(sofar, Outcome::or_worse);
    judgement.warnings.extend(trio.warning());
    let outcome = if sofar.verdict == Verdict::WorkChanged || expects.is_empty() {
        trio.end()?;
        sofar
    } else {
        let (judged, disturbances) = trio.judge(&expects)?;
        let judged = serde_json::from_value(judged).or_exit(Code::Io)?;
        let judged = judgement.expects.insert(judged);
        claimed::with_claims(sofar, judged, &disturbances, frame.open)
    };
    progress.clear();
    judgement.outcome = Some(outcome);
    Ok(())
}

/// Leaves out the claims of a scenario, which are on designs: `executor` has none. Gives the verdict on them.
fn without_claims(
    executor: &str,
    expects: &mut Vec<Expect>,
    deadline: Option<Duration>,
) -> Result<Option<Outcome>, Failure> {
    if deadline.is_some() {
        let error = anyhow!(
            "--deadline is a claim on designs of stress, and B is {executor}: leave it out"
        );
        return Err(error).or_exit(Code::Usage);
    }
    let count = std::mem::take(expects).len();
    let reason =
        format!("{count} claims of the scenario are on designs, and B is {executor}: not judged");
    Ok((count > 0).then_some(Outcome { verdict: Verdict::NotJudged, reason }))
}

/// That this program may say which results are right.
fn is_oracle() -> anyhow::Result<()> {
    let patched = environment::patched();
    if patched.is_empty() {
        return Ok(());
    }
    bail!(
        "this program is built with {}, and so is the reference that would judge it; run the gate of a \
         build without patches, and name this one: --candidate",
        patched.join(", ")
    )
}

/// Judges two clients, interleaved on one exported block.
///
/// # Errors
/// The export cannot be read, or a client gives no sample.
pub fn clients(
    pair: &ClientPair,
    driving: Driving,
    frame: &Frame,
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    // An interrupt stops the clients before the program ends.
    let _hold = interrupt::hold();
    let progress = Progress::new(terminal::look());
    let export = Export::open(&pair.dir).or_exit(Code::Usage)?;
    export.check(pair.cache).or_exit(Code::Usage)?;
    let work = facts::workload(&export.workload().or_exit(Code::Usage)?, Vec::new());
    let (gas, batch_count, seed) = (work.gas, work.batch_count, work.seed);
    (judgement.workload, judgement.cache) = (Some(work), Some(pair.cache));
    let task =
        Task { export: &export, gas, batch_count, cache: pair.cache, timeout: driving.timeout };
    let dir = scratch_beside(&pair.dir).or_exit(Code::Io)?;
    let stage = progress.stage("making the clients' databases", 0);
    let shown = |percent| stage.set(percent, 100);
    let mut trio = ClientTrio::start(pair.starts.clone(), task, dir, &shown)?;
    stage.finish();
    judgement.binaries = trio.binaries();
    let variant = format!("client/{}", pair.starts[1].name);
    let plan = Plan {
        subjects: vec![Subject { variant, metrics: pair.metrics.clone(), rule: Rule::All }],
        delta: frame.delta,
        slot_ns: driving.slot_ns,
        coin_seed: driving.coin_seed.unwrap_or(seed),
        attempt_count: pair.attempt_count,
        takes_all: false,
    };
    let fixed = WorkSource::Fixed;
    let outcome = measured(&plan, &mut trio, fixed, &progress, &mut judgement.attempts);
    interrupt::finishing();
    // They have told their versions by now.
    judgement.binaries = trio.binaries();
    judgement.warnings.extend(trio.doubts());
    // The clients end in any case, before their databases go.
    let ended = trio.end();
    progress.clear();
    judgement.outcome = Some(outcome?);
    ended
}

fn measured(
    plan: &Plan,
    taker: &mut dyn Taker,
    source: WorkSource,
    progress: &Progress,
    attempts: &mut Vec<Attempt>,
) -> Result<Outcome, Failure> {
    let mut shown = Shown::new(progress, plan, source);
    let at = |step| shown.at(step);
    let outcome = measure::attempts(plan, taker, at, |attempt| attempts.push(attempt));
    shown.finish();
    outcome
}

/// Judges runs, or stored results, against stored ones.
///
/// # Errors
/// A result cannot be read or compared, or a run fails.
pub fn with_baseline(
    results: &Results,
    frame: &Frame,
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    let base = Side::read(&results.base).or_exit(Code::Io)?;
    baseline::can_be_judged(&base, results.times).or_exit(Code::Usage)?;
    let new = match &results.new {
        New::Stored(path) => Side::read(path).or_exit(Code::Io)?,
        New::Run { input, by, deadline } => {
            let new = ran(input, by, *deadline)?;
            judgement.workload = Some(new.results()[0].result.workload.clone());
            new
        }
    };
    // Of several processes the first one's.
    let expects = judgement.expects.insert(new.results()[0].result.expects.clone());
    let mut all = base.results().iter().chain(new.results());
    let code = match all.any(|stored| stored.agrees() == Some(false)) {
        true => Code::Disagree,
        false => Code::Usage,
    };
    let judged = baseline::judge(&base, &new, frame.delta, results.times);
    let Compared { outcome, facts: compared } = judged.or_exit(code)?;
    let outcome = claimed::with_claims(outcome, expects, &[], frame.open);
    if let Times::Absolute = results.times {
        judgement.warnings.push(compared.times_note.clone());
    }
    judgement.baseline = Some(compared);
    judgement.outcome = Some(outcome);
    Ok(())
}

/// Runs, and gives the results as if they had been read, with the first one's claims judged.
fn ran(input: &RunInput, by: &RunBy, deadline: Option<Duration>) -> Result<Side, Failure> {
    let mut results = match by {
        RunBy::ThisProcess => vec![ran_here(input)?],
        RunBy::Processes { count, words } => {
            let dir = temporary()?;
            let of = |number: usize| ran_apart(&dir.path().join(number.to_string()), *words);
            (1..=*count).map(of).collect::<Result<_, _>>()?
        }
    };
    if let (Some(deadline), Some(first)) = (deadline, results.first_mut()) {
        let judged = claims::judge_deadline(deadline, &first.result);
        let expects = &mut first.result.expects;
        expects.count += judged.count;
        expects.claims.extend(judged.claims);
    }
    Side::of(PathBuf::from("this run"), results).or_exit(Code::Usage)
}

/// Runs in this process.
fn ran_here(input: &RunInput) -> Result<Stored, Failure> {
    let finished = input.run()?;
    let stored = Stored::new(PathBuf::from("this run"), finished.result.clone());
    // An early end of the run, or a fault, comes before any verdict.
    match finished.code(input.open)? {
        Code::Fine | Code::Claim | Code::Inconclusive | Code::NotJudged => Ok(stored),
        code => Err(anyhow!("the run gave no result to judge")).or_exit(code),
    }
}

/// Lets a process of this program run and write its result into `dir`.
fn ran_apart(dir: &Path, words: fn(&Path) -> Vec<OsString>) -> Result<Stored, Failure> {
    fs::create_dir(dir).context("cannot make a directory").or_exit(Code::Io)?;
    let ended = child::run(&words(dir)).or_exit(Code::Io)?;
    let is_fine = [Code::Fine, Code::Claim, Code::Inconclusive, Code::NotJudged]
        .iter()
        .any(|code| ended == Ended::Code(*code as i32));
    if interrupt::happened() {
        return Err(anyhow!("interrupted")).or_exit(Code::Interrupted);
    }
    if !is_fine {
        let error = anyhow!("a process of the run gave no result to judge: {}", ended.words());
        return Err(error).or_exit(ended.code());
    }
    Stored::read(dir).or_exit(Code::Io)
}

/// The claims of the scenario that hold for this work, and the deadline.
fn expects(deadline: Option<Duration>, work: &Work) -> Vec<Expect> {
    let of_scenario = work.scenario.as_ref().filter(|s| s.skipped_expects().is_none());
    let mut all = of_scenario.map_or(Vec::new(), |scenario| scenario.expects.clone());
    let of_deadline = |most| claims::of_deadline(most, work.run.designs.iter().copied());
    all.extend(deadline.into_iter().flat_map(of_deadline));
    all
}

/// The calibration of this machine for the asked change.
fn calibrated(
    asked: Option<&Path>,
    variants: &[String],
    frame: &Frame,
) -> Result<Vec<String>, Failure> {
    let Some(path) = asked.map(Path::to_path_buf).or_else(calibration::default_path) else {
        return Ok(Vec::new());
    };
    let Some(calibration) = Calibration::read(&path).or_exit(Code::Io)? else {
        if asked.is_some() {
            let error = anyhow!("{}: there is no such file; `stress calibrate`", path.display());
            return Err(error).or_exit(Code::Io);
        }
        return Ok(Vec::new());
    };
    let warning = |variant: &String| {
        calibration::warning(&calibration, variant, frame.delta, &frame.environment)
    };
    let mut warnings: Vec<_> = variants.iter().filter_map(warning).collect();
    warnings.dedup();
    Ok(warnings)
}
