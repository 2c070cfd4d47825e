//! The command line: its verbs, and the function that carries each out.

mod parse;

use std::{ffi::OsString, path::Path};

use anyhow::anyhow;
use clap::{CommandFactory, Parser, Subcommand};
use spec::shipped;

use crate::{
    args::{RunArgs, typed_words},
    cmd::{
        baseline::{self, BaselineArgs},
        calibrate::{self, CalibrateArgs},
        calibrate_against::{self, CalibrateAgainstArgs},
        client::{self, ClientArgs},
        compare::{self, CompareArgs},
        describe::{self, DescribeArgs},
        doctor::{self, DoctorArgs},
        export::{self, ExportArgs},
        gate::{self, GateArgs},
        generate::{self, GenerateArgs},
        help::{self, CompletionsArgs, ManArgs},
        history::{self, HistoryArgs},
        import::{self, ImportArgs},
        io::{self, IoArgs},
        new::{self, NewArgs},
        report::{self, ReportArgs},
        run,
        scenarios::{self, ShowArgs, ValidateArgs},
        schema::{self, SchemaArgs},
        send::{self, SendArgs},
        shard::{self, ShardArgs},
        simulate::{self, SimulateArgs},
        state::{self, StateArgs},
        sweep::{self, SweepArgs},
    },
    exit::{Code, Failure, OrExit},
    terminal, worker,
};

pub use parse::parse;

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
3 designs disagree or a list is wrong, 4 a claim cannot be judged or the gate is
inconclusive (with --strict), 5 the machine gives reason for doubt (gate; doctor
--strict), 6 input, output or run time, 130 interrupted (finished samples are kept).";

/// Help with the first examples before the options, of which there are too many for a screen.
const HELP_TEMPLATE: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

First examples:
  stress --scenario sload-storm --quick      the worst case in small, in seconds
  stress --scenario sload-storm --gas 640M   on a state of 128M slots, 10 GB
  stress my.toml --samples 8 --out results/  a file of your own, with intervals

{all-args}{after-help}";

