//! The one file of a verb's `--out`: written whole under a name that no other run has, and
//! replaced as the run goes on.

use std::path::{Path, PathBuf};

use crate::{
    error::Error,
    out::{Out, replace, suffixes, write_new},
};

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
    pub fn at(dir: &Path) -> Result<Self, Error> {
        Out::at(dir)?;
        Ok(Self { dir: dir.to_owned(), path: None })
    }

    /// Writes `<stem>.json`, or where another run's file is there `<stem>-<start>.json`, then
    /// `<stem>-<start>-2.json`; writing again replaces the file of this run. Returns the path.
    ///
    /// # Errors
    /// The file cannot be written; the message names it.
    pub fn write(&mut self, stem: &str, started_unix_s: u64, text: &str) -> Result<PathBuf, Error> {
        if let Some(path) = &self.path {
            replace(path, text.as_bytes())?;
            return Ok(path.clone());
        }
        for suffix in suffixes(started_unix_s) {
            let path = self.dir.join(format!("{stem}{suffix}.json"));
            if !path.exists() && write_new(&path, text)? {
                self.path = Some(path.clone());
                return Ok(path);
            }
        }
        Err(Error::NoFreeName { dir: self.dir.clone() })
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
