//! Parts of sealing that all blocks of a chain have in common: signatures, and the bound of a block's length.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_rlp::Encodable;
use rayon::prelude::*;
use workload::{
    rules::MAX_RLP_BLOCK_BYTES,
    signing::{SignError, Signer},
};

use super::{block::ChainBlock, error::ExportError};
use crate::{
    envelope::{Envelope, envelope},
    reference::ReferenceError,
};

/// The transactions of `block`, signed for a chain on all threads of rayon, until `cancel` is set.
pub(super) fn signed(
    block: &workload::Block,
    chain_id: u64,
    signer: &Signer,
    cancel: &AtomicBool,
) -> Result<Vec<Envelope>, ExportError> {
    let number = block.env.number;
    let sign = |(tx_index, tx)| {
        if cancel.load(Ordering::Relaxed) {
            return Err(ReferenceError::Cancelled.into());
        }
        let signatures = signer.sign(tx, chain_id).map_err(|error| match error {
            SignError::UnknownSecret(account) => {
                ExportError::UnknownSecret { block: number, tx_index, account }
            }
            SignError::Invalid(reason) => ExportError::Sign { block: number, tx_index, reason },
        })?;
        Ok(envelope(tx, Some(chain_id), &signatures))
    };
    block.transactions.par_iter().enumerate().map(sign).collect()
}

/// Refuses a block that is too long for clients.
pub(super) fn check_length(sealed: &ChainBlock) -> Result<(), ExportError> {
    let (block, bytes) = (sealed.block.header.number, sealed.block.length());
    match bytes > MAX_RLP_BLOCK_BYTES {
        true => Err(ExportError::BlockTooLarge { block, bytes, most_bytes: MAX_RLP_BLOCK_BYTES }),
        false => Ok(()),
    }
}
