//! Removes the states that the runs of `stress limit` built. `limit` calls it when a load is done,
//! so that the disk need not hold the states of all loads. States from before the first run stay.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::Context;
use executor::state::{DataDir, StateError};
use variant::StoreKind;

use crate::{
    run::prepare,
    terminal::{self, Code, Failure, WithExitCode},
};

/// File with the names of the states that existed before the first run.
const FILE: &str = "states.json";

/// The data directory, and the names of the states before the first run; `None` for a store without
/// states on disk.
#[derive(Debug)]
pub struct States(Option<Known>);

#[derive(Debug)]
struct Known {
    dir: DataDir,
    before: BTreeSet<String>,
}

impl States {
    /// Lists the states before the first run, and keeps the list in `journal`, where a later
    /// process of the same command reads it.
    ///
    /// # Errors
    /// A directory cannot be read or written.
    pub fn of(store: StoreKind, journal: &Path, data_dir: Option<&Path>) -> Result<Self, Failure> {
        if !store.has_device() {
            return Ok(Self(None));
        }
        let dir = prepare::data_dir(data_dir)?;
        let states = dir.list().with_exit_code(Code::Io)?;
        let names: BTreeSet<String> = states.into_iter().map(|state| state.name).collect();
        let path = journal.join(FILE);
        let text = report::json(&names).with_exit_code(Code::Io)?;
        let before = match report::write_new(&path, &text)? {
            true => names,
            false => read(&path).with_exit_code(Code::Io)?,
        };
        Ok(Self(Some(Known { dir, before })))
    }

    /// Removes the states of `names` that did not exist before the first run. A state that another
    /// process uses stays.
    pub fn remove_built(&self, names: &BTreeSet<String>) {
        let Some(Known { dir, before }) = &self.0 else { return };
        for name in names.difference(before) {
            match dir.remove(name) {
                Ok(()) | Err(StateError::NotFound { .. } | StateError::InUse { .. }) => {}
                Err(error) => terminal::note(&format!("state {name} stays: {error}")),
            }
        }
    }
}

fn read(path: &Path) -> anyhow::Result<BTreeSet<String>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is damaged: move its directory away", path.display()))
}
