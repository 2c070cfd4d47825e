//! A workload as a chain: the blocks run once more, one at a time, each on the headers of those before.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use alloy_consensus::Header;
use alloy_primitives::B256;
use alloy_rlp::Encodable;
use rayon::prelude::*;
use workload::{
    Fork, Genesis, RowSettings, TxOutcome, Workload,
    signing::{SignError, Signer},
};

use super::{
    block::{self, CameTo, ChainBlock, Parent, Receipts},
    envelope::{Envelope, envelope},
    error::ExportError,
    number::numbered,
    root::{Changes, HashedRows, state_root},
};
use crate::reference::{Answer, BatchReference, ChainRun, ReferenceError};

/// The largest block that is valid, as RLP (EIP-7934: 10 MiB less 2 MiB for the beacon block).
const MAX_RLP_BLOCK_BYTES: usize = 8 << 20;
/// The largest chain id that fits into the v of a signature (EIP-155).
const MAX_CHAIN_ID: u64 = u64::MAX / 2 - 36;

/// Settings of an export.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// Chain id; that of the workload where it is `None`.
    pub chain_id: Option<u64>,
    /// Threads that sign and hash.
    pub thread_count: usize,
    /// Directory of scratch files.
    pub scratch: PathBuf,
    /// Secrets of senders that are in no sender family.
    pub secrets: Vec<B256>,
    /// Set to true to stop.
    pub cancel: &'a AtomicBool,
}

impl<'a> Settings<'a> {
    pub(super) fn rows(&self) -> RowSettings<'a> {
        let settings = RowSettings::new(&self.scratch);
        RowSettings { threads: self.thread_count.max(1), cancel: self.cancel, ..settings }
    }
}

/// A chain of blocks from number 1 on, above a genesis block number 0.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Name of the workload's scenario.
    pub scenario: String,
    /// Digest of the workload.
    pub workload: B256,
    /// Rules of all blocks.
    pub fork: Fork,
    /// Chain id.
    pub chain_id: u64,
    /// The state below block 1.
    pub genesis: Genesis,
    /// Header of the genesis block.
    pub genesis_header: Header,
    /// Its hash.
    pub genesis_hash: B256,
    /// The blocks.
    pub blocks: Vec<ChainBlock>,
    /// Transactions whose status, gas, logs or output differ from the workload's, since block
    /// numbers, hashes and fees do.
    pub differing_tx_count: u64,
}

/// Runs the blocks of `workload` as a chain. `on_tx` is called after each transaction and may stop the
/// run.
///
/// # Errors
/// [`ExportError`].
pub fn chain<A: Answer>(
    workload: &Workload,
    settings: &Settings<'_>,
    mut on_tx: impl FnMut() -> A,
) -> Result<Chain, ExportError> {
    let chain_id = settings.chain_id.unwrap_or(workload.chain_id);
    if chain_id > MAX_CHAIN_ID {
        return Err(ExportError::ChainId(chain_id));
    }
    let of_chain = numbered(workload, chain_id);
    let first = of_chain.blocks().next().ok_or(ExportError::NoBlocks)?;
    let mut signer = Signer::new(&of_chain)?;
    for secret in &settings.secrets {
        signer.learn(*secret)?;
    }
    check_secrets(&of_chain, &signer)?;
    let rows = HashedRows::new(&of_chain.genesis, &settings.rows())?;
    let root = state_root(&rows, &Changes::default())?;
    let genesis_header = block::genesis_header(&first.env, of_chain.fork, root);
    let parent = Parent::new(genesis_header.clone());
    let genesis_hash = parent.hash;
    let run = ChainRun::new(&of_chain, 0, genesis_hash)?;
    let builder =
        Builder { settings, signer, rows, changes: Changes::default(), parent, run, of: &of_chain };
    let (blocks, outcomes) = builder.build(&mut on_tx)?;
    let said = workload.batches.iter().flat_map(|batch| &batch.expected.transactions);
    let differing_tx_count = said.zip(&outcomes).filter(|(said, made)| said != made).count() as u64;
    Ok(Chain {
        scenario: workload.scenario.clone(),
        workload: workload.digest(),
        fork: workload.fork,
        chain_id,
        genesis_header,
        genesis_hash,
        blocks,
        differing_tx_count,
        genesis: of_chain.genesis,
    })
}

/// Refuses blocks that cannot be signed, before they are run.
fn check_secrets(workload: &Workload, signer: &Signer) -> Result<(), ExportError> {
    for block in workload.blocks() {
        for (tx_index, tx) in block.transactions.iter().enumerate() {
            if let Some(account) = signer.unknown(tx) {
                let block = block.env.number;
                return Err(ExportError::UnknownSecret { block, tx_index, account });
            }
        }
    }
    Ok(())
}

/// Builds the chain block by block.
struct Builder<'a> {
    settings: &'a Settings<'a>,
    signer: Signer,
    rows: HashedRows<'a>,
    changes: Changes,
    parent: Parent,
    run: ChainRun<'a>,
    of: &'a Workload,
}

impl Builder<'_> {
    /// Makes all blocks, and returns them with the outcomes of their transactions.
    fn build<A: Answer>(
        mut self,
        on_tx: &mut impl FnMut() -> A,
    ) -> Result<(Vec<ChainBlock>, Vec<TxOutcome>), ExportError> {
        let (mut blocks, mut outcomes) = (Vec::new(), Vec::new());
        for (place, batch) in self.of.batches.iter().enumerate() {
            self.run.plan(place, batch)?;
            for block in &batch.blocks {
                let block = self.parent.next(block, self.of.fork);
                let mut receipts = Receipts::default();
                let made = self.run.run(block.clone(), |outcome, logs| {
                    receipts.add(block.transactions[receipts.len()].tx_type, &outcome, logs);
                    on_tx()
                })?;
                outcomes.extend_from_slice(&made.expected.transactions);
                blocks.push(self.seal(&block, made, receipts)?);
            }
        }
        Ok((blocks, outcomes))
    }

    fn seal(
        &mut self,
        block: &workload::Block,
        made: BatchReference,
        receipts: Receipts,
    ) -> Result<ChainBlock, ExportError> {
        let fork = self.of.fork;
        self.changes.add(&made.changes);
        let state_root = state_root(&self.rows, &self.changes)?;
        let transactions = self.signed(block)?;
        let came = CameTo { fork, made, receipts, state_root };
        let sealed = self.parent.seal(block, transactions, came);
        let bytes = sealed.block.length();
        if bytes > MAX_RLP_BLOCK_BYTES {
            let (block, most_bytes) = (block.env.number, MAX_RLP_BLOCK_BYTES);
            return Err(ExportError::BlockTooLarge { block, bytes, most_bytes });
        }
        self.run.seal(sealed.hash);
        Ok(sealed)
    }

    /// The block's transactions, signed on all threads of rayon.
    fn signed(&self, block: &workload::Block) -> Result<Vec<Envelope>, ExportError> {
        let (number, chain_id) = (block.env.number, self.of.chain_id);
        let sign = |(tx_index, tx)| {
            if self.settings.cancel.load(Ordering::Relaxed) {
                return Err(ReferenceError::Cancelled.into());
            }
            let signatures = self.signer.sign(tx, chain_id).map_err(|error| match error {
                SignError::UnknownSecret(account) => {
                    ExportError::UnknownSecret { block: number, tx_index, account }
                }
                SignError::Invalid(reason) => ExportError::Sign { block: number, tx_index, reason },
            })?;
            Ok(envelope(tx, chain_id, &signatures))
        };
        block.transactions.par_iter().enumerate().map(sign).collect()
    }
}
