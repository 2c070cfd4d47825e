//! Duties on blocks that a client receives as bytes: decoding them and recovering who signed, before a batch
//! is executed; receipts, bloom and header, after it. Each is a phase inside the clock.

mod compare;
mod fault;
mod header;
mod outcome;
mod signers;

use std::sync::{Arc, atomic::AtomicBool};

use alloy_consensus::{Block, EthereumTxEnvelope, TxEip4844};
use alloy_rlp::Decodable;
use evm::TxResult;
use variant::{BlockDuties, BlockDuty, Phase};
use workload::{Batch, ReceivedBlock};

pub(crate) use self::compare::compare;
pub use self::{fault::BlockFault, signers::TxSigners};
use self::{outcome::BlockOutcome, signers::Recovery};
use crate::{
    engine::{EngineError, Task},
    error::StoreError,
    pool::WorkerPool,
    span::Spans,
};

/// A signed transaction; a blob transaction without its sidecar.
pub(crate) type Envelope = EthereumTxEnvelope<TxEip4844>;

/// The blocks of a batch as their bytes say.
#[derive(Clone, Debug, Default)]
pub struct DecodedBlocks {
    blocks: Arc<Vec<Block<Envelope>>>,
    /// Who signed each transaction, through all blocks; `None` without recovery.
    recovery: Option<Arc<Recovery>>,
}

/// Does the duties of a task's variant on the blocks of each batch.
pub(crate) struct Reception<'a> {
    task: &'a Task<'a>,
    /// Recovers signers.
    pool: WorkerPool<'a, Recovery>,
    stop: &'a AtomicBool,
}

impl<'a> Reception<'a> {
    /// For the variant of `task`. Signers are recovered by as many threads as it executes with.
    pub(crate) fn new(task: &'a Task<'a>, stop: &'a AtomicBool) -> Self {
        let recovers = task.variant.block_duties.has(BlockDuty::Recover);
        let thread_count = if recovers { task.variant.thread_count } else { 0 };
        Self { task, pool: WorkerPool::new(thread_count, stop, task.cancel), stop }
    }

    /// Calls `lead` while the threads that recover wait.
    pub(crate) fn run<R>(&self, lead: impl FnOnce() -> R) -> Result<R, StoreError> {
        let no_thread = |error| StoreError::no_thread("recoverer", &error);
        let live = |_| {
            self.pool.serve(|recovery| recovery.work(self.stop));
            Ok(())
        };
        let lead = || {
            self.pool.wait_idle();
            lead()
        };
        let (led, _) = self.pool.run(|_| "recoverer", no_thread, live, lead)?;
        Ok(led)
    }

    const fn duties(&self) -> BlockDuties {
        self.task.variant.block_duties
    }

    /// Decodes the blocks of the batch at `place`, and recovers who signed.
    ///
    /// # Errors
    /// [`EngineError::Block`]: bytes that are no block, or an invalid signature.
    pub(crate) fn receive(
        &self,
        place: usize,
        spans: &Spans,
    ) -> Result<Option<DecodedBlocks>, EngineError> {
        if !self.duties().has(BlockDuty::BlockDecode) {
            return Ok(None);
        }
        let start = spans.elapsed();
        let given = &self.task.blocks[place];
        let decoded = given.iter().enumerate().map(|(block, received)| {
            decode(received).map_err(|fault| EngineError::Block { batch: place, block, fault })
        });
        let blocks = Arc::new(decoded.collect::<Result<Vec<_>, _>>()?);
        spans.close(Phase::BlockDecode, start);
        if !self.duties().has(BlockDuty::Recover) {
            return Ok(Some(DecodedBlocks { blocks, recovery: None }));
        }
        let start = spans.elapsed();
        self.pool.post(Arc::new(Recovery::new(Arc::clone(&blocks))));
        let recovery = self.pool.finish().ok_or(EngineError::Cancelled)?;
        if let Some((block, fault)) = recovery.fault() {
            return Err(EngineError::Block { batch: place, block, fault });
        }
        spans.close(Phase::Recover, start);
        Ok(Some(DecodedBlocks { blocks, recovery: Some(recovery) }))
    }

    /// Makes the receipts of the batch at `place` from its `results`, and compares the headers with them.
    ///
    /// # Errors
    /// [`EngineError::Block`]: a header that says otherwise.
    pub(crate) fn check(
        &self,
        place: usize,
        decoded: Option<&DecodedBlocks>,
        results: &[TxResult],
        spans: &Spans,
    ) -> Result<(), EngineError> {
        let Some(DecodedBlocks { blocks, .. }) = decoded else { return Ok(()) };
        let batch = &self.task.workload.batches[place];
        if !self.duties().has(BlockDuty::Receipts) {
            return Ok(());
        }
        let start = spans.elapsed();
        let outcomes = of_blocks(batch, blocks, results);
        spans.close(Phase::Receipts, start);
        if !self.duties().has(BlockDuty::Header) {
            std::hint::black_box(&outcomes);
            return Ok(());
        }
        let start = spans.elapsed();
        let list_hash = self.task.header_list_hash(place);
        let blocks = batch.blocks.iter().zip(blocks.iter()).zip(&outcomes).enumerate();
        for (block, ((executed, decoded), outcome)) in blocks {
            let hash = self.task.blocks[place][block].hash;
            let wanted = header::Wanted { executed, outcome, hash, list_hash };
            header::check(decoded, &wanted, self.task.workload.fork)
                .map_err(|fault| EngineError::Block { batch: place, block, fault })?;
        }
        spans.close(Phase::Header, start);
        Ok(())
    }
}

/// Decodes one block, of which no byte may be left.
fn decode(received: &ReceivedBlock) -> Result<Block<Envelope>, BlockFault> {
    let mut bytes = received.rlp.as_ref();
    let malformed = |reason: String| BlockFault::Malformed { reason };
    let block = Block::decode(&mut bytes).map_err(|error| malformed(error.to_string()))?;
    match bytes.len() {
        0 => Ok(block),
        more => Err(malformed(format!("{more} bytes follow it"))),
    }
}

/// The outcome of each block of a batch from the results of its transactions.
fn of_blocks(
    batch: &Batch,
    decoded: &[Block<Envelope>],
    mut results: &[TxResult],
) -> Vec<BlockOutcome> {
    let of_block = |(block, decoded): (&workload::Block, &Block<Envelope>)| {
        let own;
        (own, results) = results.split_at(block.transactions.len().min(results.len()));
        BlockOutcome::of(&decoded.body.transactions, own)
    };
    batch.blocks.iter().zip(decoded).map(of_block).collect()
}
