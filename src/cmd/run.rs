//! Running a workload: generate or read it, open its state, sample whole rounds of cells,
//! report. `course` goes over the databases of a run.

mod course;

use result::{Cell, Device, Expects, RunResult, Verdict, WorkloadFacts, databases::DatabaseFacts};
use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use alloy_primitives::Bytes;
use anyhow::anyhow;
use executor::{
    engine::EngineError,
    recover::{self, RecoverError, TxSignatures},
    state::BuiltState,
};
use generator::{
    Generated, GeneratorError,
    reference::{self, ReferenceError},
};
use spec::{Override, RunSpec, Scenario};
use variant::Design;
use workload::{Workload, file};

use crate::{
    claims::{self, Grounds},
    cli::{Format, RunArgs},
    cmd::{scenarios, state},
    environment,
    exit::{Code, Failure, OrExit},
    extras::Extras,
    facts, interrupt,
    open::{InUse, Place},
    plan::{self, Machine},
    progress::Progress,
    sampling::Sampling,
    session::Session,
    terminal,
};

use course::Course;

/// What `--quick` overrides, unless the user says otherwise.
const QUICK: [(&str, &str); 4] =
    [("state.slots", "1M"), ("state.accounts", "10k"), ("block.gas", "64M"), ("run.budget", "10s")];

/// What is run: a workload, how, and what was said about it.
pub struct Request {
    /// The work.
    pub workload: Workload,
    /// How.
    pub run: RunSpec,
    /// The scenario; a workload file has none.
    pub scenario: Option<Scenario>,
}

/// A run that has ended.
pub struct Finished {
    /// What came out.
    pub result: RunResult,
    /// What ended it before its time.
    failure: Option<Failure>,
    /// The files of `--out` and `--trace`.
    written: Vec<PathBuf>,
}

impl Finished {
    /// How the program ends after it.
    pub fn code(&mut self, args: &RunArgs) -> Result<Code, Failure> {
        code(&self.result, self.failure.take(), args)
    }
}

/// Generates the workload of `scenario` and shows how far it is.
pub fn generate(scenario: &Scenario, progress: &Progress) -> Result<Workload, Failure> {
    generate_by_load(scenario, progress).map(|generated| generated.workload)
}

/// The same, with the load of each transaction.
pub fn generate_by_load(scenario: &Scenario, progress: &Progress) -> Result<Generated, Failure> {
    let stage = progress.stage("generating the block", 0);
    let generated = generator::generate_by_load(scenario, |at| {
        stage.set(at.tx_count, at.total_tx_count);
        interrupt::answer()
    });
    stage.finish();
    generated.map_err(|error| {
        let code = match &error {
            GeneratorError::Cancelled => Code::Interrupted,
            GeneratorError::Reference(_) => Code::Disagree,
            _ => Code::Usage,
        };
        Failure { code, error: error.into() }
    })
}

/// Runs what the arguments ask for, and prints what came out.
pub fn run(args: &RunArgs, command: Vec<String>) -> Result<Code, Failure> {
    let mut finished = result(args, command)?;
    show(args.format, &finished.result, &finished.written);
    finished.code(args)
}

/// Runs what the arguments ask for.
pub fn result(args: &RunArgs, command: Vec<String>) -> Result<Finished, Failure> {
    let started = SystemTime::now();
    let progress = Progress::new(terminal::look());
    // Before the state is built: the load that is warned of must not be our own.
    let data_path = state::data_path(args.data_dir.as_ref());
    let environment = environment::probe(data_path.as_deref().unwrap_or(Path::new(".")));
    // A directory that cannot be written is better known before the work than after it.
    let out = args.out.as_deref().map(report::Out::at).transpose().or_exit(Code::Io)?;
    let Request { workload, run, scenario } = request(args, &progress)?;
    let machine = Machine::this();
    let started_unix_s = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let extras = Extras::new(args, &plan::cells(&run, &machine), started_unix_s)?;
    let progress = &progress;
    let course =
        Course { args, command, started_unix_s, environment, machine, run, scenario, progress };
    course.run(workload, extras, out)
}

