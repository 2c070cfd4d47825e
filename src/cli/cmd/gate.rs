//! `stress gate`: judges whether this build is slower than another build, or than a stored result.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use report::{JsonFile, units};
use result::{
    gate::{Gate, GateResult, Mode},
    stored::Stored,
};
use spec::Override;
use variant::{Named, WholeRows};

use crate::{
    cli::args::{ArgsOrVerb, DriveArgs, Format, RunArgs, key_value, name_list, typed_words},
    client::StartFile,
    figures::metrics::MetricsFile,
    gate::{
        DELTA_MAX, Metric, OCTET_COUNT_MIN,
        baseline::Times,
        baselines::Found,
        builds,
        clients::ClientPair,
        judge::{self, BuildsInput, GateStart, Judgement, NewResults, ResultsInput},
        settings::check_run_keys,
    },
    machine::{self, child},
    run::{RunInput, SameWork, minimal},
    terminal::{
        self, Code, Failure, WithExitCode,
        exit::{self, fail},
    },
};

mod calibrate;
mod options;

use calibrate::CalibrateArgs;
use options::in_gate_help;

/// Default number of processes of a run whose times are judged. Fewer processes give no interval.
const PROCESS_COUNT: usize = 6;
/// Maximal number of processes of a run.
const PROCESS_COUNT_MAX: usize = 1_000;

const GATE_HELP: &str = "\
Examples:
  stress gate --against ../main/stress --scenario my.toml
  stress gate --baseline main my.toml --samples 10       beside a saved baseline
  stress gate --against ../main/stress --scenario sload-storm --cache warm \\
    --gas 48M --slots 200k --design batched-io --threads 2 --io-threads 2    some minutes
  stress gate --against ../main/stress --workload storm.workload --store memory --delta 5%
  stress gate --against ../main/stress --scenario my.toml --deadline 3s --out gate/
  stress gate --against ../main/stress --scenario my.toml --metrics gate.prom
  stress gate --b-set run.read=get --scenario my.toml      is the setting slower?
  stress gate --baseline main/result.json --scenario my.toml --samples 10
  stress gate --baseline main/result.json --result branch/result.json
  stress gate --baseline main/ --absolute --scenario my.toml --samples 10
  stress gate --client new.toml --against old.toml storm/    two clients on an export

For --absolute run the baseline six times into one directory: a process has its luck.

A is the build to compare with, B this program. Exit codes: 0 pass, or inconclusive
without --strict; 1 regression, a claim fails, or the work changed; 3 a result is wrong;
4 inconclusive, with --strict; 5 untrusted; 6 a build crashed or hung; 7 times or a claim
not judged, without --accept-not-judged.";

const WROTE_HELP: &str = "The file that `stress gate calibrate` wrote [default: \
    stress/calibration.json in $XDG_STATE_HOME or ~/.local/state]";

