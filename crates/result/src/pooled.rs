//! The figures of a run on several databases: of each, and of all of them as one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    facts::{Device, StoreFacts, WorkloadFacts},
    figures::{Counters, Estimate, Percentiles},
    stats,
};

/// A database of a run on several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseFacts {
    /// The workload generated for it; its seed is the database's.
    pub workload: WorkloadFacts,
    /// The device under it, as it was then.
    pub device: Option<Device>,
    /// Its stores.
    pub stores: Vec<StoreFacts>,
}

/// The parts of a pooled cell of a run on several databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellDatabases {
    /// Each database, in the order of the run; the cell's samples are in the same order.
    pub each: Vec<OfDatabase>,
    /// The least and the largest of the databases' throughputs.
    pub mgas_per_s_range: Option<[f64; 2]>,
    /// The least and the largest of the databases' times.
    pub ms_per_batch_range: Option<[f64; 2]>,
    /// How far samples' times lie apart, and how much of that is the databases'.
    pub time_spread: Option<Spread>,
    /// The variant whose time the ratio is over: the first of the same store.
    pub time_ratio_over: String,
    /// This variant's time over that one's, over the databases' ratios.
    pub time_ratio: Estimate,
    /// The least and the largest of the databases' ratios.
    pub time_ratio_range: Option<[f64; 2]>,
    /// The spread of the ratios round by round.
    pub time_ratio_spread: Option<Spread>,
}

/// A cell on one database: its figures are over its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfDatabase {
    /// The database's seed.
    pub seed: u64,
    /// Samples that were taken on it.
    pub sample_count: u64,
    /// The first of them that belong to the warm-up; `null` where it is not known where it ends.
    pub warm_up_sample_count: Option<u64>,
    /// The exact counters of every sample of it.
    pub counters: Option<Counters>,
    /// Gas per second.
    pub mgas_per_s: Estimate,
    /// Milliseconds per batch.
    pub ms_per_batch: Estimate,
    /// Time per transaction.
    pub tx_latency_ns: Percentiles,
    /// Block reads per second over the device's rate on the same blocks; median.
    pub device_fraction: Option<f64>,
    /// Time over that of the variant which the cell names, median of the rounds.
    pub time_ratio: Option<f64>,
}

/// A spread in two parts, as standard deviations of logarithms: 0.02 is about 2 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Of the part that all samples of a database have in common; 0 where the databases lie no
    /// further apart than chance puts them on average.
    pub between: f64,
    /// Of the samples of one database.
    pub within: f64,
    /// How probable databases so far apart are where they do not differ; `null` where no sample
    /// differs from another.
    pub between_p: Option<f64>,
    /// Share of the variance of a sample that is between databases; `null` where there is none.
    pub between_share: Option<f64>,
}

impl Spread {
    /// Estimates the spread of positive values by database. `None` below three databases, and where none has two
    /// values.
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
