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
    /// Link-time optimisation: `fat`, `thin`, or `thin-local` within each crate; `null` of a build
    /// that did not tell.
    #[serde(default)]
    pub lto: Option<String>,
    /// Cargo's `codegen-units`; `null` of a build that did not tell.
    #[serde(default)]
    pub codegen_units: Option<u32>,
    /// Whether `debug_assert!` is compiled in.
    pub has_debug_assertions: bool,
}

impl Build {
    /// The settings of the compiler in words: `release, opt-level 3, fat LTO, 1 codegen unit(s)`.
    pub fn profile_in_words(&self) -> String {
        let lto = self.lto.as_deref().unwrap_or("unknown");
        let units = self.codegen_units.map_or("unknown".to_owned(), |count| count.to_string());
        let Self { profile, opt_level, .. } = self;
        format!("{profile}, opt-level {opt_level}, {lto} LTO, {units} codegen unit(s)")
    }
}
