//! Where a client that is started has its database and its files, and how cold they are. A directory
//! with the database's name is whole: it is made under another one and renamed. A chain runs on a copy
//! of the database, which is made anew for each sample.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use executor::device;
use rustix::process::Signal;

use super::{
    start_file::{Places, StartFile},
    token::Secret,
};
use crate::{
    child::{self, Reach},
    exit::{Code, Failure, OrExit},
    interrupt,
};

/// Characters of a failed command's output that are shown.
const SHOWN_CHARS: usize = 2_000;
/// Polling interval for the end of a command.
const GLANCE: Duration = Duration::from_millis(20);
/// How often the files are listed again where one went away meanwhile.
const LISTINGS: usize = 5;

/// The places of a client that is started.
#[derive(Clone, Debug)]
pub struct Home {
    /// Its database.
    pub datadir: PathBuf,
    /// The database that `datadir` is a copy of; `None` where it is the original.
    original: Option<PathBuf>,
    own: PathBuf,
}

/// Bytes of a database, and those of them in the page cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pages {
    /// All of it.
    pub byte_count: u64,
    /// Those in the page cache.
    pub resident_byte_count: u64,
}

impl Home {
    /// Below `dir`, for the client of this name.
    ///
    /// # Errors
    /// A directory cannot be made.
    pub fn new(dir: &Path, name: &str) -> Result<Self> {
        let dir = std::path::absolute(dir)?;
        let own = dir.join(format!("{name}.stress"));
        fs::create_dir_all(&own).with_context(|| own.display().to_string())?;
        Ok(Self { datadir: dir.join(name), original: None, own })
    }

    /// The same with a copy of the database, which does not exist yet.
    #[must_use]
    pub fn on_copy(self) -> Self {
        Self { datadir: self.own.join("copy"), original: Some(self.datadir), own: self.own }
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
        if self.original.is_some() && self.datadir.exists() {
            fs::remove_dir_all(&self.datadir)
                .with_context(|| self.datadir.display().to_string())?;
        }
        Ok(())
    }

    /// The values of placeholders, for a client at `port`.
    pub fn places(&self, genesis: Option<&Path>, port: u16) -> Result<Places> {
        Ok(Places {
            datadir: self.datadir.clone(),
            genesis: std::path::absolute(genesis.unwrap_or(Path::new("genesis.json")))?,
            port,
            jwt: self.own.join("jwt.hex"),
            files: self.own.clone(),
        })
    }

    /// The file of its log.
    pub fn log_path(&self) -> PathBuf {
        self.own.join("client.log")
    }

    /// Writes the secret and the files of `start`.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn write(&self, start: &StartFile, secret: &Secret) -> Result<()> {
        let write = |name: &str, text: &str| {
            let path = self.own.join(name);
            fs::write(&path, text).with_context(|| path.display().to_string())
        };
        write("jwt.hex", &secret.hex())?;
        start.files.iter().try_for_each(|(name, text)| write(name, text))
    }

    /// Makes the database, unless it is there. Returns whether it was made.
    ///
    /// # Errors
    /// There is no genesis to make it from, the client cannot, or the user interrupted.
    pub fn init(&self, start: &StartFile, genesis: Option<&Path>) -> Result<bool, Failure> {
        if self.datadir.exists() {
            return Ok(false);
        }
        let unfinished = self.own.join("unfinished");
        let emptied = || -> Result<()> {
            if unfinished.exists() {
                fs::remove_dir_all(&unfinished)?;
            }
            Ok(fs::create_dir(&unfinished)?)
        };
        emptied().with_context(|| unfinished.display().to_string()).or_exit(Code::Io)?;
        if genesis.is_none() && !start.init.is_empty() {
            let error = anyhow!(
                "the export has its state in rows alone, and {} cannot begin a database with them: \
                 fill {} with the client's own tools first",
                start.name,
                self.datadir.display()
            );
            return Err(error).or_exit(Code::Io);
        }
        if !start.init.is_empty() {
            let places = self.places(genesis, 0).or_exit(Code::Io)?;
            let places = Places { datadir: unfinished.clone(), ..places };
            run(start, &places.filled(&start.init), &self.own.join("init.log"))?;
        }
        fs::rename(&unfinished, &self.datadir)
            .with_context(|| self.datadir.display().to_string())
            .or_exit(Code::Io)?;
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
        let (kind, place) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_dir(&entry.path(), &place)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}

/// Runs a command of a client to its end; its output is in the file at `log`.
fn run(start: &StartFile, arguments: &[String], log: &Path) -> Result<(), Failure> {
    let started = || -> io::Result<_> {
        let output = fs::File::create(log)?;
        let mut command = child::bound(&start.program)?;
        command.args(arguments).envs(&start.env).stdout(output.try_clone()?).stderr(output);
        command.spawn()
    };
    let child = started().map_err(|error| not_started(&start.program, error));
    let mut child = child.or_exit(Code::Io)?;
    let status = loop {
        if let Some(status) = child.try_wait().or_exit(Code::Io)? {
            break status;
        }
        if interrupt::happened() {
            // Nobody uses a database that is half made.
            child::send(&child, Signal::KILL, Reach::Group);
            drop(child.wait());
            return Err(anyhow!("interrupted")).or_exit(Code::Interrupted);
        }
        thread::sleep(GLANCE);
    };
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let skipped = said.chars().count().saturating_sub(SHOWN_CHARS);
    let said: String = said.chars().skip(skipped).collect();
    let program = start.program.display();
    Err(anyhow!("{program} {}: {status}:\n{said}", arguments.join(" "))).or_exit(Code::Io)
}

/// Why a program does not start.
pub fn not_started(program: &Path, error: io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; name it by --program, or in the start file (program = …)",
        _ => "",
    };
    anyhow::Error::new(error).context(format!("cannot start {}{hint}", program.display()))
}
