//! Owns the directory of a sweep: its manifest, its cells with their locks, the device's figures.
//! `running` fills it, `merged` reads it, and `stress sweep` and `limit` open it.
//!
//! **Invariant**: a directory `cell-0007` is whole. It is filled under `running/` and renamed.
//!
//! **Invariant**: a process that fills a cell holds the cell's lock. So directories that the holder
//! finds under `running/` for its cell are of dead processes.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use result::{
    stored,
    sweep::{
        CELL_FILE, DEVICE_FILE_PREFIX, MANIFEST_FILE, MANIFEST_SCHEMA, Manifest, Matrix,
        SweepDevice, cell_count, cell_dir_name,
    },
};
use tempfile::TempDir;

use super::{
    cell::{self, FinishedCell},
    lock::{self, CellLock},
};

use crate::{
    machine::scratch::{OWNED, leftovers},
    run::prepare::shared,
    terminal::{Code, Failure, WithExitCode, exit::fail},
};

/// Directory of locks, and of cells that are being filled.
const RUNNING: &str = "running";

/// The directory of one sweep.
#[derive(Debug)]
pub struct SweepDir {
    path: PathBuf,
    matrix: Matrix,
}

impl SweepDir {
    /// Opens the directory at `path` for the sweep of `matrix`, and makes it if it does not exist.
    ///
    /// # Errors
    /// The directory cannot be written ([`Code::Io`]), or belongs to another sweep
    /// ([`Code::Usage`]).
    pub fn open(path: &Path, matrix: Matrix) -> Result<Self, Failure> {
        let mut dir = Self { path: path.to_owned(), matrix };
        if let Some(earlier) = dir.claim().with_exit_code(Code::Io)? {
            if let Some(difference) = dir.matrix.difference(&earlier) {
                fail!(
                    Code::Usage,
                    "{} holds another sweep: {difference}; give this one another --out",
                    path.display()
                );
            }
            // Machines may disagree on which cells are equal: only cells that the first process and
            // this machine leave out are left out.
            dir.matrix.left_out.retain(|left_out| earlier.left_out.contains(left_out));
        }
        Ok(dir)
    }

    /// Makes the directory, with a manifest if it has none. Otherwise returns the manifest's
    /// matrix, for a comparison with this one.
    fn claim(&self) -> Result<Option<Matrix>> {
        report::RunDirectory::at(&self.path)?;
        let manifest = self.path.join(MANIFEST_FILE);
        let ours = Manifest { schema: MANIFEST_SCHEMA.to_owned(), matrix: self.matrix.clone() };
        let is_first = report::write_new(&manifest, &report::json(&ours)?)?;
        let earlier = if is_first { None } else { Some(read_manifest(&self.path)?) };
        let running = self.running();
        fs::create_dir_all(&running)
            .with_context(|| format!("cannot make {}", running.display()))?;
        Ok(earlier)
    }

    /// Opens the directory of a sweep that has begun.
    ///
    /// # Errors
    /// `path` is no directory of a sweep.
    pub fn existing(path: &Path) -> Result<Self> {
        let matrix = read_manifest(path)?;
        Ok(Self { path: path.to_owned(), matrix })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the matrix of the sweep.
    pub const fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// Returns the directory of a cell.
    pub fn cell_path(&self, index: u64) -> PathBuf {
        self.path.join(cell_dir_name(index))
    }

    /// Returns a cell that has run, by any program.
    ///
    /// # Errors
    /// The cell exists, and cannot be read or trusted.
    pub fn cell(&self, index: u64) -> Result<Option<FinishedCell>> {
        FinishedCell::read(&self.cell_path(index), &self.matrix, index)
    }

    /// Returns a cell that this program has run, and so need not run again.
    ///
    /// # Errors
    /// The errors of [`SweepDir::cell`].
    pub fn own_cell(&self, index: u64) -> Result<Option<FinishedCell>> {
        // A cell of another program runs again, whatever its result.
        match cell::is_of_another_program(&self.cell_path(index)) {
            true => Ok(None),
            false => self.cell(index),
        }
    }

    /// Whether a cell has a result of this program. The result is not read.
    pub fn has_own_cell(&self, index: u64) -> bool {
        let path = self.cell_path(index);
        path.exists() && !cell::is_of_another_program(&path)
    }

    /// Takes the lock of a cell; `None` while another process runs the cell.
    ///
    /// # Errors
    /// The lock cannot be made.
    pub fn try_lock(&self, index: u64) -> Result<Option<CellLock>> {
        CellLock::try_take(&self.lock_path(index))
    }

    /// Returns the process that runs a cell now.
    pub fn runner(&self, index: u64) -> Option<String> {
        lock::holder(&self.lock_path(index))
    }

    /// Makes an empty directory for the files of a cell, removed on drop unless it is published.
    /// Before, removes directories that dead processes left of this cell.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn scratch(&self, index: u64, lock: &CellLock) -> Result<CellScratch> {
        let prefix = format!("cell-{index:04}-");
        let running = self.running();
        let cannot_write = || cannot("write to", &running);
        if lock.is_exclusive() {
            for dir in leftovers(&running, &prefix).with_context(cannot_write)? {
                // A directory that cannot be removed only takes space.
                drop(fs::remove_dir_all(dir));
            }
        }
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(&running);
        let scratch = CellScratch(dir.with_context(cannot_write)?);
        File::create(scratch.0.path().join(OWNED)).with_context(cannot_write)?;
        fs::create_dir(scratch.path()).with_context(cannot_write)?;
        Ok(scratch)
    }

