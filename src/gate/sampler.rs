//! The trait of processes that take samples, and the plan of a gate. Knows neither processes nor
//! files, so that the gate's decisions can be tested without a clock.

use result::Counters;
use std::time::Duration;

use super::{Metric, octet::Arm};
use crate::terminal::Failure;

/// A sample as the gate needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// Blocks that the store read from its files.
    pub blocks: Option<u64>,
    /// Bytes that the process read from devices.
    pub bytes: Option<u64>,
    /// System calls of the process that read.
    pub requests: Option<u64>,
    /// Allocations of the process's Rust code.
    pub allocations: Option<u64>,
    /// Instructions of the process in user mode.
    pub instructions: Option<u64>,
    /// Its exact counters.
    pub counters: Counters,
}

impl Sample {
    /// Its value of a metric; `None` where that is not reported.
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
    /// There is none: the gate ends.
    fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure>;

    /// Ends all processes and starts others in their place, which begin cold. Gives the time that
    /// it took.
    ///
    /// # Errors
    /// One does not start: the gate ends.
    fn restart(&mut self) -> Result<Duration, Failure>;

    /// Gives all arms the same CPUs for an octet of `variant`, in turn others with each `number`.
    /// `None` where they may use all.
    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>>;

    /// Begins to watch for lost time: from now on it counts.
    fn watch(&mut self);

    /// Pauses watching: lost time does not count.
    fn pause_watch(&mut self);

    /// Causes of lost time while it watched: steal, throttling. Forgets them.
    fn disturbances(&mut self) -> Vec<String>;
}

/// Which figures of a variant must be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All: each metric was asked for.
    All,
    /// The counters, where the times stay open: on a cold disk they may do so for hours. A metric
    /// that is not told is left out.
    Counters,
}

/// A variant and its judged metrics.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The variant.
    pub variant: String,
    /// The judged metrics.
    pub metrics: Vec<Metric>,
    /// The metrics that must be decided.
    pub rule: Rule,
}

/// The measurement and its rules.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The variants.
    pub subjects: Vec<Subject>,
    /// The largest allowed change, as a share.
    pub delta: f64,
    /// Wall time of all samples of a slot at least: short ones are taken in several passes.
    pub slot_ns: u64,
    /// Seed of the coin.
    pub coin_seed: u64,
    /// Attempts over which the probability of an error is split.
    pub attempt_count: usize,
    /// Whether all octets are taken, decided or not.
    pub takes_all: bool,
}
