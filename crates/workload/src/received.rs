//! Blocks as a client receives them.

use alloy_primitives::{B256, Bytes};

/// A block as its bytes. The header names the workload's own parent hash and no state root: blocks are
/// no chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedBlock {
    /// RLP of header, signed transactions, ommers and withdrawals.
    pub rlp: Bytes,
    /// Hash of the header, as whoever sends the block names it.
    pub hash: B256,
}
