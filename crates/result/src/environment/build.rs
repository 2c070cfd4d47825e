//! The binary that made a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The binary that runs, as `build.rs` saw it being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// The commit, with `-dirty` when its sources differ; `null` outside a
    /// repository of its own.
    pub commit: Option<String>,
    /// The program's features; `null` of a build that did not tell.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// BLAKE3 of the program's file; `null` where it cannot be read.
    #[serde(default)]
    pub binary_hash: Option<String>,
    /// `rustc --version`.
    pub rustc: Option<String>,
    /// Cargo's profile: `release`, `debug`.
    pub profile: String,
    /// Cargo's `opt-level`.
    pub opt_level: String,
    /// Whether `debug_assert!` is compiled in.
    pub has_debug_assertions: bool,
}