/// Runs a workload and answers with its cells, without a report.
pub fn measure(
    workload: Workload,
    run: &RunSpec,
    progress: &Progress,
) -> Result<Vec<Cell>, Failure> {
    on_one_database(run, "what is only measured in passing runs")?;
    let machine = Machine::this();
    let (session, device) = open(workload, run, (None, InUse::Refuse), &machine, progress)?;
    check_lists(&session, run, progress)?;
    let sampling = Sampling::new(&session, run, device.as_ref(), machine);
    let sampled = sampling.run(progress, |_| Ok(()));
    let cells = sampling.cells(&sampled);
    if let Some(difference) = sampled.disagreements.first() {
        return Err(anyhow!("{difference}")).or_exit(Code::Disagree);
    }
    match sampled.failure {
        Some(failure) => Err(failure).or_exit(Code::Io),
        None if interrupt::happened() => Err(anyhow!("interrupted")).or_exit(Code::Interrupted),
        None => Ok(cells),
    }
}

/// Refuses a run on several databases: `who` runs on one, as an error says it.
pub fn on_one_database(run: &RunSpec, who: &str) -> Result<(), Failure> {
    match run.database_count {
        1 => Ok(()),
        count => {
            let error = anyhow!("run.databases = {count}: {who} on one database; leave it out");
            Err(error).or_exit(Code::Usage)
        }
    }
}

/// Prints the result, and which files hold it.
fn show(format: Format, result: &RunResult, written: &[PathBuf]) {
    match format {
        Format::Table => {
            terminal::out(&report::table(result, terminal::width(), terminal::paint()));
        }
        Format::Json => terminal::out(&report::json(result)),
    }
    for path in written {
        terminal::note(&format!("wrote {}", path.display()));
    }
}

/// How the program ends after a run with this result.
fn code(result: &RunResult, failure: Option<Failure>, args: &RunArgs) -> Result<Code, Failure> {
    match (result.agree, failure, result.interrupted) {
        (Some(false), None, _) => Ok(Code::Disagree),
        (Some(false), Some(failure), _) => Err(Failure { code: Code::Disagree, ..failure }),
        (_, Some(failure), _) => Err(failure),
        (_, None, true) => Ok(Code::Interrupted),
        (Some(true), None, false) => Ok(judged(&result.expects, args)),
        (None, None, false) => Err(anyhow!("the run ended without a sample")).or_exit(Code::Io),
    }
}

/// The scenario's claims, judged on what came out.
fn expects(
    scenario: Option<&Scenario>,
    workload: &WorkloadFacts,
    cells: &[Cell],
    databases: &[DatabaseFacts],
) -> Expects {
    let Some(scenario) = scenario else { return Expects::default() };
    let grounds = Grounds { workload, cells, databases, cache: scenario.run.cache };
    claims::judge(&scenario.expects, scenario.skipped_expects(), &grounds)
}

/// The exit code of a run that ended by its plan and whose designs agree.
fn judged(expects: &Expects, args: &RunArgs) -> Code {
    match claims::worst(&expects.claims) {
        Some(Verdict::Fails) => Code::Claim,
        Some(Verdict::Inconclusive | Verdict::NotJudged) if args.strict => Code::Inconclusive,
        _ => Code::Fine,
    }
}

/// Opens the stores that the request names, and measures the device below them.
fn open(
    workload: Workload,
    run: &RunSpec,
    (data_dir, in_use): (Option<&PathBuf>, InUse),
    machine: &Machine,
    progress: &Progress,
) -> Result<(Session, Option<Device>), Failure> {
    let mut session = Session::new(workload).or_exit(Code::Disagree)?;
    if run.designs.contains(&Design::Full) {
        let lists = full_lists(session.workload(), progress)?;
        session.add_full_lists(lists);
    }
    let mut device = None;
    for store in &run.stores {
        let work = session.workload();
        let (genesis, layout, scenario) = (&work.genesis, work.layout, work.scenario.as_str());
        let place = Place { data_dir, in_use, genesis, layout, scenario, machine, progress };
        let open = place.open(*store, run)?;
        // Once a run: all its stores lie in one directory.
        if let (None, Some(state)) = (&device, open.state()) {
            device = Some(measure_device(state, progress));
        }
        session.add(open);
    }
    Ok((session, device))
}

/// The lists with all values before each batch, from the reference.
pub fn full_lists(workload: &Workload, progress: &Progress) -> Result<Vec<Bytes>, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("making the full list", total);
    let mut done = 0;
    let lists = reference::full_lists(workload, || {
        done += 1;
        stage.set(done, total);
        interrupt::answer()
    });
    stage.finish();
    lists.map_err(|error| {
        let code = match &error {
            ReferenceError::Cancelled => Code::Interrupted,
            _ => Code::Disagree,
        };
        Failure { code, error: error.into() }
    })
}

