//! Reads the directory of a finished cell for `dir`, and checks that it is whole and of this sweep.
//! A cell that cannot be read is an error that names the file, and never a cell that has not run.

use result::{
    Program,
    stored::Stored,
    sweep::{CELL_FILE, CELL_SCHEMA, CellFile, Matrix, Point, points_of},
};
use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    figures::{claims, facts},
    machine::environment,
    terminal::{Code, UndecidedCodes},
};

/// Returns the facts of this program.
pub fn this_program() -> Program {
    facts::tool(&environment::build()).program
}

/// Makes the facts of cell `index` of `matrix`, which this program has run.
pub fn cell_file(matrix: &Matrix, index: u64, work_digest: &str) -> CellFile {
    CellFile {
        schema: CELL_SCHEMA.to_owned(),
        index,
        keys: matrix.keys(index),
        settings_digest: matrix.settings_digest.clone(),
        program: this_program(),
        work_digest: work_digest.to_owned(),
    }
}

/// A cell that has run.
#[derive(Clone, Debug)]
pub struct FinishedCell {
    /// The facts of the cell.
    pub file: CellFile,
    /// The result of the cell.
    pub result: Stored,
}

impl FinishedCell {
    /// Reads cell `index` of `matrix` from its directory; `None` if the directory does not exist.
    ///
    /// # Errors
    /// A file is missing, damaged, or of another sweep.
    pub fn read(dir: &Path, matrix: &Matrix, index: u64) -> Result<Option<Self>> {
        if !dir.exists() {
            return Ok(None);
        }
        Self::read_whole(dir, matrix, index).map(Some).map_err(|error| {
            anyhow!("{error:#}; move {} away, and the sweep runs cell {index} again", dir.display())
        })
    }

    fn read_whole(dir: &Path, matrix: &Matrix, index: u64) -> Result<Self> {
        let cell = Self { file: read_cell_file(&dir.join(CELL_FILE))?, result: Stored::read(dir)? };
        cell.check(matrix, index)?;
        Ok(cell)
    }

    fn check(&self, matrix: &Matrix, index: u64) -> Result<()> {
        let name = self.result.path.display();
        let is_of_sweep = self.file.settings_digest == matrix.settings_digest;
        if !is_of_sweep || self.file.index != index || self.file.keys != matrix.keys(index) {
            bail!("{name} is not of cell {index} ({}) of this sweep", matrix.name(index));
        }
        if self.result.result.workload.digest != self.file.work_digest {
            bail!("{name} is of other work than {CELL_FILE} beside it says");
        }
        if self.result.result.interrupted {
            bail!("{name} is of a run that ended before its plan did");
        }
        Ok(())
    }

    /// Returns the exit code of the cell's run.
    pub fn code(&self, open: UndecidedCodes) -> Code {
        match self.agrees() {
            true => claims::exit_code(&self.result.result.expects.claims, open),
            false => Code::Disagree,
        }
    }

    /// Returns a point for each variant of the cell; none if samples disagree.
    pub fn points(&self) -> Vec<Point> {
        points_of(self.file.index, &self.file.keys, &self.result.result)
    }

    /// Whether all samples of the cell agree.
    pub fn agrees(&self) -> bool {
        self.result.agrees() == Some(true)
    }
}

/// Whether another program ran the cell in this directory. False for a cell that cannot be read:
/// reading it in full then gives the error.
pub fn is_of_another_program(dir: &Path) -> bool {
    read_cell_file(&dir.join(CELL_FILE)).is_ok_and(|file| !file.program.is_same(&this_program()))
}

fn read_cell_file(path: &Path) -> Result<CellFile> {
    read_json(path, CELL_SCHEMA)
}

/// Reads a JSON file of a sweep, which must have the schema `wanted`.
///
/// # Errors
/// The file cannot be read, or its schema is missing or another one.
pub fn read_json<T: DeserializeOwned>(path: &Path, wanted: &str) -> Result<T> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let json: Value = serde_json::from_str(&text)
        .with_context(|| format!("{name} is not valid JSON (truncated?)"))?;
    match json["schema"].as_str() {
        Some(schema) if schema == wanted => {}
        Some(other) => bail!(
            "{name} has the schema {other}, and this stress reads {wanted}; use the stress that wrote it"
        ),
        None => bail!("{name} has no `schema`; wanted is {wanted}"),
    }
    serde_json::from_value(json).with_context(|| format!("{name} is damaged"))
}