/// Arguments of `stress gate`.
#[derive(Debug, Args)]
#[command(after_help = GATE_HELP, mut_args(in_gate_help))]
pub struct GateArgs {
    /// The build to compare with: a program that speaks the worker protocol
    #[arg(long, value_name = "BINARY", conflicts_with = "baseline")]
    pub against: Option<PathBuf>,
    /// Judge a client: B is this start file (or the name of a shipped one), A that of --against,
    /// and the work is the directory of an export with siblings
    #[arg(
        long,
        value_name = "NAME|FILE",
        requires = "against",
        conflicts_with_all = ["program", "a_set", "b_set", "baseline", "deadline", "calibration"]
    )]
    pub client: Option<String>,
    /// The build that is judged [default: this program]
    #[arg(long, value_name = "BINARY", requires = "against")]
    pub program: Option<PathBuf>,
    /// Set a key of `run` for A alone; may be repeated. Without --against A is this program
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "baseline")]
    pub a_set: Vec<String>,
    /// Set a key of `run` for B alone: --b-set run.read=get
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "baseline")]
    pub b_set: Vec<String>,
    /// Compare with a stored result, a directory (of several processes' results, for times), or a
    /// saved baseline; a path goes before a name
    #[arg(
        long,
        value_name = "RESULT|NAME",
        conflicts_with_all = ["metric", "rerun", "calibration", "slot_time", "timeout"]
    )]
    pub baseline: Option<PathBuf>,
    /// With --baseline: judge this stored result, or those of a directory, and run nothing
    #[arg(long, value_name = "RESULT", requires = "baseline")]
    pub result: Option<PathBuf>,
    /// With --baseline: judge times too, if they are of the same machine and of six processes each
    #[arg(long, requires = "baseline")]
    pub absolute: bool,
    /// With --baseline: number of processes of the run, each one value [default: 6 with --absolute,
    /// otherwise 1]
    #[arg(long, value_name = "COUNT", requires = "baseline", conflicts_with = "result")]
    pub processes: Option<usize>,
    /// A process of `--processes`: only run, and write the result into this directory.
    #[arg(long, hide = true, value_name = "DIR", requires_all = ["baseline", "parent"])]
    pub only_run: Option<PathBuf>,
    /// The process that it runs for: when that ends, so does this one.
    #[arg(long, hide = true, value_name = "PID", requires = "only_run")]
    pub parent: Option<u32>,
    /// The smallest change that counts: a build that is slower by more is a regression
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub delta: String,
    /// Also claim that no block takes longer in any design of the run: 3s
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Judged metrics, separated by commas.
    #[arg(long, value_name = "LIST", help = metric_help())]
    pub metric: Option<String>,
    /// Measure a second time if the verdict is open; both attempts are kept, and each needs more
    /// evidence
    #[arg(long)]
    pub rerun: bool,
    /// The file that `stress gate calibrate` wrote.
    #[arg(long, value_name = "FILE", help = WROTE_HELP)]
    pub calibration: Option<PathBuf>,
    /// How builds are driven
    #[command(flatten)]
    pub drive: DriveArgs,
    /// The work and the settings of both builds
    #[command(flatten)]
    pub run: RunArgs,
}

/// Verbs of `stress gate`.
#[derive(Debug, Subcommand)]
pub enum GateCommand {
    /// Estimate the smallest change that this machine can detect
    Calibrate(Box<CalibrateArgs>),
}

fn metric_help() -> String {
    let names = name_list::<Metric>();
    format!("Judged metrics: {names} [default: wall; on a cold disk all that are reported]")
}

/// Judges the builds or results of the arguments.
pub fn gate(verb: &ArgsOrVerb<GateArgs, GateCommand>) -> Result<Code, Failure> {
    let args = match verb {
        ArgsOrVerb::Args(args) => args,
        ArgsOrVerb::Verb(GateCommand::Calibrate(args)) => return calibrate::calibrate(args),
    };
    if let (Some(dir), Some(parent_pid)) = (&args.only_run, args.parent) {
        return only_run(args, dir, parent_pid);
    }
    let metrics = MetricsFile::at(args.run.metrics.as_deref(), args.run.force.existing())?;
    let started = machine::unix_s();
    let mut result = None;
    let ended = run_gate(args, &mut result);
    metrics.write(ended, |code| match &result {
        Some(result) => report::metrics_of_gate(result, code),
        None => report::metrics_of_failure("gate", started, code),
    })
}

/// Judges as [`gate()`] does, but writes no file of metrics. `kept` gets the result, if there is
/// one.
fn run_gate(args: &GateArgs, kept: &mut Option<GateResult>) -> Result<Code, Failure> {
    let delta = parse_share("--delta", &args.delta).with_exit_code(Code::Usage)?;
    // A directory that cannot be written is an error before the work, not after it.
    let out = args.run.out.as_deref().map(|dir| JsonFile::at(dir, "gate")).transpose()?;
    let open = args.run.open.codes();
    let command = typed_words();
    let start = GateStart::new(args.run.databases.data_dir.asked(), delta, open, command);
    let is_set = !args.a_set.is_empty() || !args.b_set.is_empty();
    let (mode, judged) = match (&args.baseline, &args.against, &args.client) {
        (Some(base), ..) => {
            let results = results(args, base);
            (Mode::Baseline, results.map(|results| judge::with_baseline(&results, &start)))
        }
        (None, Some(base), Some(new)) => {
            let pair = client_pair(args, base, new);
            (Mode::Against, pair.map(|pair| judge::clients(&pair, &start)))
        }
        (None, None, _) if !is_set => fail!(
            Code::Usage,
            "nothing to compare with: name another build (--against BINARY), a setting (--b-set \
             run.KEY=VALUE) or a stored result (--baseline RESULT)"
        ),
        (None, base, _) => {
            let builds = builds(args, base.as_deref());
            (Mode::Against, builds.map(|builds| judge::against(&builds, &start)))
        }
    };
    let judgement = judged.unwrap_or_else(|failure| Judgement::failed(mode, failure));
    let cache = judgement.cache();
    let (mut result, ended) = start.result(judgement);
    let ended = ended.map_err(without_build_name);
    if let Err(failure) = &ended {
        record_failure(&mut result.gate, failure);
    }
    let result = kept.insert(result);
    match args.run.format {
        // An error is printed once, at the end of the program.
        Format::Table if ended.as_ref().is_err_and(|f| f.code != Code::Interrupted) => {}
        Format::Table => {
            terminal::out(&report::gate(result, cache, terminal::width(), terminal::paint()));
        }
        Format::Json => terminal::out(&report::json(result).with_exit_code(Code::Io)?),
    }
    let written = out.map_or(Ok(()), |out| write_result(out, result));
    exit::with_side_work(ended, written, terminal::error)
}

