//! The figures of a run on several databases: of each database, and pooled over all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    facts::{Device, StoreFacts, WorkloadFacts},
    figures::{Counters, Estimate, Percentiles},
    stats,
};

/// A database of a run on several databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseFacts {
    /// The workload that was generated for the database; its seed is the database's.
    pub workload: WorkloadFacts,
    /// The device under the database during its samples.
    pub device: Option<Device>,
    /// The stores of the database.
    pub stores: Vec<StoreFacts>,
}

/// The parts of a pooled cell of a run on several databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellDatabases {
    /// Each database, in the order of the run; the cell's samples are in the same order.
    pub each: Vec<OfDatabase>,
    /// Lowest and highest of the databases' throughputs.
    pub mgas_per_s_range: Option<[f64; 2]>,
    /// Lowest and highest of the databases' times.
    pub ms_per_batch_range: Option<[f64; 2]>,
    /// Spread of the samples' times, between databases and within them.
    pub time_spread: Option<Spread>,
    /// The base of the time ratio: the first variant of the same store.
    pub time_ratio_over: String,
    /// This variant's time over the base's, estimated over the databases' ratios.
    pub time_ratio: Estimate,
    /// Lowest and highest of the databases' ratios.
    pub time_ratio_range: Option<[f64; 2]>,
    /// The spread of the ratios round by round.
    pub time_ratio_spread: Option<Spread>,
}

/// A cell on one database. The figures are over the samples on the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfDatabase {
    /// The database's seed.
    pub seed: u64,
    /// Number of samples on the database.
    pub sample_count: u64,
    /// Number of warm-up samples at the start; `null` where the end of the warm-up is not known.
    pub warm_up_sample_count: Option<u64>,
    /// The exact counters of every sample on this database.
    pub counters: Option<Counters>,
    /// Gas per second.
    pub mgas_per_s: Estimate,
    /// Milliseconds per batch.
    pub ms_per_batch: Estimate,
    /// Time per transaction.
    pub tx_latency_ns: Percentiles,
    /// Block reads per second over the device's rate on the same blocks; median.
    pub device_fraction: Option<f64>,
    /// Time over the time of the base variant that the cell names; median of the rounds.
    pub time_ratio: Option<f64>,
}

/// A spread in two parts, as standard deviations of logarithms: 0.02 is about 2 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Deviation of the part that all samples of a database have in common; 0 where the databases
    /// differ no more than chance explains on average.
    pub between: f64,
    /// Deviation of the samples within one database.
    pub within: f64,
    /// Probability of databases this far apart if they do not differ; `null` where all samples are
    /// equal.
    pub between_p: Option<f64>,
    /// Share of a sample's variance that is between databases; `null` where there is no variance.
    pub between_share: Option<f64>,
}

impl Spread {
    /// Estimates the spread of positive values by database. `None` below three databases, and where
    /// no database has two values.
    pub(crate) fn estimate(by_database: &[Vec<f64>]) -> Option<Self> {
        let logs: Vec<Vec<f64>> =
            by_database.iter().map(|values| values.iter().map(|v| v.ln()).collect()).collect();
        let stats::Components { between_variance, within_variance, p } = stats::components(&logs)?;
        let share = between_variance / (between_variance + within_variance);
        Some(Self {
            between: between_variance.sqrt(),
            within: within_variance.sqrt(),
            between_p: p,
            between_share: share.is_finite().then_some(share),
        })
    }
}
