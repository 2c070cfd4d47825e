//! The files of a sweep: its matrix, the facts of each cell, the figures of the device, and all
//! results joined.

mod device;
mod knee;
mod matrix;
mod merged;
mod points;

pub use device::{
    Ceiling, FILE_PREFIX as DEVICE_FILE_PREFIX, SCHEMA as DEVICE_SCHEMA, SweepDevice,
    SweepDeviceSchema, drift,
};
pub use knee::{CountFigures, CountKind, Knee, NoKnee, SHARE as KNEE_SHARE, knees, unnamed_knees};
pub use matrix::{
    Axis, CELL_COUNT_MAX, FILE as MANIFEST_FILE, Keys, LeftOut, Manifest, Matrix,
    SCHEMA as MANIFEST_SCHEMA, Setting, cell_count, pair, ranges,
};
pub use merged::{
    CELL_FILE, CELL_SCHEMA, CellFile, MachineKind, Merged, MergedCell, MergedSchema,
    SCHEMA as MERGED_SCHEMA, SweepCounters, cell_dir_name,
};
pub use points::{Point, points_of, unnamed_keys, work_keys};
