//! Where a client that is started has its database and its files, and how cold they are. A directory
//! with the database's name is whole: it is made under another one and renamed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use executor::device;

use super::{
    start_file::{Places, StartFile},
    token::Secret,
};

/// Characters of a failed command's output that are shown.
const SHOWN_CHARS: usize = 2_000;
/// How often the files are listed again where one went away meanwhile.
const LISTINGS: usize = 5;

/// The places of a client that is started.
#[derive(Clone, Debug)]
pub struct Home {
    /// Its database.
    pub datadir: PathBuf,
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
        Ok(Self { datadir: dir.join(name), own })
    }

    /// What stands for placeholders, for a client at `port`.
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
    /// There is no genesis to make it from, or the client cannot.
    pub fn init(&self, start: &StartFile, genesis: Option<&Path>) -> Result<bool> {
        if self.datadir.exists() {
            return Ok(false);
        }
        let unfinished = self.own.join("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).with_context(|| unfinished.display().to_string())?;
        }
        fs::create_dir(&unfinished).with_context(|| unfinished.display().to_string())?;
        ensure!(
            genesis.is_some() || start.init.is_empty(),
            "the export has its state in rows alone, and {} cannot begin a database with them: fill \
             {} with the client's own tools first",
            start.name,
            self.datadir.display()
        );
        if !start.init.is_empty() {
            let places = Places { datadir: unfinished.clone(), ..self.places(genesis, 0)? };
            run(&start.program, &places.filled(&start.init))?;
        }
        fs::rename(&unfinished, &self.datadir)
            .with_context(|| self.datadir.display().to_string())?;
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

/// Runs a command of a client to its end.
fn run(program: &Path, arguments: &[String]) -> Result<()> {
    let name = || format!("{} {}", program.display(), arguments.join(" "));
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| not_started(program, error))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let skipped = said.chars().count().saturating_sub(SHOWN_CHARS);
    let said: String = said.chars().skip(skipped).collect();
    ensure!(output.status.success(), "{}: {}:\n{said}", name(), output.status);
    Ok(())
}

/// Why a program does not start.
pub fn not_started(program: &Path, error: io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; name it by --program, or in the start file (program = …)",
        _ => "",
    };
    anyhow::Error::new(error).context(format!("cannot start {}{hint}", program.display()))
}
