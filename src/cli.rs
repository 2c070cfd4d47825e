//! The command line.

mod describe;
mod gate;
mod import;
mod io;
mod report;
mod sweep;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use spec::Override;

pub use describe::DescribeArgs;
pub use gate::{CalibrateArgs, DriveArgs, GateArgs};
pub use import::{BlockchainTestArgs, ImportArgs, ImportCommand, RpcArgs, T8nArgs};
pub use io::IoArgs;
pub use report::{ReportArgs, ReportFormat};
pub use sweep::{SweepArgs, as_option};

const EXAMPLES: &str = "\
Examples:
  stress --scenario sload-storm --gas 640M      the worst case, on a state of 10 GB
  stress --scenario sload-storm --quick         the same in small, in seconds
  stress --scenario sload-storm --gas 64M --design batched-io --io-threads 16,64
  stress --scenario sload-storm --databases 6   on six databases of different seeds
  stress --scenario official/test_sload_bloated twins of official benchmark tests (stress list)
  stress --scenario my.toml --set state.slots=50M --out results/
  stress describe one-slot                      what a workload holds: keys, conflicts, lists
  stress new my-storm                           a scenario to start from
  stress generate sload-storm --gas 64M --output storm.workload
  stress --workload storm.workload --store rocksdb
  stress gate --against ../main/stress --scenario my.toml    is this build slower?
  stress io --read multi-get --depth 16,256     how fast are raw reads here?
  stress import --help                          a real block as a workload file

Exit codes: 0 fine, 1 a claim fails or the gate finds a regression, 2 usage or scenario,
3 designs disagree or a list is wrong, 4 a claim cannot be judged or the gate is
inconclusive (with --strict), 5 the machine gives reason for doubt (gate; doctor
--strict), 6 input, output or run time, 130 interrupted (what is finished is kept).";

const COMPLETIONS: &str = "\
Examples:
  stress completions bash > ~/.local/share/bash-completion/completions/stress
  stress completions zsh > \"${fpath[1]}/_stress\"
  stress completions fish > ~/.config/fish/completions/stress.fish";

const DATA_DIR_HELP: &str =
    "Where state databases are kept [default: $XDG_CACHE_HOME/stress or ~/.cache/stress]";

