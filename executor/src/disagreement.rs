//! Faults that the checks of a sample find (`sample.rs`, `root/check.rs`): in its outcome, its
//! list, its roots, or the state after it.

use alloy_primitives::B256;
use workload::outcome::TxOutcome;

/// First difference that a check of a sample found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// A transaction has another outcome than in the reference.
    #[error("batch {batch}, transaction {tx_index}{by}: expected {expected:?}, got {got:?}")]
    Outcome {
        /// 0-based index of the batch.
        batch: usize,
        /// 0-based index of the transaction in the batch.
        tx_index: usize,
        /// A comma and the shard that executed the transaction; empty without shards.
        by: String,
        /// Outcome by the reference.
        expected: Option<TxOutcome>,
        /// Outcome by this execution.
        got: Option<TxOutcome>,
    },
    /// The net changes of the state are not those of the reference.
    #[error("batch {batch}: net changes digest to {got}, the reference's to {expected}")]
    NetChanges {
        /// 0-based index of the batch.
        batch: usize,
        /// Digest by the reference.
        expected: B256,
        /// Digest by this execution.
        got: B256,
    },
    /// A decoded block differs from the executed one.
    #[error("batch {batch}, block {block}: {reason}")]
    Decoded {
        /// 0-based index of the batch.
        batch: usize,
        /// 0-based index of the block in the batch.
        block: usize,
        /// The difference.
        reason: String,
    },
    /// The list differs from the one that execution in order makes.
    #[error("batch {batch}: the list is not the one that execution in order makes: {difference}")]
    List {
        /// 0-based index of the batch.
        batch: usize,
        /// First difference.
        difference: String,
    },
    /// The state root is wrong.
    #[error("batch {batch}: state root {got}, and a walk over the state comes to {expected}")]
    Root {
        /// 0-based index of the batch.
        batch: usize,
        /// Root by a walk over the state.
        expected: B256,
        /// Root by this execution.
        got: B256,
    },
    /// The stored tries of the state are wrong.
    #[error("the tries of the state are wrong: {0}")]
    Tries(String),
    /// The store returns another value than the committed one.
    #[error("after the commit, {what} reads as {got}, and {expected} was written")]
    ReadBack {
        /// Name of the key.
        what: String,
        /// The committed value.
        expected: String,
        /// A fresh reader's value.
        got: String,
    },
}
