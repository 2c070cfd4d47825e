//! The machine that a result was made on: a fingerprint with `null` for what is not known, and
//! warnings about what makes its figures doubtful, each with the remedy.
//!
//! Everything is read from `/proc`, `/sys` and `/etc`, or tried on a small file (`ground`); no
//! program is started. One file a subject: `cpu`, `cgroup`, `memory`, `disk`, `host`; `warning`
//! judges what they found, and `check` says of each subject whether it is as it should be.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Serialize, Serializer};

mod cgroup;
mod check;
mod cpu;
mod disk;
mod ground;
mod host;
mod memory;
mod tree;
mod warning;
mod watch;

pub use cgroup::{Cgroup, Limit};
pub use check::{Check, Status};
pub use cpu::Cpu;
pub use disk::Disk;
pub use ground::Ground;
pub use host::Host;
pub use memory::Memory;
pub use warning::Warning;
pub use watch::Watch;

use tree::Tree;

/// Where a result was made.
#[derive(Clone, Debug, Serialize)]
pub struct Environment {
    /// The processor and how it is run.
    pub cpu: Cpu,
    /// Limits set from outside.
    pub cgroup: Cgroup,
    /// Memory and swap.
    pub memory: Memory,
    /// Kernel, distribution, virtualisation, load.
    pub host: Host,
    /// What the data directory lies on.
    pub data_dir: Disk,
    /// What that file system and the kernel allow.
    pub ground: Ground,
    /// The binary that runs.
    pub build: Build,
    /// Time that the hypervisor kept from all CPUs together, from the probe until this is
    /// written.
    #[serde(rename = "steal_ns")]
    pub steal: StealClock,
}

impl Environment {
    /// Looks at this machine; `data_dir` need not exist yet.
    pub fn probe(data_dir: &Path) -> Self {
        let tree = Tree::of_this_machine();
        let dir = nearest_existing(data_dir);
        Self {
            cpu: Cpu::probe(&tree),
            cgroup: Cgroup::probe(&tree),
            memory: Memory::probe(&tree),
            host: Host::probe(&tree),
            data_dir: Disk::probe(&tree, &dir),
            ground: Ground::probe(&dir),
            build: Build::this(),
            steal: StealClock::start(),
        }
    }

    /// Memory that can be had now without swapping, in bytes.
    pub fn memory_available_bytes() -> Option<u64> {
        Memory::probe(&Tree::of_this_machine()).available_bytes
    }

    /// CPUs that this process can keep busy: those it may run on, or what the cgroup's quota
    /// pays for, rounded up.
    pub fn usable_cpu_count(&self) -> Option<u64> {
        match (self.cpu.allowed_count.or(self.cpu.logical_count), self.cgroup.cpu_limit_millicpus) {
            (Some(count), Some(Limit::At(milli))) => Some(count.min(milli.div_ceil(1000)).max(1)),
            (count, _) => count,
        }
    }

    /// Each subject with its state and, where it is not as it should be, the remedy.
    pub fn checks(&self) -> Vec<Check> {
        check::all(self)
    }

    /// What makes figures of this machine doubtful. To be asked again at the end: only then is
    /// known what was stolen.
    pub fn warnings(&self) -> Vec<Warning> {
        warning::of(self)
    }
}

/// Counts what the hypervisor keeps from all CPUs of the machine; written as nanoseconds up to
/// that moment.
#[derive(Clone, Copy, Debug)]
pub struct StealClock {
    start: Instant,
    before: Option<Duration>,
}

impl StealClock {
    fn start() -> Self {
        Self { start: Instant::now(), before: executor::process::steal() }
    }

    /// Stolen since the start, summed over the CPUs, in steps of 10 ms.
    pub fn stolen_ns(&self) -> Option<u64> {
        let stolen = executor::process::steal()?.saturating_sub(self.before?);
        u64::try_from(stolen.as_nanos()).ok()
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

impl Serialize for StealClock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.stolen_ns().serialize(serializer)
    }
}

/// The binary that runs, as `build.rs` saw it being made.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Build {
    /// The commit, with `-dirty` when what it is built from differs; `null` outside a
    /// repository of its own.
    pub commit: Option<&'static str>,
    /// `rustc --version`.
    pub rustc: Option<&'static str>,
    /// Cargo's profile: `release`, `debug`.
    pub profile: &'static str,
    /// Cargo's `opt-level`.
    pub opt_level: &'static str,
    /// Whether `debug_assert!` is compiled in.
    pub has_debug_assertions: bool,
}

impl Build {
    /// This binary.
    pub const fn this() -> Self {
        Self {
            commit: option_env!("STRESS_COMMIT"),
            rustc: option_env!("STRESS_RUSTC"),
            profile: env!("STRESS_PROFILE"),
            opt_level: env!("STRESS_OPT_LEVEL"),
            has_debug_assertions: cfg!(debug_assertions),
        }
    }
}

/// `path`, or the nearest directory above that exists, without links.
fn nearest_existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let existing = absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    existing.unwrap_or(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_of_this_machine_can_be_written_and_has_nulls_for_the_unknown() {
        let environment = Environment::probe(Path::new("/nonexistent/data/dir"));
        let value = serde_json::to_value(&environment).expect("serialises");
        for key in ["cpu", "cgroup", "memory", "host", "data_dir", "build"] {
            assert!(value[key].is_object(), "{key}: {value:#}");
        }
        let steal = value.get("steal_ns").expect("written");
        assert!(steal.is_null() || steal.is_u64(), "{steal}");
    }

    #[test]
    fn a_path_that_does_not_exist_lies_where_its_nearest_parent_does() {
        assert_eq!(nearest_existing(Path::new("/nonexistent/a/b")), Path::new("/"));
    }

    #[test]
    fn a_quota_below_the_cpus_is_what_can_be_used() {
        let mut environment = Environment::probe(Path::new("/"));
        environment.cpu.allowed_count = Some(8);
        environment.cgroup.cpu_limit_millicpus = Some(Limit::At(2_500));
        assert_eq!(environment.usable_cpu_count(), Some(3));
        environment.cgroup.cpu_limit_millicpus = Some(Limit::Unlimited);
        assert_eq!(environment.usable_cpu_count(), Some(8));
        environment.cpu.allowed_count = None;
        environment.cpu.logical_count = None;
        assert_eq!(environment.usable_cpu_count(), None);
    }
}
