//! Named baselines: results of runs, stored by name in the data directory. `stress run` saves them,
//! `stress gate` and `stress compare` find them, `stress state baseline` lists and removes them.
//!
//! A baseline holds results of one build, one machine, one work and one set of settings. A run with
//! the same build, machine, work and settings adds a result, as judging times needs results of
//! several processes. Any other run replaces all results, in one step. A directory with other files
//! is not replaced or removed.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use executor::state::lock_file;
use report::{Existing, JsonFile, units};
use result::{RunResult, stored, stored::Stored};
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};

use crate::{
    gate::{baseline, fingerprint},
    machine::scratch::Scratch,
};

/// Directory of the baselines, in the data directory.
const FOLDER: &str = "baselines";
/// Name of the lock file. A process that changes a baseline holds its lock.
const LOCK: &str = ".lock";
/// Prefix of scratch directories, for baselines that are being written or removed.
const SCRATCH: &str = ".saving-";
/// The difference of other work. With it, a run replaces the results only if the user forces it.
const OTHER_WORK: &str = "of other work";
/// Maximal number of bytes of a name.
const NAME_BYTES_MAX: usize = 100;

/// The directory of all baselines.
#[derive(Clone, Debug)]
pub struct Baselines {
    dir: PathBuf,
}

/// A result that the user names, by a path or by the name of a baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file or directory of the result.
    pub path: PathBuf,
    /// Whether the result is a baseline.
    pub is_baseline: bool,
    /// States which result was taken, if it is a baseline or if a baseline has the same name.
    pub note: Option<String>,
}

/// A baseline in a list.
#[derive(Debug)]
pub struct Baseline {
    pub name: String,
    /// Sum of the bytes of its files.
    pub byte_count: u64,
    /// The results, or the reason for which they cannot be read.
    pub results: Result<Vec<Stored>>,
}

/// The effect of saving a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The result is the first of the baseline.
    First,
    /// The result was added. The baseline has this number of results.
    Added(usize),
    /// The result replaced this number of results, for this reason.
    Replaced(usize, String),
}

impl Baselines {
    /// Opens the baselines of this data directory, which need not exist.
    pub fn below(data_dir: &Path) -> Self {
        Self { dir: data_dir.join(FOLDER) }
    }

