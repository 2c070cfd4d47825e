//! Errors of exporting a workload.

use std::io;

use alloy_primitives::Address;
use workload::{ForkSchedule, RowError, senders::SenderError};

use crate::reference::ReferenceError;

/// A reason why a workload cannot be exported. Block numbers are the exported chain's, from 1 on.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The workload has no blocks.
    #[error("the workload has no blocks; nothing can be exported")]
    NoBlocks,
    /// The blocks have a fork that can only be imported, or more than one fork.
    #[error("blocks of {0} cannot be exported: all must be of one fork, osaka or later")]
    Fork(ForkSchedule),
    /// The secret of a signer is unknown.
    #[error(
        "block {block}, transaction {tx_index}: the secret of {account} is not known: only \
         generated senders can sign, so an imported workload cannot be exported"
    )]
    UnknownSecret {
        /// The block.
        block: u64,
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// The transaction's sender, or an account that delegates in the transaction.
        account: Address,
    },
    /// An invalid secret, or an imported transaction that cannot be decoded.
    #[error("block {block}, transaction {tx_index}: {reason}")]
    Sign {
        /// The block.
        block: u64,
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// The fault.
        reason: String,
    },
    /// A sender family without valid secrets.
    #[error(transparent)]
    Senders(#[from] SenderError),
    /// A block is larger than clients accept.
    #[error(
        "block {block} is {bytes} bytes as RLP, and clients accept {most_bytes} (EIP-7934); lower \
         block.gas or block.transactions"
    )]
    BlockTooLarge {
        /// The block.
        block: u64,
        /// Length of the block.
        bytes: usize,
        /// The largest valid length.
        most_bytes: usize,
    },
    /// The state is too large for a genesis in JSON.
    #[error(
        "the state has {row_count} accounts and slots, and {code_bytes} bytes of code; \
         genesis.json takes {most_row_count}, or {code_bytes_of_row} bytes of code in place of \
         one; add rows to --format, or lower state.slots or state.accounts"
    )]
    StateTooLarge {
        /// Number of accounts and slots.
        row_count: u64,
        /// Total length in bytes of the codes of all accounts.
        code_bytes: u64,
        /// The most accounts and slots that a `genesis.json` holds.
        most_row_count: u64,
        /// Number of bytes of code that count as one slot.
        code_bytes_of_row: u64,
    },
    /// The state cannot be grown by blocks.
    #[error(
        "--grow: {0}; leave --grow out, or export rows (--format engine,rows), which \
         tools/geth-fill reads"
    )]
    CannotGrow(String),
    /// The state cannot be hashed while it grows.
    #[error("the growing state has no root: {0}")]
    Trie(#[from] trie::Error),
    /// The chain id is too large.
    #[error("chain id {0} is too large for a signature (EIP-155); {most} at most", most = u64::MAX / 2 - 36)]
    ChainId(u64),
    /// The reference cannot run the blocks, or was stopped.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The state's rows cannot be made.
    #[error(transparent)]
    Rows(#[from] RowError),
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}
