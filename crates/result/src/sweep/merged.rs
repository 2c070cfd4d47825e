//! The file of a sweep's cell beside its result, and the file that joins all results
//! (`stress.sweep-merged/2`, `docs/sweep.md`). Only types: `src/sweep/` fills them.

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

/// Name and version of the schema of a [`CellFile`].
pub const CELL_SCHEMA: &str = "stress.sweep-cell/1";
/// Name of the file beside a cell's result.
pub const CELL_FILE: &str = "cell.json";

/// Returns the name of the directory of cell `index`.
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
    /// Value of each axis in this cell.
    pub keys: Keys,
    /// Digest of the settings of the matrix that the cell belongs to.
    pub settings_digest: String,
    /// The program that ran the cell.
    pub program: Program,
    /// Digest of the work that the cell did.
    pub work_digest: String,
}

/// All results of a sweep, joined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// Name and version of this format.
    pub schema: MergedSchema,
    /// The matrix of the sweep.
    pub sweep: Matrix,
    /// The program that made all results.
    pub program: Program,
    /// Indices of the cells that should have run and have no result.
    pub missing: Vec<u64>,
    /// Indices of the cells in which a sample does not equal the reference.
    pub disagreeing: Vec<u64>,
    /// Reasons why cells may not be comparable.
    pub doubts: Vec<String>,
    /// The kinds of machines that ran cells.
    pub machines: Vec<MachineKind>,
    /// Figures of the device, from each process that ran cells.
    #[serde(default)]
    pub devices: Vec<SweepDevice>,
    /// One point for each cell and variant. A cell that was left out has the points of the cell in
    /// its place.
    pub points: Vec<Point>,
    /// Knees: the fewest threads with nearly the best throughput, for each combination of other
    /// settings.
    pub knees: Vec<Knee>,
    /// Exact counters of each variant and work.
    pub counters: Vec<SweepCounters>,
    /// The results, in the order of their cells.
    pub cells: Vec<MergedCell>,
}

/// The result of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedCell {
    /// Index of the cell.
    pub index: u64,
    /// Value of each axis in this cell.
    pub keys: Keys,
    /// The whole result of the cell's run.
    pub result: RunResult,
}

/// A kind of machine: the facts that distinguish it from other kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineKind {
    /// Name of the processor.
    pub cpu_model: Option<String>,
    /// Number of CPUs that a run may use.
    pub cpu_count: Option<u64>,
    /// Size of the machine's memory.
    pub memory_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Model of the disk below the states.
    pub disk_model: Option<String>,
    /// Indices of the cells that ran on a machine of this kind.
    pub cells: Vec<u64>,
}

/// Exact counters of a variant on one work. They do not depend on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepCounters {
    /// Values of the axes that a variant's name does not have.
    pub keys: Keys,
    /// The variant.
    pub variant: String,
    /// Indices of the cells with this variant and work.
    pub cells: Vec<u64>,
    /// Gas used: all values that occurred in these cells, ascending.
    pub gas: BTreeSet<u64>,
    /// Number of accounts and slots that the lists name: all values that occurred.
    pub unique_keys: BTreeSet<u64>,
    /// Number of reads requested from the store: all values that occurred.
    pub store_reads: BTreeSet<u64>,
}
