//! The machine that a result was made on, and its checks (`stress.doctor/1`). Unknown facts are
//! `null`. Only types: `src/machine/` finds the facts.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::schema::schema;

mod steal;

pub use steal::StealClock;

/// Text for a limit that does not exist.
const UNLIMITED: &str = "unlimited";

/// Facts of the machine that made a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The processor and its settings.
    pub cpu: Cpu,
    /// Limits of the control group of this process.
    pub cgroup: Cgroup,
    /// Memory and swap.
    pub memory: Memory,
    /// Kernel, distribution, virtualisation, load.
    pub host: Host,
    /// The device below the directory with the state databases.
    pub data_dir: Disk,
    /// Abilities of the file system with the state databases, and of the kernel.
    pub ground: Abilities,
    /// The binary that made the result.
    pub build: Build,
    /// Time that the hypervisor withheld from all CPUs, summed, from the probe of the machine until
    /// the result is written.
    #[serde(rename = "steal_ns", default = "unknown_steal")]
    #[schemars(with = "Option<u64>")]
    pub steal: StealClock,
}

impl Environment {
    /// Number of CPUs that this process can keep busy. It is the number that it may run on, or the
    /// cgroup's quota rounded up where that is smaller.
    pub fn usable_cpu_count(&self) -> Option<u64> {
        match (self.cpu.allowed_count.or(self.cpu.logical_count), self.cgroup.cpu_limit_millicpus) {
            (Some(count), Some(Limit::At(milli))) => Some(count.min(milli.div_ceil(1000)).max(1)),
            (count, _) => count,
        }
    }

    /// Returns the environment at the end of a run. Its clock of stolen time is stopped, so that
    /// every output of the run gives the same value.
    #[must_use]
    pub fn at_end(&self) -> Self {
        Self { steal: StealClock::stopped(self.steal.stolen_ns()), ..self.clone() }
    }
}

const fn unknown_steal() -> StealClock {
    StealClock::stopped(None)
}

/// The processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Name of the processor, or implementer and part where the kernel gives no name (ARM).
    pub model: Option<String>,
    /// Number of CPUs that are online. Each hardware thread counts as one.
    pub logical_count: Option<u64>,
    /// Number of CPUs that this process may run on.
    pub allowed_count: Option<u64>,
    /// List of the CPUs that this process may run on: `0-3,8`.
    pub allowed: Option<String>,
    /// Frequency governors of the CPUs, joined by commas if they differ.
    pub governor: Option<String>,
    /// Whether the clock frequency may rise above the nominal frequency.
    pub is_turbo_on: Option<bool>,
    /// Whether two hardware threads share a core (SMT).
    pub is_smt_on: Option<bool>,
    /// The kernel's clock source. With any other than `tsc`, reading the clock costs a system call.
    pub clock_source: Option<String>,
}

/// Limits of the control group (version 1 or 2); `null` where no group was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cgroup {
    /// CPU time that the group may use in a second, in thousandths of a CPU.
    pub cpu_limit_millicpus: Option<Limit>,
    /// Memory that the group may use.
    pub memory_limit_bytes: Option<Limit>,
}

/// A known limit; written as a number, or as `"unlimited"` where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The limit, in the unit of its key.
    At(u64),
    /// No limit.
    Unlimited,
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": UNLIMITED }] })
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(limit) => serializer.serialize_u64(*limit),
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(limit) => Ok(Self::At(limit)),
            Written::Word(word) if word == UNLIMITED => Ok(Self::Unlimited),
            Written::Word(word) => {
                Err(D::Error::custom(format!("{word:?} is no limit: a number or {UNLIMITED:?}")))
            }
        }
    }
}

/// Memory of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Size of all memory.
    pub total_bytes: Option<u64>,
    /// Memory that was available at the probe without swapping.
    pub available_bytes: Option<u64>,
    /// Swap areas in use; empty without swap.
    pub swaps: Option<Vec<Swap>>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
}

/// A swap area.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Swap {
    /// Device or file.
    pub path: String,
    /// Whether the area is compressed memory (zram) rather than a disk.
    pub is_zram: bool,
    /// Size of the area.
    pub size_bytes: u64,
    /// The used part of the area.
    pub used_bytes: u64,
}

