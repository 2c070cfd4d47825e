//! The device below a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The device below a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// The directory, or the nearest one above that existed at the probe.
    pub path: String,
    /// Where the file system is mounted.
    pub mount_point: Option<String>,
    /// Its type: `ext4`, `tmpfs`, `overlay`.
    pub file_system: Option<String>,
    /// Options of the mount and of the file system.
    pub mount_options: Option<String>,
    /// The mounted device: `/dev/nvme0n1p2`.
    pub source: Option<String>,
    /// The whole device below a partition: `nvme0n1`.
    pub device: Option<String>,
    /// The maker's name for it.
    pub model: Option<String>,
    /// Whether the device says that it rotates; virtual ones often say so without truth.
    pub is_rotational: Option<bool>,
}
