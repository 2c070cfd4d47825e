//! Blocks as RLP: header, transactions, ommers, withdrawals and, as go-ethereum exports chains, the
//! block-level access list behind them.

use alloy_consensus::Header;
use alloy_primitives::Bytes;
use alloy_rlp::{Decodable, Error};

use super::{ImportError, header::Body, node::Node, read};

/// The parts of a block.
pub(super) struct RlpBlock {
    pub(super) header: Header,
    pub(super) body: Body,
    /// The list behind the withdrawals, where there is one.
    pub(super) list: Option<Bytes>,
}

/// The block whose RLP is the text at `node`, on chain `chain_id`.
pub(super) fn decode(node: &Node<'_>, chain_id: u64) -> Result<RlpBlock, ImportError> {
    let bytes = node.bytes()?;
    let mut rest = bytes.as_ref();
    let mut items = list(&mut rest).map_err(|e| fault(node, "the block", e))?;
    if !rest.is_empty() {
        return Err(fault(node, "the block", Error::Custom("bytes follow it")));
    }
    let header = Header::decode(&mut items).map_err(|e| fault(node, "its header", e))?;
    let transactions = list(&mut items).map_err(|e| fault(node, "its transactions", e))?;
    let transactions = read::decoded_transactions(node, transactions, chain_id)?;
    let ommers = list(&mut items).map_err(|e| fault(node, "its ommers", e))?;
    if !ommers.is_empty() {
        return Err(fault(node, "its ommers", Error::Custom("blocks since the Merge have none")));
    }
    let withdrawals = Vec::decode(&mut items).map_err(|e| fault(node, "its withdrawals", e))?;
    let withdrawals = read::Withdrawals::of(&withdrawals);
    let list = (!items.is_empty()).then(|| Bytes::copy_from_slice(items));
    Ok(RlpBlock { header, body: Body { transactions, withdrawals }, list })
}

/// The value at `node` has an error in `what` of the block.
fn fault(node: &Node<'_>, what: &str, error: Error) -> ImportError {
    node.fault(format!(
        "the RLP of a block: header, transactions, ommers, withdrawals; {what}: {error}"
    ))
}

fn list<'a>(from: &mut &'a [u8]) -> alloy_rlp::Result<&'a [u8]> {
    alloy_rlp::Header::decode_bytes(from, true)
}
