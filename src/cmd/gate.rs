//! `stress gate`: is this build slower than another one, or than a stored result?

use report::JsonOut;
use result::{
    Environment, WorkloadFacts,
    gate::{Attempt, Binary, Calibration, Compared, Gate, GateResult, SCHEMA},
    stored::Stored,
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, anyhow};
use serde_json::Value;
use spec::{Bound, Expect, Metric as Claimed, RunSpec, When};

use crate::{
    claims::{self, Grounds},
    cli::{Format, GateArgs},
    cmd::{
        drive::{self, Trio, Work},
        run, state,
    },
    environment,
    exit::{Code, Failure, OrExit},
    facts,
    gate::{
        Metric, Strictness, Verdict,
        baseline::{self, Times},
        calibration,
        measure::{self, Plan},
    },
    progress::Progress,
    terminal,
    worker::of_expect,
};

/// Modes of a result.
const AGAINST: &str = "against";
const BASELINE: &str = "baseline";
/// What stands for the verdict where the gate failed.
const ERROR: &str = "error";
/// A gate that may take as long says so when it begins.
const LONG: Duration = Duration::from_secs(180);
/// Largest δ: above it nothing is gated.
const DELTA_MAX: f64 = 1.0;

/// Judges what the arguments name.
pub fn gate(args: &GateArgs, command: Vec<String>) -> Result<Code, Failure> {
    let delta = share("--delta", &args.delta).or_exit(Code::Usage)?;
    // A directory that cannot be written is better known before the work than after it.
    let out = args.run.out.as_deref().map(JsonOut::at).transpose().or_exit(Code::Io)?;
    let frame = Frame::new(args, delta, command);
    let mut judgement = Judgement::default();
    let judged = match (&args.against, &args.baseline) {
        (Some(other), None) => against(args, other, &frame, &mut judgement),
        (None, Some(base)) => with_baseline(args, base, &frame, &mut judgement),
        _ => {
            let error = anyhow!(
                "nothing to compare with: name another build (--against BINARY) or a stored \
                 result (--baseline RESULT)"
            );
            return Err(error).or_exit(Code::Usage);
        }
    };
    let mut result = frame.result(judgement);
    let failure = judged.err();
    if let Some(failure) = &failure {
        failed(&mut result.gate, failure);
    }
    match args.run.format {
        // An error is told once, by who ends the program.
        Format::Table if failure.is_some() => {}
        Format::Table => {
            terminal::out(&report::gate(&result, terminal::width(), terminal::paint()));
        }
        Format::Json => terminal::out(&report::json(&result)),
    }
    let written = out.map(|out| write(out, &result)).transpose();
    match failure {
        // What failed first is told, whatever became of its file.
        Some(failure) => Err(failure),
        None => written.map(|_| frame.verdict_of(&result).code(frame.strictness)),
    }
}

/// What is said where there is no verdict, because something failed: a build that crashes, hangs
/// or talks nonsense, a damaged baseline. Whoever looks for a result finds one, with all that was
/// known by then.
fn failed(gate: &mut Gate, failure: &Failure) {
    gate.verdict = ERROR;
    gate.exit_code = failure.code as u8;
    // An error may be of several lines.
    gate.reason = failure.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
}

fn write(mut out: JsonOut, result: &GateResult) -> Result<(), Failure> {
    let path = out.write("gate", result.started_unix_s, &report::json(result));
    terminal::note(&format!("wrote {}", path.or_exit(Code::Io)?.display()));
    Ok(())
}

/// What every result of a gate has.
struct Frame {
    command: Vec<String>,
    begun: Instant,
    started_unix_s: u64,
    environment: Environment,
    strictness: Strictness,
    delta: f64,
}

/// What is the result's own, as far as it is known.
#[derive(Default)]
struct Judgement {
    mode: &'static str,
    /// `None` where something failed before there was one.
    verdict: Option<Verdict>,
    reason: String,
    attempts: Vec<Attempt>,
    baseline: Option<Compared>,
    workload: Option<WorkloadFacts>,
    binaries: Vec<Binary>,
    expects: Option<Value>,
    warnings: Vec<String>,
}

