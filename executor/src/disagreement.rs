//! Where a sample is wrong: its result, its list, its roots, or the state that it leaves.

use alloy_primitives::B256;
use workload::outcome::TxOutcome;

/// Where a result is not the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// A transaction ended otherwise.
    #[error("batch {batch}, transaction {tx_index}{by}: expected {expected:?}, got {got:?}")]
    Outcome {
        /// 0-based place of the batch.
        batch: usize,
        /// 0-based place of the transaction in the batch.
        tx_index: usize,
        /// The shard that ran it, after a comma; empty without shards.
        by: String,
        /// The reference's.
        expected: Option<TxOutcome>,
        /// This execution's.
        got: Option<TxOutcome>,
    },
    /// The state changed otherwise.
    #[error("batch {batch}: net changes digest to {got}, the reference's to {expected}")]
    NetChanges {
        /// 0-based place of the batch.
        batch: usize,
        /// The reference's.
        expected: B256,
        /// This execution's.
        got: B256,
    },
    /// A block was decoded otherwise.
    #[error("batch {batch}, block {block}: {reason}")]
    Decoded {
        /// 0-based place of the batch.
        batch: usize,
        /// 0-based place of the block in the batch.
        block: usize,
        /// The difference.
        reason: String,
    },
    /// The list is not the one that execution in order makes.
    #[error("batch {batch}: the list is not the one that execution in order makes: {difference}")]
    List {
        /// 0-based place of the batch.
        batch: usize,
        /// Where they part.
        difference: String,
    },
    /// The state root is wrong.
    #[error("batch {batch}: state root {got}, and a walk over the state comes to {expected}")]
    Root {
        /// 0-based place of the batch.
        batch: usize,
        /// By the walk.
        expected: B256,
        /// This execution's.
        got: B256,
    },
    /// The tries of the state below are wrong.
    #[error("the tries of the state are wrong: {0}")]
    Tries(String),
    /// The store holds something else than was committed.
    #[error("after the commit, {what} reads as {got}, and {expected} was written")]
    ReadBack {
        /// Which key.
        what: String,
        /// The committed value.
        expected: String,
        /// A fresh reader's value.
        got: String,
    },
}
