//! The directories of a client that is started: its database and its other files. This module also
//! finds the share of the database in the page cache. The database is made under another name and
//! then renamed, so a database with its final name is complete. A chain runs on a copy of the
//! database, which is made anew for each sample.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use executor::device;

use super::{
    database,
    export::StateFiles,
    leftover,
    start_file::{Placeholders, StartFile},
    token::Secret,
};
use crate::terminal::{Code, Failure, WithExitCode};

/// Maximal number of times that the database's files are listed. They are listed again if a file
/// vanished meanwhile.
const LISTING_COUNT_MAX: usize = 5;

/// The file with the secret of the Engine API.
const SECRET: &str = "jwt.hex";

#[derive(Clone, Debug)]
pub struct Home {
    /// The directory of the client's database.
    pub datadir: PathBuf,
    /// The database that `datadir` is a copy of; `None` if `datadir` is the original.
    original: Option<PathBuf>,
    /// The directory of the client's other files: secret, logs, note, the files of the start file.
    own_dir: PathBuf,
    /// The files from which the database is made.
    state_files: StateFiles,
}

/// Size of a database, and the size of its part in the page cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pages {
    pub byte_count: u64,
    pub resident_byte_count: u64,
}

impl Home {
    /// Returns the directories of the client `name` in `dir`, and makes the one of its other files.
    /// The database is made later, from `state_files`.
    ///
    /// # Errors
    /// A directory cannot be made.
    pub fn new(dir: &Path, name: &str, state_files: StateFiles) -> Result<Self> {
        let dir = std::path::absolute(dir)?;
        let own_dir = dir.join(format!("{name}.stress"));
        fs::create_dir_all(&own_dir).with_context(|| own_dir.display().to_string())?;
        Ok(Self { datadir: dir.join(name), original: None, own_dir, state_files })
    }

    /// Returns the same home with a copy of the database. The copy does not exist yet.
    #[must_use]
    pub fn on_copy(self) -> Self {
        Self { datadir: self.own_dir.join("copy"), original: Some(self.datadir), ..self }
    }

    /// Makes the copy anew, if the home uses one. No process may have the copy open.
    ///
    /// # Errors
    /// The copy cannot be made.
    pub fn renew_copy(&self) -> Result<()> {
        let Some(original) = &self.original else { return Ok(()) };
        self.remove_copy()?;
        copy_dir(original, &self.datadir).with_context(|| self.datadir.display().to_string())
    }

    /// Removes the copy, if the home uses one.
    ///
    /// # Errors
    /// The copy cannot be removed.
    pub fn remove_copy(&self) -> Result<()> {
        if self.original.is_none() {
            return Ok(());
        }
        remove_dir(&self.datadir).with_context(|| self.datadir.display().to_string())
    }

    /// Returns the values of the start file's placeholders, for a client at `port`.
    pub fn placeholders(&self, port: u16) -> Placeholders {
        Placeholders {
            datadir: self.datadir.clone(),
            genesis: self.state_files.genesis(),
            rows: self.state_files.dir.clone(),
            port,
            jwt: self.own_dir.join(SECRET),
            files: self.own_dir.clone(),
        }
    }

    pub fn log_path(&self) -> PathBuf {
        self.own_dir.join("client.log")
    }

    /// Returns the file that holds the client's process group while the client runs.
    pub fn note_path(&self) -> PathBuf {
        self.own_dir.join(leftover::NOTE)
    }

    /// Writes the secret and the files of `start`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, start: &StartFile, secret: &Secret) -> Result<()> {
        let secret = secret.hex();
        let files = start.files.iter().map(|(name, text)| (name.as_str(), text));
        [(SECRET, &secret)].into_iter().chain(files).try_for_each(|(name, text)| {
            let path = self.own_dir.join(name);
            fs::write(&path, text).with_context(|| path.display().to_string())
        })
    }

    /// Makes the database unless it exists, and returns whether it was made. `on_percent` gets the
    /// progress in percent, if the command prints it. `finish` completes the new database before it
    /// gets its final name.
    ///
    /// # Errors
    /// No command makes a database of this export, the command or `finish` fails, or the user
    /// interrupted. Nothing is left of the database then.
    pub fn make(
        &self,
        start: &StartFile,
        on_percent: &dyn Fn(u64),
        finish: impl FnOnce(&Self) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        if self.datadir.exists() {
            return Ok(false);
        }
        let unfinished = self.own_dir.join("unfinished");
        // An earlier run may have been killed while its client grew the state. That client may
        // still run.
        leftover::end(&self.note_path(), &unfinished);
        let emptied = remove_dir(&unfinished).and_then(|()| fs::create_dir(&unfinished));
        emptied.with_context(|| unfinished.display().to_string()).with_exit_code(Code::Io)?;
        // No client listens meanwhile, so the port is 0.
        let placeholders =
            Placeholders { datadir: unfinished.join("database"), ..self.placeholders(0) };
        let log = self.own_dir.join("init.log");
        let made = database::make(start, &self.state_files, &placeholders, &log, on_percent);
        let made = made.and_then(|()| {
            let new =
                Self { datadir: placeholders.datadir.clone(), original: None, ..self.clone() };
            finish(&new)?;
            let renamed = fs::rename(&placeholders.datadir, &self.datadir);
            renamed.with_context(|| self.datadir.display().to_string()).with_exit_code(Code::Io)
        });
        let removed = remove_dir(&unfinished);
        made?;
        removed.with_context(|| unfinished.display().to_string()).with_exit_code(Code::Io)?;
        Ok(true)
    }

    /// Drops the database from the page cache. No process may have it open.
    ///
    /// # Errors
    /// A file cannot be written out or advised on.
    pub fn drop_pages(&self) -> Result<()> {
        let files = files(&self.datadir)?;
        device::fadvise_dontneed(&files).with_context(|| self.datadir.display().to_string())
    }

    /// Returns the size of the database and of its part in the page cache; `None` if the kernel
    /// does not report that part.
    pub fn pages(&self) -> Option<Pages> {
        // A client may remove a file after it was listed. Then all files are listed again.
        (0..LISTING_COUNT_MAX).find_map(|_| {
            let files = files(&self.datadir).ok()?;
            let sizes = files.iter().map(|file| Some(file.metadata().ok()?.len()));
            let byte_count = sizes.sum::<Option<u64>>()?;
            let share = device::resident_fraction(&files)?;
            Some(Pages { byte_count, resident_byte_count: (share * byte_count as f64) as u64 })
        })
    }
}

/// Returns all files below `dir`.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}

/// Copies a directory with its contents.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, copy) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_dir(&entry.path(), &copy)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

/// Removes a directory, if it exists.
fn remove_dir(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
