//! `stress limit`: the block gas limits that keep a deadline (`stress.limit/1`, explained in
//! `docs/sweep.md`). Gas is counted as in headers.

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
    /// Position of a limit among the tried limits.
    pub enum Place: "place of a limit" {
        /// Even a block of the smallest tried limit may miss the deadline.
        Below = "below",
        /// Between the smallest and the largest tried limit.
        Within = "within",
        /// Blocks of the largest tried limit keep the deadline.
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
    /// The target limit, to which `price_factor` refers.
    pub target_gas: u64,
    /// Slots of the state that are requested for each load with storage.
    pub slot_count: u64,
    /// The store.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// The limits to try, ascending. A design that misses the deadline tries no larger limit.
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
    /// The operation that fills the load's blocks.
    pub operation: String,
    /// Gas of a block per operation, other gas included.
    pub gas_per_operation: f64,
    /// Expected distinct blocks of the store's files per present key, for random keys and a block
    /// at the load's largest `limit_gas`; `null` for a store without blocks of files, and for a
    /// load without sized slots.
    pub blocks_per_present_key: Option<f64>,
    /// Slots of a state on which `blocks_per_present_key` is 0.9; `null` where it is 0.9 or more.
    pub wanted_slot_count: Option<u64>,
    /// Reason why larger limits were not tried.
    pub ended: Option<String>,
    /// The designs, in the requested order.
    pub designs: Vec<DesignLimit>,
}

/// The limit of one load in one design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesignLimit {
    /// The design.
    #[serde(with = "Name::<Design>")]
    pub design: Design,
    /// Position of the limit among the tried limits; `null` where no line fits the times.
    #[serde(with = "NameOrNull::<Place>")]
    pub place: Option<Place>,
    /// The limit below which a block keeps the deadline. Outside of the tried limits, the nearest
    /// tried limit.
    pub limit_gas: Option<u64>,
    /// Distance from the limit to the gas whose expected time is the deadline; `null` outside of the tried limits.
    pub half_width_gas: Option<u64>,
    /// Factor on the operation's gas with which a block of the target limit keeps the deadline.
    pub price_factor: Option<f64>,
    /// Time that each further operation adds to a block.
    pub ns_per_operation: Option<f64>,
    /// 95 % confidence interval of `ns_per_operation`.
    pub ns_per_operation_ci95: Option<[f64; 2]>,
    /// Gas that a block executes in each further microsecond.
    pub gas_per_us: Option<f64>,
    /// 95 % confidence interval of `gas_per_us`.
    pub gas_per_us_ci95: Option<[f64; 2]>,
    /// The blocks behind the limit, by ascending gas.
    pub blocks: Vec<LimitBlock>,
    /// A run near the limit beside the prediction; `null` without such a run.
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
    /// Median time of the run's blocks.
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
    /// The design with the smallest limit. If all limits are above the tried ones, the slowest
    /// design.
    pub fn worst(&self) -> Option<&DesignLimit> {
        self.designs.iter().min_by(|a, b| a.order(b))
    }
}

impl DesignLimit {
    /// Compares limits: the smaller limit comes first. Of two limits above all tried ones, the
    /// design with less gas a microsecond comes first. Unknown limits are last.
    pub fn order(&self, other: &Self) -> Ordering {
        let [own, others] = [self, other].map(|of| (of.place.is_none(), of.place, of.limit_gas));
        let [pace, others_pace] = [self, other].map(|of| of.gas_per_us.unwrap_or(f64::INFINITY));
        own.cmp(&others).then(pace.total_cmp(&others_pace))
    }
}
