//! Arguments that several verbs take, and the plain values that the program makes of them. A
//! verb's own arguments stand beside it, in `cmd/`.

mod named;
mod option;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use spec::Override;
use variant::{CacheMode, Design, Named, Schedule, StoreKind};

use crate::{
    exit::{Code, Failure, OrExit, Strictness},
    extras::Wishes,
    gate::builds::{Driving, WorkInput},
    minimal,
    prepare::{InUse, Size, Source},
    run::RunInput,
};

pub use named::{Given, ScenarioArgs, Which};
pub use option::as_option;

/// Help of the option that says where state databases are.
pub const DATA_DIR_HELP: &str =
    "Where state databases are kept [default: $XDG_CACHE_HOME/stress or ~/.cache/stress]";

const SCHEDULE_HELP: &str = "In which order the threads of a parallel design take transactions";

/// The names of all values of an axis, for its help.
pub fn names<T: Named>() -> String {
    T::ALL.iter().map(|value| value.name()).collect::<Vec<_>>().join(", ")
}

/// What to run and how.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to run: a shipped scenario's name, or the path of a scenario or workload file
    #[arg(value_name = "NAME|FILE")]
    pub words: Vec<String>,
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
    /// Designs.
    #[arg(long, value_name = "LIST", help = names::<Design>())]
    pub design: Option<String>,
    /// Stores.
    #[arg(long, value_name = "LIST", help = names::<StoreKind>())]
    pub store: Option<String>,
    /// Threads that execute; more than cores too [default: a few are tried]
    #[arg(long, value_name = "LIST")]
    pub threads: Option<String>,
    /// Threads that only read: for batched-io, and to verify for full [default: a few are tried]
    #[arg(long, value_name = "LIST")]
    pub io_threads: Option<String>,
    /// Schedules.
    #[arg(long, value_name = "LIST", help = format!("{SCHEDULE_HELP}: {}", names::<Schedule>()))]
    pub schedule: Option<String>,
    /// Also sign all transactions and recover their senders, timed apart
    #[arg(long)]
    pub recover_senders: bool,
    /// What is in memory when a sample starts.
    #[arg(long, value_name = "MODE", help = names::<CacheMode>().replace(", ", " or "))]
    pub cache: Option<String>,
    /// Keys that samples ask for: fresh is other keys for each sample, so that a cache below this
    /// machine has few of them; same is the scenario's each time [default: fresh for cold samples on disks]
    #[arg(long, value_name = "KEYS")]
    pub keys: Option<String>,
    /// Seed of the blocks that measure the device and of fresh keys, to read the same ones again
    /// [default: another each run]
    #[arg(long, value_name = "NUMBER")]
    pub draw_seed: Option<String>,
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

/// What goes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    #[default]
    Table,
    /// The result as JSON.
    Json,
}

impl RunArgs {
    /// What is to be run, as `command` asked for it.
    ///
    /// # Errors
    /// Nothing is named, or an option does not go with a workload file.
    pub fn input(&self, command: Vec<String>) -> Result<RunInput, Failure> {
        Ok(RunInput {
            source: self.source()?,
            how: self.how.overrides(),
            command,
            data_dir: self.data_dir.clone(),
            in_use: if self.wait { InUse::Wait } else { InUse::Refuse },
            strictness: self.strictness(),
            out: self.out.clone(),
            extras: Wishes {
                trace: self.trace.clone(),
                trace_variant: self.trace_variant.clone(),
                profile: self.profile.clone(),
                flame_graph: self.flame_graph.clone(),
            },
            show_kept: |_| (),
        })
    }

    /// What two builds are to run.
    ///
    /// # Errors
    /// As [`RunArgs::source`], or an option that does not go with comparing builds.
    pub fn of_builds(&self, settings: [Vec<Override>; 2]) -> Result<WorkInput, Failure> {
        self.without_extras("gate").or_exit(Code::Usage)?;
        let not_here = [
            ("--samples", self.how.samples.is_some()),
            ("--budget", self.how.budget.is_some()),
            ("--recover-senders", self.how.recover_senders),
            ("--keys", self.how.keys.is_some()),
            ("--draw-seed", self.how.draw_seed.is_some()),
        ];
        if let Some((option, _)) = not_here.iter().find(|(_, is_given)| *is_given) {
            let error = anyhow!("{option}: builds are compared in octets of slots; see --slot");
            return Err(error).or_exit(Code::Usage);
        }
        Ok(WorkInput {
            source: self.source()?,
            how: self.how.overrides(),
            settings,
            data_dir: self.data_dir.clone(),
        })
    }

