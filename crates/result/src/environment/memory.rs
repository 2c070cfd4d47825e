//! Memory of the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// All of it.
    pub total_bytes: Option<u64>,
    /// Memory that was free at the probe without swapping.
    pub available_bytes: Option<u64>,
    /// Swap areas in use; empty where there are none.
    pub swaps: Option<Vec<Swap>>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
}

/// A swap area.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Swap {
    /// Device or file.
    pub path: String,
    /// Whether it is compressed memory (zram) rather than a disk.
    pub is_zram: bool,
    /// Its size.
    pub size_bytes: u64,
    /// The used part.
    pub used_bytes: u64,
}
