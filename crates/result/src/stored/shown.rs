//! Reads the inputs of a report: results of runs, joined results of a sweep, and results of gates.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    error::Error,
    gate::{GateResult, GateSchema},
    run::{Cell, RunResult, RunSchema, Tool, WorkloadFacts},
    sweep::{
        self, CELL_FILE, CellFile, DEVICE_FILE_PREFIX, Keys, MANIFEST_FILE, Manifest, Matrix,
        MergedCell, MergedSchema, SweepDevice, cell_dir_name,
    },
};

use super::{GIVE_A_RESULT, RUN_NAME, Stored, head, newest, parse, require_exists, typed};

/// Beginning of the names of files with results of gates.
const GATE_NAME: &str = "gate";
/// Name of the directory in which a sweep has its unfinished cells.
const UNFINISHED: &str = "running";
/// Number of levels below a directory at which results are still searched.
const MAX_DEPTH: usize = 4;

/// A result that a report shows, alone or beside others.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Path of the file.
    pub path: PathBuf,
    /// Content of the file.
    pub content: Content,
    /// Values of the sweep's keys in the cell of this result; empty if the result is of no cell of
    /// a sweep.
    pub swept: Keys,
    /// Index of that cell in its sweep.
    pub cell: Option<u64>,
    /// Values of the keys in each cell that the sweep left out because its run would repeat this
    /// one.
    pub left_out: Vec<Keys>,
    /// Command line of the sweep without its directory; empty if it is not known.
    pub sweep_command: Vec<String>,
    /// Warning that the device's rate changed during the sweep; `None` without such a change.
    pub doubt: Option<String>,
}

/// The content of a result's file.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The result of a run.
    Run(Box<RunResult>),
    /// The result of a gate.
    Gate(Box<GateResult>),
}

impl From<Stored> for Shown {
    fn from(stored: Stored) -> Self {
        let Stored { path, result } = stored;
        let content = Content::Run(Box::new(result));
        Self::new(path, content)
    }
}

impl Shown {
    /// Makes a result that is of no cell of a sweep.
    pub const fn new(path: PathBuf, content: Content) -> Self {
        Self {
            path,
            content,
            swept: Keys::new(),
            cell: None,
            left_out: Vec::new(),
            sweep_command: Vec::new(),
            doubt: None,
        }
    }

    /// The result of the run; `None` for a gate.
    pub const fn run(&self) -> Option<&RunResult> {
        match &self.content {
            Content::Run(run) => Some(run),
            Content::Gate(_) => None,
        }
    }

    /// The result of the gate; `None` for a run.
    pub const fn gate(&self) -> Option<&GateResult> {
        match &self.content {
            Content::Gate(gate) => Some(gate),
            Content::Run(_) => None,
        }
    }

    /// The program that made the result.
    pub const fn tool(&self) -> &Tool {
        match &self.content {
            Content::Run(run) => &run.tool,
            Content::Gate(gate) => &gate.tool,
        }
    }

    /// The command line, to repeat the run or gate.
    pub fn command(&self) -> &[String] {
        match &self.content {
            Content::Run(run) => &run.command,
            Content::Gate(gate) => &gate.command,
        }
    }

    /// Start of the run or gate, seconds since 1970.
    pub const fn started_unix_s(&self) -> u64 {
        match &self.content {
            Content::Run(run) => run.started_unix_s,
            Content::Gate(gate) => gate.started_unix_s,
        }
    }

    /// Reasons to doubt the figures, with those of the sweep.
    pub fn warnings(&self) -> Vec<&str> {
        let own = match &self.content {
            Content::Run(run) => &run.warnings,
            Content::Gate(gate) => &gate.warnings,
        };
        own.iter().chain(&self.doubt).map(String::as_str).collect()
    }

    /// Makes this result that of the cell with index `cell` and these keys. `is_run` returns
    /// whether the cell at an index has a result.
    fn in_cell(self, cell: u64, keys: Keys, sweep: &Sweep, is_run: impl Fn(u64) -> bool) -> Self {
        let matrix = sweep.matrix.as_ref();
        let shared = self.run().and_then(|run| run.device.as_ref()?.shared.as_ref());
        let device =
            shared.and_then(|shared| sweep.devices.iter().find(|device| device.is_of(shared)));
        Self {
            swept: keys,
            cell: Some(cell),
            left_out: matrix.map_or_else(Vec::new, |matrix| matrix.keys_left_out(cell, is_run)),
            sweep_command: matrix.map(Matrix::sweep_command).unwrap_or_default(),
            doubt: sweep::drift(device),
            ..self
        }
    }

    /// The work; `None` for a gate that compared stored results.
    pub const fn workload(&self) -> Option<&WorkloadFacts> {
        match &self.content {
            Content::Run(run) => Some(&run.workload),
            Content::Gate(gate) => gate.workload.as_ref(),
        }
    }

    /// The cells of the run; empty for a gate.
    pub fn cells(&self) -> &[Cell] {
        self.run().map_or(&[], |run| &run.cells)
    }

    /// Whether all samples of the run equal the reference; `None` for a gate, and where nothing was
    /// compared.
    pub fn agrees(&self) -> Option<bool> {
        self.run()?.agree
    }

    /// Returns whether all samples of the run equal the reference, so that the figures may be
    /// shown.
    pub fn is_sound(&self) -> bool {
        self.run().is_some_and(RunResult::is_sound)
    }

