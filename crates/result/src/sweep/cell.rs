//! Facts of a cell of a sweep beside its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::program::Program;

use super::matrix::Keys;

/// Name and version of the schema of [`CellFile`].
pub const SCHEMA: &str = "stress.sweep-cell/1";
/// The file beside a cell's result.
pub const FILE: &str = "cell.json";

/// Name of a cell's directory.
pub fn dir_name(index: u64) -> String {
    format!("cell-{index:04}")
}

/// Facts of a cell beside its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellFile {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Its index.
    pub index: u64,
    /// Its value of each axis.
    pub keys: Keys,
    /// The matrix that it is a cell of, by its digest.
    pub settings_digest: String,
    /// The program.
    pub program: Program,
    /// Digest of the work that was done.
    pub work_digest: String,
}
