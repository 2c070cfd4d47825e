//! Reads results back from files, for reports, comparisons and gates: finds the files, and checks
//! that they have the right schema and are complete. Errors name the file, the fault and the
//! remedy.
//!
//! A result of an older build can be read if it has this build's schema, or an older version that
//! [`RunSchema`] reads. If an optional key is missing, its value is absent. A renamed key is read
//! by its former name too, and a key that this build does not know is ignored. A file is refused if
//! it lacks any other key. It is also refused if a value is a name that this build does not know,
//! such as that of a design.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    error::Error,
    run::{Cell, RunResult, RunSchema},
};

mod limits;
mod loads;
mod shown;

pub use limits::{LIMIT_FILE, StoredLimit};
pub use loads::StoredLoad;
pub use shown::{Content, Shown};

/// Beginning of the names of files with results of runs.
const RUN_NAME: &str = "result";
/// Beginning of the names of files with loads on live nodes.
const LOAD_NAME: &str = "send";
/// Beginning of the schemas of loads on live nodes, in any version.
const LOAD_SCHEMA: &str = "stress.send/";
/// Number of bytes at the start of a file among which its schema is searched.
const HEAD_BYTES: u64 = 200;
/// Maximum size of a result file: far more than a run of a thousand cells writes.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The fault of a file with a load where the result of a run is wanted. A load has no cells.
const OF_A_LOAD: &str = "is of a load on a live node (stress send), which has no designs to judge or to lay beside \
    a run's; give loads alone: stress report shows them, stress compare BEFORE/ AFTER/ compares them with an \
    interval (docs/send.md)";
/// The fault of a file that is not JSON, such as a scenario.
const NOT_JSON: &str = "is not a result: it is not JSON; a scenario is run by `stress FILE --out DIR`, which \
    writes its result into DIR";
/// The remedy for a path without a result.
const GIVE_A_RESULT: &str = "give a result file, or a directory that --out of a run, of `stress sweep` or of \
    `stress gate` wrote";

/// A result, with the file that it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFile<T> {
    /// Path of the file.
    pub path: PathBuf,
    /// The result.
    pub result: T,
}

impl<T: DeserializeOwned> StoredFile<T> {
    /// Reads a file whose schema begins with `kind`, if `known` has the schema. `None` if the file
    /// has another kind of schema.
    fn read_kind(
        path: &Path,
        kind: &str,
        known: &[&str],
        remedy: &str,
    ) -> Result<Option<Self>, Error> {
        if !may_have_schema(path, kind)? {
            return Ok(None);
        }
        let json = parse(path)?;
        match json["schema"].as_str().filter(|schema| schema.starts_with(kind)) {
            Some(schema) if known.contains(&schema) => {}
            Some(other) => return Err(other_schema(path, other, known, remedy)),
            None => return Ok(None),
        }
        let result = typed(path, json)?;
        Ok(Some(Self { path: path.to_owned(), result }))
    }
}

/// The result of a run, with the file that it is from.
pub type Stored = StoredFile<RunResult>;

impl Stored {
    /// Makes a stored result of a `result` that is already in memory.
    pub const fn new(path: PathBuf, result: RunResult) -> Self {
        Self { path, result }
    }

    /// Reads a result of a run from a file. From a directory that `--out` wrote, it reads the
    /// newest one.
    ///
    /// # Errors
    /// The file cannot be read, is not JSON, has another schema, or lacks a required key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        require_exists(path)?;
        let path = match path.is_dir() {
            true => match (newest(path, RUN_NAME)?, files(path, LOAD_NAME)?.pop()) {
                (Some(newest), _) => newest,
                (None, Some(load)) => load,
                (None, None) => path.join("result.json"),
            },
            false => path.to_owned(),
        };
        let json = parse(&path)?;
        Self::from_json(path, json)
    }

    /// Converts the `json` of the file at `path` to a result.
    ///
    /// # Errors
    /// The JSON has another schema, or lacks a required key.
    pub fn from_json(path: PathBuf, json: Value) -> Result<Self, Error> {
        match json["schema"].as_str() {
            Some(schema) if RunSchema::reads(schema) => {}
            Some(load) if load.starts_with(LOAD_SCHEMA) => return Err(Error::at(&path, OF_A_LOAD)),
            Some(other) => return Err(other_schema(&path, other, RunSchema::READ, "run again")),
            None => {
                let wanted = RunSchema::NAME;
                let fault =
                    format!("is no result of stress: it has no `schema`; wanted is {wanted}");
                return Err(Error::at(&path, fault));
            }
        }
        let result = typed(&path, json)?;
        Ok(Self { path, result })
    }

    /// Whether all samples equal the reference; `None` where nothing was compared.
    pub const fn agrees(&self) -> Option<bool> {
        self.result.agree
    }

    /// Finds the cell with this name.
    pub fn cell(&self, variant: &str) -> Option<&Cell> {
        self.result.cell(variant)
    }
}

