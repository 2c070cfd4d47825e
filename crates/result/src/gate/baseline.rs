//! A comparison with a stored result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{Metric, Verdict};
use crate::named::Name;

/// The comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// The stored result, or the directory of several.
    pub path: String,
    /// Processes whose results were compared: of the stored side, and of the new one.
    pub process_counts: [u64; 2],
    /// Settings in which both sides differ, as `rocksdb.checksums: verify → skip`.
    #[serde(default)]
    pub setting_changes: Vec<String>,
    /// Counters that differ, as `memory/x store_reads: 5 → 6`.
    pub counter_changes: Vec<String>,
    /// Number of counters that were compared.
    pub counter_count: u64,
    /// Variants that only one of both has: not compared.
    pub only_in_one: Vec<String>,
    /// The variant that the others are set against, inside each run.
    pub reference: Option<String>,
    /// Each variant's time over the reference's.
    pub ratios: Vec<Shift>,
    /// Each variant's time; where it was not judged, the change that was seen.
    pub times: Vec<Shift>,
    /// Counts of each variant on a cold disk.
    pub counts: Vec<CountShift>,
    /// Why times were judged or not.
    pub times_note: String,
}

/// How a figure changed from the stored result to the new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shift {
    /// The variant.
    pub variant: String,
    /// Its verdict.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// How much longer it takes now, as a share: a difference of trimmed means of logarithms; on
    /// several databases the trimmed mean of the databases' differences.
    pub change: Option<f64>,
    /// Its lower bound, as a share.
    pub lower: Option<f64>,
    /// Its upper bound, as a share.
    pub upper: Option<f64>,
    /// Values of each side (samples, processes or databases) that would decide, at this noise;
    /// `null` where it is decided, and where none would.
    pub values_to_decide: Option<u64>,
    /// The δ that noise of this size decides in most comparisons in which nothing differs;
    /// `null` where it is decided, where the noise leaves room enough, and above 1.
    #[serde(default)]
    pub delta_to_decide: Option<f64>,
}

/// How a count changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountShift {
    /// `blocks`, `bytes`, `requests`, `allocations` or `instructions`.
    #[serde(with = "Name::<Metric>")]
    pub metric: Metric,
    /// By how much.
    pub shift: Shift,
}
