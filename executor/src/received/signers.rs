//! Holds the decoded blocks of a batch, and recovers the signers of their transactions and
//! delegations on several threads, inside the clock. `recover.rs` measures the same work apart.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use alloy_consensus::{Block, Transaction as _};
use alloy_primitives::Address;
use workload::signing::Signature;

use super::bytes::{BlockFault, Envelope};
use crate::{
    lock::lock,
    recover::{Chunks, Curve},
};

/// Blocks of a batch, decoded from their bytes.
#[derive(Clone, Debug, Default)]
pub struct DecodedBlocks {
    pub(super) blocks: Arc<Vec<Block<Envelope>>>,
    /// The recovery of all signers; `None` if the variant has no such duty.
    pub(super) recovery: Option<Arc<Recovery>>,
}

/// The signers of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxSigners {
    /// Sender of the transaction.
    pub sender: Address,
    /// Authority of each delegation (EIP-7702); `None` if its signature is invalid, so that
    /// execution skips the tuple.
    pub authorities: Vec<Option<Address>>,
}

/// The recovery of a batch's signers, a job that threads share.
#[derive(Debug)]
pub(super) struct Recovery {
    blocks: Arc<Vec<Block<Envelope>>>,
    /// Block index, and index in the block, of each transaction of the batch.
    positions: Vec<(usize, usize)>,
    /// The batch's transactions. A failure is an invalid signature.
    chunks: Chunks<BlockFault>,
    signers: Vec<OnceLock<TxSigners>>,
    curve: Curve,
}

impl Recovery {
    pub(super) fn new(blocks: Arc<Vec<Block<Envelope>>>) -> Self {
        let positions = blocks.iter().enumerate().flat_map(|(index, block)| {
            (0..block.body.transactions.len()).map(move |tx_index| (index, tx_index))
        });
        let positions: Vec<_> = positions.collect();
        Self {
            chunks: Chunks::new(),
            signers: positions.iter().map(|_| OnceLock::new()).collect(),
            positions,
            curve: Curve::default(),
            blocks,
        }
    }

    /// Does a thread's part of the job.
    pub(super) fn work(&self, stop: &AtomicBool) {
        self.chunks.work(self.positions.len(), stop, |index| {
            let (block, tx_index) = self.positions[index];
            let signers = self
                .signers_of(&self.blocks[block].body.transactions[tx_index])
                .map_err(|reason| BlockFault::Signature { tx_index, reason })?;
            drop(self.signers[index].set(signers));
            Ok(())
        });
    }

    fn signers_of(&self, tx: &Envelope) -> Result<TxSigners, String> {
        let signature = tx.signature();
        let by_sender =
            Signature { y_parity: signature.v().into(), r: signature.r(), s: signature.s() };
        let sender = self.curve.signer(tx.signature_hash(), &by_sender)?;
        let tuples = tx.authorization_list().unwrap_or_default();
        let authorities = tuples.iter().map(|tuple| {
            let signature = Signature { y_parity: tuple.y_parity(), r: tuple.r(), s: tuple.s() };
            self.curve.signer(tuple.signature_hash(), &signature).ok()
        });
        Ok(TxSigners { sender, authorities: authorities.collect() })
    }

    /// Returns the block index of the first transaction with an invalid signature, and the fault.
    /// `None` if no signature was found invalid.
    pub(super) fn fault(&self) -> Option<(usize, BlockFault)> {
        let failure = lock(&self.chunks.failure);
        failure.as_ref().map(|(index, fault)| (self.positions[*index].0, fault.clone()))
    }

    /// Returns the signers of all transactions of the batch, in order; `None` for a transaction
    /// whose signers were not recovered.
    pub(super) fn signers(&self) -> impl Iterator<Item = Option<&TxSigners>> {
        self.signers.iter().map(OnceLock::get)
    }
}