/// The system: kernel, distribution, virtualisation and load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The distribution with its version.
    pub os: Option<String>,
    /// The architecture that the binary is built for.
    pub architecture: String,
    /// The hypervisor and the container, if there are any.
    pub virtualisation: Virtualisation,
    /// Mean number of runnable and waiting threads over 1, 5 and 15 minutes before the probe.
    pub load_average: Option<[f64; 3]>,
}

/// Hypervisor and container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Virtualisation {
    /// Whether the processor says that a hypervisor runs it; x86 only.
    pub has_hypervisor: Option<bool>,
    /// Maker and product in the firmware's tables, such as `QEMU Standard PC`.
    pub product: Option<String>,
    /// The hypervisor's name, if it reports one (Xen).
    pub hypervisor: Option<String>,
    /// `docker`, `podman`, or the name that systemd reports; `null` also outside a container.
    pub container: Option<String>,
}

/// The device below a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// The directory, or its nearest parent that existed at the probe.
    pub path: String,
    /// Mount point of the file system.
    pub mount_point: Option<String>,
    /// Type of the file system: `ext4`, `tmpfs`, `overlay`.
    pub file_system: Option<String>,
    /// Options of the mount and of the file system.
    pub mount_options: Option<String>,
    /// The mounted device: `/dev/nvme0n1p2`.
    pub source: Option<String>,
    /// The whole device below a partition: `nvme0n1`.
    pub device: Option<String>,
    /// The device's model, as the maker names it.
    pub model: Option<String>,
    /// Whether the device reports that it rotates. Virtual devices often report so wrongly.
    pub is_rotational: Option<bool>,
}

/// Abilities of a directory's file system and of the kernel; `null` where the test was not
/// possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Abilities {
    /// Whether files can be read with `O_DIRECT`, past the kernel's page cache.
    pub has_direct_reads: Option<bool>,
    /// Whether the kernel drops a file's pages on request.
    pub can_drop_pages: Option<bool>,
    /// Whether `io_uring` can be used.
    pub has_io_uring: bool,
    /// Free space on the file system that this user may use.
    pub free_bytes: Option<u64>,
}

/// The binary that runs. `build.rs` recorded these facts when it was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// Commit of the sources, with `-dirty` when the sources differ from it; `null` outside the
    /// program's own repository.
    pub commit: Option<String>,
    /// The program's features; `null` if the build did not record them.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// BLAKE3 of the program's file; `null` where it cannot be read.
    #[serde(default)]
    pub binary_hash: Option<String>,
    /// `rustc --version`.
    pub rustc: Option<String>,
    /// Cargo's profile: `release`, `debug`.
    pub profile: String,
    /// Cargo's `opt-level`.
    pub opt_level: String,
    /// Link-time optimisation: `fat`, `thin`, or `thin-local` for optimisation within each crate
    /// only; `null` if the build did not record it.
    #[serde(default)]
    pub lto: Option<String>,
    /// Cargo's `codegen-units`; `null` if the build did not record it.
    #[serde(default)]
    pub codegen_units: Option<u32>,
    /// Whether `debug_assert!` is compiled in.
    pub has_debug_assertions: bool,
}

impl Build {
    /// Returns the compiler's settings: `release, opt-level 3, fat LTO, 1 codegen unit(s)`.
    pub fn profile_in_words(&self) -> String {
        let lto = self.lto.as_deref().unwrap_or("unknown");
        let units = self.codegen_units.map_or("unknown".to_owned(), |count| count.to_string());
        let Self { profile, opt_level, .. } = self;
        format!("{profile}, opt-level {opt_level}, {lto} LTO, {units} codegen unit(s)")
    }
}

/// State of a subject that `stress doctor` checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Fit for benchmarking.
    Ok,
    /// Makes figures doubtful.
    Warning,
    /// Not known: this machine does not report it.
    Unknown,
}

/// A subject that `stress doctor` checks, with its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Name of the subject: `governor`.
    pub name: String,
    /// State of the subject.
    pub status: Status,
    /// The finding, in words.
    pub found: String,
    /// The remedy, if the subject is not fit.
    pub remedy: Option<String>,
}

schema! {
    /// The schema of a [`DoctorResult`].
    DOCTOR_SCHEMA: DoctorSchema = "stress.doctor/1"
}

/// The result of `stress doctor`: all checks, and the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorResult {
    /// Name and version of this format.
    pub schema: DoctorSchema,
    /// The checks, one for each subject of the machine.
    pub checks: Vec<Check>,
    /// The machine.
    pub environment: Environment,
}