    /// Reads the results at a path. A file may hold the result of a run or a gate, or the joined
    /// results of a sweep.
    ///
    /// From a directory it reads the newest result of a run, else the newest of a gate. From a
    /// directory with neither, it reads all results of runs below it, sorted by path.
    ///
    /// # Errors
    /// The errors of [`Stored::read`], and an error for a directory without a result. In a
    /// directory, files of other schemas are left out, but a truncated file is an error.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, Error> {
        require_exists(path)?;
        if !path.is_dir() {
            return Self::from_json(path, parse(path)?);
        }
        if let Some(newest) = newest(path, RUN_NAME)? {
            return Ok(vec![Self::from(Stored::read(&newest)?).in_cell_at(path)]);
        }
        if let Some(newest) = newest(path, GATE_NAME)? {
            return Self::from_json(&newest, parse(&newest)?);
        }
        Self::read_below(path)
    }

    /// Reads the results at a path. From a directory, it reads all results of runs in it and below
    /// it.
    ///
    /// # Errors
    /// The errors of [`Shown::read_all`].
    pub fn read_every(path: &Path) -> Result<Vec<Self>, Error> {
        if path.is_dir() { Self::read_below(path) } else { Self::read_all(path) }
    }

    /// Reads all results of runs in a directory and below it, sorted by path.
    fn read_below(dir: &Path) -> Result<Vec<Self>, Error> {
        let mut files = Vec::new();
        json_files(dir, 0, &mut files)?;
        files.sort();
        let mut results = Vec::new();
        for file in files {
            if is_result(&file)? {
                let beside = file.parent().unwrap_or(dir);
                results.push(Self::from(Stored::read(&file)?).in_cell_at(beside));
            }
        }
        if results.is_empty() {
            let fault = format!(
                "holds no result of stress ({}), nor do directories below it",
                RunSchema::NAME
            );
            return Err(Error::at(dir, format!("{fault}; {GIVE_A_RESULT}")));
        }
        Ok(results)
    }

    /// Adds the facts of the sweep's cell that `dir` belongs to. Without a file of the cell, the
    /// result stays as it is, and is still shown.
    fn in_cell_at(self, dir: &Path) -> Self {
        let Some(cell) = read_json::<CellFile>(&dir.join(CELL_FILE)) else { return self };
        let sweep_dir = dir.parent().unwrap_or(dir);
        let matrix = read_json::<Manifest>(&sweep_dir.join(MANIFEST_FILE))
            .map(|manifest| manifest.matrix)
            .filter(|matrix| matrix.settings_digest == cell.settings_digest);
        let sweep = Sweep { matrix, devices: devices(sweep_dir) };
        self.in_cell(cell.index, cell.keys, &sweep, |index| {
            sweep_dir.join(cell_dir_name(index)).exists()
        })
    }

    /// Converts the `json` of the file at `path` to results.
    fn from_json(path: &Path, json: Value) -> Result<Vec<Self>, Error> {
        match json["schema"].as_str() {
            Some(GateSchema::NAME) => {
                let content = Content::Gate(Box::new(typed(path, json)?));
                Ok(vec![Self::new(path.to_owned(), content)])
            }
            Some(schema) if MergedSchema::reads(schema) => Self::from_merged(path, json),
            _ => Ok(vec![Stored::from_json(path.to_owned(), json)?.into()]),
        }
    }

    /// Converts the joined results of a sweep, which are in one file.
    fn from_merged(path: &Path, mut merged: Value) -> Result<Vec<Self>, Error> {
        let cells = match merged["cells"].take() {
            Value::Array(cells) => cells,
            _ => Vec::new(),
        };
        let sweep = Sweep {
            matrix: serde_json::from_value(merged["sweep"].take()).ok(),
            devices: serde_json::from_value(merged["devices"].take()).unwrap_or_default(),
        };
        let run: BTreeSet<u64> = cells.iter().filter_map(|cell| cell["index"].as_u64()).collect();
        let mut all = Vec::with_capacity(cells.len());
        for cell in cells {
            // The name is for errors.
            let name = format!("{}, cell {}", path.display(), cell["index"]);
            let MergedCell { index, keys, result } = typed(Path::new(&name), cell)?;
            let shown = Self::from(Stored::new(PathBuf::from(name), result));
            all.push(shown.in_cell(index, keys, &sweep, |index| run.contains(&index)));
        }
        if all.is_empty() {
            return Err(Error::at(path, "is of a sweep without a result"));
        }
        Ok(all)
    }
}

/// The sweep to which results belong.
struct Sweep {
    /// The matrix of the sweep; `None` if it is not known.
    matrix: Option<Matrix>,
    /// Measurements of the device by the processes that ran cells.
    devices: Vec<SweepDevice>,
}

/// Reads the device's figures from the directory of a sweep.
fn devices(sweep_dir: &Path) -> Vec<SweepDevice> {
    let entries = fs::read_dir(sweep_dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(DEVICE_FILE_PREFIX))
        .filter_map(|entry| read_json(&entry.path()))
        .collect()
}

/// Reads a file of a sweep; `None` if it is missing or cannot be read.
fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Adds to `files` the paths of files in `dir` and below it that end in `.json`.
fn json_files(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(dir).map_err(Error::unreadable(dir))? {
        let entry = entry.map_err(Error::unreadable(dir))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(Error::unreadable(dir))?);
        if kind.is_dir() && depth < MAX_DEPTH && !path.ends_with(UNFINISHED) {
            json_files(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns whether a file begins with a schema of runs that this build reads.
fn is_result(path: &Path) -> Result<bool, Error> {
    let Some(start) = head(path)? else { return Ok(false) };
    Ok(RunSchema::READ.iter().any(|schema| start.contains(&format!("\"{schema}\""))))
}
