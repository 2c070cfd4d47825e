//! Blocks from their bytes, and the reasons for rejecting one.

use alloy_consensus::{Block, EthereumTxEnvelope, TxEip4844};
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use workload::ReceivedBlock;

/// A signed transaction; a blob transaction without its sidecar.
pub(super) type Envelope = EthereumTxEnvelope<TxEip4844>;

/// Decodes one block, of which no byte may be left.
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
    /// Its bytes are no block.
    #[error("its bytes are no block: {reason}")]
    Malformed {
        /// The message of the decoder.
        reason: String,
    },
    /// A signature from which nobody can be recovered.
    #[error("transaction {tx_index}: its signature is invalid: {reason}")]
    Signature {
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// The fault.
        reason: String,
    },
    /// A field of the header is not that of the block or of its outcome.
    #[error("its header has the {field} {header}, and it is {got}")]
    Field {
        /// The field in the words of the yellow paper and EIPs.
        field: &'static str,
        /// The value in the header.
        header: String,
        /// The value that the block and its execution come to.
        got: String,
    },
    /// The header has another hash than whoever sent the block says.
    #[error("its header's hash is {got}, and it was sent as {given}")]
    Hash {
        /// The hash of the header.
        got: B256,
        /// The hash that came with it.
        given: B256,
    },
}
