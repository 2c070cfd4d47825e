//! A subject of the machine, and its verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a subject stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// It makes figures doubtful.
    Warning,
    /// This machine does not tell.
    Unknown,
}

/// A subject with its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The subject: `governor`.
    pub name: String,
    /// How it stands.
    pub status: Status,
    /// The finding.
    pub found: String,
    /// The remedy, where it is not fine.
    pub remedy: Option<String>,
}
