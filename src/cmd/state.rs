//! `stress state`: the databases that runs have built.

use std::path::PathBuf;

use anyhow::anyhow;
use executor::{
    state::{self, DataDir, StateError, StateFormat},
    store::{
        flat::FlatFormat,
        mdbx::MdbxFormat,
        rocksdb::{self, RocksFormat},
    },
};

use crate::{
    cli::{StateArgs, StateCommand},
    exit::{Code, Failure, OrExit},
    interrupt,
    progress::{self, Progress},
    terminal,
};

/// Where the data directory is or will be.
pub fn data_path(asked: Option<&PathBuf>) -> Option<PathBuf> {
    asked.cloned().or_else(state::default_data_dir)
}

/// The data directory that was asked for, or the default one; made where it does not exist.
pub fn data_dir(asked: Option<&PathBuf>) -> Result<DataDir, Failure> {
    let path = data_path(asked).ok_or_else(|| {
        anyhow!("neither XDG_CACHE_HOME nor HOME is set: name a directory with --data-dir")
    });
    DataDir::open(&path.or_exit(Code::Usage)?).or_exit(Code::Io)
}

/// Carries out a verb of `stress state`.
pub fn state(args: &StateArgs) -> Result<Code, Failure> {
    let dir = data_dir(args.data_dir.as_ref())?;
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
                age(&whole.shape),
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

/// `  aged 0.3`, for a state of which a share was written again.
fn age(shape: &str) -> String {
    match rocksdb::aged_ppm(shape) {
        0 => String::new(),
        ppm => format!("  aged {}", f64::from(ppm) / f64::from(rocksdb::PPM)),
    }
}

fn verify(dir: &DataDir, name: &str) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::look());
    let formats: [&dyn StateFormat; 3] = [&RocksFormat::default(), &MdbxFormat, &FlatFormat];
    let verified = dir.verify(name, &formats, &progress, interrupt::flag());
    progress.clear();
    let code = match &verified {
        Err(StateError::Cancelled) => Code::Interrupted,
        _ => Code::Io,
    };
    verified.or_exit(code)?;
    terminal::out(&format!("{name}: fine; all rows are those of its recipe\n"));
    Ok(Code::Fine)
}
