//! The processor and how it is run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Its name, or implementer and part where the kernel gives no name (ARM).
    pub model: Option<String>,
    /// CPUs that are online, hardware threads counted apart.
    pub logical_count: Option<u64>,
    /// CPUs that this process may run on.
    pub allowed_count: Option<u64>,
    /// The same as a list: `0-3,8`.
    pub allowed: Option<String>,
    /// Frequency governor; several are joined by commas.
    pub governor: Option<String>,
    /// Whether clocks may rise above the nominal one.
    pub is_turbo_on: Option<bool>,
    /// Whether two hardware threads share a core.
    pub is_smt_on: Option<bool>,
    /// The kernel's clock source: with another than `tsc` reading the clock costs a call.
    pub clock_source: Option<String>,
}
