//! `stress state`: lists, verifies and removes the databases that runs have built. It also has the
//! verbs for saved baselines.

mod removal;

use clap::{ArgGroup, Args, Subcommand};
use executor::{
    state::{DataDir, Manifest, NodeCounts, NodeTotals, StateError, StateInfo},
    store::{self, mdbx::MdbxFormat, rocksdb},
    tries,
};
use report::units;
use variant::{SlotTable, StoreKind};

use crate::{
    cli::{
        args::DataDirArgs,
        cmd::{
            baseline::{self, BaselineCommand},
            state::removal::{Fate, Outcome, Selection},
        },
    },
    machine,
    run::prepare,
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail, interrupt, progress},
};

const RM_HELP: &str = "\
Examples:
  stress state rm rocksdb-0123456789abcdef
  stress state rm --older-than 30d --dry-run    no run used them for 30 days
  stress state rm --keep 20G                    the least recently used go until 20 GB are left
  stress state rm --all

A state counts from the last run on it, one without a record of it from the day it was
built. States in use stay, and are named. Exit codes: 0 done, also where states in use stay;
2 a wrong option; 6 one could not be removed, or the states in use take more than --keep;
130 interrupted.";

const EXAMPLES: &str = "\
Examples:
  stress state list
  stress state rm --older-than 30d              no run used them for 30 days";

const LIST_EXAMPLES: &str = "\
Examples:
  stress state list
  stress state list --data-dir /data/stress";

const VERIFY_EXAMPLES: &str = "\
Examples:
  stress state verify rocksdb-0123456789abcdef
  stress state verify rocksdb-0123456789abcdef --data-dir /data/stress";

/// Arguments of `stress state`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("data_dir", |data_dir| data_dir.global(true)))]
pub struct StateArgs {
    /// The verb
    #[command(subcommand)]
    pub command: StateCommand,
    /// Where state databases and baselines are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
}

/// Verbs of `stress state`.
#[derive(Debug, Subcommand)]
pub enum StateCommand {
    /// List the databases with their sizes and last uses
    #[command(visible_alias = "ls", after_help = LIST_EXAMPLES)]
    List,
    /// Read a database through and compare it with its manifest
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify {
        /// Its name, as `stress state list` shows it
        name: String,
    },
    /// Remove databases: one, all, those that were not used for a time, or the least recently used
    Rm(RmArgs),
    /// List or remove saved baselines (`--save-baseline` of a run saves one)
    #[command(after_help = baseline::HELP)]
    Baseline {
        /// The verb
        #[command(subcommand)]
        command: BaselineCommand,
    },
}

/// Arguments of `stress state rm`: which databases it removes.
#[derive(Debug, Args)]
#[command(after_help = RM_HELP)]
#[command(group = ArgGroup::new("which").required(true))]
pub struct RmArgs {
    /// Its name, as `stress state list` shows it
    #[arg(group = "which")]
    pub name: Option<String>,
    /// All of them, also half-built ones that killed runs left
    #[arg(long, group = "which")]
    pub all: bool,
    /// Databases that no run has used for so long: 30d, 12h
    #[arg(long, value_name = "TIME", group = "which")]
    pub older_than: Option<String>,
    /// The least recently used, until the others take so much at most: 20G, 512MiB
    #[arg(long, value_name = "SIZE", group = "which")]
    pub keep: Option<String>,
    /// List the states to be removed, and remove none
    #[arg(long)]
    pub dry_run: bool,
}

/// Carries out a verb of `stress state`.
pub fn state(args: &StateArgs) -> Result<Code, Failure> {
    let dir = || prepare::data_dir(args.data_dir.asked());
    match &args.command {
        StateCommand::List => list(&dir()?),
        StateCommand::Verify { name } => verify(&dir()?, name),
        StateCommand::Rm(args) => rm(&dir()?, args),
        StateCommand::Baseline { command } => command.run(args.data_dir.asked()),
    }
}

fn list(dir: &DataDir) -> Result<Code, Failure> {
    let states = dir.list().with_exit_code(Code::Io)?;
    let mut total_bytes = 0;
    for state in &states {
        total_bytes += state.byte_count;
        let contents = match (&state.manifest, state.is_ours) {
            (Some(manifest), _) => format!(
                "{:>7} rows  {}{}  {}",
                progress::count(manifest.rows.total()),
                manifest.layout.name(),
                form(manifest),
                manifest.scenario
            ),
            (None, true) => {
                let fault = state.fault.as_deref().unwrap_or("not whole");
                format!("unusable: {fault}; `stress state rm {}` removes it", state.name)
            }
            (None, false) => NOT_OURS.to_owned(),
        };
        terminal::out(&format!("{}  {contents}\n", facts(state)));
    }
    let total = progress::bytes(total_bytes);
    let count = units::things(states.len() as u64, "state");
    terminal::note(&format!("{count}, {total}, in {}", dir.path().display()));
    Ok(Code::Fine)
}

