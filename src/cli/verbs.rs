//! The verbs and the function that carries each out.

use clap::{CommandFactory, Parser, Subcommand};

use super::{
    args::{RunArgs, typed_words},
    cmd::{
        baseline, calibrate, calibrate_against, client, compare, describe, doctor, export, gate,
        generate, help, history, import, io, new, report, run, scenarios, schema, send, shard,
        simulate, state, sweep,
    },
};
use crate::{
    terminal::{self, Code, Failure, exit::fail},
    worker,
};

const EXAMPLES: &str = "\
Examples:
  stress --scenario sload-storm --gas 640M      the worst case, on a state of 10 GB
  stress --scenario sload-storm --quick         the same in small, in seconds
  stress --scenario sload-storm --gas 64M --design batched-io --io-threads 16,64
  stress --scenario sload-storm --databases 6   on six databases of different seeds
  stress --scenario official/test_sload_bloated twins of official benchmark tests (stress list)
  stress my.toml --set state.slots=50M --out results/
  stress describe one-slot                      keys, conflicts and list sizes
  stress new my-storm                           a scenario to start from
  stress generate sload-storm --gas 64M --output storm.workload
  stress --workload storm.workload --store rocksdb
  stress gate --against ../main/stress --scenario my.toml    is this build slower?
  stress my.toml --samples 10 --save-baseline main    for stress gate --baseline main
  stress my.toml --metrics /var/lib/node_exporter/stress.prom --force    figures for Prometheus
  stress history nightly/ --out history.html    did a commit make it slower?
  stress io --read multi-get --depth 16,256     how fast are raw reads here?
  stress import --help                          a real block as a workload file
  stress export --scenario sload-storm --slots 1M --output storm/    the work for a real client
  stress client storm/ --client geth            how does geth do on the same block?
  stress calibrate-against geth --out against/  does geth rank all storms as our designs do?
  stress send transfers --url http://127.0.0.1:8545 --rate 1000    load on a live node
  stress state rm --older-than 30d              remove databases that no run has used since

Exit codes: 0 fine, 1 a claim fails or the gate finds a regression, 2 usage or scenario,
3 designs disagree or a list is wrong, 4 a claim or the gate is open (with --strict),
5 the machine gives reason for doubt (gate; doctor --strict), 6 input, output or run time,
7 a claim or times were not judged, 130 interrupted (finished samples are kept).";

/// Help with the first examples before the options, of which there are too many for a screen.
const HELP_TEMPLATE: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

First examples:
  stress --scenario sload-storm --quick      the worst case in small, in seconds
  stress --scenario sload-storm --gas 640M   on a state of 128M slots, 10 GB
  stress my.toml --samples 8 --out results/  a file of your own, with intervals

{all-args}{after-help}";