/// The verb that clap adds.
const HELP: &str = "help";

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
    Show(ShowArgs),
    /// Check the keys and values of a scenario, without running it
    Validate(ValidateArgs),
    /// Describe a workload: keys, conflicts, list sizes
    Describe(DescribeArgs),
    /// Write a commented scenario to start from
    New(NewArgs),
    /// Print the JSON Schema of scenarios, results, gates or sweeps
    Schema(SchemaArgs),
    /// Generate a workload file, to be run with --workload
    Generate(GenerateArgs),
    /// Lay results side by side: settings, counters, figures
    Compare(CompareArgs),
    /// Judge whether this build is slower than another one, or than a stored result
    Gate(Box<GateArgs>),
    /// Estimate the smallest change that this machine can detect
    Calibrate(Box<CalibrateArgs>),
    /// Run a matrix of settings, cell by cell, also on a fleet, and join the results
    Sweep(SweepArgs),
    /// Write results as a page for a browser, or as Markdown, CSV or benchmark JSON
    Report(ReportArgs),
    /// Show results over time, commit by commit, and where their times change
    History(HistoryArgs),
    /// Check whether this machine is fit for benchmarking
    Doctor(DoctorArgs),
    /// Make a workload file of a real block, to be run with --workload
    Import(ImportArgs),
    /// Write a workload as a chain that real clients take: genesis, Engine API calls, RLP, rows
    Export(ExportArgs),
    /// Run an exported block on a real client, beside our designs
    Client(Box<ClientArgs>),
    /// Rank workloads by time on a client and in our designs, and explain where the ranks differ
    CalibrateAgainst(Box<CalibrateAgainstArgs>),
    /// Send a scenario's transactions to a live node, and measure until they are in blocks
    Send(Box<SendArgs>),
    /// List, verify or remove state databases
    State(StateArgs),
    /// List or remove saved baselines (`--save-baseline` of a run saves one)
    Baseline(BaselineArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write manual pages, one for each verb
    Man(ManArgs),
    /// Measure raw random reads of the stores, beside the device's rate
    Io(IoArgs),
    /// Execute parts of batches for a coordinator, as a shard of execution
    Shard(ShardArgs),
    /// Predict times on more shards of execution than there are here
    Simulate(Box<SimulateArgs>),
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

/// The command line with `--quiet` behind the first word: before a verb it would be an option of a run,
/// which no verb goes with.
pub fn quiet_behind_verb(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let quiet_count = words.iter().skip(1).take_while(|word| is_quiet(word)).count();
    let Some(first) = words.get(1 + quiet_count) else { return words };
    if first == HELP {
        words.drain(1..=quiet_count);
    } else if !first.to_string_lossy().starts_with('-') {
        words[1..quiet_count + 2].rotate_right(1);
    }
    words
}

fn is_quiet(word: &OsString) -> bool {
    word == "-q" || word == "--quiet"
}

/// Refuses arguments that begin with a misspelt verb or scenario. The others are not read: they
/// would make another error.
///
/// # Errors
/// The first word is neither, and near to one.
pub fn check_first_word(mut words: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let first = words.find(|word| !is_quiet(word)).and_then(|word| word.into_string().ok());
    match first.as_deref().and_then(meant) {
        Some(tip) => Err(anyhow!("{tip}")).or_exit(Code::Usage),
        None => Ok(()),
    }
}

/// The error for a word that is near to a verb or a scenario and none of them.
fn meant(word: &str) -> Option<String> {
    let line = Cli::command();
    let is_verb = |word: &str| word == HELP || line.find_subcommand(word).is_some();
    let is_path = word.contains('/') || Path::new(word).extension().is_some();
    if word.starts_with('-') || is_path || is_verb(word) || shipped::find(word).is_some() {
        return None;
    }
    let verbs = line.get_subcommands().map(clap::Command::get_name).chain([HELP]);
    let scenarios = shipped::all().iter().map(|(name, _)| *name);
    let nearest = spec::nearest(word, verbs.chain(scenarios))?;
    let none = format!("{word}: this is no verb and no scenario");
    Some(match is_verb(nearest) {
        true => format!("{none}; did you mean `stress {nearest}`? `stress --help` shows all verbs"),
        false => {
            format!("{none}; did you mean the scenario {nearest}? `stress list` shows all of them")
        }
    })
}

/// Refuses options that a worker would ignore: its work comes on its standard input.
fn worker_alone() -> Result<(), Failure> {
    let mut others = typed_words().into_iter().skip(1).filter(|word| word != "--worker");
    match others.next() {
        Some(word) => Err(anyhow!(
            "{word}: a worker is told on its standard input what to run; leave out all but --worker"
        ))
        .or_exit(Code::Usage),
        None => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> Option<String> {
        let checked = check_first_word(words.iter().map(OsString::from));
        checked.err().map(|failure| {
            assert_eq!(failure.code, Code::Usage);
            failure.to_string()
        })
    }

    #[test]
    fn a_misspelt_verb_or_scenario_is_told_the_nearest_whatever_follows() {
        for (words, meant) in [
            (&["lst"][..], "`stress list`"),
            (&["sweeep", "--scenario", "x", "threads=1,2", "--merge"], "`stress sweep`"),
            (&["-q", "gaet", "--against", "x"], "`stress gate`"),
            (&["hepl"], "`stress help`"),
            (&["calib"], "`stress calibrate`"),
            (&["calibrate_against", "geth"], "`stress calibrate-against`"),
            (&["sload-strom", "--gas", "64M"], "the scenario sload-storm"),
            (&["test_sload_bloated"], "the scenario official/test_sload_bloated"),
        ] {
            let error = refused(words).unwrap_or_else(|| panic!("{words:?} is refused"));
            assert!(error.contains(meant), "{words:?}: {error}");
        }
    }

    #[test]
    fn quiet_before_a_verb_is_an_option_of_the_verb() {
        for (given, expected) in [
            (&["stress", "--quiet", "list"][..], &["stress", "list", "--quiet"][..]),
            (&["stress", "-q", "-q", "doctor", "-q"], &["stress", "doctor", "-q", "-q", "-q"]),
            (&["stress", "-q", "help", "list"], &["stress", "help", "list"]),
            (&["stress", "-q", "--scenario", "x"], &["stress", "-q", "--scenario", "x"]),
            (&["stress", "list", "-q"], &["stress", "list", "-q"]),
            (&["stress", "-q"], &["stress", "-q"]),
            (&["stress"], &["stress"]),
        ] {
            let words = quiet_behind_verb(given.iter().map(OsString::from));
            assert_eq!(words, expected.iter().map(OsString::from).collect::<Vec<_>>());
        }
        for line in [&["stress", "--quiet", "list"][..], &["stress", "-q", "sload-storm"]] {
            let words = quiet_behind_verb(line.iter().map(OsString::from));
            assert!(Cli::try_parse_from(words).is_ok_and(|cli| cli.quiet), "{line:?}");
        }
    }

    #[test]
    fn all_other_first_words_are_left_to_the_command_line() {
        for words in [
            &[][..],
            &["list"],
            &["ls"],
            &["help", "sweep"],
            &["sload-storm"],
            &["official/test_sload_bloated"],
            &["sweeep.toml"],
            &["./lst"],
            &["sweeep.workload"],
            &["--scenario", "lst"],
            &["--sweeep"],
            &["nothing-like-it"],
            &["mdbx"],
        ] {
            assert_eq!(refused(words), None, "{words:?}");
        }
    }
}
