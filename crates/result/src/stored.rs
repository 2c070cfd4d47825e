//! Results read back from files: found, checked for their schema and for being whole. Errors name
//! the file, what is wrong and what to do.
//!
//! An older build's result stays readable as long as its schema is the same: a key that may be absent
//! is absent, and a key that this build does not know is ignored. A file that lacks another key, or has
//! a name that this build does not know, is refused.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::run::{Cell, RunResult, RunSchema};

mod shown;

pub use shown::{Content, Shown};

/// Most bytes of a result file: far more than a run of a thousand cells writes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The result of a run from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Where it was found.
    pub path: PathBuf,
    /// The result.
    pub result: RunResult,
}

impl Stored {
    /// A result that is there already.
    pub const fn new(path: PathBuf, result: RunResult) -> Self {
        Self { path, result }
    }

    /// Reads a result, or the `result.json` of a directory that `--out` wrote.
    ///
    /// # Errors
    /// What cannot be read, is no JSON, has another schema, or lacks a part.
    pub fn read(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
        let json = parse(&path)?;
        Self::from_json(path, json)
    }

    /// The result that `json`, found at `path`, is.
    ///
    /// # Errors
    /// It has another schema, or lacks a part.
    pub fn from_json(path: PathBuf, json: Value) -> Result<Self> {
        let (name, wanted) = (path.display(), RunSchema::NAME);
        match json["schema"].as_str() {
            Some(found) if found == wanted => {}
            Some(other) => bail!(
                "{name} has the schema {other}, and this stress reads {wanted}; use the stress \
                 that wrote it, or run again"
            ),
            None => bail!("{name} is no result of stress: it has no `schema`; wanted is {wanted}"),
        }
        let result = typed(&path, json)?;
        Ok(Self { path, result })
    }

    /// Whether its variants reached the reference's outcome; `None` where nothing was compared.
    pub const fn agrees(&self) -> Option<bool> {
        self.result.agree
    }

    /// Whether its designs agree in every sample, so that its figures may be shown.
    pub fn is_sound(&self) -> bool {
        self.result.is_sound()
    }

    /// The cell of this name.
    pub fn cell(&self, variant: &str) -> Option<&Cell> {
        self.result.cell(variant)
    }
}

/// The JSON of a file.
fn parse(path: &Path) -> Result<Value> {
    let name = path.display();
    let size = fs::metadata(path).with_context(|| format!("cannot read {name}"))?.len();
    if size > MAX_FILE_BYTES {
        bail!("{name} has {size} bytes; a result has at most {MAX_FILE_BYTES}");
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    serde_json::from_str(&text).with_context(|| {
        format!("{name} is no whole JSON, so it is no result; run `stress --out DIR` again")
    })
}

/// What `json`, found at `path`, is as a type.
fn typed<T: DeserializeOwned>(path: &Path, json: Value) -> Result<T> {
    serde_json::from_value(json).with_context(|| {
        format!(
            "{} is damaged, or of a stress whose results this one does not know; run again",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests;