/// Stress test of Ethereum block execution: worst-case blocks and their access lists
/// (EIP-7928), executed in every design over the same state on disk.
#[derive(Debug, Parser)]
#[command(name = "stress", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(max_term_width = 100, help_template = HELP_TEMPLATE)]
pub struct Cli {
    /// Print only the result and errors, without progress and notes
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The verb; without one, a workload is run.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Take samples for another process that asks on standard input (docs/contributing.md#an-executor-of-your-own)
    #[arg(long, hide = true)]
    pub worker: bool,
    /// The work and the settings of a run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the shipped scenarios, name first; in a pipe one a line
    #[command(alias = "ls")]
    List,
    /// Run a scenario or a workload file: the same as without a subcommand
    #[command(help_template = HELP_TEMPLATE)]
    Run(Box<RunArgs>),
    /// Print a scenario with every key resolved, or a workload file, also as JSON
    Show(scenarios::ShowArgs),
    /// Check the keys and values of a scenario, without running it
    Validate(scenarios::ValidateArgs),
    /// Describe a workload: keys, conflicts, list sizes
    Describe(describe::DescribeArgs),
    /// Write a commented scenario to start from
    New(new::NewArgs),
    /// Print the JSON Schema of scenarios, results, gates or sweeps
    Schema(schema::SchemaArgs),
    /// Generate a workload file, to be run with --workload
    Generate(generate::GenerateArgs),
    /// Lay results side by side: settings, counters, figures
    Compare(compare::CompareArgs),
    /// Judge whether this build is slower than another one, or than a stored result
    Gate(Box<gate::GateArgs>),
    /// Estimate the smallest change that this machine can detect
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Run a matrix of settings, cell by cell, also on a fleet, and join the results
    Sweep(sweep::SweepArgs),
    /// Write results as a page for a browser, or as Markdown, CSV or benchmark JSON
    Report(report::ReportArgs),
    /// Show results over time, commit by commit, and where their times change
    History(history::HistoryArgs),
    /// Check whether this machine is fit for benchmarking
    Doctor(doctor::DoctorArgs),
    /// Make a workload file of a real block, to be run with --workload
    Import(import::ImportArgs),
    /// Write a workload as a chain that real clients take: genesis, Engine API calls, RLP, rows
    Export(export::ExportArgs),
    /// Run an exported block on a real client, beside our designs
    Client(Box<client::ClientArgs>),
    /// Rank workloads by time on a client and in our designs, and explain where the ranks differ
    CalibrateAgainst(Box<calibrate_against::CalibrateAgainstArgs>),
    /// Send a scenario's transactions to a live node, and measure until they are in blocks
    Send(Box<send::SendArgs>),
    /// List, verify or remove state databases
    State(state::StateArgs),
    /// List or remove saved baselines (`--save-baseline` of a run saves one)
    Baseline(baseline::BaselineArgs),
    /// Print a completion script for a shell
    Completions(help::CompletionsArgs),
    /// Write manual pages, one for each verb
    Man(help::ManArgs),
    /// Measure raw random reads of the stores, beside the device's rate
    Io(io::IoArgs),
    /// Execute parts of batches for a coordinator, as a shard of execution
    Shard(shard::ShardArgs),
    /// Predict times on more shards of execution than there are here
    Simulate(Box<simulate::SimulateArgs>),
}

impl Cli {
    /// Carries out the command line.
    ///
    /// # Errors
    /// The verb fails.
    pub fn run(self) -> Result<Code, Failure> {
        if self.quiet {
            terminal::be_quiet();
        }
        match self.command {
            _ if self.worker => worker_alone().and_then(|()| worker::serve()),
            None => run::run(&self.run),
            Some(command) => command.run(),
        }
    }
}

impl Command {
    fn run(self) -> Result<Code, Failure> {
        match self {
            Self::List => scenarios::list(),
            Self::Run(args) => run::run(&args),
            Self::Show(args) => scenarios::show(&args),
            Self::Validate(args) => scenarios::validate(&args),
            Self::Describe(args) => describe::describe(&args),
            Self::New(args) => new::new(&args),
            Self::Schema(args) => schema::schema(&args),
            Self::Generate(args) => generate::generate(&args),
            Self::Compare(args) => compare::compare(&args),
            Self::Gate(args) => gate::gate(&args),
            Self::Calibrate(args) => calibrate::calibrate(&args),
            Self::Report(args) => report::report(&args),
            Self::History(args) => history::history(&args),
            Self::Doctor(args) => doctor::doctor(&args),
            Self::Import(args) => import::import(&args),
            Self::Export(args) => export::export(&args),
            Self::Client(args) => client::client(&args),
            Self::CalibrateAgainst(args) => calibrate_against::calibrate_against(&args),
            Self::Send(args) => send::send(&args),
            Self::State(args) => state::state(&args),
            Self::Baseline(args) => baseline::baseline(&args),
            Self::Completions(args) => help::completions(&args, Cli::command()),
            Self::Man(args) => help::man(&args, Cli::command()),
            Self::Io(args) => io::io(&args),
            Self::Shard(args) => shard::shard(&args),
            Self::Simulate(args) => simulate::simulate(*args),
            Self::Sweep(args) => sweep::sweep(&args),
        }
    }
}

/// Refuses options that a worker would ignore: its work comes on its standard input.
fn worker_alone() -> Result<(), Failure> {
    let mut others = typed_words().into_iter().skip(1).filter(|word| word != "--worker");
    match others.next() {
        Some(word) => fail!(
            Code::Usage,
            "{word}: a worker is told on its standard input what to run; leave out all but --worker"
        ),
        None => Ok(()),
    }
}
