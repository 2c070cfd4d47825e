//! The one file of a verb's `--out`: written whole under a name that no other run has, and
//! replaced as the run goes on.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};

use super::out::{Out, beside, cannot_write, replace};

/// Most names that are tried.
const NAME_COUNT_MAX: u32 = 1_000;

/// A directory for a JSON file of one run.
#[derive(Debug)]
pub struct JsonOut {
    dir: PathBuf,
    /// The file, once it was written.
    path: Option<PathBuf>,
}

impl JsonOut {
    /// Makes the directory and tries that it can be written to.
    ///
    /// # Errors
    /// It cannot.
    pub fn at(dir: &Path) -> Result<Self> {
        Out::at(dir)?;
        Ok(Self { dir: dir.to_owned(), path: None })
    }

    /// Writes `<stem>.json`, or where another run's file is there `<stem>-<start>.json`, then
    /// `<stem>-<start>-2.json`; writing again replaces what this run wrote. Returns the path.
    ///
    /// # Errors
    /// The file cannot be written; the message names it.
    pub fn write(&mut self, stem: &str, started_unix_s: u64, text: &str) -> Result<PathBuf> {
        if let Some(path) = &self.path {
            replace(path, text.as_bytes())?;
            return Ok(path.clone());
        }
        let more = (2..NAME_COUNT_MAX).map(|n| format!("-{started_unix_s}-{n}"));
        for suffix in [String::new(), format!("-{started_unix_s}")].into_iter().chain(more) {
            let path = self.dir.join(format!("{stem}{suffix}.json"));
            if path.exists() {
                continue;
            }
            match beside(&path, text.as_bytes())?.persist_noclobber(&path) {
                Ok(_) => {
                    self.path = Some(path.clone());
                    return Ok(path);
                }
                Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e.error).with_context(|| cannot_write(&path)),
            }
        }
        Err(anyhow!("no free name for a result in {}", self.dir.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_run_replaces_its_own_file_and_never_anothers() {
        let dir = tempfile::tempdir().unwrap();
        let write = |out: &mut JsonOut, text| {
            let path = out.write("io", 7, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        let mut runs = [(); 3].map(|()| JsonOut::at(dir.path()).unwrap());
        for (run, name) in runs.iter_mut().zip(["io.json", "io-7.json", "io-7-2.json"]) {
            assert_eq!(write(run, "first"), name);
            assert_eq!(write(run, "again"), name);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
