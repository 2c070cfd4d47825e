//! What a cell of a sweep says of itself beside its result, and what made it.

use serde::{Deserialize, Serialize};

use super::matrix::Keys;

/// Name and version of the schema of [`CellFile`].
pub const SCHEMA: &str = "stress.sweep-cell/1";
/// The file beside a cell's result.
pub const FILE: &str = "cell.json";

/// Characters of a commit that are shown.
const SHOWN_HASH_CHARS: usize = 10;

/// What made a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Version.
    pub version: String,
    /// Commit, with `-dirty` where files differed; `None` outside a repository.
    pub commit: Option<String>,
    /// Version of the generator.
    pub generator_version: u32,
}

impl Program {
    /// `0.1.0 (c0ffee0123-dirty)`.
    pub fn name(&self) -> String {
        let Some(commit) = &self.commit else {
            return format!("{} (commit unknown)", self.version);
        };
        let (hash, mark) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
        let short: String = hash.chars().take(SHOWN_HASH_CHARS).collect();
        format!("{} ({short}{mark})", self.version)
    }
}

/// What a cell says of itself beside its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its index.
    pub index: u64,
    /// Its value of each axis.
    pub keys: Keys,
    /// The matrix that it is a cell of, by its digest.
    pub settings_digest: String,
    /// What made it.
    pub program: Program,
    /// Digest of the work that was done.
    pub work_digest: String,
}
