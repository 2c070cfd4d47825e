//! `stress client`: runs an exported block or chain on real clients, beside our designs.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use spec::{Override, RunSpec};
use variant::{RootTime, TrieForm, WholeRows};

use super::{
    rank::{self, RankArgs},
    run::{show, show_kept},
};
use crate::{
    cli::args::{ArgsOrVerb, DatabaseArgs, HowArgs, OpenArgs, ResultArgs, key_value, typed_words},
    client::{self, Attached, ClientInput, Clients, StartFile},
    run::{
        RunInput,
        extras::ExtraSamples,
        hooks::Hooks,
        minimal,
        prepare::{DeviceFigures, Source},
    },
    terminal::{Code, Failure, WithExitCode},
};

const EXAMPLES: &str = "\
Examples:
  stress client storm/ --client geth            started for each sample, cold
  stress client storm/ --client geth --design batched-io --out results/
  stress export --scenario sload-storm --gas 64M --slots 1M --siblings 16 --out storm/
  stress client storm/ --client a.toml,b.toml --samples 8  two versions or settings, in turn
  stress client storm/ --client geth --cache warm --deadline 4s
  stress client chain/ --client geth --samples 6           a chain of blocks, on a new copy each time
  stress client storm/ --client geth --fill --client-data databases/    made from the export's rows
  stress client storm/ --url http://127.0.0.1:8551 --jwt jwt.hex        one that runs already

Without --client-data the clients' databases are made beside DIR and removed after the run.
Exit codes: 0 fine, 1 the deadline fails, 2 usage, another genesis or known blocks, 3 a client
finds the block invalid, 6 a client gives no answer, 7 the deadline is not judged, 130 interrupted.
docs/import-export.md says more.";

const URL_HELP: &str = "Engine API of a client that runs: http://127.0.0.1:8551";

/// Verbs of `stress client`.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Rank workloads by time on a client and in our designs, and explain where the ranks differ
    Rank(RankArgs),
}

/// Arguments of `stress client`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ClientArgs {
    /// A directory that `stress export` wrote: one block with siblings, or a chain of blocks
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Clients to start: a shipped start file's name (geth), or the paths of start files, separated
    /// by commas
    #[arg(
        long,
        value_name = "NAME|FILE",
        value_delimiter = ',',
        required_unless_present = "url",
        conflicts_with = "url"
    )]
    pub client: Vec<String>,
    /// The client's program [default: that of its start file]
    #[arg(long, value_name = "PATH", requires = "client")]
    pub program: Option<PathBuf>,
    /// Make databases from the export's rows with the command `fill` of the start files, also if
    /// there is a genesis.json; without a genesis.json rows are always used
    #[arg(long, requires = "client")]
    pub fill: bool,
    /// Keep the clients' databases in this directory, each in a directory of its client's name
    #[arg(long, value_name = "DIR", requires = "client")]
    pub client_data: Option<PathBuf>,
    /// Engine API of a client that runs.
    #[arg(long, value_name = "URL", requires = "jwt", help = URL_HELP)]
    pub url: Option<String>,
    /// The file with the secret of that client
    #[arg(long, value_name = "FILE", requires = "url")]
    pub jwt: Option<PathBuf>,
    /// How long a client may take for an answer
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub timeout: String,
    /// Claim that no block takes longer on any client, nor in any design of the run: 4s
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Samples and cache state of all, and our designs: they run first where --design names some
    #[command(flatten)]
    pub how: HowArgs,
    /// Override another key of our designs' run; their state root is computed after the block, as
    /// clients do, unless --set run.root=none says otherwise
    #[arg(long, value_name = "KEY=VALUE", requires = "design")]
    pub set: Vec<String>,
    /// Where the states of our designs are
    #[command(flatten)]
    pub databases: DatabaseArgs,
    /// Exit codes of open claims and figures
    #[command(flatten)]
    pub open: OpenArgs,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Carries out the arguments, and prints the result.
pub fn client(verb: &ArgsOrVerb<ClientArgs, ClientCommand>) -> Result<Code, Failure> {
    let args = match verb {
        ArgsOrVerb::Args(args) => args,
        ArgsOrVerb::Verb(ClientCommand::Rank(args)) => return rank::rank(args),
    };
    let finished = input(args)?.run()?;
    show(&finished, args.result.format)?;
    finished.code(args.open.codes())
}