/// Returns the input for two builds. A is this program if no build is named and a setting is
/// judged.
fn builds(args: &GateArgs, base: Option<&Path>) -> Result<BuildsInput, Failure> {
    let settings = [settings("--a-set", &args.a_set)?, settings("--b-set", &args.b_set)?];
    let work = args.run.gate_work_input(settings)?;
    for (option, path) in [("--against", base), ("--program", args.program.as_deref())] {
        if let Some(path) = path.filter(|path| !path.is_file()) {
            let shown = path.display();
            fail!(Code::Usage, "{option} {shown}: no such file; name a built program of stress");
        }
    }
    Ok(BuildsInput {
        base: base.map_or_else(builds::this_program, |base| Ok(base.to_owned()))?,
        new: args.program.clone(),
        metrics: metrics(args)?,
        slots: args.drive.slots()?,
        work,
        attempt_count: if args.rerun { 2 } else { 1 },
        deadline: deadline(args)?,
        calibration: args.calibration.clone(),
    })
}

/// Parses the settings of one build.
fn settings(option: &str, texts: &[String]) -> Result<Vec<Override>, Failure> {
    let pairs = texts.iter().map(|text| key_value(option, text, "run.read=get"));
    let settings = pairs.collect::<anyhow::Result<Vec<_>>>().with_exit_code(Code::Usage)?;
    check_run_keys(&settings)?;
    Ok(settings)
}

/// Returns the input for two clients, whose only work is an export.
fn client_pair(args: &GateArgs, base: &Path, new: &str) -> Result<ClientPair, Failure> {
    args.run.refuse_extras("gate").with_exit_code(Code::Usage)?;
    let run = &args.run;
    let is_work_alone = run.scenario.is_none() && run.workload.is_none() && !run.quick;
    let work = run.work.overrides().with_exit_code(Code::Usage)?;
    let how = run.how.overrides().into_iter().find(|given| given.key != "run.cache");
    let ([dir], true) = (run.words.as_slice(), is_work_alone) else {
        fail!(
            Code::Usage,
            "--client: name one directory that `stress export` wrote as the work, as in stress gate \
             --client new.toml --against old.toml storm/"
        );
    };
    if let Some(given) = work.into_iter().chain(how).next() {
        fail!(Code::Usage, "{}: the work of an export is fixed, and clients run it", given.origin);
    }
    let cache = minimal::default_run(&run.how.overrides()).with_exit_code(Code::Usage)?.cache;
    let metrics = metrics(args)?.unwrap_or_else(|| vec![Metric::Wall]);
    let base = StartFile::load(&base.to_string_lossy()).with_exit_code(Code::Usage)?;
    let new = StartFile::load(new).with_exit_code(Code::Usage)?;
    Ok(ClientPair {
        dir: dir.into(),
        starts: [base, new],
        cache,
        metrics,
        attempt_count: if args.rerun { 2 } else { 1 },
        slots: args.drive.slots()?,
    })
}