    /// Returns the directory of all baselines.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Checks that the directory can be written, before a run whose result is to be saved.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn check_writable(&self) -> Result<()> {
        let made = fs::create_dir_all(&self.dir);
        let tried = made.and_then(|()| tempfile::NamedTempFile::new_in(&self.dir));
        tried.map(drop).with_context(|| format!("cannot save a baseline in {}", self.dir.display()))
    }

    /// Finds the result that the user names: a path or, if the path does not exist, a baseline.
    ///
    /// # Errors
    /// Neither a path nor a baseline of this name exists.
    pub fn find(&self, given: &Path) -> Result<Found> {
        let name = given.to_str().filter(|name| check_name(name).is_ok());
        let baseline = name.map(|name| self.dir.join(name)).filter(|dir| dir.is_dir());
        let (shown, is_path) = (given.display(), given.exists());
        let note = match (&baseline, name) {
            (Some(dir), _) if is_path => {
                let dir = dir.display();
                Some(format!("{shown}: a path here, and so not the baseline in {dir}"))
            }
            (Some(dir), _) => {
                let count = stored::result_files(dir)?.len() as u64;
                let results = units::things(count, "result");
                Some(format!("{shown}: the baseline in {} ({results})", dir.display()))
            }
            (None, Some(name)) if !is_path => {
                let words = format!(
                    "cannot read {name}: there is no such file or directory, and no baseline of this \
                     name in {}: {}",
                    self.dir.display(),
                    self.names_in_words()?
                );
                return Err(result::Error::Missing(words).into());
            }
            (None, _) => None,
        };
        let baseline = baseline.filter(|_| !is_path);
        let is_baseline = baseline.is_some();
        Ok(Found { path: baseline.unwrap_or_else(|| given.to_owned()), is_baseline, note })
    }

    /// Returns the names of all baselines, sorted.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn names(&self) -> Result<Vec<String>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.and_then(Iterator::collect::<io::Result<Vec<_>>>),
        };
        let entries = entries.with_context(|| format!("cannot list {}", self.dir.display()))?;
        let dirs = entries.iter().filter(|entry| entry.path().is_dir());
        let names = dirs.map(|dir| dir.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| check_name(name).is_ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Lists the existing baselines for an error.
    fn names_in_words(&self) -> Result<String> {
        let names = self.names()?;
        Ok(match names.is_empty() {
            true => "none is saved (stress run … --save-baseline NAME)".to_owned(),
            false => format!("there are {}", names.join(", ")),
        })
    }

    /// Returns all baselines, sorted by name.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> Result<Vec<Baseline>> {
        let baselines = self.names()?.into_iter().map(|name| {
            let dir = self.dir.join(&name);
            let files = fs::read_dir(&dir).into_iter().flatten().flatten();
            let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
            Baseline { byte_count: sizes.sum(), results: results(&dir), name }
        });
        Ok(baselines.collect())
    }

    /// Removes a baseline with all its results.
    ///
    /// # Errors
    /// No baseline has this name, or the baseline cannot be removed.
    pub fn remove(&self, name: &str) -> Result<()> {
        let dir = self.dir.join(name);
        if check_name(name).is_err() || !dir.is_dir() {
            let words =
                format!("no baseline {name} in {}: {}", self.dir.display(), self.names_in_words()?);
            return Err(result::Error::Missing(words).into());
        }
        let _lock = self.lock()?;
        check_own(&dir)?;
        // It is moved first: if the removal fails half way, the rest would look like a baseline.
        let scratch = self.scratch()?;
        let aside = scratch.path().join(name);
        let removed = fs::rename(&dir, &aside).and_then(|()| fs::remove_dir_all(&aside));
        removed.with_context(|| format!("cannot remove {}", dir.display()))
    }

    /// Checks that a result can be saved under `name`.
    ///
    /// # Errors
    /// The name is not valid, or its directory has other files. With [`Existing::Refuse`], also
    /// results that cannot be read are an error, as they may be of other work.
    pub fn check(&self, name: &str, existing: Existing) -> Result<()> {
        check_name(name)?;
        let dir = self.dir.join(name);
        check_own(&dir)?;
        match results(&dir) {
            Err(error) if existing == Existing::Refuse && dir.exists() => bail!(
                "the results of baseline {name} cannot be read ({error:#}), and stay: save under another \
                 name, or add --force"
            ),
            _ => Ok(()),
        }
    }

    /// Saves a result under `name`. It is added to earlier results, or replaces them.
    ///
    /// # Errors
    /// The name is not valid, the baseline is of other work and must stay, or a file cannot be
    /// written. After an error the baseline is unchanged.
    pub fn save(&self, name: &str, result: &RunResult, existing: Existing) -> Result<Saved> {
        let json = report::json(result)?;
        self.check_writable()?;
        let _lock = self.lock()?;
        self.check(name, existing)?;
        let dir = self.dir.join(name);
        let new = Stored::new(PathBuf::from("this run"), result.clone());
        let count = if dir.is_dir() { stored::result_files(&dir)?.len() } else { 0 };
        let reason = match results(&dir) {
            _ if count == 0 => None,
            Ok(before) => before.iter().find_map(|stored| difference(stored, &new)),
            Err(error) => Some(format!("that cannot be read ({error:#})")),
        };
        if existing == Existing::Refuse && reason.as_deref() == Some(OTHER_WORK) {
            bail!(
                "baseline {name} is {OTHER_WORK}, and stays: save under another name, or add --force"
            );
        }
        if count > 0 && reason.is_none() {
            JsonFile::at(&dir, "result")?.write(result.started_unix_s, &json)?;
            return Ok(Saved::Added(count + 1));
        }
        let scratch = self.scratch()?;
        let new_dir = scratch.path().join(name);
        JsonFile::at(&new_dir, "result")?.write(result.started_unix_s, &json)?;
        // An older baseline moves into the scratch directory, and is removed with it.
        let replaced = replace(&dir, &new_dir);
        replaced.with_context(|| format!("cannot write {}", dir.display()))?;
        Ok(reason.map_or(Saved::First, |reason| Saved::Replaced(count, reason)))
    }

    /// Takes the lock of the baselines. Waits until no other process changes a baseline.
    fn lock(&self) -> Result<File> {
        let path = self.dir.join(LOCK);
        let locked = lock_file(&path).and_then(|file| file.lock().map(|()| file));
        locked.with_context(|| format!("cannot lock {}", path.display()))
    }

    /// Makes a directory on the same file system that is removed on drop.
    fn scratch(&self) -> Result<Scratch> {
        Scratch::below(&self.dir, SCRATCH, |_| ())
    }
}