/// Finds the results of runs that `--out` wrote into a directory, in the order of their names:
/// `result.json`, `result-1767225600.json`.
///
/// # Errors
/// The directory cannot be read.
pub fn result_files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    files(dir, RUN_NAME)
}

/// Finds the JSON files in `dir` whose names are `name`, or begin with `name` and a hyphen.
fn files(dir: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::unreadable(dir))? {
        let path = entry.map_err(Error::unreadable(dir))?.path();
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        let rest = file.strip_prefix(name).and_then(|rest| rest.strip_suffix(".json"));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Finds the file whose run or gate started last. Of several that started in the same second, it is
/// the last one by name. A file that is the only one is not read.
fn newest(dir: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    let mut files = files(dir, name)?;
    if files.len() < 2 {
        return Ok(files.pop());
    }
    let mut newest = None;
    for file in files {
        let start = (parse(&file)?["started_unix_s"].as_u64().unwrap_or(0), name_number(&file));
        if newest.as_ref().is_none_or(|(newest, _)| start > *newest) {
            newest = Some((start, file));
        }
    }
    Ok(newest.map(|(_, file)| file))
}

/// Returns the rank of a file's name among the names of one second: `result.json`,
/// `result-1767225600.json`, `result-1767225600-2.json`.
fn name_number(path: &Path) -> u64 {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut parts = stem.split('-').skip(1);
    let named = u64::from(parts.next().is_some());
    parts.next().and_then(|number| number.parse().ok()).unwrap_or(named)
}

/// Refuses a path that does not exist.
fn require_exists(path: &Path) -> Result<(), Error> {
    match path.try_exists() {
        Ok(false) => Err(Error::Missing(format!(
            "cannot read {}: there is no such file or directory; {GIVE_A_RESULT}",
            path.display()
        ))),
        // Opening the file later gives the system's error.
        Ok(true) | Err(_) => Ok(()),
    }
}

/// Makes the error for a file with another version of a schema. `read` has the versions that this
/// build reads.
fn other_schema(path: &Path, found: &str, read: &[&str], remedy: &str) -> Error {
    let read = read.join(", ");
    let fault = format!("has the schema {found}, and this stress reads {read}");
    Error::at(path, format!("{fault}; use the stress that wrote it, or {remedy}"))
}

/// Reads the first bytes of a file as text, which may end within a character; `None` if the file
/// cannot be read.
fn head(path: &Path) -> Result<Option<String>, Error> {
    let mut start = Vec::new();
    let file = fs::File::open(path).map_err(Error::unreadable(path))?;
    let is_read = file.take(HEAD_BYTES).read_to_end(&mut start).is_ok();
    Ok(is_read.then(|| String::from_utf8_lossy(&start).into_owned()))
}

/// Returns whether a file begins like one whose schema begins with `schema`.
fn may_have_schema(path: &Path, schema: &str) -> Result<bool, Error> {
    Ok(head(path)?.is_some_and(|head| head.contains(&format!("\"{schema}"))))
}

/// Reads the JSON of a file.
fn parse(path: &Path) -> Result<Value, Error> {
    let file_bytes = fs::metadata(path).map_err(Error::unreadable(path))?.len();
    if file_bytes > MAX_FILE_BYTES {
        let fault = format!("has {file_bytes} bytes; a result has at most {MAX_FILE_BYTES}");
        return Err(Error::at(path, fault));
    }
    let text = fs::read_to_string(path).map_err(Error::unreadable(path))?;
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if is_toml || text.trim_start().starts_with(|first| !matches!(first, '{' | '[')) {
        return Err(Error::at(path, NOT_JSON));
    }
    serde_json::from_str(&text).map_err(|cause| {
        let fault =
            format!("is not valid JSON (truncated?): {cause}; run `stress --out DIR` again");
        Error::at(path, fault)
    })
}

/// Converts the `json` of the file at `path` to a typed value.
fn typed<T: DeserializeOwned>(path: &Path, json: Value) -> Result<T, Error> {
    serde_json::from_value(json).map_err(|cause| {
        let fault = "is damaged, or of a stress whose results this one does not know; run again";
        Error::at(path, format!("{fault}: {cause}"))
    })
}

#[cfg(test)]
mod tests;
