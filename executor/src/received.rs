//! Does the duties of a client on blocks that it receives as bytes, as far as the variant has them.
//! Before a batch executes, decodes its blocks and recovers the signers. After it, makes receipts
//! and bloom, and checks the headers. Each duty is a phase inside the clock (`engine/clock.rs`).

mod bytes;
mod compare;
mod header;
mod signers;

use std::sync::{Arc, atomic::AtomicBool};

use alloy_consensus::Block;
use alloy_primitives::B256;
use evm::TxResult;
use variant::{BlockDuties, BlockDuty, Phase, Variant};
use workload::{Batch, ReceivedBlock, Workload};

pub(crate) use self::compare::compare;
pub use self::{
    bytes::BlockFault,
    signers::{DecodedBlocks, TxSigners},
};
use self::{
    bytes::{Envelope, decode},
    header::BlockOutcome,
    signers::Recovery,
};
use crate::{error::StoreError, pool::WorkerPool, span::Spans};

/// Input of [`Reception`]: the blocks of a workload, and the duties on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// The workload.
    pub(crate) workload: &'a Workload,
    /// Encoded blocks of each batch.
    pub(crate) blocks: &'a [Vec<ReceivedBlock>],
    /// The hash of each batch's list. Empty if the list is not in the form whose hash a header has.
    pub(crate) list_hashes: &'a [B256],
    /// The variant, with its duties and its number of threads.
    pub(crate) variant: &'a Variant,
    /// Flag that another thread sets to cancel the run.
    pub(crate) cancel: &'a AtomicBool,
}

/// Failure of a duty, after which the sample executes no more batches.
#[derive(Debug)]
pub(crate) enum ReceivedError {
    /// A block is rejected.
    Rejected {
        /// 0-based index of the block in the batch.
        block: usize,
        /// The reason.
        fault: BlockFault,
    },
    /// The run was cancelled.
    Cancelled,
}

/// Does the duties of a variant on the blocks of each batch.
pub(crate) struct Reception<'a> {
    received: Received<'a>,
    /// Threads that recover signers.
    pool: WorkerPool<'a, Recovery>,
    stop: &'a AtomicBool,
}

impl<'a> Reception<'a> {
    /// Makes the reception. Signers are recovered on the variant's number of executing threads.
    pub(crate) fn new(received: Received<'a>, stop: &'a AtomicBool) -> Self {
        let recovers = received.variant.block_duties.has(BlockDuty::Recover);
        let thread_count = if recovers { received.variant.thread_count } else { 0 };
        Self { received, pool: WorkerPool::new(thread_count, stop, received.cancel), stop }
    }

    /// Calls `run_leader` while the recovery threads wait for jobs.
    pub(crate) fn run<R>(&self, run_leader: impl FnOnce() -> R) -> Result<R, StoreError> {
        let work = |recovery: &Recovery| recovery.work(self.stop);
        self.pool.run_all("recoverer", "recoverer", work, run_leader)
    }

    const fn duties(&self) -> BlockDuties {
        self.received.variant.block_duties
    }

    /// Decodes the blocks of the batch at `index` and recovers their signers, as far as these are
    /// duties of the variant. `None` if decoding is no duty.
    ///
    /// # Errors
    /// A block cannot be decoded, a signature is invalid, or the run was cancelled.
    pub(crate) fn receive(
        &self,
        index: usize,
        spans: &Spans,
    ) -> Result<Option<DecodedBlocks>, ReceivedError> {
        if !self.duties().has(BlockDuty::BlockDecode) {
            return Ok(None);
        }
        let start = spans.elapsed();
        let encoded = &self.received.blocks[index];
        let decoded = encoded.iter().enumerate().map(|(block, received)| {
            decode(received).map_err(|fault| ReceivedError::Rejected { block, fault })
        });
        let blocks = Arc::new(decoded.collect::<Result<Vec<_>, _>>()?);
        spans.close(Phase::BlockDecode, start);
        if !self.duties().has(BlockDuty::Recover) {
            return Ok(Some(DecodedBlocks { blocks, recovery: None }));
        }
        let start = spans.elapsed();
        self.pool.post(Arc::new(Recovery::new(Arc::clone(&blocks))));
        let recovery = self.pool.finish().ok_or(ReceivedError::Cancelled)?;
        if let Some((block, fault)) = recovery.fault() {
            return Err(ReceivedError::Rejected { block, fault });
        }
        spans.close(Phase::Recover, start);
        Ok(Some(DecodedBlocks { blocks, recovery: Some(recovery) }))
    }

    /// Makes the receipts of the batch at `index` from its `results`, and checks the headers of its
    /// `decoded` blocks. Does only the duties of the variant.
    ///
    /// # Errors
    /// A header differs from the results.
    pub(crate) fn check(
        &self,
        index: usize,
        decoded: Option<&DecodedBlocks>,
        results: &[TxResult],
        spans: &Spans,
    ) -> Result<(), ReceivedError> {
        let Some(DecodedBlocks { blocks, .. }) = decoded else { return Ok(()) };
        if !self.duties().has(BlockDuty::Receipts) {
            return Ok(());
        }
        let batch = &self.received.workload.batches[index];
        let start = spans.elapsed();
        let outcomes = block_outcomes(batch, blocks, results);
        spans.close(Phase::Receipts, start);
        if !self.duties().has(BlockDuty::Header) {
            std::hint::black_box(&outcomes);
            return Ok(());
        }
        let start = spans.elapsed();
        let list_hash = self.received.list_hashes.get(index).copied();
        let blocks = batch.blocks.iter().zip(blocks.iter()).zip(&outcomes).enumerate();
        for (block, ((executed, decoded), outcome)) in blocks {
            let hash = self.received.blocks[index][block].hash;
            let expected = header::ExpectedHeader { executed, outcome, hash, list_hash };
            header::check(decoded, &expected, self.received.workload.rules_of(executed).fork)
                .map_err(|fault| ReceivedError::Rejected { block, fault })?;
        }
        spans.close(Phase::Header, start);
        Ok(())
    }
}

/// Computes the outcome of each block of a batch from its transactions' results.
fn block_outcomes(
    batch: &Batch,
    decoded: &[Block<Envelope>],
    mut results: &[TxResult],
) -> Vec<BlockOutcome> {
    let blocks = batch.blocks.iter().zip(decoded);
    let outcomes = blocks.map(|(block, decoded)| {
        let own;
        (own, results) = results.split_at(block.transactions.len().min(results.len()));
        BlockOutcome::new(&decoded.body.transactions, own)
    });
    outcomes.collect()
}
