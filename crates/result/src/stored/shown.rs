//! The inputs of a report: results of runs, those that a sweep has joined, and a gate's.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    error::Error,
    gate::{GateResult, GateSchema},
    run::{Cell, RunResult, RunSchema, Tool, WorkloadFacts},
    sweep::{CELL_FILE, CellFile, Keys, MergedCell, MergedSchema},
};

use super::{RUN_NAME, Stored, newest, parse, typed};

/// Beginning of the names of a gate's results.
const GATE_NAME: &str = "gate";
/// Where a sweep has the cells that are not whole.
const UNFINISHED: &str = "running";
/// How far below a directory results are looked for.
const MAX_DEPTH: usize = 4;
/// The schema stands first in a result.
const HEAD_BYTES: u64 = 200;

/// A result that is shown, alone or beside others.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Where it was found.
    pub path: PathBuf,
    /// Its kind.
    pub content: Content,
    /// The keys of the sweep that it is a cell of, with the cell's values; none where it is no
    /// sweep's.
    pub swept: Keys,
}

/// The content of a file.
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
        Self { path, content: Content::Run(Box::new(result)), swept: Keys::new() }
    }
}

impl Shown {
    /// The same as a cell of a sweep.
    #[must_use]
    pub fn with_swept(self, swept: Keys) -> Self {
        Self { swept, ..self }
    }

    /// The run, where it is one.
    pub const fn run(&self) -> Option<&RunResult> {
        match &self.content {
            Content::Run(run) => Some(run),
            Content::Gate(_) => None,
        }
    }

    /// The gate, where it is one.
    pub const fn gate(&self) -> Option<&GateResult> {
        match &self.content {
            Content::Gate(gate) => Some(gate),
            Content::Run(_) => None,
        }
    }

    /// The program.
    pub const fn tool(&self) -> &Tool {
        match &self.content {
            Content::Run(run) => &run.tool,
            Content::Gate(gate) => &gate.tool,
        }
    }

    /// The command line, to make it again.
    pub fn command(&self) -> &[String] {
        match &self.content {
            Content::Run(run) => &run.command,
            Content::Gate(gate) => &gate.command,
        }
    }

    /// When it began, seconds since 1970.
    pub const fn started_unix_s(&self) -> u64 {
        match &self.content {
            Content::Run(run) => run.started_unix_s,
            Content::Gate(gate) => gate.started_unix_s,
        }
    }

    /// Reasons to doubt its figures.
    pub fn warnings(&self) -> &[String] {
        match &self.content {
            Content::Run(run) => &run.warnings,
            Content::Gate(gate) => &gate.warnings,
        }
    }

    /// The work; `None` of a gate that compared two files.
    pub const fn workload(&self) -> Option<&WorkloadFacts> {
        match &self.content {
            Content::Run(run) => Some(&run.workload),
            Content::Gate(gate) => gate.workload.as_ref(),
        }
    }

    /// Its cells; none of a gate.
    pub fn cells(&self) -> &[Cell] {
        self.run().map_or(&[], |run| &run.cells)
    }

    /// Whether its variants reached the reference's outcome; `None` where nothing was compared.
    pub fn agrees(&self) -> Option<bool> {
        self.run()?.agree
    }

    /// Whether its designs agree in every sample, so that its figures may be shown.
    pub fn is_sound(&self) -> bool {
        self.run().is_some_and(RunResult::is_sound)
    }

    /// Reads a result, also one of a gate, or those that a sweep has joined; the newest result of a
    /// run in a directory, or else the newest of a gate, or, where a directory has neither, all
    /// results in it and below it, by their names.
    ///
    /// # Errors
    /// As [`Stored::read`], or a directory without a result. Files of other schemas in a directory
    /// are left out; one that is cut short is not.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, Error> {
        if !path.is_dir() {
            return Self::of_json(path, parse(path)?);
        }
        if let Some(newest) = newest(path, RUN_NAME)? {
            return Ok(vec![Self::from(Stored::read(&newest)?).with_swept(swept_beside(path))]);
        }
        if let Some(newest) = newest(path, GATE_NAME)? {
            return Self::of_json(&newest, parse(&newest)?);
        }
        Self::read_below(path)
    }

    /// The same, but of a directory all results of runs in it and below it.
    ///
    /// # Errors
    /// As [`Shown::read_all`].
    pub fn read_every(path: &Path) -> Result<Vec<Self>, Error> {
        if path.is_dir() { Self::read_below(path) } else { Self::read_all(path) }
    }

    /// All results of runs in a directory and below it, by their names.
    fn read_below(dir: &Path) -> Result<Vec<Self>, Error> {
        let mut files = Vec::new();
        json_files(dir, 0, &mut files)?;
        files.sort();
        let mut results = Vec::new();
        for file in files {
            if is_result(&file)? {
                let beside = file.parent().unwrap_or(dir);
                results.push(Self::from(Stored::read(&file)?).with_swept(swept_beside(beside)));
            }
        }
        if results.is_empty() {
            return Err(Error::NoResult { dir: dir.to_owned() });
        }
        Ok(results)
    }

    /// The results that `json`, found at `path`, is or holds.
    fn of_json(path: &Path, json: Value) -> Result<Vec<Self>, Error> {
        match json["schema"].as_str() {
            Some(GateSchema::NAME) => {
                let content = Content::Gate(Box::new(typed(path, json)?));
                Ok(vec![Self { path: path.to_owned(), content, swept: Keys::new() }])
            }
            Some(MergedSchema::NAME) => Self::of_merged(path, json),
            _ => Ok(vec![Stored::from_json(path.to_owned(), json)?.into()]),
        }
    }

    /// The results that a sweep has joined into one file.
    fn of_merged(path: &Path, mut merged: Value) -> Result<Vec<Self>, Error> {
        let cells = match merged["cells"].take() {
            Value::Array(cells) => cells,
            _ => Vec::new(),
        };
        // One by one: an error names the cell.
        let shown = |cell: Value| -> Result<Self, Error> {
            let name = format!("{}, cell {}", path.display(), cell["index"]);
            let MergedCell { keys, result, .. } = typed(Path::new(&name), cell)?;
            Ok(Self::from(Stored::new(PathBuf::from(name), result)).with_swept(keys))
        };
        let all = cells.into_iter().map(shown).collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Err(Error::EmptySweep { path: path.to_owned() });
        }
        Ok(all)
    }
}

/// A sweep's file beside a cell's result, in the same directory; nothing where there is no such
/// file: a result is shown all the same.
fn swept_beside(dir: &Path) -> Keys {
    let text = fs::read_to_string(dir.join(CELL_FILE)).unwrap_or_default();
    serde_json::from_str::<CellFile>(&text).map_or_else(|_| Keys::new(), |cell| cell.keys)
}

/// Names of files below `dir` that end in `.json`.
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

/// Whether a file begins as a result does, or is none of another schema.
fn is_result(path: &Path) -> Result<bool, Error> {
    let mut start = String::new();
    let file = fs::File::open(path).map_err(Error::unreadable(path))?;
    // A file that is not text is no result.
    if file.take(HEAD_BYTES).read_to_string(&mut start).is_err() {
        return Ok(false);
    }
    Ok(start.contains(&format!("\"{}\"", RunSchema::NAME)))
}