impl Frame {
    fn new(args: &GateArgs, delta: f64, command: Vec<String>) -> Self {
        let data_path = state::data_path(args.run.data_dir.as_ref());
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            command,
            begun: Instant::now(),
            started_unix_s: since.map_or(0, |since| since.as_secs()),
            environment: environment::probe(data_path.as_deref().unwrap_or(Path::new("."))),
            strictness: if args.run.strict { Strictness::Strict } else { Strictness::Lenient },
            delta,
        }
    }

    fn result(&self, judgement: Judgement) -> GateResult {
        let verdict = judgement.verdict.unwrap_or(Verdict::Inconclusive);
        let mut warnings = judgement.warnings;
        let of_machine = environment::warnings(&self.environment);
        warnings.extend(of_machine.iter().map(ToString::to_string));
        GateResult {
            schema: SCHEMA,
            tool: facts::tool(&self.environment.build),
            command: self.command.clone(),
            started_unix_s: self.started_unix_s,
            took_s: self.begun.elapsed().as_secs_f64(),
            workload: judgement.workload,
            environment: self.environment.clone(),
            warnings,
            binaries: judgement.binaries,
            gate: Gate {
                mode: judgement.mode,
                verdict: verdict.name(),
                exit_code: verdict.code(self.strictness) as u8,
                reason: judgement.reason,
                delta: self.delta,
                attempts: judgement.attempts,
                baseline: judgement.baseline,
            },
            expects: judgement.expects,
        }
    }

    /// The verdict and reason with those of the claims.
    fn with_claims(&self, sofar: (Verdict, String), expects: Option<&Value>) -> (Verdict, String) {
        let Some(expects) = expects else { return sofar };
        let of_verdict = |verdict: &str| {
            let claims = expects["claims"].as_array().into_iter().flatten();
            let mut claims = claims.filter(|claim| claim["verdict"] == verdict);
            claims.next().map(|claim| {
                let figure = [&claim["near_end"], &claim["value"]];
                let figure = figure.into_iter().find(|value| !value.is_null());
                format!(
                    "{} {} {} {verdict}: {}",
                    claim["metric"].as_str().unwrap_or_default(),
                    claim["bound"].as_str().unwrap_or_default(),
                    claim["limit"],
                    figure.unwrap_or(&claim["reason"])
                )
            })
        };
        let open = || of_verdict("inconclusive").or_else(|| of_verdict("not judged"));
        let (verdict, reason) = match (of_verdict("fails"), self.strictness) {
            (Some(reason), _) => (Verdict::ClaimFails, reason),
            (None, Strictness::Strict) => match open() {
                Some(reason) => (Verdict::Inconclusive, reason),
                None => return sofar,
            },
            (None, Strictness::Lenient) => return sofar,
        };
        worse(sofar, (verdict, reason))
    }

    /// The verdict that a result names.
    fn verdict_of(&self, result: &GateResult) -> Verdict {
        let all = [
            Verdict::Pass,
            Verdict::Regression,
            Verdict::ClaimFails,
            Verdict::WorkChanged,
            Verdict::Inconclusive,
            Verdict::Untrusted,
        ];
        let named = all.into_iter().find(|verdict| verdict.name() == result.gate.verdict);
        named.unwrap_or(Verdict::Inconclusive)
    }
}

