//! `stress gate calibrate`: estimates the smallest change that this machine can detect.

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::Args;

use report::{Existing, WholeFile};
use result::gate::Calibration;

use super::options::in_calibrate_help;
use crate::{
    cli::args::{DriveArgs, RunArgs},
    gate::{
        Metric, Verdict,
        builds::{self, BuildTrio},
        calibration, measure,
        pace::WorkSource,
        sampler::Plan,
        stage::MeasuringStage,
        work::{GateWork, subjects},
    },
    machine,
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail},
};

const CALIBRATE_HELP: &str = "\
Examples:
  stress gate calibrate --scenario my.toml --calibration here.json
  stress gate calibrate storm.workload --store memory --design sequential

Compares this program with itself for 12 octets and prints the smallest change that they detect.";

const WRITE_HELP: &str = "Where to write the estimate [default: stress/calibration.json in \
    $XDG_STATE_HOME or ~/.local/state]";

/// Arguments of `stress gate calibrate`.
#[derive(Debug, Args)]
#[command(after_help = CALIBRATE_HELP, mut_args(in_calibrate_help))]
pub struct CalibrateArgs {
    /// Where to write the estimate.
    #[arg(long, value_name = "FILE", help = WRITE_HELP)]
    pub calibration: Option<PathBuf>,
    /// How builds are driven
    #[command(flatten)]
    pub drive: DriveArgs,
    /// The work and the settings of the run
    #[command(flatten)]
    pub run: RunArgs,
}

/// Compares this program with itself, and keeps the estimate.
pub fn calibrate(args: &CalibrateArgs) -> Result<Code, Failure> {
    let started = machine::unix_s();
    let environment = args.run.databases.data_dir.environment();
    let file = file(args)?;
    let slots = args.drive.slots()?;
    if args.run.metrics.is_some() {
        fail!(Code::Usage, "--metrics: `stress gate calibrate` has none; leave it out");
    }
    let input = args.run.gate_work_input(Default::default())?;
    let progress = Progress::new(terminal::progress_form());
    let work = GateWork::prepare(&input, &progress)?;
    let program = builds::this_program()?;
    let mut trio = BuildTrio::start(&program, &program, slots.timeout, &work, &progress)?;
    // Only the spreads of all octets count, so δ is the largest share.
    let subjects = subjects(&work.variants, Some(&[Metric::Wall]));
    let plan = Plan { takes_all: true, ..Plan::new(subjects, 1.0, slots, 1) };
    let mut stage = MeasuringStage::new(&progress, &plan, WorkSource::from(&input.source));
    let attempt = measure::attempt(&plan, &mut trio, |step| stage.show(step))?;
    stage.finish();
    trio.end()?;
    progress.clear();
    if attempt.verdict == Verdict::WorkChanged {
        fail!(Code::Disagree, "this program does not do the same twice: {}", attempt.reason);
    }
    let cells = calibration::calibrated_cells(&attempt.cells);
    let digest = work.facts.digest;
    let estimate = Calibration::new(started, environment, digest, attempt.disturbances, cells);
    let text = report::json(&estimate).with_exit_code(Code::Io)?;
    let path = file.write(|out| out.write_all(text.as_bytes()))?;
    args.run.format.print(&estimate, report::calibration)?;
    terminal::note(&format!("wrote {}", path.display()));
    Ok(Code::Fine)
}

/// Returns the file of the estimate: the user's file, or the default file, which each estimate
/// replaces.
fn file(args: &CalibrateArgs) -> Result<WholeFile, Failure> {
    let named = args.calibration.clone().map(|path| (path, args.run.force.existing()));
    let path = named.or_else(|| Some((calibration::default_path()?, Existing::Replace)));
    let path =
        path.context("neither XDG_STATE_HOME nor HOME is set: name a file with --calibration");
    let (path, existing) = path.with_exit_code(Code::Usage)?;
    if let Some(dir) = path.parent() {
        let made = fs::create_dir_all(dir);
        made.with_context(|| format!("cannot make {}", dir.display())).with_exit_code(Code::Io)?;
    }
    Ok(WholeFile::at(&path, "--calibration", existing)?)
}
