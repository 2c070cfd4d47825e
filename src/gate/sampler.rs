//! The trait of a source of samples, and the plan of a gate. `builds` and `clients` implement the
//! trait; `measure` and `cell` take samples by it. This module knows neither processes nor files,
//! so that the gate's decisions can be tested without a clock.

use result::Counters;
use std::time::Duration;

use super::{Metric, octet::Arm};
use crate::terminal::Failure;

/// The figures of a sample that a gate uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// Number of blocks that the store read from its files.
    pub blocks: Option<u64>,
    /// Number of bytes that the process read from devices.
    pub bytes: Option<u64>,
    /// Number of system calls by which the process read.
    pub requests: Option<u64>,
    /// Number of allocations of the process's Rust code.
    pub allocations: Option<u64>,
    /// Number of instructions of the process in user mode.
    pub instructions: Option<u64>,
    /// The exact counters of the sample.
    pub counters: Counters,
}

impl Sample {
    /// Returns the value of a metric; `None` if the sample does not report it.
    pub const fn value(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::Wall => Some(self.wall_ns),
            Metric::Cpu => self.cpu_ns,
            Metric::Blocks => self.blocks,
            Metric::Bytes => self.bytes,
            Metric::Requests => self.requests,
            Metric::Allocations => self.allocations,
            Metric::Instructions => self.instructions,
        }
    }
}

/// A source of samples.
pub trait Sampler {
    /// Takes one sample.
    ///
    /// # Errors
    /// No sample can be taken: the gate ends.
    fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure>;

    /// Ends all processes, and starts new cold processes. Returns the time of the start.
    ///
    /// # Errors
    /// A process does not start: the gate ends.
    fn restart(&mut self) -> Result<Duration, Failure>;

    /// Confines the processes of all arms to the same CPUs, for an octet of `variant`. Octets take
    /// different CPUs in turn, by `number`, the octet's index. Returns the CPUs, or `None` if the
    /// processes may use all CPUs.
    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>>;

    /// Starts watching for disturbances, which take time from samples: steal, a CPU quota,
    /// throttling.
    fn watch(&mut self);

    /// Pauses watching: disturbances do not count until the next [`Sampler::watch`].
    fn pause_watch(&mut self);

    /// Returns the disturbances that were seen while watching, and clears them.
    fn disturbances(&mut self) -> Vec<String>;
}

/// The figures that must be decided before a variant passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All figures of the subject.
    All,
    /// The counts, if times stay open to the last octet. On a cold disk, times may be too noisy to
    /// be decided. A metric that is not reported is left out.
    Counts,
}

/// A variant and its judged metrics.
#[derive(Clone, Debug)]
pub struct Subject {
    pub variant: String,
    /// The judged metrics.
    pub metrics: Vec<Metric>,
    /// The metrics that must be decided.
    pub rule: Rule,
}

/// Slots, timeout and seed of a gate of builds or clients.
#[derive(Clone, Copy, Debug)]
pub struct SlotSettings {
    /// Minimal wall time of a slot's samples, summed over the passes of an octet.
    pub slot_ns: u64,
    /// Maximal time of a sample. A process that takes longer is stopped.
    pub timeout: Duration,
    /// Seed of the coin that chooses the first build of a pass.
    pub coin_seed: u64,
}

/// The variants that a gate measures, and the rules of the measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    pub subjects: Vec<Subject>,
    /// The largest allowed change, as a share.
    pub delta: f64,
    /// Minimal wall time of all samples of a slot. Short samples take several passes to reach it.
    pub slot_ns: u64,
    /// Seed of the coin that chooses the first build of a pass.
    pub coin_seed: u64,
    /// Number of attempts over which the probability of an error is split.
    pub attempt_count: usize,
    /// Whether all octets are taken, also after all figures are decided, as for a calibration.
    pub takes_all: bool,
}

impl Plan {
    /// Makes the plan of a gate that ends once all figures are decided.
    pub const fn new(
        subjects: Vec<Subject>,
        delta: f64,
        slots: SlotSettings,
        attempt_count: usize,
    ) -> Self {
        let SlotSettings { slot_ns, coin_seed, .. } = slots;
        Self { subjects, delta, slot_ns, coin_seed, attempt_count, takes_all: false }
    }
}