    /// Moves the files in `scratch` to the directory of cell `index`, and returns its path. If this
    /// program has published the cell already, from another process, that result stays.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn publish(&self, index: u64, scratch: &CellScratch, work_digest: &str) -> Result<PathBuf> {
        let cell_dir = self.cell_path(index);
        let file = cell::cell_file(&self.matrix, index, work_digest);
        report::write_new(&scratch.path().join(CELL_FILE), &report::json(&file)?)?;
        let cannot_write = || cannot("write", &cell_dir);
        sync(&scratch.path()).with_context(cannot_write)?;
        if cell_dir.exists() && self.own_cell(index)?.is_none() {
            // A cell of another program goes into the scratch directory, and is removed with it.
            check_own(&cell_dir)?;
            let moved = fs::rename(&cell_dir, scratch.0.path().join("old"));
            moved.with_context(cannot_write)?;
        }
        match fs::rename(scratch.path(), &cell_dir) {
            Ok(()) => sync(&self.path).with_context(cannot_write)?,
            // A rename replaces no directory that has files: another process was first.
            Err(_) if cell_dir.exists() && self.own_cell(index)?.is_some() => {}
            Err(error) => return Err(error).with_context(cannot_write),
        }
        Ok(cell_dir)
    }

    /// Returns the path of this process's figures of the device. `began_unix_s`: its start.
    pub fn device_path(&self, began_unix_s: u64) -> PathBuf {
        let pid = std::process::id();
        self.path.join(format!("{DEVICE_FILE_PREFIX}{began_unix_s}-{pid}.json"))
    }

    /// Returns the figures of the device that each process has measured, by the time of the first
    /// measurement.
    ///
    /// # Errors
    /// A file of figures cannot be read.
    pub fn devices(&self) -> Result<Vec<SweepDevice>> {
        let mut devices = Vec::new();
        for entry in fs::read_dir(&self.path).with_context(|| cannot("list", &self.path))? {
            let entry = entry.with_context(|| cannot("list", &self.path))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(DEVICE_FILE_PREFIX) && name.ends_with(".json") {
                devices.extend(shared::read(&entry.path())?);
            }
        }
        devices.sort_by_key(|device| device.measured_unix_s);
        Ok(devices)
    }

    /// Writes the file of the joined results.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_merged(&self, text: &str) -> Result<PathBuf> {
        let path = self.path.join("merged.json");
        report::replace(&path, text.as_bytes())?;
        Ok(path)
    }

    fn running(&self) -> PathBuf {
        self.path.join(RUNNING)
    }

    fn lock_path(&self, index: u64) -> PathBuf {
        self.running().join(format!("cell-{index:04}.lock"))
    }
}

/// A directory for the files of a cell, inside one that is marked as owned and removed on drop.
#[derive(Debug)]
pub struct CellScratch(TempDir);

impl CellScratch {
    /// Returns the directory for the files of the cell.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("cell")
    }
}

/// Checks that the directory of a cell has only files that runs write, as no other file is removed.
fn check_own(dir: &Path) -> Result<()> {
    let results = stored::result_files(dir)?;
    for entry in fs::read_dir(dir).with_context(|| cannot("list", dir))? {
        let entry = entry.with_context(|| cannot("list", dir))?;
        let path = entry.path();
        let is_log = path.extension().is_some_and(|extension| extension == "hlog");
        let is_own = results.contains(&path) || entry.file_name() == CELL_FILE || is_log;
        if !is_own || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            bail!(
                "{} is no file of a run, so its cell is not replaced: move it away",
                path.display()
            );
        }
    }
    Ok(())
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn read_manifest(dir: &Path) -> Result<Matrix> {
    let path = dir.join(MANIFEST_FILE);
    if matches!(path.try_exists(), Ok(false)) {
        let words = format!(
            "{} is no directory of a sweep: it has no {MANIFEST_FILE}; give the --out of a `stress sweep`",
            dir.display()
        );
        return Err(result::Error::Missing(words).into());
    }
    let Manifest { matrix, .. } = cell::read_json(&path, MANIFEST_SCHEMA)?;
    let count = matrix.cell_count;
    if count == 0 || cell_count(&matrix.axes).ok() != Some(count) {
        bail!("{} is damaged: its axes do not make {count} cells", path.display());
    }
    Ok(matrix)
}

/// Formats the beginning of an error, such as `cannot list DIR`.
fn cannot(act: &str, path: &Path) -> String {
    format!("cannot {act} {}", path.display())
}
