//! Arguments of `stress gate` and `stress calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;

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

const CALIBRATE_HELP: &str = "\
Examples:
  stress calibrate --workload storm.workload --store memory --design sequential
  stress calibrate --scenario my.toml --output here.json

Sets this program against itself for 12 octets and says what change they decide.";

const WROTE_HELP: &str = "Where `stress calibrate` wrote [default: stress/calibration.json in \
    $XDG_STATE_HOME or ~/.local/state]";

const WRITE_HELP: &str = "Where to write what was learned [default: stress/calibration.json in \
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

/// How builds are driven.
#[derive(Debug, Args)]
pub struct DriveArgs {
    /// Wall time of a slot's samples in an octet at least: short ones are taken in several passes
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub slot: String,
    /// How long a build may take for a sample before it is stopped
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub timeout: String,
    /// Seed of the coin that says which build begins [default: the workload's seed]
    #[arg(long, value_name = "NUMBER")]
    pub coin: Option<u64>,
}

/// Arguments of `stress calibrate`.
#[derive(Debug, Args)]
#[command(after_help = CALIBRATE_HELP)]
pub struct CalibrateArgs {
    /// Where to write what was learned.
    #[arg(long, value_name = "FILE", help = WRITE_HELP)]
    pub output: Option<PathBuf>,
    /// How builds are driven
    #[command(flatten)]
    pub drive: DriveArgs,
    /// What to run
    #[command(flatten)]
    pub run: RunArgs,
}
