//! Where a client that is started has its database and its files, and how cold they are. A directory
//! with the database's name is whole: it is made under another one and renamed. A chain runs on a copy
//! of the database, which is made anew for each sample.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use executor::device;

use super::{
    export::StateFiles,
    leftover, making,
    start_file::{Placeholders, StartFile},
    token::Secret,
};
use crate::terminal::{Code, Failure, WithExitCode};

/// How often the files are listed again where one went away meanwhile.
const LISTINGS: usize = 5;

/// The file with the secret of the Engine API.
const SECRET: &str = "jwt.hex";

/// The places of a client that is started.
#[derive(Clone, Debug)]
pub struct Home {
    /// Its database.
    pub datadir: PathBuf,
    /// The database that `datadir` is a copy of; `None` where it is the original.
    original: Option<PathBuf>,
    own: PathBuf,
    /// Source of the database.
    state: StateFiles,
}

/// Bytes of a database, and those of them in the page cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pages {
    /// All of it.
    pub byte_count: u64,
    /// Bytes in the page cache.
    pub resident_byte_count: u64,
}

impl Home {
    /// Below `dir`, for the client of this name, whose database has `state`.
    ///
    /// # Errors
    /// A directory cannot be made.
    pub fn new(dir: &Path, name: &str, state: StateFiles) -> Result<Self> {
        let dir = std::path::absolute(dir)?;
        let own = dir.join(format!("{name}.stress"));
        fs::create_dir_all(&own).with_context(|| own.display().to_string())?;
        Ok(Self { datadir: dir.join(name), original: None, own, state })
    }

    /// The same with a copy of the database, which does not exist yet.
    #[must_use]
    pub fn on_copy(self) -> Self {
        Self { datadir: self.own.join("copy"), original: Some(self.datadir), ..self }
    }

    /// Makes the copy anew, where there is to be one. No process may have it open.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn renew_copy(&self) -> Result<()> {
        let Some(original) = &self.original else { return Ok(()) };
        self.remove_copy()?;
        copy_dir(original, &self.datadir).with_context(|| self.datadir.display().to_string())
    }

    /// Removes the copy, where there is one.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove_copy(&self) -> Result<()> {
        match self.original {
            Some(_) => {
                remove_dir(&self.datadir).with_context(|| self.datadir.display().to_string())
            }
            None => Ok(()),
        }
    }

    /// The values of placeholders, for a client at `port`.
    pub fn placeholders(&self, port: u16) -> Placeholders {
        Placeholders {
            datadir: self.datadir.clone(),
            genesis: self.state.genesis(),
            rows: self.state.dir.clone(),
            port,
            jwt: self.own.join(SECRET),
            files: self.own.clone(),
        }
    }

    /// The file of its log.
    pub fn log_path(&self) -> PathBuf {
        self.own.join("client.log")
    }

    /// The file with the process group of the client while it runs.
    pub fn note_path(&self) -> PathBuf {
        self.own.join(leftover::NOTE)
    }

    /// Writes the secret and the files of `start`.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn write(&self, start: &StartFile, secret: &Secret) -> Result<()> {
        let secret = secret.hex();
        let files = start.files.iter().map(|(name, text)| (name.as_str(), text));
        [(SECRET, &secret)].into_iter().chain(files).try_for_each(|(name, text)| {
            let path = self.own.join(name);
            fs::write(&path, text).with_context(|| path.display().to_string())
        })
    }

    /// Makes the database, unless it is there. Returns whether it was made; `shown` is told how far that
    /// is, in percent, where the command says so. `finish` is handed the database before it has its name.
    ///
    /// # Errors
    /// There is no command for this export, it fails, as `finish` does, or the user interrupted. Then nothing
    /// is left of it.
    pub fn make(
        &self,
        start: &StartFile,
        shown: &dyn Fn(u64),
        finish: impl FnOnce(&Self) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        if self.datadir.exists() {
            return Ok(false);
        }
        let unfinished = self.own.join("unfinished");
        // Leftover of a run that was killed while the client grew its state.
        leftover::end(&self.note_path(), &unfinished);
        let emptied = remove_dir(&unfinished).and_then(|()| fs::create_dir(&unfinished));
        emptied.with_context(|| unfinished.display().to_string()).with_exit_code(Code::Io)?;
        let placeholders =
            Placeholders { datadir: unfinished.join("database"), ..self.placeholders(0) };
        let log = self.own.join("init.log");
        let made = making::make(start, &self.state, &placeholders, &log, shown);
        let made = made.and_then(|()| {
            finish(&Self { datadir: placeholders.datadir.clone(), original: None, ..self.clone() })
        });
        let kept = made.and_then(|()| {
            let renamed = fs::rename(&placeholders.datadir, &self.datadir);
            renamed.with_context(|| self.datadir.display().to_string()).with_exit_code(Code::Io)
        });
        let removed = remove_dir(&unfinished);
        kept?;
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

    /// How much of the database is in the page cache; `None` where the kernel does not tell.
    pub fn pages(&self) -> Option<Pages> {
        // A client removes files at any time: then all are listed again.
        (0..LISTINGS).find_map(|_| {
            let files = files(&self.datadir).ok()?;
            let sizes = files.iter().map(|file| Some(file.metadata().ok()?.len()));
            let byte_count = sizes.sum::<Option<u64>>()?;
            let share = device::resident_fraction(&files)?;
            Some(Pages { byte_count, resident_byte_count: (share * byte_count as f64) as u64 })
        })
    }
}

/// All files below `dir`.
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

/// Copies a directory with all below it.
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

/// Removes a directory, where it is there.
fn remove_dir(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
