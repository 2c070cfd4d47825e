//! A file that an option names: there whole or not at all, tried before any work is done for it.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{error::Error, out};

/// A file beside its place until it is whole. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    beside: NamedTempFile,
    /// The option that named it.
    option: &'static str,
}

impl WholeFile {
    /// Tries that the file can be written.
    ///
    /// # Errors
    /// It cannot.
    pub fn at(path: &Path, option: &'static str) -> Result<Self, Error> {
        if path.is_dir() {
            return Err(Error::IsDirectory { path: path.to_owned(), option });
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.unwrap_or(Path::new("."));
        if !dir.is_dir() {
            let (path, dir) = (path.to_owned(), dir.to_owned());
            return Err(Error::NoDirectory { path, dir, option });
        }
        let mut builder = tempfile::Builder::new();
        let beside = out::readable(&mut builder).tempfile_in(dir);
        // The error's own text names the file beside it, which nobody has heard of.
        let beside = beside.map_err(|error| Error::named(path, option)(error.kind().into()))?;
        Ok(Self { path: path.to_owned(), beside, option })
    }

    /// Lets `fill` write it and gives it its name, in place of an older file. Returns its path.
    ///
    /// # Errors
    /// It cannot be written, or `fill` failed.
    pub fn write(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, Error> {
        let Self { path, mut beside, option } = self;
        let write = || {
            let mut out = BufWriter::new(beside.as_file_mut());
            fill(&mut out)?;
            out.flush()?;
            drop(out);
            beside.as_file().sync_all()?;
            drop::<fs::File>(beside.persist(&path)?);
            Ok(())
        };
        match write() {
            Ok(()) => Ok(path),
            Err(cause) => Err(Error::Named { path, option, cause }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_refused_at_once_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let no_directory = format!("there is no directory {}", missing.display());
        for (path, words) in [
            (dir.path().to_owned(), "it is a directory"),
            (missing.join("trace.json"), no_directory.as_str()),
        ] {
            let error = format!("{:#}", WholeFile::at(&path, "--trace").unwrap_err());
            assert!(error.contains("named by --trace") && error.contains(words), "{error}");
        }
        let path = dir.path().join("page.html");
        drop(WholeFile::at(&path, "--out").unwrap());
        let fails = |_: &mut dyn Write| Err(io::Error::other("nothing to write"));
        let error = WholeFile::at(&path, "--out").unwrap().write(fails).unwrap_err();
        assert!(format!("{error:#}").contains("nothing to write"), "{error:#}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_replaces_what_was_there_only_once_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.html");
        fs::write(&path, "before").unwrap();
        let file = WholeFile::at(&path, "--out").unwrap();
        let written = file.write(|out| {
            out.write_all(b"after")?;
            assert_eq!(fs::read(&path)?, b"before");
            Ok(())
        });
        assert_eq!(written.unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"after");
    }
}
