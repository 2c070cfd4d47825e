//! The errors of engines: a read without a value, a rejected list, an execution without a result.

use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use revm::context::DBErrorMarker;
use workload::{BlockAccessIndex, list::ListError};

use crate::{
    error::StoreError,
    process,
    received::{BlockFault, ReceivedError},
    root::RootError,
    single_flight::Cancelled,
    store::ReadCounters,
};

/// A read that gave no value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ViewError {
    /// The list does not declare the account.
    #[error("account {0} is read and not in the list")]
    UndeclaredAccount(Address),
    /// The list does not declare the slot.
    #[error("slot {key:#x} of {address} is read and not in the list")]
    UndeclaredSlot {
        /// Address of the slot's account.
        address: Address,
        /// The slot.
        key: U256,
    },
    /// The state has no code with this hash.
    #[error("no code with hash {0} in the state")]
    MissingCode(B256),
    /// The bytes of a code are invalid, such as an incomplete delegation (EIP-7702).
    #[error("invalid bytecode with hash {hash}: {reason}")]
    InvalidCode {
        /// Hash of the code.
        hash: B256,
        /// The defect.
        reason: String,
    },
    /// BLOCKHASH of a block whose hash the workload does not carry.
    #[error("the workload has no hash of block {0}")]
    MissingBlockHash(u64),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run was cancelled while this read waited.
    #[error("cancelled")]
    Cancelled,
}

impl ViewError {
    /// Returns whether the list is at fault: a step reads a key that the list does not declare.
    pub const fn is_undeclared(&self) -> bool {
        matches!(self, Self::UndeclaredAccount(_) | Self::UndeclaredSlot { .. })
    }
}

impl DBErrorMarker for ViewError {}

impl From<Cancelled> for ViewError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Reason why a list is rejected.
#[derive(Debug, thiserror::Error)]
pub enum ListFault {
    /// The list's hash is not that of the header.
    #[error("its hash is {got}, and the header has {header}")]
    WrongHash {
        /// Keccak-256 of the list's bytes.
        got: B256,
        /// The hash in the header.
        header: B256,
    },
    /// The bytes are not a list, or exceed the bounds of a list.
    #[error("the list cannot be read: {0}")]
    Malformed(#[from] ListError),
    /// The variant's list form has changes only, and this list has more.
    #[error("account {0}: the list has more than changes, and its form has changes only")]
    MoreThanChanges(Address),
    /// The remaining steps cannot touch all declared slots that no step has touched yet (EIP-7928).
    #[error(
        "no step has touched {untouched_count} declared slots yet, and the remaining gas pays for \
         {payable_count} at most"
    )]
    Infeasible {
        /// Number of declared slots that no step has touched.
        untouched_count: u64,
        /// Maximal number of slots that the remaining steps can touch with their gas.
        payable_count: u64,
    },
    /// A value of a full list differs from the value in the state before the batch.
    #[error("{what} is {state} in the state before the batch, and the list has {listed}")]
    WrongValue {
        /// The key.
        what: String,
        /// The value in the list.
        listed: String,
        /// The value in the store.
        state: String,
    },
    /// A step reads a key that is not declared.
    #[error("index {index}: {read}")]
    Undeclared {
        /// The step.
        index: BlockAccessIndex,
        /// The key.
        read: ViewError,
    },
    /// On the state that the list gives, a step is not valid.
    #[error("index {index}: not valid on the state that the list gives: {reason}")]
    InvalidStep {
        /// The step.
        index: BlockAccessIndex,
        /// The message of the EVM.
        reason: String,
    },
    /// A step wrote another value than the list has, or a key without a change in the list.
    #[error("index {index}: {what} became {got}, and the list has {listed}")]
    WrongChange {
        /// The step.
        index: BlockAccessIndex,
        /// The key and its field.
        what: String,
        /// The value that the step wrote.
        got: String,
        /// The value that the list has for the key at this index.
        listed: String,
    },
    /// The list has changes at an index whose step did not make them.
    #[error("index {index}: the list has {listed_count} changes and the step made {made_count}")]
    SurplusChanges {
        /// The step.
        index: BlockAccessIndex,
        /// Number of changes that the list has at the index.
        listed_count: usize,
        /// Number of changes that the step made, all of them in the list.
        made_count: usize,
    },
    /// No step touched a declared account.
    #[error("account {0} is in the list, and no step touched it")]
    SurplusAccount(Address),
    /// No step touched a declared slot.
    #[error("slot {key:#x} of {address} is in the list, and no step touched it")]
    SurplusSlot {
        /// Address of the slot's account.
        address: Address,
        /// The slot.
        key: U256,
    },
}

