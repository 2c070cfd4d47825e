//! Loads on live nodes read back from files.

use std::path::{Path, PathBuf};

use super::{LOAD_NAME, RUN_NAME, files, head, parse, typed};
use crate::{
    error::Error,
    send::{SendResult, SendSchema},
};

/// A load on a live node from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLoad {
    /// Where it was found.
    pub path: PathBuf,
    /// The result.
    pub result: SendResult,
}

impl StoredLoad {
    /// Reads a load; of a directory that `--out` wrote all of them, in the order in which they began. Empty where
    /// the file is of another schema, or the directory has no load, or a run beside it.
    ///
    /// # Errors
    /// A file that cannot be read, or is no whole load.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, Error> {
        Error::unless_there(path)?;
        if !path.is_dir() {
            return Ok(Self::read(path)?.into_iter().collect());
        }
        if !files(path, RUN_NAME)?.is_empty() {
            return Ok(Vec::new());
        }
        let mut loads = Vec::new();
        for file in files(path, LOAD_NAME)? {
            loads.extend(Self::read(&file)?);
        }
        loads.sort_by_key(|load| load.result.started_unix_s);
        Ok(loads)
    }

    /// Reads a file; `None` where it has another schema.
    fn read(path: &Path) -> Result<Option<Self>, Error> {
        if !is_load(path)? {
            return Ok(None);
        }
        let result = typed(path, parse(path)?)?;
        Ok(Some(Self { path: path.to_owned(), result }))
    }
}

/// Whether a file begins as a load does.
fn is_load(path: &Path) -> Result<bool, Error> {
    Ok(head(path)?.is_some_and(|head| head.contains(&format!("\"{}\"", SendSchema::NAME))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Stored, example, json};

    #[test]
    fn a_directory_has_all_its_loads_in_the_order_of_their_start_and_a_run_goes_before_them() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| fs::write(dir.path().join(name), text).unwrap();
        for (name, started_unix_s) in [("send.json", 9), ("send-7.json", 7), ("send-8.json", 8)] {
            let load = SendResult { started_unix_s, ..example::send::typical() };
            write(name, json(&load).unwrap());
        }
        write("sender.json", "{}".to_owned());
        let starts = |loads: Vec<StoredLoad>| -> Vec<u64> {
            loads.iter().map(|load| load.result.started_unix_s).collect()
        };
        assert_eq!(starts(StoredLoad::read_all(dir.path()).unwrap()), [7, 8, 9]);
        let one = StoredLoad::read_all(&dir.path().join("send.json")).unwrap();
        assert_eq!(one[0].result, SendResult { started_unix_s: 9, ..example::send::typical() });
        let error = Stored::read(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("of a load on a live node") && error.contains("stress compare"),
            "{error}"
        );
        write("result.json", json(&example::typical()).unwrap());
        assert_eq!(StoredLoad::read_all(dir.path()).unwrap(), []);
        assert_eq!(StoredLoad::read_all(&dir.path().join("result.json")).unwrap(), []);
    }

    #[test]
    fn a_load_that_is_cut_short_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("send.json");
        let text = json(&example::send::typical()).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        let error = StoredLoad::read_all(dir.path()).unwrap_err().to_string();
        assert!(error.contains("send.json"), "{error}");
    }
}
