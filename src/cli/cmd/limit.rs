//! `stress limit`: finds the block gas limits that are safe on this machine, and the operations
//! that are underpriced here.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use spec::{Override, Scenario, shipped};

use crate::{
    cli::args::{DataDirArgs, flag_overrides, key_value, typed_words},
    limit::{self, LimitInput},
    run::prepare::add_default,
    terminal::{self, Code, Failure, ProgressForm, WithExitCode, exit::fail},
};

const EXAMPLES: &str = "\
Examples:
  stress limit --deadline 3s                every shipped load, the worst first
  stress limit pointer-chase --target 200M  what must its reads cost for 200M?
  stress limit erc20 amm --store mdbx --design sequential,block-stm --out limits/
  stress limit my.toml --slots 50M --limits 10M,30M,90M --format json

A block must take less than the deadline with its signatures, state root and durable commit.
The same command goes on after an interrupt. More: docs/sweep.md#which-gas-limit-is-safe";

/// Default settings of all runs: a key, other keys that set the same quantity, the value.
const DEFAULTS: [(&str, &[&str], &str); 8] = [
    ("state.slots", &["state.size"], "8M"),
    ("run.designs", &[], "sequential,batched-io"),
    ("run.stores", &[], "rocksdb"),
    ("run.samples", &["run.budget"], "3"),
    ("run.whole", &[], "one"),
    ("run.execution_alone", &[], "false"),
    ("block.blocks", &[], "1"),
    ("block.batch", &[], "1"),
];

/// Arguments of `stress limit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LimitArgs {
    /// Scenarios by name or file [default: every shipped one of a single load, but official/]
    #[arg(value_name = "NAME|FILE")]
    pub names: Vec<String>,
    /// The same as an option
    #[arg(long, value_name = "NAME|FILE", num_args = 1.., conflicts_with = "names")]
    pub scenario: Vec<String>,
    /// The longest time of a whole block
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub deadline: String,
    /// The gas limit that operations would have to be priced for
    #[arg(long, value_name = "GAS", default_value = "200M")]
    pub target: String,
    /// Gas limits of the header: the first two run, the largest bounds the search
    #[arg(long, value_name = "LIST", default_value = "20M,60M,640M")]
    pub limits: String,
    /// Slots of each state with storage [default: 8M]
    #[arg(long, value_name = "COUNT")]
    pub slots: Option<String>,
    /// Designs [default: sequential,batched-io]
    #[arg(long, value_name = "LIST")]
    pub design: Option<String>,
    /// The store [default: rocksdb]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Samples of each design at each gas limit [default: 3]
    #[arg(long, value_name = "COUNT")]
    pub samples: Option<String>,
    /// Override any key of all scenarios
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where state databases are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
    /// Keep all runs, and the result as limit.json, in this directory [default: until the end only]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = LimitFormat::Table)]
    pub format: LimitFormat,
}

/// Formats of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LimitFormat {
    /// A table
    Table,
    /// The result as JSON
    Json,
    /// A Markdown table
    Markdown,
}

impl LimitFormat {
    fn progress_form(self) -> ProgressForm {
        match self {
            Self::Table => terminal::progress_form(),
            Self::Json | Self::Markdown => terminal::progress_form_beside_json(),
        }
    }
}

/// Finds the limits, and prints them.
pub fn limit(args: &LimitArgs) -> Result<Code, Failure> {
    let Some(result) = limit::run(&input(args)?)? else { return Ok(Code::Interrupted) };
    terminal::out(&match args.format {
        LimitFormat::Table => report::limit_table(&result, terminal::width(), terminal::paint()),
        LimitFormat::Json => report::json(&result).with_exit_code(Code::Io)?,
        LimitFormat::Markdown => report::limit_markdown(&result),
    });
    Ok(Code::Fine)
}

fn input(args: &LimitArgs) -> Result<LimitInput, Failure> {
    let deadline = spec::fine_duration("--deadline", &args.deadline).with_exit_code(Code::Usage)?;
    let named = [&args.names[..], &args.scenario].concat();
    Ok(LimitInput {
        scenarios: if named.is_empty() { shipped_loads()? } else { named },
        deadline,
        target_gas: spec::gas("--target", &args.target).with_exit_code(Code::Usage)?,
        limits: limits(&args.limits)?,
        fixed: fixed(args).with_exit_code(Code::Usage)?,
        out: args.out.clone(),
        data_dir: args.data_dir.asked().map(Path::to_path_buf),
        progress_form: args.format.progress_form(),
        command: typed_words(),
    })
}

/// Returns the shipped scenarios of a single load, without twins of official tests.
fn shipped_loads() -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for (name, text) in shipped::all().iter().filter(|(name, _)| !name.contains('/')) {
        let scenario = Scenario::parse(name, text, &[]).with_exit_code(Code::Usage)?;
        if scenario.loads.len() == 1 {
            names.push((*name).to_owned());
        }
    }
    Ok(names)
}

/// Parses the gas limits of `--limits`. Returns them in ascending order, each once.
fn limits(text: &str) -> Result<Vec<u64>, Failure> {
    let limits = text.split(',').map(|limit| spec::gas("--limits", limit.trim()));
    let mut limits = limits.collect::<Result<Vec<_>, _>>().with_exit_code(Code::Usage)?;
    limits.sort_unstable();
    limits.dedup();
    if limits.len() < 2 {
        fail!(
            Code::Usage,
            "--limits {text}: a line through times needs two limits or more, as in --limits 20M,60M,640M"
        );
    }
    Ok(limits)
}

/// Returns the settings of all runs: those of the user, and defaults for all other keys.
fn fixed(args: &LimitArgs) -> anyhow::Result<Vec<Override>> {
    let mut fixed = flag_overrides(&[
        ("slots", "state.slots", &args.slots),
        ("design", "run.designs", &args.design),
        ("store", "run.stores", &args.store),
        ("samples", "run.samples", &args.samples),
    ]);
    for set in &args.set {
        fixed.push(key_value("--set", set, "run.io_threads=64")?);
    }
    for (key, others, value) in DEFAULTS {
        let default = Override::new(key, value, format!("stress limit: {key} = {value}"));
        add_default(&mut fixed, others, default);
    }
    Ok(fixed)
}