/// Checks that a text can be the name of a baseline, and is no path.
///
/// # Errors
/// The text is no valid name.
pub fn check_name(name: &str) -> Result<()> {
    let begins_plain = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c));
    if !begins_plain || !is_plain || name.len() > NAME_BYTES_MAX {
        bail!(
            "{name:?} is no name of a baseline: it has letters, digits and ._+- ({NAME_BYTES_MAX} at \
             most), and begins with a letter or a digit, as in main or release-1.2"
        );
    }
    Ok(())
}

/// Checks that `dir` does not exist or has results only, as no other file is replaced or removed.
///
/// # Errors
/// `dir` has other files, or is no directory.
fn check_own(dir: &Path) -> Result<()> {
    let entries = match fs::symlink_metadata(dir) {
        Err(_) => return Ok(()),
        Ok(facts) if !facts.is_dir() => bail!("{} is no baseline: move it away", dir.display()),
        Ok(_) => fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?,
    };
    let files = stored::result_files(dir)?;
    let mut others = entries.flatten().filter(|entry| {
        !files.contains(&entry.path()) || !entry.file_type().is_ok_and(|kind| kind.is_file())
    });
    if let Some(other) = others.next() {
        bail!(
            "{} is no result, so {} is not replaced or removed: move it away",
            other.path().display(),
            dir.display()
        );
    }
    Ok(())
}

/// Reads all results of a directory.
fn results(dir: &Path) -> Result<Vec<Stored>> {
    let files = stored::result_files(dir)?;
    files.iter().map(|file| Ok(Stored::read(file)?)).collect()
}

/// Returns the reason for which `new` cannot be added to a baseline with the result `before`;
/// `None` if it can.
fn difference(before: &Stored, new: &Stored) -> Option<String> {
    let [program, new_program] = [before, new].map(|stored| &stored.result.tool.program);
    if !program.is_same(new_program) {
        return Some(format!("of another build, {}", program.name()));
    }
    let [environment, new_environment] = [before, new].map(|stored| &stored.result.environment);
    if let Some(first) = fingerprint::known_differences(environment, new_environment).first() {
        return Some(format!("of another machine ({first})"));
    }
    let settings = match baseline::settings_between(before, new) {
        Err(_) => return Some(OTHER_WORK.to_owned()),
        Ok(settings) => settings,
    };
    // Checked before the settings: a missing variant would show as a difference of settings.
    let [variants, new_variants] =
        [before, new].map(|stored| stored.result.cells.iter().map(|cell| &cell.variant));
    if variants.ne(new_variants) {
        return Some("of other variants".to_owned());
    }
    (!settings.is_empty()).then(|| format!("with other settings ({})", settings.join(", ")))
}

/// Renames the directory `new` to `dir`. An earlier directory `dir` gets the name `new` in the same
/// step.
fn replace(dir: &Path, new: &Path) -> io::Result<()> {
    if !dir.exists() {
        return fs::rename(new, dir);
    }
    match renameat_with(CWD, new, CWD, dir, RenameFlags::EXCHANGE) {
        // This file system cannot exchange names: for a moment no directory is called `dir`.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let aside = new.with_extension("old");
            fs::rename(dir, &aside)?;
            fs::rename(new, dir)?;
            fs::rename(&aside, new)
        }
        exchanged => exchanged.map_err(io::Error::from),
    }
}

#[cfg(test)]
mod tests;