/// Stress test of Ethereum block execution: worst-case blocks and their access lists
/// (EIP-7928), executed in every design over the same state on disk.
#[derive(Debug, Parser)]
#[command(name = "stress", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(max_term_width = 100)]
pub struct Cli {
    /// What to do; without one, a workload is run.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Take samples for another stress that asks on standard input (docs/worker.md)
    #[arg(long, hide = true)]
    pub worker: bool,
    /// What to run and how.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the shipped scenarios, one a line, name first
    List,
    /// Print a scenario with every key resolved
    Show(ShowArgs),
    /// Check a scenario file without running it
    Validate {
        /// A scenario file
        file: PathBuf,
    },
    /// Say what a workload holds before it runs: keys, conflicts, lists
    Describe(DescribeArgs),
    /// Write a commented scenario to start from
    New(NewArgs),
    /// Print the JSON Schema of scenarios, for editors
    Schema,
    /// Generate a workload file, to be run with --workload
    Generate(GenerateArgs),
    /// Lay results side by side: settings, counters, figures
    Compare(CompareArgs),
    /// Is this build slower than that one, or than a stored result?
    Gate(Box<GateArgs>),
    /// Learn how small a change this machine can decide
    Calibrate(Box<CalibrateArgs>),
    /// Results as a page for a browser, or as Markdown, CSV or benchmark JSON
    Report(ReportArgs),
    /// Look whether this machine is fit for figures that can be believed
    Doctor(DoctorArgs),
    /// Make a workload file of a real block, to be run with --workload
    Import(ImportArgs),
    /// State databases: list, verify, remove
    State(StateArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each verb
    Man {
        /// The directory; `man -l DIR/stress.1` shows the first
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Raw random reads of the stores, beside what the device can do
    Io(IoArgs),
    /// A matrix of settings, cell by cell; also one cell of a fleet's, and joining the results
    Sweep(SweepArgs),
}

/// What to run and how.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "workload")]
    pub scenario: Option<String>,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// A small state and block, in seconds; not the real thing, and the result says so
    #[arg(long)]
    pub quick: bool,
    /// What the workload is
    #[command(flatten)]
    pub work: WorkArgs,
    /// How it is run
    #[command(flatten)]
    pub how: HowArgs,
    /// Where state databases are kept.
    #[arg(long, value_name = "DIR", env = "STRESS_DATA_DIR", help = DATA_DIR_HELP)]
    pub data_dir: Option<PathBuf>,
    /// Wait while another process uses the state database, instead of ending with 6
    #[arg(long)]
    pub wait: bool,
    /// Exit with 4 where a claim of the scenario ([[expect]]) cannot be judged
    #[arg(long)]
    pub strict: bool,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Also write the result as JSON and its histograms (HdrHistogram logs) into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// After the run, take one more sample and write which thread did what when, to be opened
    /// by Perfetto (ui.perfetto.dev) or Chrome
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Which variant to trace, as a result names it [default: the fastest]
    #[arg(long, value_name = "VARIANT", requires = "trace")]
    pub trace_variant: Option<String>,
    /// After the run, take more samples of a variant, or of the fastest of a design, and show
    /// which functions take the CPU's time, with a flame graph
    #[arg(long, value_name = "VARIANT|DESIGN")]
    pub profile: Option<String>,
    /// The flame graph's file [default: flame-graph-START.svg, in DIR of --out where given]
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub flame_graph: Option<PathBuf>,
}

/// Overrides of what the workload is.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "The work (overrides keys of the scenario)")]
pub struct WorkArgs {
    /// Gas per block: 640M, 2.2G
    #[arg(long, value_name = "GAS")]
    pub gas: Option<String>,
    /// Transactions per block, instead of gas
    #[arg(long, value_name = "COUNT", conflicts_with = "gas")]
    pub transactions: Option<String>,
    /// Number of blocks
    #[arg(long, value_name = "COUNT")]
    pub blocks: Option<String>,
    /// Consecutive blocks that are run as one
    #[arg(long, value_name = "COUNT")]
    pub batch: Option<String>,
    /// Slots of the state: 128M
    #[arg(long, value_name = "COUNT")]
    pub slots: Option<String>,
    /// Share of the keys asked that exist, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub present: Option<String>,
    /// hashed or plain
    #[arg(long, value_name = "LAYOUT")]
    pub layout: Option<String>,
    /// amsterdam, bpo2, bpo1 or osaka
    #[arg(long, value_name = "FORK")]
    pub fork: Option<String>,
    /// The seed
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<String>,
    /// Override any key: --set state.slots=50M
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Overrides of how the workload is run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "The run (lists are separated by commas)")]
pub struct HowArgs {
    /// sequential, prewarm, block-stm, parallel-io, batched-io, full
    #[arg(long, value_name = "LIST")]
    pub design: Option<String>,
    /// rocksdb, mdbx, flat, memory
    #[arg(long, value_name = "LIST")]
    pub store: Option<String>,
    /// Threads that execute; more than cores too [default: a few are tried]
    #[arg(long, value_name = "LIST")]
    pub threads: Option<String>,
    /// Threads that only read: for batched-io, and to verify for full [default: a few are tried]
    #[arg(long, value_name = "LIST")]
    pub io_threads: Option<String>,
    /// In which order the threads of a parallel design take transactions: block-order,
    /// gas-limit, list-entries, known-cost
    #[arg(long, value_name = "LIST")]
    pub schedule: Option<String>,
    /// Also sign all transactions and recover their senders, timed apart
    #[arg(long)]
    pub recover_senders: bool,
    /// cold or warm
    #[arg(long, value_name = "MODE")]
    pub cache: Option<String>,
    /// Run on so many databases, each built from a seed of its own: each is one observation,
    /// and from 6 on there is an interval over them [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub databases: Option<String>,
    /// Samples of each cell (on each database), instead of a budget
    #[arg(long, value_name = "COUNT")]
    pub samples: Option<String>,
    /// Time to spend on whole rounds: 60s, 5m
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
}

/// Arguments of `stress show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    pub scenario: String,
    /// What the workload is
    #[command(flatten)]
    pub work: WorkArgs,
    /// How it is run
    #[command(flatten)]
    pub how: HowArgs,
}

/// Arguments of `stress new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress new my-storm                     writes my-storm.toml
  stress new my-token --kind erc20
  stress --scenario my-token.toml         runs it, in seconds")]