/// Text for a directory that may belong to another program.
const NOT_OURS: &str =
    "maybe of another program: it has a state's name, and no mark of stress; it is left alone";

/// Formats name, size and date of a state.
fn facts(state: &StateInfo) -> String {
    let size = progress::bytes(state.byte_count);
    let date = match (state.last_used_unix_s, state.created_unix_s) {
        (Some(used), _) => format!("used  {}", units::moment(used)),
        (None, Some(created)) => format!("built {}", units::moment(created)),
        (None, None) => "of unknown date".to_owned(),
    };
    format!("{}  {size:>9}  {date}", progress::visible(&state.name))
}

/// Removes the databases of the arguments, or lists them.
fn rm(dir: &DataDir, args: &RmArgs) -> Result<Code, Failure> {
    let selection = match (&args.older_than, &args.keep) {
        (Some(text), _) => {
            Selection::UnusedFor(removal::time("--older-than", text).with_exit_code(Code::Usage)?)
        }
        (_, Some(text)) => {
            Selection::DownTo(removal::size("--keep", text).with_exit_code(Code::Usage)?)
        }
        // The user names one state, or all states.
        (None, None) => Selection::All,
    };
    let mut states = dir.list().with_exit_code(Code::Io)?;
    if let Some(name) = &args.name {
        states.retain(|state| state.name == *name);
        let Some(state) = states.pop() else {
            let (name, path) = (name.clone(), dir.path().to_path_buf());
            return Err(StateError::NotFound { name, path }).with_input_code();
        };
        remove(dir, args, &state).with_exit_code(Code::Io)?;
        tell(&state, &Fate::Removed, args);
        return Ok(Code::Fine);
    }
    let now_s = machine::unix_s();
    let outcome = removal::remove(
        states,
        &selection,
        now_s,
        |state| remove(dir, args, state),
        |state, fate| tell(state, fate, args),
    );
    conclude(outcome, &selection, args)
}

/// Removes a state. With `--dry-run` it only checks whether the state could be removed.
fn remove(dir: &DataDir, args: &RmArgs, state: &StateInfo) -> Result<(), StateError> {
    match (args.dry_run, &state.holder) {
        _ if interrupt::happened() => Err(StateError::Cancelled),
        (true, Some(holder)) => {
            Err(StateError::InUse { name: state.name.clone(), holder: holder.clone() })
        }
        (true, None) => Ok(()),
        (false, _) => dir.remove(&state.name),
    }
}

/// Prints the fate of a state on standard output: removed, or kept with the reason.
fn tell(state: &StateInfo, fate: &Fate, args: &RmArgs) {
    let facts = facts(state);
    let line = match fate {
        Fate::Removed if args.dry_run => format!("would remove {facts}"),
        Fate::Removed => format!("removed {facts}"),
        Fate::Gone => format!("gone    {facts}: another process has removed it"),
        Fate::InUse(holder) => format!("kept    {facts}: in use by {holder}"),
        Fate::NotOurs => format!("kept    {facts}: {NOT_OURS}"),
        Fate::Failed(error) => format!("kept    {facts}: {error}"),
    };
    terminal::out(&(line + "\n"));
}

/// Prints the sums of a removal, and returns the exit code or the error of the program.
fn conclude(outcome: Outcome, selection: &Selection, args: &RmArgs) -> Result<Code, Failure> {
    let Outcome { removed_count, freed_bytes, in_use_count, left_bytes, failure } = outcome;
    let states = units::things(removed_count, "state");
    let [freed, left] = [freed_bytes, left_bytes].map(progress::bytes);
    let done = match args.dry_run {
        true => format!("would remove {states} and free {freed}"),
        false => format!("removed {states}, {freed} freed"),
    };
    let in_use = match in_use_count {
        0 => String::new(),
        count => format!("; {count} in use stay"),
    };
    terminal::note(&format!("{done}; {left} are left{in_use}"));
    match (failure, selection) {
        (Some(StateError::Cancelled), _) => {
            fail!(Code::Interrupted, "interrupted: the states that are left are whole")
        }
        (Some(error), _) => Err(error).with_exit_code(Code::Io),
        (None, Selection::DownTo(bytes)) if left_bytes > *bytes => {
            let wanted = args.keep.as_deref().unwrap_or_default();
            fail!(
                Code::Io,
                "{left} are left, more than --keep {wanted}: states in use stay; run it again when \
                 they are free"
            )
        }
        (None, _) => Ok(Code::Fine),
    }
}

