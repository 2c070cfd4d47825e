//! The machine that a result was made on: a fingerprint with `null` for unknown facts. One file
//! a subject. How each is found out is the program's business.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod build;
mod cgroup;
mod check;
mod cpu;
mod disk;
mod ground;
mod host;
mod memory;
mod steal;

pub use build::Build;
pub use cgroup::{Cgroup, Limit};
pub use check::{Check, Status};
pub use cpu::Cpu;
pub use disk::Disk;
pub use ground::Ground;
pub use host::{Host, Virtualisation};
pub use memory::{Memory, Swap};
pub use steal::StealClock;

/// Where a result was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The processor and how it is run.
    pub cpu: Cpu,
    /// Limits set from outside.
    pub cgroup: Cgroup,
    /// Memory and swap.
    pub memory: Memory,
    /// Kernel, distribution, virtualisation, load.
    pub host: Host,
    /// The device below the data directory.
    pub data_dir: Disk,
    /// Abilities of that file system and the kernel.
    pub ground: Ground,
    /// The binary that runs.
    pub build: Build,
    /// Time that the hypervisor kept from all CPUs together, from the probe until this is
    /// written.
    #[serde(rename = "steal_ns", default = "unknown_steal")]
    #[schemars(with = "Option<u64>")]
    pub steal: StealClock,
}

impl Environment {
    /// CPUs that this process can keep busy: those it may run on, or the cgroup's quota, rounded
    /// up.
    pub fn usable_cpu_count(&self) -> Option<u64> {
        match (self.cpu.allowed_count.or(self.cpu.logical_count), self.cgroup.cpu_limit_millicpus) {
            (Some(count), Some(Limit::At(milli))) => Some(count.min(milli.div_ceil(1000)).max(1)),
            (count, _) => count,
        }
    }

    /// The environment at the end of a run: the clock of stolen time stands still, so that all that
    /// is written of it says the same.
    #[must_use]
    pub fn at_end(&self) -> Self {
        Self { steal: StealClock::stopped(self.steal.stolen_ns()), ..self.clone() }
    }
}

const fn unknown_steal() -> StealClock {
    StealClock::stopped(None)
}
