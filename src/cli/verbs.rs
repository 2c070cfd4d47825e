//! The verbs of the command line. `main` calls [`Cli::run`], which calls the function of the verb.

use clap::{CommandFactory, Parser, Subcommand};

use super::{
    args::{ArgsOrVerb, RunArgs, typed_words},
    cmd::{
        client, compare, describe, doctor, export, gate, generate, help, import, limit, report,
        run, scenarios, send, shard, state, sweep,
    },
};
use crate::{
    terminal::{self, Code, Failure, exit::fail},
    worker,
};

const EXAMPLES: &str = "\
Examples:
  stress --scenario sload-storm --quick      the worst case in small, in seconds
  stress --scenario sload-storm --gas 640M   on a state of 128M slots, 12 GB
  stress --scenario sload-storm --gas 64M --design batched-io --io-threads 16,64
  stress --scenario sload-storm --databases 6   on six databases of different seeds
  stress --scenario official/test_sload_bloated twins of official benchmark tests (stress list)
  stress my.toml --set state.slots=50M --out results/
  stress describe one-slot                      keys, conflicts and list sizes
  stress generate new my-storm                  a scenario to start from
  stress generate sload-storm --gas 64M --out storm.workload
  stress --workload storm.workload --store rocksdb
  stress gate --against ../main/stress --scenario my.toml    is this build slower?
  stress my.toml --samples 10 --save-baseline main    for stress gate --baseline main
  stress my.toml --metrics /var/lib/node_exporter/stress.prom --force    figures for Prometheus
  stress limit --deadline 3s                    which block gas limit is safe here?
  stress report nightly/ --history --out history.html    did a commit make it slower?
  stress export --scenario sload-storm --slots 1M --out storm/    the work for a real client
  stress client storm/ --client geth            how does geth do on the same block?
  stress send transfers --url http://127.0.0.1:8545 --rate 1000    load on a live node

Exit codes: 0 fine, 1 a claim fails or the gate finds a regression, 2 usage or scenario,
3 designs disagree or a list is wrong, 4 a claim or the gate is open (with --strict),
5 the machine gives reason for doubt (gate; doctor --strict), 6 input, output or run time,
7 a claim or times were not judged, 130 interrupted (finished samples are kept).";

/// Help with the first examples before the options, as the options alone fill more than a screen.
const HELP_TEMPLATE: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

First examples:
  stress --scenario sload-storm --quick      the worst case in small, in seconds
  stress --scenario sload-storm --gas 640M   on a state of 128M slots, 12 GB
  stress my.toml --samples 8 --out results/  a file of your own, with intervals

{all-args}{after-help}";

/// Stress test of Ethereum block execution: worst-case blocks and access lists
#[derive(Debug, Parser)]
#[command(name = "stress", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(max_term_width = 100, help_template = HELP_TEMPLATE, disable_help_subcommand = true)]
pub struct Cli {
    /// Print only the answer, its rows and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The verb; without one, a workload is run.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Take samples for another process that asks on standard input
    /// (docs/contributing.md#an-executor-of-your-own)
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
    #[command(alias = "ls", after_help = scenarios::LIST_EXAMPLES)]
    List,
    /// Run a scenario or a workload file: the same as without a subcommand
    #[command(help_template = HELP_TEMPLATE)]
    Run(Box<RunArgs>),
    /// Print a scenario, a workload file, an access list or a JSON Schema
    Show(ArgsOrVerb<scenarios::ShowArgs, scenarios::ShowCommand>),
    /// Check the keys and values of a scenario, without running it
    Validate(scenarios::ValidateArgs),
    /// Describe a workload: keys, conflicts, list sizes
    Describe(describe::DescribeArgs),
    /// Write a workload file, or a scenario to start from
    Generate(ArgsOrVerb<generate::GenerateArgs, generate::GenerateCommand>),
    /// Lay results side by side: settings, counters, figures
    Compare(compare::CompareArgs),
    /// Judge whether this build is slower than another or a stored result
    Gate(Box<ArgsOrVerb<gate::GateArgs, gate::GateCommand>>),
    /// Run a matrix of settings, also on a fleet, and join the results
    Sweep(sweep::SweepArgs),
    /// Find the block gas limits that are safe on this machine
    Limit(Box<limit::LimitArgs>),
    /// Write results as HTML, Markdown, CSV or JSON, or as their history
    Report(report::ReportArgs),
    /// Check whether this machine is fit for benchmarks; measure its reads
    Doctor(ArgsOrVerb<doctor::DoctorArgs, doctor::DoctorCommand>),
    /// Make a workload file of real blocks, to be run with --workload
    Import(ArgsOrVerb<import::FilesArgs, import::ImportCommand>),
    /// Write a workload as a chain that real clients take
    Export(export::ExportArgs),
    /// Run an exported block on real clients, beside our designs
    Client(Box<ArgsOrVerb<client::ClientArgs, client::ClientCommand>>),
    /// Send a scenario's load to a live node; measure until it is in blocks
    Send(Box<send::SendArgs>),
    /// List, verify or remove state databases and saved baselines
    State(state::StateArgs),
    /// Serve a shard of execution, or predict times on more shards
    #[command(after_help = shard::EXAMPLES)]
    Shard {
        /// The verb
        #[command(subcommand)]
        command: shard::ShardCommand,
    },
    /// Print the help of a verb, a completion script or manual pages
    Help(ArgsOrVerb<help::HelpArgs, help::HelpCommand>),
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
        if self.worker {
            return check_worker_options().and_then(|()| worker::serve());
        }
        self.command.map_or_else(|| run::run(&self.run), Command::run)
    }
}

impl Command {
    fn run(self) -> Result<Code, Failure> {
        match self {
            Self::List => scenarios::list(),
            Self::Run(args) => run::run(&args),
            Self::Show(verb) => scenarios::show(&verb),
            Self::Validate(args) => scenarios::validate(&args),
            Self::Describe(args) => describe::describe(&args),
            Self::Generate(verb) => generate::generate(&verb),
            Self::Compare(args) => compare::compare(&args),
            Self::Gate(verb) => gate::gate(&verb),
            Self::Report(args) => report::report(&args),
            Self::Doctor(verb) => doctor::doctor(&verb),
            Self::Import(verb) => import::import(&verb),
            Self::Export(args) => export::export(&args),
            Self::Client(verb) => client::client(&verb),
            Self::Send(args) => send::send(&args),
            Self::State(args) => state::state(&args),
            Self::Shard { command } => command.run(),
            Self::Help(verb) => help::help(&verb, Cli::command()),
            Self::Sweep(args) => sweep::sweep(&args),
            Self::Limit(args) => limit::limit(&args),
        }
    }
}

/// Refuses options that a worker would ignore: its work comes on its standard input.
fn check_worker_options() -> Result<(), Failure> {
    let mut others = typed_words().into_iter().skip(1).filter(|word| word != "--worker");
    match others.next() {
        Some(word) => fail!(
            Code::Usage,
            "{word}: a worker is told on its standard input what to run; leave out all but --worker"
        ),
        None => Ok(()),
    }
}