/// Formats the state's form, if it is not the default one. `tries cut at 16 rows (9.1 MB)`: the
/// layout of its tries, and the bytes of their nodes. `aged 0.3`: this share of the rows was
/// written again. `dupsort`: slots of an account are sorted duplicates.
fn form(manifest: &Manifest) -> String {
    let shape = &manifest.shape;
    let slots = match MdbxFormat::of_shape(shape) {
        Some(MdbxFormat { slots: slots @ SlotTable::DupSort, .. }) => format!("  {slots}"),
        _ => String::new(),
    };
    let aged = match rocksdb::aged_ppm(shape) {
        0 => String::new(),
        ppm => format!("  aged {}", f64::from(ppm) / f64::from(rocksdb::PPM)),
    };
    let tries = match (tries::name_in_shape(shape), manifest.nodes) {
        (Some(name), Some(nodes)) => format!("  tries {name} ({})", progress::bytes(nodes.bytes)),
        (Some(name), None) => format!("  tries {name}"),
        (None, _) => String::new(),
    };
    slots + &aged + &tries
}

fn verify(dir: &DataDir, name: &str) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::progress_form());
    let formats: Vec<_> =
        StoreKind::ALL.iter().copied().filter_map(store::formats::format_of).collect();
    let formats: Vec<_> = formats.iter().map(|format| &**format).collect();
    let verified = dir.verify(name, &formats, &progress, interrupt::flag());
    progress.clear();
    let verified = match verified {
        Err(StateError::Cancelled) => verified.with_exit_code(Code::Interrupted)?,
        verified => verified.with_input_code()?,
    };
    let tries = verified.manifest.state_root.map_or_else(
        || "no tries".to_owned(),
        |root| format!("all nodes of tries are those of the rows, state root {root}"),
    );
    let is_hashed = verified.manifest.files.iter().all(|file| file.hash.is_some());
    let (verdict, code) = match is_hashed {
        true => ("fine", Code::Fine),
        false => (
            "bytes of filters and indices not compared, as it was built before hashes were stored",
            Code::NotJudged,
        ),
    };
    terminal::out(&format!("{name}: {verdict}; all rows are those of its recipe; {tries}\n"));
    if let Some(nodes) = &verified.nodes {
        let form = tries::name_in_shape(&verified.manifest.shape).unwrap_or_default();
        terminal::out(&by_depth(form, nodes));
    }
    Ok(code)
}

/// Formats a table of the tries' stored nodes by depth.
fn by_depth(form: &str, nodes: &NodeCounts) -> String {
    let depths = nodes.accounts.len().max(nodes.slots.len());
    let rows = (0..depths)
        .map(|depth| (depth.to_string(), nodes.accounts.get(depth), nodes.slots.get(depth)));
    let (accounts, slots) = (sum(&nodes.accounts), sum(&nodes.slots));
    let rows = rows.chain([("all".to_owned(), Some(&accounts), Some(&slots))]);
    let rows = rows.map(|(depth, accounts, slots)| {
        let ([accounts, account_bytes], [slots, slot_bytes]) = (columns(accounts), columns(slots));
        [depth, accounts, account_bytes, slots, slot_bytes]
    });
    let head = ["depth", "accounts", "bytes", "slots", "bytes"].map(str::to_owned);
    let lines = [head].into_iter().chain(rows).map(
        |[depth, accounts, account_bytes, slots, slot_bytes]| {
            let line =
                format!("{depth:>5} {accounts:>12} {account_bytes:>9} {slots:>14} {slot_bytes:>9}");
            format!("{}\n", line.trim_end())
        },
    );
    let title =
        format!("\nStored nodes ({form}) by the nibbles of their path; bytes with their keys\n");
    [title].into_iter().chain(lines).collect()
}

/// Formats count and bytes of nodes.
fn columns(nodes: Option<&NodeTotals>) -> [String; 2] {
    match nodes.filter(|nodes| nodes.count > 0) {
        Some(nodes) => [nodes.count.to_string(), progress::bytes(nodes.bytes)],
        None => ["-".to_owned(), String::new()],
    }
}

fn sum(depths: &[NodeTotals]) -> NodeTotals {
    let mut sum = NodeTotals::default();
    depths.iter().for_each(|depth| sum.merge(depth));
    sum
}
