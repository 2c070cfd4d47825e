//! `stress gate`: is this build slower than another one, or than a stored result?

use report::JsonOut;
use result::gate::{Gate, GateResult, Mode};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, anyhow};
use clap::Args;
use variant::Named;

use crate::{
    args::{DriveArgs, Format, RunArgs},
    exit::{Code, Failure, OrExit},
    gate::{
        Metric,
        baseline::Times,
        exit_code,
        judge::{self, Builds, Frame, Judgement, New, Results},
    },
    minimal, terminal,
};

/// Largest δ: above it nothing is gated.
const DELTA_MAX: f64 = 1.0;

const GATE_HELP: &str = "\
Examples:
  stress gate --against ../main/stress --scenario sload-storm --design batched-io
  stress gate --against ../main/stress --workload storm.workload --store memory --delta 5%
  stress gate --against ../main/stress --scenario my.toml --deadline 3s --out gate/
  stress gate --baseline main/result.json --scenario my.toml --samples 10
  stress gate --baseline main/result.json --result branch/result.json

A is the build to compare with, B this program. Exit codes: 0 pass, or inconclusive
without --strict; 1 regression, a claim fails, or the work changed; 3 a result is wrong;
4 inconclusive, with --strict; 5 untrusted; 6 a build crashed or hung.";

const WROTE_HELP: &str = "Where `stress calibrate` wrote [default: stress/calibration.json in \
    $XDG_STATE_HOME or ~/.local/state]";

/// Arguments of `stress gate`.
#[derive(Debug, Args)]
#[command(after_help = GATE_HELP)]
pub struct GateArgs {
    /// The build to compare with: a program that speaks the worker protocol
    #[arg(long, value_name = "BINARY", conflicts_with = "baseline")]
    pub against: Option<PathBuf>,
    /// The build that is judged [default: this program]
    #[arg(long, value_name = "BINARY", requires = "against")]
    pub candidate: Option<PathBuf>,
    /// A stored result to compare with, or the directory of one
    #[arg(long, value_name = "RESULT")]
    pub baseline: Option<PathBuf>,
    /// With --baseline: judge this stored result, rather than run
    #[arg(long, value_name = "RESULT", requires = "baseline")]
    pub result: Option<PathBuf>,
    /// With --baseline: judge times too, if they are of the same machine
    #[arg(long, requires = "baseline")]
    pub absolute: bool,
    /// The change that is still none
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub delta: String,
    /// Also claim that no block takes longer in any design of the run: 3s
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// What is judged: wall, cpu, or both, separated by a comma
    #[arg(long, value_name = "LIST", default_value = "wall")]
    pub metric: String,
    /// Try once more where nothing is decided; both tries are kept, and each decides less easily
    #[arg(long)]
    pub rerun: bool,
    /// Where `stress calibrate` wrote.
    #[arg(long, value_name = "FILE", help = WROTE_HELP)]
    pub calibration: Option<PathBuf>,
    /// How builds are driven
    #[command(flatten)]
    pub drive: DriveArgs,
    /// What to run
    #[command(flatten)]
    pub run: RunArgs,
}

/// Judges what the arguments name.
pub fn gate(args: &GateArgs) -> Result<Code, Failure> {
    let delta = share("--delta", &args.delta).or_exit(Code::Usage)?;
    // A directory that cannot be written is better known before the work than after it.
    let out = args.run.out.as_deref().map(JsonOut::at).transpose().or_exit(Code::Io)?;
    let strictness = args.run.strictness();
    let command = std::env::args().collect();
    let frame = Frame::new(args.run.data_dir.as_deref(), delta, strictness, command);
    let mut judgement = Judgement::default();
    let judged = match (&args.against, &args.baseline) {
        (Some(base), None) => {
            judgement.mode = Mode::Against;
            let builds = builds(args, base);
            builds.and_then(|builds| judge::against(&builds, &frame, &mut judgement))
        }
        (None, Some(base)) => {
            judgement.mode = Mode::Baseline;
            let results = results(args, base);
            results.and_then(|results| judge::with_baseline(&results, &frame, &mut judgement))
        }
        _ => {
            let error = anyhow!(
                "nothing to compare with: name another build (--against BINARY) or a stored \
                 result (--baseline RESULT)"
            );
            return Err(error).or_exit(Code::Usage);
        }
    };
    let code = exit_code(judgement.verdict(), strictness);
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
        Format::Json => terminal::out(&report::json(&result).or_exit(Code::Io)?),
    }
    let written = out.map(|out| write(out, &result)).transpose();
    match failure {
        // What failed first is told, whatever became of its file.
        Some(failure) => Err(failure),
        None => written.map(|_| code),
    }
}

fn builds(args: &GateArgs, base: &Path) -> Result<Builds, Failure> {
    Ok(Builds {
        base: base.to_owned(),
        new: args.candidate.clone(),
        metrics: metrics(&args.metric).or_exit(Code::Usage)?,
        driving: args.drive.driving()?,
        work: args.run.of_builds()?,
        attempt_count: if args.rerun { 2 } else { 1 },
        deadline: deadline(args)?,
        calibration: args.calibration.clone(),
    })
}

fn results(args: &GateArgs, base: &Path) -> Result<Results, Failure> {
    let new = match &args.result {
        Some(_) if args.deadline.is_some() => {
            let error = anyhow!("--deadline is judged on a run: leave --result out");
            return Err(error).or_exit(Code::Usage);
        }
        Some(path) => New::Stored(path.clone()),
        None => {
            let input = Box::new(args.run.input(std::env::args().collect())?);
            New::Run { input, deadline: deadline(args)? }
        }
    };
    let times = if args.absolute { Times::Absolute } else { Times::Ratios };
    Ok(Results { base: base.to_owned(), new, times })
}

fn deadline(args: &GateArgs) -> Result<Option<Duration>, Failure> {
    let deadline = args.deadline.as_deref().map(|text| minimal::duration("--deadline", text));
    deadline.transpose().or_exit(Code::Usage)
}

/// What is said where there is no verdict, because something failed: a build that crashes, hangs
/// or talks nonsense, a damaged baseline. Whoever looks for a result finds one, with all that was
/// known by then.
fn failed(gate: &mut Gate, failure: &Failure) {
    gate.verdict = None;
    gate.exit_code = failure.code as u8;
    // An error may be of several lines.
    gate.reason = failure.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
}

fn write(mut out: JsonOut, result: &GateResult) -> Result<(), Failure> {
    let path = out.write("gate", result.started_unix_s, &report::json(result).or_exit(Code::Io)?);
    terminal::note(&format!("wrote {}", path.or_exit(Code::Io)?.display()));
    Ok(())
}

fn metrics(text: &str) -> anyhow::Result<Vec<Metric>> {
    let named = |name: &str| {
        let known = Metric::from_name(name);
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