    /// Refuses extra samples, of which `verb` shows nothing.
    ///
    /// # Errors
    /// A trace or a profile is asked for.
    pub fn without_extras(&self, verb: &str) -> Result<(), anyhow::Error> {
        let extras = [("--trace", self.trace.is_some()), ("--profile", self.profile.is_some())];
        match extras.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(anyhow!(
                "{option}: `stress {verb}` takes no extra samples; run `stress` with the same work \
                 and {option}"
            )),
            None => Ok(()),
        }
    }

    /// The first option that says what is run or how, as it was given.
    pub fn first_of_run(&self) -> Option<String> {
        let named = |option: &str, given: Option<String>| Some(format!("{option} {}", given?));
        let workload = self.workload.as_ref().map(|path| path.display().to_string());
        let overrides = self.work.overrides().unwrap_or_default().into_iter();
        let mut overrides = overrides.chain(self.how.overrides()).map(|given| given.origin);
        self.words
            .first()
            .cloned()
            .or_else(|| named("--scenario", self.scenario.clone()))
            .or_else(|| named("--workload", workload))
            .or_else(|| self.quick.then(|| "--quick".to_owned()))
            .or_else(|| overrides.next())
    }

    /// Where the work comes from.
    ///
    /// # Errors
    /// Nothing is named, or an option does not go with a workload file.
    pub fn source(&self) -> Result<Source, Failure> {
        let work = self.work.overrides().or_exit(Code::Usage)?;
        let (scenario, workload) = (self.scenario.as_deref(), self.workload.as_deref());
        match (Given { words: &self.words, scenario, workload }).which().or_exit(Code::Usage)? {
            Some(Which::Scenario(name)) => {
                let size = if self.quick { Size::Quick } else { Size::Stated };
                Ok(Source::Scenario { name, work, size })
            }
            Some(Which::Workload(path)) => {
                if self.quick || !work.is_empty() {
                    let what = work.first().map_or("--quick", |given| given.origin.as_str());
                    let error =
                        anyhow!("{what}: the work of a workload file is fixed; generate another");
                    return Err(error).or_exit(Code::Usage);
                }
                Ok(Source::File(path))
            }
            None => Err(anyhow!(
                "nothing to run: name a scenario, as in `stress --scenario sload-storm --gas 640M`, or a \
                 file, as in `stress my.toml`; \
                 `stress list` shows what is there, `stress --help` the rest"
            ))
            .or_exit(Code::Usage),
        }
    }

    /// Whether what is not sure ends the program with an error.
    pub const fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Lenient }
    }
}

impl DriveArgs {
    /// The same as plain values.
    ///
    /// # Errors
    /// A time that is none.
    pub fn driving(&self) -> Result<Driving, Failure> {
        let slot = minimal::duration("--slot", &self.slot).or_exit(Code::Usage)?;
        Ok(Driving {
            slot_ns: u64::try_from(slot.as_nanos()).unwrap_or(u64::MAX),
            timeout: minimal::duration("--timeout", &self.timeout).or_exit(Code::Usage)?,
            coin_seed: self.coin,
        })
    }
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
            all.push(pair("--set", set, "state.slots=50M")?);
        }
        Ok(all)
    }
}

/// The override that `option` gives as a key and its value; `example` is one.
///
/// # Errors
/// There is no `=`.
pub fn pair(option: &str, text: &str, example: &str) -> Result<Override, anyhow::Error> {
    let Some((key, value)) = text.split_once('=') else {
        anyhow::bail!("{option} {text}: a key and a value are wanted, as in {option} {example}");
    };
    let (key, value) = (key.to_owned(), value.to_owned());
    Ok(Override { key, value, origin: format!("{option} {text}") })
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
            ("keys", "run.keys", &self.keys),
            ("draw-seed", "run.draw_seed", &self.draw_seed),
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

/// Overrides of the options that were given: name, key, value.
pub fn of_flags(flags: &[(&str, &str, &Option<String>)]) -> Vec<Override> {
    let given = flags.iter().filter_map(|(flag, key, value)| Some((flag, key, value.as_ref()?)));
    given
        .map(|(flag, key, value)| Override {
            key: (*key).to_owned(),
            value: value.clone(),
            origin: format!("--{flag} {value}"),
        })
        .collect()
}
