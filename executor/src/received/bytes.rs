//! Decodes received blocks from their bytes. Defines the reasons to reject a received block.

use alloy_consensus::{Block, EthereumTxEnvelope, TxEip4844};
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use workload::ReceivedBlock;

/// A signed transaction, without the sidecar of a blob transaction, as in a block.
pub(super) type Envelope = EthereumTxEnvelope<TxEip4844>;

/// Decodes a block. Fails if bytes follow the block.
pub(super) fn decode(received: &ReceivedBlock) -> Result<Block<Envelope>, BlockFault> {
    let mut bytes = received.rlp.as_ref();
    let block = Block::decode(&mut bytes);
    let block = block.map_err(|error| BlockFault::Malformed { reason: error.to_string() })?;
    match bytes.len() {
        0 => Ok(block),
        more => Err(BlockFault::Malformed { reason: format!("{more} bytes follow it") }),
    }
}

/// Reason why a received block is rejected: its bytes, a signature or its header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockFault {
    /// The bytes do not decode to a block.
    #[error("its bytes are not a block: {reason}")]
    Malformed {
        /// The message of the decoder.
        reason: String,
    },
    /// No signer can be recovered from a signature.
    #[error("transaction {tx_index}: its signature is invalid: {reason}")]
    Signature {
        /// 0-based index of the transaction in the block.
        tx_index: usize,
        /// The reason of the recovery's failure.
        reason: String,
    },
    /// A field of the header differs from the block or from the outcome of its execution.
    #[error("its header has the {field} {header}, and it is {got}")]
    Field {
        /// Name of the field, as in the yellow paper and the EIPs.
        field: &'static str,
        /// The value in the header.
        header: String,
        /// The value according to the block or its execution.
        got: String,
    },
    /// The header's hash differs from the hash that was sent with the block.
    #[error("its header's hash is {got}, and it was sent as {given}")]
    Hash {
        /// The hash of the header.
        got: B256,
        /// The hash that was sent with the block.
        given: B256,
    },
}
