//! `stress state`: the databases that runs have built.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use executor::{
    state::{DataDir, StateError},
    store::{any, mdbx::MdbxFormat, rocksdb},
};
use variant::{SlotTable, StoreKind};

use crate::{
    args::DATA_DIR_HELP,
    exit::{Code, Failure, OrExit},
    interrupt, prepare,
    progress::{self, Progress},
    terminal,
};

/// Arguments of `stress state`.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// The verb
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
    #[command(alias = "ls")]
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

/// Carries out a verb of `stress state`.
pub fn state(args: &StateArgs) -> Result<Code, Failure> {
    let dir = prepare::data_dir(args.data_dir.as_deref())?;
    match &args.command {
        StateCommand::List => list(&dir),
        StateCommand::Verify { name } => verify(&dir, name),
        StateCommand::Rm { name } => {
            dir.remove(name).or_exit(Code::Io)?;
            terminal::out(&format!("removed {name}\n"));
            Ok(Code::Fine)
        }
    }
}

fn list(dir: &DataDir) -> Result<Code, Failure> {
    let states = dir.list().or_exit(Code::Io)?;
    let mut total_bytes = 0;
    for state in &states {
        total_bytes += state.byte_count;
        let contents = match &state.whole {
            Some(whole) => format!(
                "{:>7} rows  {}{}  {}",
                progress::count(whole.rows.total()),
                whole.layout,
                form(&whole.shape),
                whole.scenario
            ),
            None => {
                let fault = state.fault.as_deref().unwrap_or("not whole");
                format!("unusable: {fault}; `stress state rm {}` removes it", state.name)
            }
        };
        let size = progress::bytes(state.byte_count);
        terminal::out(&format!("{}  {size:>9}  {contents}\n", state.name));
    }
    let total = progress::bytes(total_bytes);
    terminal::note(&format!("{} states, {total}, in {}", states.len(), dir.path().display()));
    Ok(Code::Fine)
}

/// `  aged 0.3`, for a state of which a share was written again, `  dupsort`, for one with the
/// slots of an account as sorted duplicates, and `  tries cut at 16 rows`, for one with nodes of tries.
fn form(shape: &str) -> String {
    if let Some(MdbxFormat { slots: SlotTable::DupSort }) = MdbxFormat::of_shape(shape) {
        return format!("  {}", SlotTable::DupSort);
    }
    let aged = match rocksdb::aged_ppm(shape) {
        0 => String::new(),
        ppm => format!("  aged {}", f64::from(ppm) / f64::from(rocksdb::PPM)),
    };
    let tries = rocksdb::tries_name(shape).map_or(String::new(), |name| format!("  tries {name}"));
    aged + &tries
}

fn verify(dir: &DataDir, name: &str) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::look());
    let formats: Vec<_> = StoreKind::ALL.iter().copied().filter_map(any::format_of).collect();
    let formats: Vec<_> = formats.iter().map(|format| &**format).collect();
    let verified = dir.verify(name, &formats, &progress, interrupt::flag());
    progress.clear();
    let code = match &verified {
        Err(StateError::Cancelled) => Code::Interrupted,
        _ => Code::Io,
    };
    let tries = verified.or_exit(code)?.state_root.map_or_else(
        || "no tries".to_owned(),
        |root| format!("all nodes of tries are those of the rows, state root {root}"),
    );
    terminal::out(&format!("{name}: fine; all rows are those of its recipe; {tries}\n"));
    Ok(Code::Fine)
}
