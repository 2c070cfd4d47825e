//! Reads loads on live nodes back from files.

use std::path::Path;

use super::{LOAD_NAME, LOAD_SCHEMA, RUN_NAME, StoredFile, files, require_exists};
use crate::{
    error::Error,
    send::{SendResult, SendSchema},
};

/// A load on a live node, with the file that it is from.
pub type StoredLoad = StoredFile<SendResult>;

impl StoredLoad {
    /// Reads a load from a file. From a directory that `--out` wrote, it reads all loads in the
    /// order of their starts. Empty if the file has another kind of schema, and if the directory
    /// has no load, or has the result of a run too.
    ///
    /// # Errors
    /// A file cannot be read, is not complete, or has a version that this build does not read.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, Error> {
        require_exists(path)?;
        let paths = match path.is_dir() {
            true if !files(path, RUN_NAME)?.is_empty() => Vec::new(),
            true => files(path, LOAD_NAME)?,
            false => vec![path.to_owned()],
        };
        let mut loads = Vec::new();
        for path in paths {
            let remedy = "send the load again";
            loads.extend(Self::read_kind(&path, LOAD_SCHEMA, SendSchema::READ, remedy)?);
        }
        loads.sort_by_key(|load| load.result.started_unix_s);
        Ok(loads)
    }
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
    fn a_load_of_another_version_is_refused_by_its_schema_alone_and_among_others() {
        let dir = tempfile::tempdir().unwrap();
        let whole = json(&example::send::typical()).unwrap();
        fs::write(dir.path().join("send.json"), &whole).unwrap();
        let old = dir.path().join("send-7.json");
        for version in ["stress.send/1", "stress.send/99"] {
            let text = whole.replacen(SendSchema::NAME, version, 1);
            fs::write(&old, text).unwrap();
            for path in [dir.path(), &old] {
                let error = StoredLoad::read_all(path).unwrap_err().to_string();
                for words in ["send-7.json", version, SendSchema::NAME, "send the load again"] {
                    assert!(error.contains(words), "{words}: {error}");
                }
            }
            let error = Stored::read(&old).unwrap_err().to_string();
            assert!(error.contains("of a load on a live node"), "{error}");
        }
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
