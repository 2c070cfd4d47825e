//! Writes a chain as RLP, block after block from number 1 on, as clients import it (`geth import`).

use std::io::Write;

use alloy_rlp::Header;

use super::{block::ChainBlock, chain::Chain, error::ExportError};

/// Whether a block carries its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// No list, as blocks are sent over the network, where the list is sent apart.
    Without,
    /// The list as the last field, as go-ethereum exports and imports chains.
    With,
}

/// Writes the blocks, without siblings.
///
/// # Errors
/// Where writing fails.
pub fn rlp(chain: &Chain, lists: Lists, out: &mut impl Write) -> Result<(), ExportError> {
    chain.blocks.iter().try_for_each(|block| rlp_of(block, lists, out))
}

/// Writes one block.
///
/// # Errors
/// Where writing fails.
pub fn rlp_of(block: &ChainBlock, lists: Lists, out: &mut impl Write) -> Result<(), ExportError> {
    Ok(out.write_all(&encoded(block, lists))?)
}

/// A block as RLP.
pub(super) fn encoded(block: &ChainBlock, lists: Lists) -> Vec<u8> {
    let plain = alloy_rlp::encode(&block.block);
    let (Lists::With, Some(list)) = (lists, &block.list) else { return plain };
    let mut fields = plain.as_slice();
    let header = Header::decode(&mut fields).unwrap_or_else(|e| panic!("own RLP: {e}"));
    let payload_length = header.payload_length + list.len();
    let mut out = Vec::with_capacity(payload_length + 9);
    Header { list: true, payload_length }.encode(&mut out);
    out.extend_from_slice(fields);
    out.extend_from_slice(list);
    out
}
