//! The file of `--trace`: which cell is traced, and a file that is there whole or not at all.

use std::{
    fs,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};
use executor::trace::Trace;
use tempfile::NamedTempFile;

use crate::report;

/// A trace's file, beside its place until it is whole. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    beside: NamedTempFile,
}

impl TraceFile {
    /// Tries that the file can be written, before any work is done for it.
    ///
    /// # Errors
    /// It cannot.
    pub fn at(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot write {}, named by --trace", path.display());
        if path.is_dir() {
            return Err(anyhow!("it is a directory: name a file in it")).with_context(cannot);
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        let beside = report::readable(&mut builder).tempfile_in(dir.unwrap_or(Path::new(".")));
        Ok(Self { path: path.to_owned(), beside: beside.with_context(cannot)? })
    }

    /// Writes `trace` and gives the file its name, in place of what was there. Returns its path.
    ///
    /// # Errors
    /// It cannot be written, or there is nothing to write.
    pub fn write(mut self, trace: Trace, name: &str, facts: &[(&str, String)]) -> Result<PathBuf> {
        let cannot = || format!("cannot write {}, named by --trace", self.path.display());
        let mut out = BufWriter::new(self.beside.as_file_mut());
        trace.write(&mut out, name, facts).with_context(cannot)?;
        out.flush().with_context(cannot)?;
        drop(out);
        self.beside.as_file().sync_all().with_context(cannot)?;
        drop::<fs::File>(self.beside.persist(&self.path).with_context(cannot)?);
        Ok(self.path)
    }
}

/// The place of the cell that `wanted` names among `names`, with or without its store; `None`
/// where nothing is wanted.
///
/// # Errors
/// No cell has that name, or several do.
pub fn wanted(names: &[String], wanted: Option<&str>) -> Result<Option<usize>> {
    let Some(wanted) = wanted else { return Ok(None) };
    let without_store = |name: &str| name.split_once('/').map(|(_, variant)| variant.to_owned());
    let is_it = |name: &String| name == wanted || without_store(name).as_deref() == Some(wanted);
    let found: Vec<_> = (0..names.len()).filter(|place| is_it(&names[*place])).collect();
    match found[..] {
        [place] => Ok(Some(place)),
        [] => Err(anyhow!(
            "--trace-variant {wanted}: this run has no such variant; it has {}",
            names.join(", ")
        )),
        _ => Err(anyhow!(
            "--trace-variant {wanted}: several stores have it; write one of {}",
            found.iter().map(|place| names[*place].as_str()).collect::<Vec<_>>().join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_named_with_its_store_or_without_where_one_has_it() {
        let names =
            ["rocksdb/none/a@1", "memory/none/a@1", "memory/none/b@1"].map(str::to_owned).to_vec();
        assert_eq!(wanted(&names, None).unwrap(), None);
        assert_eq!(wanted(&names, Some("memory/none/a@1")).unwrap(), Some(1));
        assert_eq!(wanted(&names, Some("none/b@1")).unwrap(), Some(2));
        let several = wanted(&names, Some("none/a@1")).unwrap_err().to_string();
        assert!(several.contains("rocksdb/none/a@1, memory/none/a@1"), "{several}");
        let none = wanted(&names, Some("none/c@1")).unwrap_err().to_string();
        assert!(none.contains("no such variant") && none.contains("memory/none/b@1"), "{none}");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_refused_before_the_run_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().to_owned(), dir.path().join("missing/trace.json")] {
            let error = format!("{:#}", TraceFile::at(&path).unwrap_err());
            assert!(error.contains("named by --trace"), "{error}");
        }
        let path = dir.path().join("trace.json");
        drop(TraceFile::at(&path).unwrap());
        let unused = TraceFile::at(&path).unwrap().write(Trace::default(), "x", &[]);
        let error = format!("{:#}", unused.unwrap_err());
        assert!(error.contains("does not record"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
