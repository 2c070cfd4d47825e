//! The system: kernel, distribution, hypervisor or container.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The distribution with its version.
    pub os: Option<String>,
    /// The architecture that the binary is built for.
    pub architecture: String,
    /// Whether this is a machine of its own.
    pub virtualisation: Virtualisation,
    /// Runnable and waiting threads, averaged over 1, 5 and 15 minutes before the probe.
    pub load_average: Option<[f64; 3]>,
}

/// Hypervisor and container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Virtualisation {
    /// Whether the processor says that a hypervisor runs it; x86 only.
    pub has_hypervisor: Option<bool>,
    /// Maker and product by the firmware's tables, such as `QEMU Standard PC`.
    pub product: Option<String>,
    /// The hypervisor's own word (Xen).
    pub hypervisor: Option<String>,
    /// `docker`, `podman`, or systemd's word; `null` also outside a container.
    pub container: Option<String>,
}
