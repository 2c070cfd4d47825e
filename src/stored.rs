//! Results read back from files: found, checked for their schema and for being fit to be
//! compared. A result is kept as JSON, so that one of an older build stays readable as long as
//! its schema is the same. Errors name the file, what is wrong and what to do.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::result::SCHEMA;

/// Most bytes of a result file: far more than a run of a thousand cells writes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// How far below a directory results are looked for.
const MAX_DEPTH: usize = 4;
/// The schema stands first in a result.
const HEAD_BYTES: u64 = 200;

/// A result from a file.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Where it was found.
    pub path: PathBuf,
    /// The result.
    pub json: Value,
}

impl Stored {
    /// Reads a result, or the `result.json` of a directory that `--out` wrote.
    ///
    /// # Errors
    /// What cannot be read, is no JSON, or has another schema.
    pub fn read(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
        let name = path.display();
        let size = fs::metadata(&path).with_context(|| format!("cannot read {name}"))?.len();
        if size > MAX_FILE_BYTES {
            bail!("{name} has {size} bytes; a result has at most {MAX_FILE_BYTES}");
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let json: Value = serde_json::from_str(&text).with_context(|| {
            format!("{name} is no whole JSON, so it is no result; run `stress --out DIR` again")
        })?;
        match json["schema"].as_str() {
            Some(SCHEMA) => Ok(Self { path, json }),
            Some(other) => bail!(
                "{name} has the schema {other}, and this stress reads {SCHEMA}; use the stress \
                 that wrote it, or run again"
            ),
            None => bail!("{name} is no result of stress: it has no `schema`; wanted is {SCHEMA}"),
        }
    }

    /// Reads a result, or the `result.json` of a directory, or, where a directory has none, all
    /// results in it and below it, by their names.
    ///
    /// # Errors
    /// As [`Self::read`], or a directory without a result. Files of other schemas in a directory
    /// are left out; one that is cut short is not.
    pub fn read_all(path: &Path) -> Result<Vec<Self>> {
        if !path.is_dir() || path.join("result.json").exists() {
            return Ok(vec![Self::read(path)?]);
        }
        let mut files = Vec::new();
        json_files(path, 0, &mut files)?;
        files.sort();
        let mut results = Vec::new();
        for file in files {
            if is_result(&file)? {
                results.push(Self::read(&file)?);
            }
        }
        if results.is_empty() {
            bail!("{} holds no result of stress ({SCHEMA})", path.display());
        }
        Ok(results)
    }

    /// Whether its designs agree in every sample, so that its figures may be shown.
    pub fn is_sound(&self) -> bool {
        let samples = self.cells().iter().filter_map(|cell| cell["samples"].as_array()).flatten();
        self.agrees() == Some(true) && samples.into_iter().all(|sample| sample["agree"] == true)
    }

    /// Whether its variants reached the reference's outcome; `None` where nothing was compared.
    pub fn agrees(&self) -> Option<bool> {
        self.json["agree"].as_bool()
    }

    /// Text at a path such as `/workload/digest`.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.json.pointer(pointer)?.as_str()
    }

    /// Its cells.
    pub fn cells(&self) -> &[Value] {
        self.json["cells"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The cell of this name.
    pub fn cell(&self, variant: &str) -> Option<&Value> {
        self.cells().iter().find(|cell| cell["variant"] == variant)
    }
}

/// Names of files below `dir` that end in `.json`.
fn json_files(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let cannot = || format!("cannot read {}", dir.display());
    for entry in fs::read_dir(dir).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(cannot)?);
        if kind.is_dir() && depth < MAX_DEPTH {
            json_files(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file begins as a result does, or is none of another schema.
fn is_result(path: &Path) -> Result<bool> {
    let cannot = || format!("cannot read {}", path.display());
    let mut start = String::new();
    let file = fs::File::open(path).with_context(cannot)?;
    // What is not text is no result.
    if file.take(HEAD_BYTES).read_to_string(&mut start).is_err() {
        return Ok(false);
    }
    Ok(start.contains(&format!("\"{SCHEMA}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), text).expect("written");
        let error = Stored::read(file.path()).expect_err(text);
        assert!(format!("{error:#}").contains(&file.path().display().to_string()), "{error:#}");
        format!("{error:#}")
    }

    #[test]
    fn what_is_no_result_is_refused_with_its_reason() {
        assert!(error("{\"schema\": \"stress.res").contains("no whole JSON"));
        assert!(error("{}").contains("has no `schema`"));
        assert!(error("{\"schema\": 7}").contains("has no `schema`"));
        assert!(error("[]").contains("has no `schema`"));
        assert!(error("{\"schema\": \"stress.result/9\"}").contains("stress.result/9"));
        let missing = Stored::read(Path::new("/no/such/file")).expect_err("is not there");
        assert!(format!("{missing:#}").contains("/no/such/file"));
    }

    #[test]
    fn a_directory_stands_for_the_result_in_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let json = crate::report::json(&crate::report::example::typical());
        fs::write(dir.path().join("result.json"), json).expect("written");
        let stored = Stored::read(dir.path()).expect("is a result");
        assert_eq!(stored.cells().len(), 5);
        assert_eq!(
            (stored.agrees(), stored.text("/workload/fork")),
            (Some(true), Some("amsterdam"))
        );
        assert!(stored.cell("rocksdb/none/sequential+on-demand@1").is_some());
    }
}
