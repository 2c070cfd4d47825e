//! The result of `stress limit`: block gas limits that keep a deadline (`stress.limit/1`, explained
//! in `docs/sweep.md`). Gas is counted as in the headers of blocks. `src/limit/` fills it.

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
    /// Position of a safe limit among the tried limits.
    pub enum Place: "place of a limit" {
        /// Below the smallest tried limit: even a block of that limit may miss the deadline.
        Below = "below",
        /// Between the smallest and the largest tried limit.
        Within = "within",
        /// Above the largest tried limit: all blocks of that limit keep the deadline.
        Above = "above",
    }
}

/// The whole result of `stress limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitResult {
    /// Name and version of this format.
    pub schema: LimitSchema,
    /// The program that measured.
    pub tool: Tool,
    /// The command line, to repeat the measurement.
    pub command: Vec<String>,
    /// Start of the measurement, seconds since 1970.
    pub started_unix_s: u64,
    /// The machine.
    pub environment: Environment,
    /// Longest allowed time of a whole block.
    pub deadline_ns: u64,
    /// The target limit: `price_factor` is the factor for a block of this limit.
    pub target_gas: u64,
    /// Number of slots of the state that are requested for each load with storage.
    pub slot_count: u64,
    /// The store of all runs.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// The limits to try, ascending. Each design runs at the first two, then where its line expects
    /// the deadline. If the line expects it above them all, the design runs at the largest at once.
    pub tried_gas: Vec<u64>,
    /// The loads; the load with the smallest safe limit comes first.
    pub loads: Vec<LoadLimits>,
    /// The result in one sentence.
    pub answer: String,
}

/// The safe limits of one load, one for each design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadLimits {
    /// Name of the load's scenario.
    pub scenario: String,
    /// The operation that fills the load's blocks.
    pub operation: String,
    /// Gas of a block per operation, with all other gas of the block.
    pub gas_per_operation: f64,
    /// Expected distinct blocks of the store's files per present key, for random keys and a block
    /// of the load's largest `limit_gas`. `null` for a store without blocks of files, and for a
    /// load without sized slots.
    pub blocks_per_present_key: Option<f64>,
    /// Number of slots of a state with which `blocks_per_present_key` would be 0.9; `null` where it
    /// is 0.9 or more.
    pub wanted_slot_count: Option<u64>,
    /// Reason why the larger limits could not be tried; `null` if they could.
    pub ended: Option<String>,
    /// The designs, in the requested order.
    pub designs: Vec<DesignLimit>,
}

/// The safe limit of one load in one design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesignLimit {
    /// The design.
    #[serde(with = "Name::<Design>")]
    pub design: Design,
    /// Position of the safe limit among the tried limits; `null` where no line fits the times.
    #[serde(with = "NameOrNull::<Place>")]
    pub place: Option<Place>,
    /// The safe limit: every block below it keeps the deadline. Outside of the tried limits, the
    /// nearest tried limit.
    pub limit_gas: Option<u64>,
    /// Half of the uncertain range: from the safe limit to the gas whose expected time is the
    /// deadline. `null` outside of the tried limits, and where no line rises.
    pub half_width_gas: Option<u64>,
    /// Factor on the operation's gas with which a block of the target limit would keep the
    /// deadline.
    pub price_factor: Option<f64>,
    /// Time that each further operation adds to a block.
    pub ns_per_operation: Option<f64>,
    /// 95 % confidence interval of `ns_per_operation`.
    pub ns_per_operation_ci95: Option<[f64; 2]>,
    /// Gas that a block can execute in each further microsecond.
    pub gas_per_us: Option<f64>,
    /// 95 % confidence interval of `gas_per_us`.
    pub gas_per_us_ci95: Option<[f64; 2]>,
    /// All blocks that ran, by ascending gas. The line goes through those near the deadline.
    pub blocks: Vec<LimitBlock>,
    /// The last run at a gas that a line gave, if the final line expects the deadline near it.
    /// `null` without such a run.
    pub check: Option<LimitCheck>,
}

/// Whole blocks of a design at one block gas limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitBlock {
    /// Gas limit of the headers.
    pub limit_gas: u64,
    /// Gas used, by the headers.
    pub header_gas: u64,
    /// Wall times of whole blocks, one for each sample after the warm-up.
    pub block_ns: Vec<u64>,
}

/// A run where a line expected the deadline, and the prediction of its time by the other runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitCheck {
    /// Gas used, by the header.
    pub header_gas: u64,
    /// Median time of the run's blocks.
    pub median_ns: u64,
    /// 95 % prediction interval for the time of one block.
    pub predicted_ns: [f64; 2],
}

impl LimitCheck {
    /// Returns whether the median lies in the predicted interval.
    pub fn holds(&self) -> bool {
        let [low, high] = self.predicted_ns;
        (low..=high).contains(&(self.median_ns as f64))
    }
}

impl LoadLimits {
    /// Returns the design with the smallest safe limit. If all safe limits are above the tried
    /// limits, the slowest design.
    pub fn worst(&self) -> Option<&DesignLimit> {
        self.designs.iter().min_by(|a, b| a.order(b))
    }
}

impl DesignLimit {
    /// Compares two designs: the smaller safe limit comes first. Of two limits above all tried
    /// limits, the design with less gas a microsecond comes first. Unknown limits come last.
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |design: &Self| (design.place.is_none(), design.place, design.limit_gas);
        let pace = |design: &Self| design.gas_per_us.unwrap_or(f64::INFINITY);
        key(self).cmp(&key(other)).then(pace(self).total_cmp(&pace(other)))
    }
}