/// An execution without a result.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The list is rejected.
    #[error("batch {batch}: list rejected: {fault}")]
    List {
        /// 0-based index of the batch.
        batch: usize,
        /// The reason.
        fault: ListFault,
        /// Cost of the execution up to the rejection.
        spent: Box<Spent>,
    },
    /// A step is not valid, or a read of it failed, and no list is at fault.
    #[error("batch {batch}, index {index}: {reason}")]
    Step {
        /// 0-based index of the batch.
        batch: usize,
        /// The step.
        index: BlockAccessIndex,
        /// The reason.
        reason: String,
    },
    /// A block is rejected by its bytes, its signatures or its header.
    #[error("batch {batch}, block {block}: rejected: {fault}")]
    Block {
        /// 0-based index of the batch.
        batch: usize,
        /// 0-based index of the block in the batch.
        block: usize,
        /// The reason.
        fault: BlockFault,
    },
    /// There is no state root.
    #[error("batch {batch}: no state root: {reason}")]
    Root {
        /// 0-based index of the batch.
        batch: usize,
        /// The reason.
        reason: String,
    },
    /// A shard of execution ended, hangs, or sends invalid messages.
    #[error("batch {batch}: {shard}: {reason}")]
    Shard {
        /// 0-based index of the batch.
        batch: usize,
        /// Name of the shard.
        shard: String,
        /// The reason.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The user interrupted the execution, or another thread failed.
    #[error("cancelled")]
    Cancelled,
}

/// Cost of an execution that ended with a rejected list. All fields are zero if the list was
/// rejected outside any clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Time from the start of the clock until all threads had stopped.
    pub wall: Duration,
    /// Counters of the process in that time.
    pub process: process::Activity,
    /// Counts of the reads of the store.
    pub counters: ReadCounters,
}

impl EngineError {
    /// Makes the error of a rejected list of the batch at `batch`.
    pub fn rejected(batch: usize, fault: impl Into<ListFault>) -> Self {
        Self::List { batch, fault: fault.into(), spent: Box::default() }
    }

    /// Returns the step that failed, if the error names a step.
    pub const fn step_index(&self) -> Option<BlockAccessIndex> {
        match self {
            Self::Step { index, .. } => Some(*index),
            Self::List { fault, .. } => match fault {
                ListFault::Undeclared { index, .. }
                | ListFault::InvalidStep { index, .. }
                | ListFault::WrongChange { index, .. }
                | ListFault::SurplusChanges { index, .. } => Some(*index),
                ListFault::WrongHash { .. }
                | ListFault::Malformed(_)
                | ListFault::MoreThanChanges(_)
                | ListFault::Infeasible { .. }
                | ListFault::WrongValue { .. }
                | ListFault::SurplusAccount(_)
                | ListFault::SurplusSlot { .. } => None,
            },
            Self::Block { .. }
            | Self::Root { .. }
            | Self::Shard { .. }
            | Self::Store(_)
            | Self::Cancelled => None,
        }
    }

    /// Makes the error of a root that could not be computed, of the batch at `batch`.
    pub(crate) fn of_root(batch: usize, error: RootError) -> Self {
        match error {
            RootError::Store(error) => Self::Store(error),
            RootError::Cancelled => Self::Cancelled,
            error @ (RootError::NoTries
            | RootError::NoList
            | RootError::Shards(_)
            | RootError::List(_)
            | RootError::Trie(_)) => Self::Root { batch, reason: error.to_string() },
        }
    }

    /// Makes the error of a rejected block of the batch at `batch`, or of cancelled duties.
    pub(super) fn of_received(batch: usize, error: ReceivedError) -> Self {
        match error {
            ReceivedError::Rejected { block, fault } => Self::Block { batch, block, fault },
            ReceivedError::Cancelled => Self::Cancelled,
        }
    }

    /// Adds the cost, if this is the error of a rejected list.
    pub(super) fn spending(mut self, add: impl FnOnce(&mut Spent)) -> Self {
        if let Self::List { spent, .. } = &mut self {
            add(spent);
        }
        self
    }

    /// Makes the error of a failed read at a step, which is not the list's fault.
    pub(super) fn of_read(batch: usize, index: BlockAccessIndex, error: ViewError) -> Self {
        match error {
            ViewError::Store(error) => Self::Store(error),
            ViewError::Cancelled => Self::Cancelled,
            other => Self::Step { batch, index, reason: other.to_string() },
        }
    }
}
