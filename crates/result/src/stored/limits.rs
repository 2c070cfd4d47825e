//! Reads results of `stress limit` back from files.

use std::path::Path;

use super::{StoredFile, require_exists};
use crate::{
    error::Error,
    limit::{LimitResult, LimitSchema},
};

/// Name of the file with limits, in a directory that `--out` wrote.
pub const LIMIT_FILE: &str = "limit.json";
/// Beginning of the schemas of limits, in any version.
const LIMIT_SCHEMA: &str = "stress.limit/";

/// A result of `stress limit`, with the file that it is from.
pub type StoredLimit = StoredFile<LimitResult>;

impl StoredLimit {
    /// Reads limits from a file, or from a directory that `--out` wrote. `None` if the file has
    /// another kind of schema, or the directory has no file with limits.
    ///
    /// # Errors
    /// The file cannot be read, is not complete, or has a version that this build does not read.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        require_exists(path)?;
        let path = if path.is_dir() { path.join(LIMIT_FILE) } else { path.to_owned() };
        if !path.exists() {
            return Ok(None);
        }
        Self::read_kind(&path, LIMIT_SCHEMA, LimitSchema::READ, "find the limits again")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{example, json};

    #[test]
    fn limits_are_read_from_their_file_and_its_directory_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LIMIT_FILE);
        assert_eq!(StoredLimit::read(dir.path()).unwrap(), None);
        let expected = example::limit::example();
        let text = json(&expected).unwrap();
        fs::write(&path, &text).unwrap();
        for at in [dir.path(), &path] {
            assert_eq!(StoredLimit::read(at).unwrap().unwrap().result, expected);
        }
        let other = dir.path().join("result.json");
        fs::write(&other, json(&example::typical()).unwrap()).unwrap();
        assert_eq!(StoredLimit::read(&other).unwrap(), None);
        fs::write(&path, text.replacen(LimitSchema::NAME, "stress.limit/99", 1)).unwrap();
        let error = StoredLimit::read(&path).unwrap_err().to_string();
        assert!(error.contains("stress.limit/99") && error.contains(LimitSchema::NAME), "{error}");
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        let error = StoredLimit::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains(LIMIT_FILE) && error.contains("not valid JSON"), "{error}");
        assert!(StoredLimit::read(&dir.path().join("none")).is_err());
    }
}
