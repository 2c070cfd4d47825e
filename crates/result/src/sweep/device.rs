//! The device under the states of a sweep (`stress.sweep-device/1`, `docs/sweep.md`): measured once
//! for all cells, and again for its drift.

use serde::{Deserialize, Serialize};

use crate::{run::Device, schema::schema};

/// Beginning of the names of these files: `device-1767225600-4711.json`, by start and process.
pub const FILE_PREFIX: &str = "device-";

schema! {
    /// The schema of a [`SweepDevice`].
    SweepDeviceSchema = "stress.sweep-device/1"
}

/// The schema of a [`SweepDevice`].
pub const SCHEMA: SweepDeviceSchema = SweepDeviceSchema;

/// The measurements of the device by one process that ran cells of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepDevice {
    /// [`SCHEMA`].
    pub schema: SweepDeviceSchema,
    /// When it was first measured, seconds since 1970.
    pub measured_unix_s: u64,
    /// The state whose files are read.
    pub state: String,
    /// Seed of the order in which their blocks are read.
    pub draw_seed: u64,
    /// Reads of blocks so far: the next measurement goes on after them.
    pub read_count: u64,
    /// The figures, as a run of that time has them.
    pub device: Device,
    /// Every measurement of the ceiling, the first of them before the first cell; empty where it
    /// cannot be measured.
    pub ceilings: Vec<Ceiling>,
}

/// The ceiling at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// When it was measured, seconds since 1970.
    pub measured_unix_s: u64,
    /// Random reads of 4 KiB a second, by the best method.
    pub ceiling_iops: f64,
}
