//! Figures of a run on several databases: those of each database, and those that pool all
//! databases. Only types: `databases.rs` fills them.

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
    /// The workload that was generated for the database. Its seed is the seed of the database.
    pub workload: WorkloadFacts,
    /// The device below the database while its samples ran.
    pub device: Option<Device>,
    /// The stores that hold the database's state.
    pub stores: Vec<StoreFacts>,
}

/// The parts that only a pooled cell has: the figures on each database, and the spread between
/// databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellDatabases {
    /// The figures on each database, in the order of the run. The cell's samples have the same
    /// order.
    pub each: Vec<CellOnDatabase>,
    /// Lowest and highest median throughput of the databases.
    pub mgas_per_s_range: Option<[f64; 2]>,
    /// Lowest and highest median time of the databases.
    pub ms_per_batch_range: Option<[f64; 2]>,
    /// Spread of the times of samples, between databases and within them.
    pub time_spread: Option<Spread>,
    /// Name of the base variant of the time ratio: the first variant on the same store.
    pub time_ratio_over: String,
    /// This variant's time over that of the base variant, estimated from one ratio of each
    /// database.
    pub time_ratio: Estimate,
    /// Lowest and highest ratio of the databases.
    pub time_ratio_range: Option<[f64; 2]>,
    /// Spread of the ratios of single rounds, between databases and within them.
    pub time_ratio_spread: Option<Spread>,
}

/// A cell's figures on one database, over the samples on that database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellOnDatabase {
    /// Seed of the database.
    pub seed: u64,
    /// Number of samples on the database, with those of the warm-up.
    pub sample_count: u64,
    /// Number of warm-up samples at the start; `null` where the end of the warm-up is not known.
    pub warm_up_sample_count: Option<u64>,
    /// The exact counters that all samples on the database share.
    pub counters: Option<Counters>,
    /// Million gas per second.
    pub mgas_per_s: Estimate,
    /// Milliseconds per batch.
    pub ms_per_batch: Estimate,
    /// Time per transaction.
    pub tx_latency_ns: Percentiles,
    /// Block reads per second over the device's rate on the same blocks, at most 1; median.
    pub device_fraction: Option<f64>,
    /// This variant's time over that of the base variant, median over the rounds.
    pub time_ratio: Option<f64>,
}

/// Spread of a figure in two parts, as standard deviations of logarithms: 0.02 is about 2 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Deviation of the part that all samples on a database have in common; 0 where databases
    /// differ no more than chance explains on average.
    pub between: f64,
    /// Deviation of the samples on one database from each other.
    pub within: f64,
    /// Probability that databases would lie this far apart by chance, if they did not differ;
    /// `null` where all samples are equal.
    pub between_p: Option<f64>,
    /// Share of a sample's variance that is variance between databases; `null` without variance.
    pub between_share: Option<f64>,
}

impl Spread {
    /// Estimates the spread of positive values, given by database. `None` below three databases,
    /// and where no database has two values.
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