fn input(args: &ClientArgs) -> Result<ClientInput, Failure> {
    let run = client_run(args).with_exit_code(Code::Usage)?;
    let show_kept = show_kept(args.result.format);
    let deadline = args.deadline.as_deref().map(|text| spec::fine_duration("--deadline", text));
    let command = typed_words();
    let run_overrides = design_overrides(args).with_exit_code(Code::Usage)?;
    let designs = args.how.design.as_ref().map(|_| RunInput {
        source: Source::File(client::workload_path(&args.dir)),
        run_overrides,
        command: command.clone(),
        same_work: None,
        data_dir: args.databases.data_dir.asked().map(Path::to_path_buf),
        in_use: args.databases.in_use(),
        // A deadline is about whole blocks, so it needs whole rows. Without one they are left out:
        // a note beside a client's time names the duties that the time includes.
        open_whole: match deadline {
            Some(_) => WholeRows::One,
            None => WholeRows::Nothing,
        },
        open: args.open.codes(),
        device: DeviceFigures::Measured,
        out: None,
        progress_form: args.result.format.progress_form(),
        extras: ExtraSamples::default(),
        hooks: Hooks::default(),
        show_kept,
    });
    Ok(ClientInput {
        dir: args.dir.clone(),
        clients: clients(args).with_exit_code(Code::Usage)?,
        sample_count: run.sample_count.map(|count| count as usize),
        cache: args.how.cache.as_ref().map(|_| run.cache),
        timeout: spec::duration("--timeout", &args.timeout).with_exit_code(Code::Usage)?,
        deadline: deadline.transpose().with_exit_code(Code::Usage)?,
        designs,
        out: args.result.out.clone(),
        command,
        show_kept,
    })
}

/// Returns the overrides of our designs' run. Unless `--set` says otherwise, the run computes state
/// roots, as clients do.
fn design_overrides(args: &ClientArgs) -> anyhow::Result<Vec<Override>> {
    let mut overrides = args.how.overrides();
    for set in &args.set {
        let given = key_value("--set", set, "run.root=none")?;
        if !given.key.starts_with("run.") {
            bail!("{}: the work of an export is fixed; only keys of run can be set", given.origin);
        }
        overrides.push(given);
    }
    let given = |key: &str| overrides.iter().find(|given| given.key == key);
    let root = given("run.root").map_or(RootTime::After.name(), |given| given.value.as_str());
    let is_none = root == RootTime::Nothing.name();
    let missing = [("run.root", RootTime::After.name()), ("run.trie", TrieForm::Cut.name())]
        .into_iter()
        .filter(|(key, _)| !is_none && given(key).is_none())
        .map(|(key, value)| Override::new(key, value, format!("{key}={value}, as clients do")));
    let missing: Vec<_> = missing.collect();
    overrides.extend(missing);
    Ok(overrides)
}

/// Returns the settings of the clients' samples. Refuses options of designs if no design is named.
fn client_run(args: &ClientArgs) -> anyhow::Result<RunSpec> {
    let overrides = args.how.overrides();
    let mut keys = overrides.iter();
    let of_designs = keys.find(|given| !["run.samples", "run.cache"].contains(&given.key.as_str()));
    if let Some(given) = of_designs.filter(|_| args.how.design.is_none()) {
        bail!(
            "{}: this is of our designs, and none is named; add --design batched-io,sequential, \
             or leave it out",
            given.origin
        );
    }
    Ok(minimal::default_run(&overrides)?)
}

/// Returns the clients: one that runs already, or those to start.
fn clients(args: &ClientArgs) -> anyhow::Result<Clients> {
    if let (Some(url), Some(jwt)) = (&args.url, &args.jwt) {
        return Ok(Clients::Attached(Attached { url: url.clone(), jwt: jwt.clone() }));
    }
    let starts = args.client.iter().map(|name| StartFile::load(name));
    let mut starts = starts.collect::<anyhow::Result<Vec<_>>>()?;
    match (&args.program, starts.as_mut_slice()) {
        (Some(program), [only]) => only.program.clone_from(program),
        (Some(_), _) => {
            bail!("--program: there are several clients; write program = … into their start files")
        }
        (None, _) => {}
    }
    if args.fill {
        let filled = starts.into_iter().map(StartFile::always_filled);
        starts = filled.collect::<anyhow::Result<_>>()?;
    }
    for (index, start) in starts.iter().enumerate() {
        if starts[..index].iter().any(|other| other.name == start.name) {
            return Err(anyhow!(
                "--client: two start files have the name {:?}, which tells results and databases \
                 apart: change name = … in one",
                start.name
            ));
        }
    }
    Ok(Clients::Started { starts, datadir: args.client_data.clone() })
}