pub struct NewArgs {
    /// The scenario's name; its file is NAME.toml, here
    pub name: String,
    /// The kind of its load
    #[arg(long, value_name = "KIND", default_value = "sload-storm")]
    pub kind: String,
}

/// Arguments of `stress generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    pub scenario: String,
    /// The workload file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// What the workload is
    #[command(flatten)]
    pub work: WorkArgs,
}

/// Arguments of `stress compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress compare before/result.json after/result.json
  stress compare monday/ tuesday/ --format json

Only results of the same work are compared: equal workload digests. Times of
different runs hold for their minutes; no verdict is given.")]
pub struct CompareArgs {
    /// Result files, or directories that --out wrote; two or more
    #[arg(value_name = "RESULT", required = true, num_args = 2..)]
    pub results: Vec<PathBuf>,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Arguments of `stress doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Exit with 5 where there is a warning
    #[arg(long)]
    pub strict: bool,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Where state databases are kept.
    #[arg(long, value_name = "DIR", env = "STRESS_DATA_DIR", help = DATA_DIR_HELP)]
    pub data_dir: Option<PathBuf>,
}

/// Arguments of `stress state`.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// What to do
    #[command(subcommand)]
    pub command: StateCommand,
    /// Where state databases are kept.
    #[arg(long, value_name = "DIR", env = "STRESS_DATA_DIR", global = true, help = DATA_DIR_HELP)]
    pub data_dir: Option<PathBuf>,
}

/// Verbs of `stress state`.
#[derive(Debug, Subcommand)]
pub enum StateCommand {
    /// List the databases with their sizes
    List,
    /// Read a database through and compare it with its manifest
    Verify {
        /// Its name, as `stress state list` shows it
        name: String,
    },
    /// Remove a database
    Rm {
        /// Its name, as `stress state list` shows it
        name: String,
    },
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    #[default]
    Table,
    /// The result as JSON.
    Json,
}

impl WorkArgs {
    /// The overrides, as if each had been given by `--set`.
    ///
    /// # Errors
    /// A `--set` without `=`.
    pub fn overrides(&self) -> Result<Vec<Override>, anyhow::Error> {
        let flags = [
            ("gas", "block.gas", &self.gas),
            ("transactions", "block.transactions", &self.transactions),
            ("blocks", "block.blocks", &self.blocks),
            ("batch", "block.batch", &self.batch),
            ("slots", "state.slots", &self.slots),
            ("present", "state.present", &self.present),
            ("layout", "state.layout", &self.layout),
            ("fork", "fork", &self.fork),
            ("seed", "seed", &self.seed),
        ];
        let mut all = of_flags(&flags);
        for set in &self.set {
            let Some((key, value)) = set.split_once('=') else {
                anyhow::bail!(
                    "--set {set}: a key and a value are wanted, as in --set state.slots=50M"
                );
            };
            all.push(Override {
                key: key.to_owned(),
                value: value.to_owned(),
                origin: format!("--set {set}"),
            });
        }
        Ok(all)
    }
}

impl HowArgs {
    /// The overrides, as if each had been given by `--set`.
    pub fn overrides(&self) -> Vec<Override> {
        let mut all = of_flags(&[
            ("design", "run.designs", &self.design),
            ("store", "run.stores", &self.store),
            ("threads", "run.threads", &self.threads),
            ("io-threads", "run.io_threads", &self.io_threads),
            ("schedule", "run.schedule", &self.schedule),
            ("cache", "run.cache", &self.cache),
            ("databases", "run.databases", &self.databases),
            ("samples", "run.samples", &self.samples),
            ("budget", "run.budget", &self.budget),
        ]);
        if self.recover_senders {
            all.push(Override {
                key: "run.recover_senders".to_owned(),
                value: "true".to_owned(),
                origin: "--recover-senders".to_owned(),
            });
        }
        all
    }
}

fn of_flags(flags: &[(&str, &str, &Option<String>)]) -> Vec<Override> {
    let given = flags.iter().filter_map(|(flag, key, value)| Some((flag, key, value.as_ref()?)));
    given
        .map(|(flag, key, value)| Override {
            key: (*key).to_owned(),
            value: value.clone(),
            origin: format!("--{flag} {value}"),
        })
        .collect()
}
