//! Blocks from their bytes, and the reasons for rejecting one.

use alloy_consensus::{Block, EthereumTxEnvelope, TxEip4844};
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use workload::ReceivedBlock;

/// A signed transaction; a blob transaction without its sidecar.
pub(super) type Envelope = EthereumTxEnvelope<TxEip4844>;

/// Decodes one block; no byte may be left over.
pub(super) fn decode(received: &ReceivedBlock) -> Result<Block<Envelope>, BlockFault> {
    let mut bytes = received.rlp.as_ref();
    let block = Block::decode(&mut bytes);
    let block = block.map_err(|error| BlockFault::Malformed { reason: error.to_string() })?;
    match bytes.len() {
        0 => Ok(block),
        more => Err(BlockFault::Malformed { reason: format!("{more} bytes follow it") }),
    }
}

/// The reason for rejecting a block by its bytes, its signatures or its header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockFault {
    /// The bytes do not decode to a block.
    #[error("its bytes are no block: {reason}")]
    Malformed {
        /// The message of the decoder.
        reason: String,
    },
    /// A signature from which no signer can be recovered.
    #[error("transaction {tx_index}: its signature is invalid: {reason}")]
    Signature {
        /// 0-based index of the transaction in the block.
        tx_index: usize,
        /// The fault.
        reason: String,
    },
    /// A field of the header differs from the block or from its outcome.
    #[error("its header has the {field} {header}, and it is {got}")]
    Field {
        /// Name of the field in the yellow paper and EIPs.
        field: &'static str,
        /// The value in the header.
        header: String,
        /// Value by the block and its execution.
        got: String,
    },
    /// The header's hash differs from the hash that was sent with the block.
    #[error("its header's hash is {got}, and it was sent as {given}")]
    Hash {
        /// The hash of the header.
        got: B256,
        /// The hash that came with it.
        given: B256,
    },
}