fn results(args: &GateArgs, base: &Path) -> Result<ResultsInput, Failure> {
    args.run.refuse_extras("gate").with_exit_code(Code::Usage)?;
    if let (Some(given), Some(_)) = (args.run.first_work_argument(), &args.result) {
        fail!(
            Code::Usage,
            "{given}: --result names a stored result, so nothing is run; leave {given} out, or \
             leave --result out to run"
        );
    }
    let side = stored_side(args, base)?;
    if let Some(note) = &side.note {
        terminal::note(note);
    }
    let new = match &args.result {
        Some(_) if args.deadline.is_some() => {
            fail!(Code::Usage, "--deadline is judged on a run: leave --result out");
        }
        Some(path) => NewResults::Stored(path.clone()),
        None => {
            let input = Box::new(input_beside(args, &side.path)?);
            let (process_count, deadline) = (process_count(args)?, deadline(args)?);
            NewResults::Run { input, process_count, arguments: process_arguments, deadline }
        }
    };
    let times = if args.absolute { Times::Absolute } else { Times::Ratios };
    Ok(ResultsInput { base: side.path, new, times })
}

/// Returns the input of a run that is compared with a stored side. Each design has a whole row if
/// the stored side has a whole row, so that both sides run over states of one form. A deadline also
/// needs whole rows.
fn input_beside(args: &GateArgs, base: &Path) -> Result<RunInput, Failure> {
    let mut input = args.run.input(typed_words())?;
    // The comparison itself later refuses a stored side that cannot be read.
    let stored = Stored::read(base).ok();
    let option = format!("--baseline {}", args.baseline.as_deref().unwrap_or(base).display());
    let mut cells = stored.iter().flat_map(|stored| &stored.result.cells);
    let wants_whole = args.deadline.is_some() || cells.any(|cell| !cell.duties.is_empty());
    input.open_whole = if wants_whole { WholeRows::One } else { WholeRows::Nothing };
    input.same_work =
        stored.map(|stored| SameWork::of(option, &stored, "compare with a result of this run's"));
    Ok(input)
}

/// Finds the stored side: a path, or a baseline by its name. If the other side is one process
/// without `--absolute`, only the newest result of a baseline counts.
fn stored_side(args: &GateArgs, given: &Path) -> Result<Found, Failure> {
    let found = args.run.databases.data_dir.find_result(given)?;
    let is_several = args.absolute
        || args.processes.is_some_and(|count| count > 1)
        || args.result.as_ref().is_some_and(|path| path.is_dir());
    if !found.is_baseline || is_several {
        return Ok(found);
    }
    let path = Stored::read(&found.path).with_input_code()?.path;
    Ok(Found { path, ..found })
}

/// Returns the number of processes of the run: by default `PROCESS_COUNT` if times are judged, or
/// else 1.
fn process_count(args: &GateArgs) -> Result<usize, Failure> {
    let count = args.processes.unwrap_or(if args.absolute { PROCESS_COUNT } else { 1 });
    if !(1..=PROCESS_COUNT_MAX).contains(&count) {
        fail!(Code::Usage, "--processes {count}: a number from 1 to {PROCESS_COUNT_MAX} is wanted");
    }
    Ok(count)
}

/// Returns the arguments of another process that runs the work once and writes its result into
/// `dir`.
fn process_arguments(dir: &Path) -> Vec<OsString> {
    child::own_arguments([OsString::from("--only-run"), dir.into()])
}

/// Runs the work of the arguments, for a gate in another process.
fn only_run(args: &GateArgs, dir: &Path, parent_pid: u32) -> Result<Code, Failure> {
    if !child::end_with_parent(parent_pid).with_exit_code(Code::Io)? {
        return Ok(Code::Interrupted);
    }
    let base = args.baseline.as_deref().unwrap_or(Path::new(""));
    let mut input = input_beside(args, &stored_side(args, base)?.path)?;
    input.out = Some(dir.to_owned());
    input.run()?.code(input.open)
}

fn deadline(args: &GateArgs) -> Result<Option<Duration>, Failure> {
    let deadline = args.deadline.as_deref().map(|text| spec::fine_duration("--deadline", text));
    deadline.transpose().with_exit_code(Code::Usage)
}

