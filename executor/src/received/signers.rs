//! Holds the decoded blocks of a batch, and recovers the signers of their transactions and
//! delegations on several threads, inside the clock. `recover.rs` measures the same work apart.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use alloy_consensus::{Block, Transaction as _};
use alloy_primitives::Address;
use workload::signing::Signature;

use super::bytes::{BlockFault, Envelope};
use crate::{lock::lock, recover::Curve};

/// Number of transactions that a thread takes at a time.
const CHUNK: usize = 16;

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
    next_chunk: AtomicUsize,
    signers: Vec<OnceLock<TxSigners>>,
    /// First transaction of the batch with an invalid signature: its index in the batch, and the
    /// fault.
    failure: Mutex<Option<(usize, BlockFault)>>,
    curve: Curve,
}

impl Recovery {
    pub(super) fn new(blocks: Arc<Vec<Block<Envelope>>>) -> Self {
        let positions = blocks.iter().enumerate().flat_map(|(index, block)| {
            (0..block.body.transactions.len()).map(move |tx_index| (index, tx_index))
        });
        let positions: Vec<_> = positions.collect();
        Self {
            next_chunk: AtomicUsize::new(0),
            signers: positions.iter().map(|_| OnceLock::new()).collect(),
            positions,
            failure: Mutex::default(),
            curve: Curve::default(),
            blocks,
        }
    }

    /// Does a thread's part of the job. A thread stops within a chunk only at an invalid signature.
    /// So all transactions before the first invalid one are checked, and the reported fault does
    /// not depend on timing.
    pub(super) fn work(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) && self.lowest_failure().is_none() {
            let first = self.next_chunk.fetch_add(1, Ordering::Relaxed) * CHUNK;
            if first >= self.positions.len() {
                return;
            }
            for index in first..(first + CHUNK).min(self.positions.len()) {
                let (block, tx_index) = self.positions[index];
                match self.signers_of(&self.blocks[block].body.transactions[tx_index]) {
                    Ok(signers) => drop(self.signers[index].set(signers)),
                    Err(reason) => {
                        self.record_failure(index, BlockFault::Signature { tx_index, reason });
                        return;
                    }
                }
            }
        }
    }

    fn lowest_failure(&self) -> Option<usize> {
        let failure = lock(&self.failure);
        failure.as_ref().map(|(index, _)| *index)
    }

    fn record_failure(&self, index: usize, fault: BlockFault) {
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(lowest, _)| index < *lowest) {
            *failure = Some((index, fault));
        }
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
        let failure = lock(&self.failure);
        failure.as_ref().map(|(index, fault)| (self.positions[*index].0, fault.clone()))
    }

    /// Returns the signers of all transactions of the batch, in order; `None` for a transaction
    /// whose signers were not recovered.
    pub(super) fn signers(&self) -> impl Iterator<Item = Option<&TxSigners>> {
        self.signers.iter().map(OnceLock::get)
    }
}
