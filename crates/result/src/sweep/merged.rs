//! The facts of a sweep's cell beside its result, and all results as one (`stress.sweep-merged/2`,
//! `docs/sweep.md`).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{program::Program, run::RunResult, schema::schema};

use super::{
    device::SweepDevice,
    knee::Knee,
    matrix::{Keys, Matrix},
    points::Point,
};

schema! {
    /// The schema of a [`Merged`]. Files of version 1 contain results of `stress.result/2`.
    SCHEMA: MergedSchema = "stress.sweep-merged/2", or "stress.sweep-merged/1"
}

/// Name and version of the schema of [`CellFile`].
pub const CELL_SCHEMA: &str = "stress.sweep-cell/1";
/// The file beside a cell's result.
pub const CELL_FILE: &str = "cell.json";

/// Name of a cell's directory.
pub fn cell_dir_name(index: u64) -> String {
    format!("cell-{index:04}")
}

/// Facts of a cell beside its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellFile {
    /// Name and version of this format.
    #[schemars(extend("const" = CELL_SCHEMA))]
    pub schema: String,
    /// Index of the cell.
    pub index: u64,
    /// Value of each axis in the cell.
    pub keys: Keys,
    /// Digest of the matrix that has the cell.
    pub settings_digest: String,
    /// The program.
    pub program: Program,
    /// Digest of the work that was done.
    pub work_digest: String,
}

/// All results of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// Name and version of this format.
    pub schema: MergedSchema,
    /// The matrix.
    pub sweep: Matrix,
    /// The program of all results.
    pub program: Program,
    /// Cells without a result.
    pub missing: Vec<u64>,
    /// Cells whose designs disagree.
    pub disagreeing: Vec<u64>,
    /// Reasons why the cells may not be comparable.
    pub doubts: Vec<String>,
    /// The kinds of machines.
    pub machines: Vec<MachineKind>,
    /// The device, as measured by each process that ran cells one after the other.
    #[serde(default)]
    pub devices: Vec<SweepDevice>,
    /// One point for each cell and variant.
    pub points: Vec<Point>,
    /// Knees: the fewest threads with nearly the best throughput.
    pub knees: Vec<Knee>,
    /// Counters of each variant and work.
    pub counters: Vec<Counters>,
    /// The results, by index.
    pub cells: Vec<MergedCell>,
}

/// A cell's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedCell {
    /// Index of the cell.
    pub index: u64,
    /// Value of each axis in the cell.
    pub keys: Keys,
    /// The whole result.
    pub result: RunResult,
}

/// The facts that distinguish one kind of machine from another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineKind {
    /// Name of the processor.
    pub cpu_model: Option<String>,
    /// CPUs that a run may use.
    pub cpu_count: Option<u64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The disk under the states.
    pub disk_model: Option<String>,
    /// Cells that ran on a machine of this kind.
    pub cells: Vec<u64>,
}

/// Figures that do not depend on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SweepCounters")]
pub struct Counters {
    /// Values of the axes that the variant's name does not have.
    pub keys: Keys,
    /// The variant.
    pub variant: String,
    /// The cells with this variant.
    pub cells: Vec<u64>,
    /// Gas used: all values that occurred, ascending.
    pub gas: BTreeSet<u64>,
    /// Accounts and slots that the lists name.
    pub unique_keys: BTreeSet<u64>,
    /// Reads requested from the store.
    pub store_reads: BTreeSet<u64>,
}
