//! Blocks from their bytes.

use alloy_consensus::{Block, EthereumTxEnvelope, TxEip4844};
use alloy_rlp::Decodable;
use workload::ReceivedBlock;

use super::fault::BlockFault;

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
