//! Why a workload has no reference, or another than it says. Every error names its place.

use evm::{BlockGas, StepError};
use revm::database_interface::bal::EvmDatabaseError;
use workload::{BlockAccessIndex, StepKind, WorkloadError};

use super::planned::PlanError;

/// Why a workload has no reference, or another than it says.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The workload contradicts itself.
    #[error("the workload contradicts itself: {0}")]
    Inconsistent(#[from] WorkloadError),
    /// A plan does not fit the genesis or the blocks.
    #[error("batch {batch}: {source}")]
    Plan {
        /// The batch, 0-based.
        batch: usize,
        /// The fault.
        source: PlanError,
    },
    /// A step cannot be part of a valid block, or reads outside the plan.
    #[error("batch {batch}, block {block}, {kind:?} (index {index}): {source}")]
    Step {
        /// The batch, 0-based.
        batch: usize,
        /// The block in the batch, 0-based.
        block: usize,
        /// The step's kind.
        kind: StepKind,
        /// Its block access index.
        index: BlockAccessIndex,
        /// revm's error.
        source: Box<StepError<EvmDatabaseError<PlanError>>>,
    },
    /// A transaction asks for more gas than its block has left.
    #[error(
        "batch {batch}, block {block}, transaction {tx_index}: its gas limit {tx_gas_limit} is \
         more than the block of {block_gas_limit} has left after {used:?}"
    )]
    Admission {
        /// The batch, 0-based.
        batch: usize,
        /// The block in the batch, 0-based.
        block: usize,
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// Its gas limit.
        tx_gas_limit: u64,
        /// The block's gas limit.
        block_gas_limit: u64,
        /// Gas used by the transactions before it.
        used: BlockGas,
    },
    /// The callback asked to stop.
    #[error("the reference run was stopped before its end")]
    Cancelled,
    /// The workload says something else than the reference.
    #[error("batch {batch}: {part} of the workload differs from the reference: {detail}")]
    Differs {
        /// The batch, 0-based.
        batch: usize,
        /// The part that differs.
        part: &'static str,
        /// Both values, or the first place where they differ.
        detail: String,
    },
}
