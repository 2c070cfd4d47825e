//! Errors of the reference run, and of its comparison with a workload. Every error names its place
//! in the workload.

use alloy_primitives::Address;
use evm::{BlockGas, DepositFault, StepError};
use revm::database_interface::bal::EvmDatabaseError;
use workload::{BlockAccessIndex, BlockFault, StepKind, WorkloadError};

use super::planned::PlanError;

/// A reason why a workload has no reference, or why its outcome is not the reference's.
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
        /// The step's block access index.
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
        /// The transaction's gas limit.
        tx_gas_limit: u64,
        /// The block's gas limit.
        block_gas_limit: u64,
        /// Gas used by the transactions before this one.
        used: BlockGas,
    },
    /// A block breaks a rule that holds on any state.
    #[error("batch {batch}, block {block}: {source}")]
    Rule {
        /// The batch, 0-based.
        batch: usize,
        /// The block in the batch, 0-based.
        block: usize,
        /// The rule.
        source: BlockFault,
    },
    /// A transaction logs a deposit that makes its block invalid.
    #[error("batch {batch}, block {block}, {kind:?}: an invalid deposit (EIP-6110): {source}")]
    Deposit {
        /// The batch, 0-based.
        batch: usize,
        /// The block in the batch, 0-based.
        block: usize,
        /// The transaction.
        kind: StepKind,
        /// The fault of the log.
        source: DepositFault,
    },
    /// A transaction creates a contract at an address that has storage. EVMs of today's forks
    /// disagree on the outcome.
    #[error(
        "batch {batch}, block {block}, transaction {tx_index}: it creates a contract at \
         {address}, which has storage (EIP-7610); clients disagree on such a block, so it is not \
         run"
    )]
    CreationOnStorage {
        /// The batch, 0-based.
        batch: usize,
        /// The block in the batch, 0-based.
        block: usize,
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// The address.
        address: Address,
    },
    /// A transaction before Cancun (EIP-6780) removes a contract that has storage.
    #[error(
        "batch {batch}, block {block}, transaction {tx_index}: SELFDESTRUCT removes {address}, which \
         has storage; no block-level access list has a form for that (EIP-7928), so such a block is \
         not run"
    )]
    StorageRemoved {
        /// The batch, 0-based.
        batch: usize,
        /// The block in the batch, 0-based.
        block: usize,
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// The address.
        address: Address,
    },
    /// The list is longer than the gas limits of its blocks allow.
    #[error(
        "batch {batch}: the block-level access list has {item_count} accounts and slots, and a \
         gas limit of {gas_limit} allows {max_count}, with those of system calls (EIP-7928)"
    )]
    ListItems {
        /// The batch, 0-based.
        batch: usize,
        /// Number of accounts and slots in the list.
        item_count: u64,
        /// Sum of the gas limits of the list's blocks.
        gas_limit: u64,
        /// The most accounts and slots that the gas limits allow.
        max_count: u64,
    },
    /// The callback stopped the run.
    #[error("the reference run was stopped before its end")]
    Cancelled,
    /// The expected outcome of the workload differs from the reference.
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

impl ReferenceError {
    /// The message without the place in the workload, for callers that name the block themselves.
    pub(crate) fn reason(&self) -> String {
        let message = self.to_string();
        message.split_once(": ").map_or(message.clone(), |(_, reason)| reason.to_owned())
    }
}
