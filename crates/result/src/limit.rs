//! `stress limit`: the block gas limits that keep a deadline (`stress.limit/1`, explained in
//! `docs/sweep.md`). Gas is that of headers.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use variant::{Design, StoreKind};

use crate::{
    environment::Environment,
    named::{Name, NameOrNull},
    run::Tool,
    schema::schema,
};

schema! {
    /// The schema of a [`LimitResult`].
    SCHEMA: LimitSchema = "stress.limit/1"
}

variant::named! {
    /// Where a limit lies among those that were tried.
    pub enum Place: "place of a limit" {
        /// Already a block of the smallest limit may miss the deadline.
        Below = "below",
        /// Between them.
        Within = "within",
        /// Blocks of the largest limit keep the deadline.
        Above = "above",
    }
}

/// A whole result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitResult {
    /// Name and version of this format.
    pub schema: LimitSchema,
    /// The program.
    pub tool: Tool,
    /// The command line.
    pub command: Vec<String>,
    /// Start, seconds since 1970.
    pub started_unix_s: u64,
    /// The machine.
    pub environment: Environment,
    /// The deadline of a whole block.
    pub deadline_ns: u64,
    /// The limit that the factors of prices are for.
    pub target_gas: u64,
    /// Slots that the state of each load with storage is asked to have.
    pub slot_count: u64,
    /// The store.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// The limits to try, ascending. A design that misses the deadline tries no larger one.
    pub tried_gas: Vec<u64>,
    /// The loads, the smallest safe limit first.
    pub loads: Vec<LoadLimits>,
    /// The answer in one sentence.
    pub answer: String,
}

/// The limits of one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadLimits {
    /// The scenario.
    pub scenario: String,
    /// The operation that fills its blocks.
    pub operation: String,
    /// Gas of one, with all around it.
    pub gas_per_operation: f64,
    /// Distinct blocks of the store's files per present key, of random keys, in a block of the largest limit of its
    /// designs; `null` where the store has none.
    pub blocks_per_present_key: Option<f64>,
    /// Slots of a state on which that is 0.9; `null` where it is as much.
    pub wanted_slot_count: Option<u64>,
    /// Reason why larger limits were not tried.
    pub ended: Option<String>,
    /// The designs, as they were asked for.
    pub designs: Vec<DesignLimit>,
}

/// The limit of one load in one design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesignLimit {
    /// The design.
    #[serde(with = "Name::<Design>")]
    pub design: Design,
    /// Where the limit lies; `null` where the times make no line.
    #[serde(with = "NameOrNull::<Place>")]
    pub place: Option<Place>,
    /// The limit below which a block keeps the deadline; where it lies outside of the tried ones, the nearest of
    /// these.
    pub limit_gas: Option<u64>,
    /// Distance from the limit to the gas whose expected time is the deadline; `null` outside of the tried limits.
    pub half_width_gas: Option<u64>,
    /// Factor of the operation's gas with which a block of the target limit takes as long.
    pub price_factor: Option<f64>,
    /// Time that each further operation adds to a block.
    pub ns_per_operation: Option<f64>,
    /// Its 95 % confidence interval.
    pub ns_per_operation_ci95: Option<[f64; 2]>,
    /// Gas that a block gets done in each further microsecond.
    pub gas_per_us: Option<f64>,
    /// Its 95 % confidence interval.
    pub gas_per_us_ci95: Option<[f64; 2]>,
    /// The blocks behind it, by ascending gas.
    pub blocks: Vec<LimitBlock>,
    /// A run near the limit beside the prediction; `null` where none was made.
    pub check: Option<LimitCheck>,
}

/// Blocks of one limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitBlock {
    /// Limit of the header.
    pub limit_gas: u64,
    /// Gas of the header.
    pub header_gas: u64,
    /// Times of whole blocks.
    pub block_ns: Vec<u64>,
}

/// A run near a limit, and the prediction from smaller and larger blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitCheck {
    /// Gas of the header.
    pub header_gas: u64,
    /// Median time of its blocks.
    pub median_ns: u64,
    /// 95 % prediction interval of one block.
    pub predicted_ns: [f64; 2],
}

impl LimitCheck {
    /// Whether the median lies in the interval.
    pub fn holds(&self) -> bool {
        let [low, high] = self.predicted_ns;
        (low..=high).contains(&(self.median_ns as f64))
    }
}

impl LoadLimits {
    /// The design whose limit is the smallest; of limits above all that were tried the slowest.
    pub fn worst(&self) -> Option<&DesignLimit> {
        self.designs.iter().min_by(|a, b| a.order(b))
    }
}

impl DesignLimit {
    /// The order of limits: the smallest first; of those above all that were tried the one with least gas a
    /// microsecond. Unknown ones are last.
    pub fn order(&self, other: &Self) -> Ordering {
        let [own, others] = [self, other].map(|of| (of.place.is_none(), of.place, of.limit_gas));
        let [pace, others_pace] = [self, other].map(|of| of.gas_per_us.unwrap_or(f64::INFINITY));
        own.cmp(&others).then(pace.total_cmp(&others_pace))
    }
}