/// Fills in the result of a gate without a verdict, after a failure. A build may crash, hang or
/// answer nonsense, or a baseline may be damaged. The result has all facts found before the
/// failure.
fn record_failure(gate: &mut Gate, failure: &Failure) {
    gate.verdict = None;
    gate.exit_code = failure.code as u8;
    // The reason is one line, and an error may have several.
    let reason = failure.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let cells = gate.attempts.last().into_iter().flat_map(|last| &last.cells);
    let octet_count = cells.map(|cell| cell.octets.len()).max().unwrap_or(0);
    gate.reason = match (failure.code, gate.mode) {
        (Code::Interrupted, Mode::Against) => interrupted_reason(octet_count),
        _ => reason,
    };
}

/// Returns the failure, without the names of build and sample if the user interrupted, as neither
/// is at fault.
fn without_build_name(failure: Failure) -> Failure {
    match failure.code {
        Code::Interrupted => Failure { error: anyhow!("interrupted"), ..failure },
        _ => failure,
    }
}

/// Returns the reason of a gate that was interrupted after `octet_count` octets.
fn interrupted_reason(octet_count: usize) -> String {
    let octets = units::things(octet_count as u64, "octet");
    match octet_count < OCTET_COUNT_MIN {
        true => {
            format!("interrupted after {octets}; the first figures come after {OCTET_COUNT_MIN}")
        }
        false => format!("interrupted after {octets}, undecided"),
    }
}

fn write_result(mut out: JsonFile, result: &GateResult) -> Result<(), Failure> {
    let path = out.write(result.started_unix_s, &report::json(result).with_exit_code(Code::Io)?);
    terminal::note(&format!("wrote {}", path.with_exit_code(Code::Io)?.display()));
    Ok(())
}

/// Returns the metrics that `--metric` names, each once.
fn metrics(args: &GateArgs) -> Result<Option<Vec<Metric>>, Failure> {
    args.metric.as_deref().map(parse_metrics).transpose().with_exit_code(Code::Usage)
}

fn parse_metrics(text: &str) -> anyhow::Result<Vec<Metric>> {
    let mut metrics = Vec::new();
    for name in text.split(',').map(str::trim) {
        let metric = Metric::from_name(name).with_context(|| {
            let all = name_list::<Metric>();
            format!("--metric {text}: {name:?} is none; there are {all}")
        })?;
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    Ok(metrics)
}

/// Parses a share such as `3%` or `0.03`.
fn parse_share(option: &str, text: &str) -> anyhow::Result<f64> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().ok().map(|number| number / unit);
    let valid = share.filter(|share| *share > 0.0 && *share <= DELTA_MAX);
    valid.with_context(|| {
        format!("{option} {text}: a share above 0 and up to 1 is wanted, as in 3% or 0.03")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage_above_nothing() {
        assert_eq!(parse_share("--delta", "3%").unwrap(), 0.03);
        assert_eq!(parse_share("--delta", "0.5").unwrap(), 0.5);
        for wrong in ["0", "-1%", "101%", "three", "", "%", "nan", "inf"] {
            let error = parse_share("--delta", wrong).unwrap_err().to_string();
            assert!(error.contains("as in 3%"), "{wrong}: {error}");
        }
    }

    #[test]
    fn an_interrupted_gate_says_when_figures_would_have_come() {
        let early = interrupted_reason(1);
        assert_eq!(early, "interrupted after 1 octet; the first figures come after 6");
        assert_eq!(interrupted_reason(7), "interrupted after 7 octets, undecided");
    }

    #[test]
    fn an_interrupt_is_told_without_the_build_that_it_stopped() {
        let told =
            |code| without_build_name(Failure { code, error: anyhow!("/b/stress: cancelled") });
        assert_eq!(told(Code::Interrupted).to_string(), "interrupted");
        assert_eq!(told(Code::Io).to_string(), "/b/stress: cancelled");
        let mut gate = result::example::gate::passed().gate;
        record_failure(&mut gate, &told(Code::Interrupted));
        assert_eq!(gate.reason, "interrupted after 1 octet; the first figures come after 6");
        gate.attempts.clear();
        record_failure(&mut gate, &told(Code::Interrupted));
        assert_eq!(gate.reason, "interrupted after 0 octets; the first figures come after 6");
    }

    #[test]
    fn metrics_are_named_once() {
        assert_eq!(parse_metrics("cpu, wall,cpu").unwrap(), [Metric::Cpu, Metric::Wall]);
        let error = parse_metrics("wall,").unwrap_err().to_string();
        assert!(error.contains("there are wall, cpu, blocks"), "{error}");
    }
}