/// Two builds, interleaved.
fn against(
    args: &GateArgs,
    other: &Path,
    frame: &Frame,
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    judgement.mode = AGAINST;
    let metrics = metrics(&args.metric).or_exit(Code::Usage)?;
    let slot_ns = drive::slot_ns(&args.drive)?;
    let progress = Progress::new(terminal::look());
    let work = Work::of(&args.run, &progress)?;
    judgement.workload = Some(work.facts.clone());
    let expects = expects(args, &work)?;
    judgement.warnings = calibrated(args, &work.variants, frame)?;
    let new = args.candidate.clone().map_or_else(drive::this_program, Ok)?;
    let mut trio = Trio::start(other, &new, &args.drive, &work, &progress)?;
    judgement.binaries = trio.binaries();
    let handicapped = judgement.binaries.iter().filter(|b| b.slow_read_ns > 0 || b.reads_one_twice);
    judgement.warnings.extend(handicapped.map(|binary| {
        format!(
            "{} ({}) was made worse on purpose: it is no build's speed",
            binary.arm, binary.path
        )
    }));
    let mut plan = Plan {
        variants: work.variants.clone(),
        metrics,
        delta: frame.delta,
        slot_ns,
        coin_seed: args.drive.coin.unwrap_or(work.facts.seed),
        attempt_count: if args.rerun { 2 } else { 1 },
        takes_all: false,
    };
    let sofar = loop {
        let (verdict, attempt) = measured(&plan, &mut trio, &progress)?;
        let reason = attempt.reason.clone();
        judgement.attempts.push(attempt);
        let is_open = matches!(verdict, Verdict::Inconclusive | Verdict::Untrusted);
        if !is_open || judgement.attempts.len() == plan.attempt_count {
            break (verdict, reason);
        }
        plan.coin_seed = plan.coin_seed.wrapping_add(1);
    };
    judgement.warnings.extend(trio.warning());
    let (verdict, reason) = if sofar.0 == Verdict::WorkChanged || expects.is_empty() {
        trio.end()?;
        sofar
    } else {
        let (judged, disturbances) = trio.judge(expects.iter().map(of_expect).collect())?;
        let judged = judgement.expects.insert(judged);
        match disturbances.as_slice() {
            [] => frame.with_claims(sofar, Some(judged)),
            // Neither a claim that fails nor one that holds is worth anything then.
            some => worse(sofar, (Verdict::Untrusted, some.join("; "))),
        }
    };
    progress.clear();
    (judgement.verdict, judgement.reason) = (Some(verdict), reason);
    Ok(())
}

/// The worse of two verdicts, with its reason; of equals the first.
fn worse(first: (Verdict, String), second: (Verdict, String)) -> (Verdict, String) {
    if Verdict::worst([first.0, second.0]) == first.0 { first } else { second }
}

fn measured(
    plan: &Plan,
    trio: &mut Trio,
    progress: &Progress,
) -> Result<(Verdict, Attempt), Failure> {
    let at_most = plan.longest(trio.start_took());
    if at_most >= LONG {
        terminal::note(&format!(
            "starting the builds took {:.1} s; each octet starts them anew: up to {:.0} min, less \
             where a state was built now",
            trio.start_took().as_secs_f64(),
            at_most.as_secs_f64() / 60.0
        ));
    }
    let stage = progress.stage("comparing", measure::OCTET_COUNT as u64);
    let attempt = measure::attempt(plan, trio, |octet| {
        stage.set(octet as u64, measure::OCTET_COUNT as u64);
    });
    stage.finish();
    attempt
}

/// A run, or a stored result, against a stored one.
fn with_baseline(
    args: &GateArgs,
    base: &Path,
    frame: &Frame,
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    judgement.mode = BASELINE;
    let base = Stored::read(base).or_exit(Code::Io)?;
    let times = if args.absolute { Times::Absolute } else { Times::Ratios };
    let new = match &args.result {
        Some(path) => {
            if args.deadline.is_some() {
                let error = anyhow!("--deadline is judged on a run: leave --result out");
                return Err(error).or_exit(Code::Usage);
            }
            Stored::read(path).or_exit(Code::Io)?
        }
        None => {
            let (new, workload) = ran(args, frame)?;
            judgement.workload = Some(workload);
            new
        }
    };
    judgement.expects = new.json.get("expects").cloned();
    let disagrees = [&base, &new].into_iter().any(|stored| stored.agrees() == Some(false));
    let code = if disagrees { Code::Disagree } else { Code::Usage };
    let judged = baseline::judge(&base, &new, frame.delta, times);
    let (verdict, reason, compared) = judged.or_exit(code)?;
    let (verdict, reason) = frame.with_claims((verdict, reason), judgement.expects.as_ref());
    if let Times::Absolute = times {
        judgement.warnings.push(compared.times_note.clone());
    }
    judgement.baseline = Some(compared);
    (judgement.verdict, judgement.reason) = (Some(verdict), reason);
    Ok(())
}