/// Signs all transactions, outside any clock, where their senders are to be recovered.
fn sign(
    workload: &Workload,
    run: &RunSpec,
    core_count: NonZeroUsize,
    progress: &Progress,
) -> Result<Option<Vec<TxSignatures>>, Failure> {
    if !run.recover_senders {
        return Ok(None);
    }
    let stage = progress.stage("signing the transactions", 0);
    let signed = recover::sign(workload, core_count.get(), interrupt::flag());
    stage.finish();
    let code = match &signed {
        Err(RecoverError::Cancelled) => Code::Interrupted,
        Err(RecoverError::Thread(_)) => Code::Io,
        _ => Code::Usage,
    };
    signed.map(Some).or_exit(code)
}

/// Engines that take no list check one by making it again, outside any clock.
fn check_lists(session: &Session, run: &RunSpec, progress: &Progress) -> Result<(), Failure> {
    let takes_none = [Design::Sequential, Design::Prewarm, Design::BlockStm];
    if !run.designs.iter().any(|design| takes_none.contains(design)) {
        return Ok(());
    }
    let stage = progress.stage("making the list again in order", 0);
    let paused = progress.pause();
    let checked = session.check_lists(0, interrupt::flag());
    drop(paused);
    stage.finish();
    match checked {
        Ok(None) => Ok(()),
        Ok(Some(difference)) => Err(difference).or_exit(Code::Disagree),
        Err(error @ EngineError::Cancelled) => Err(error).or_exit(Code::Interrupted),
        Err(error @ EngineError::Store(_)) => Err(error).or_exit(Code::Io),
        Err(error) => Err(error).or_exit(Code::Disagree),
    }
}

/// The workload and how to run it, from a scenario or from a workload file.
pub fn request(args: &RunArgs, progress: &Progress) -> Result<Request, Failure> {
    let how = args.how.overrides();
    let work = args.work.overrides().or_exit(Code::Usage)?;
    match (&args.scenario, &args.workload) {
        (Some(name), None) => {
            let mut overrides = work;
            overrides.extend(how);
            if args.quick {
                add_quick(&mut overrides);
            }
            let scenario = scenarios::load(name, &overrides)?;
            let workload = generate(&scenario, progress)?;
            Ok(Request { workload, run: scenario.run.clone(), scenario: Some(scenario) })
        }
        (None, Some(path)) => {
            if args.quick || !work.is_empty() {
                let what = work.first().map_or("--quick", |given| given.origin.as_str());
                let error =
                    anyhow!("{what}: the work of a workload file is fixed; generate another");
                return Err(Failure { code: Code::Usage, error });
            }
            let run = facts::default_run(&how).or_exit(Code::Usage)?;
            let who = "a workload file is of one seed, and is run";
            on_one_database(&run, who)?;
            let workload = read_workload(path, progress)?;
            Ok(Request { workload, run, scenario: None })
        }
        _ => {
            let error = anyhow!(
                "nothing to run: name a scenario, as in `stress --scenario sload-storm --gas 640M`; \
                 `stress list` shows what is there, `stress --help` the rest"
            );
            Err(Failure { code: Code::Usage, error })
        }
    }
}

/// Adds what `--quick` means where the user has not said otherwise.
pub fn add_quick(overrides: &mut Vec<Override>) {
    let alternative = |key: &str| match key {
        "block.gas" => "block.transactions",
        "state.slots" => "state.size",
        "run.budget" => "run.samples",
        _ => "",
    };
    for (key, value) in QUICK {
        if !overrides.iter().any(|given| given.key == key || given.key == alternative(key)) {
            overrides.push(Override {
                key: key.to_owned(),
                value: value.to_owned(),
                origin: "--quick".to_owned(),
            });
        }
    }
}

/// Reads a workload file and runs the reference again: neither its lists nor what it says is
/// expected is taken on trust.
pub fn read_workload(path: &Path, progress: &Progress) -> Result<Workload, Failure> {
    let workload = file::read(path).or_exit(Code::Io)?;
    let total = workload.tx_count();
    let stage = progress.stage("checking the workload file", total);
    let mut done = 0;
    let checked = reference::verify(&workload, || {
        done += 1;
        stage.set(done, total);
        interrupt::answer()
    });
    stage.finish();
    let code = match &checked {
        Err(ReferenceError::Cancelled) => Code::Interrupted,
        _ => Code::Disagree,
    };
    checked.or_exit(code)?;
    Ok(workload)
}

fn measure_device(state: &BuiltState, progress: &Progress) -> Device {
    let stage = progress.stage("measuring the device", 0);
    let device = facts::device(state, interrupt::flag());
    stage.finish();
    device
}