/// Runs, and gives the result as if it had been read, with its claims judged.
fn ran(args: &GateArgs, frame: &Frame) -> Result<(Stored, WorkloadFacts), Failure> {
    let mut finished = run::result(&args.run, frame.command.clone())?;
    let result = &mut finished.result;
    if let Some(deadline) = &args.deadline {
        let run = facts::default_run(&args.run.how.overrides()).or_exit(Code::Usage)?;
        let designs = result.cells.iter().map(|cell| cell.design).collect::<Vec<_>>();
        let expects = of_deadline(deadline, &run)?;
        let of_run = expects.into_iter().filter(|expect| match expect.metric {
            Claimed::MsPerBlock(design) => designs.contains(&design.name()),
            _ => true,
        });
        let grounds = Grounds {
            workload: &result.workload,
            cells: &result.cells,
            databases: &result.databases,
            cache: run.cache,
        };
        let judged = claims::judge(&of_run.collect::<Vec<_>>(), None, &grounds);
        result.expects.count += judged.count;
        result.expects.claims.extend(judged.claims);
    }
    let json = serde_json::to_value(&finished.result).or_exit(Code::Io)?;
    let workload = finished.result.workload.clone();
    // What ended the run before its time, or is wrong, comes before any verdict.
    match finished.code(&args.run)? {
        Code::Fine | Code::Claim | Code::Inconclusive => {}
        code => return Err(anyhow!("the run gave no result to judge")).or_exit(code),
    }
    let stored = Stored::new(PathBuf::from("this run"), json);
    Ok((stored, workload))
}

/// The claims of the scenario that hold for this work, and the deadline.
fn expects(args: &GateArgs, work: &Work) -> Result<Vec<Expect>, Failure> {
    let of_scenario = work.scenario.as_ref().filter(|s| s.skipped_expects().is_none());
    let mut all = of_scenario.map_or(Vec::new(), |scenario| scenario.expects.clone());
    if let Some(deadline) = &args.deadline {
        all.extend(of_deadline(deadline, &work.run)?);
    }
    Ok(all)
}

/// A deadline as claims: no design of the run takes longer for a block.
fn of_deadline(deadline: &str, run: &RunSpec) -> Result<Vec<Expect>, Failure> {
    let most = facts::duration("--deadline", deadline).or_exit(Code::Usage)?;
    let bound = Bound::Max(most.as_secs_f64() * 1e3);
    let claim =
        |design| Expect { metric: Claimed::MsPerBlock(design), bound, when: When::default() };
    Ok(run.designs.iter().copied().map(claim).collect())
}

/// What the calibration of this machine says of what is asked.
fn calibrated(args: &GateArgs, variants: &[String], frame: &Frame) -> Result<Vec<String>, Failure> {
    let Some(path) = args.calibration.clone().or_else(calibration::default_path) else {
        return Ok(Vec::new());
    };
    let Some(calibration) = Calibration::read(&path).or_exit(Code::Io)? else {
        if args.calibration.is_some() {
            let error = anyhow!("{}: there is no such file; `stress calibrate`", path.display());
            return Err(error).or_exit(Code::Io);
        }
        return Ok(Vec::new());
    };
    let here = serde_json::to_value(&frame.environment).or_exit(Code::Io)?;
    let warning =
        |variant: &String| calibration::warning(&calibration, variant, frame.delta, &here);
    let mut warnings: Vec<_> = variants.iter().filter_map(warning).collect();
    warnings.dedup();
    Ok(warnings)
}

fn metrics(text: &str) -> anyhow::Result<Vec<Metric>> {
    let named = |name: &str| {
        let known = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        known.with_context(|| format!("--metric {text}: {name:?} is none; there are wall and cpu"))
    };
    let mut metrics = Vec::new();
    for name in text.split(',').map(str::trim) {
        let metric = named(name)?;
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    Ok(metrics)
}

/// A share such as `3%` or `0.03`.
fn share(option: &str, text: &str) -> anyhow::Result<f64> {
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
        assert_eq!(share("--delta", "3%").unwrap(), 0.03);
        assert_eq!(share("--delta", "0.5").unwrap(), 0.5);
        for wrong in ["0", "-1%", "101%", "three", "", "%", "nan", "inf"] {
            let error = share("--delta", wrong).unwrap_err().to_string();
            assert!(error.contains("as in 3%"), "{wrong}: {error}");
        }
    }

    #[test]
    fn metrics_are_named_once() {
        assert_eq!(metrics("cpu, wall,cpu").unwrap(), [Metric::Cpu, Metric::Wall]);
        assert!(metrics("wall,").unwrap_err().to_string().contains("there are wall and cpu"));
    }
}
