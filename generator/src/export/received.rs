//! Makes the blocks of a workload as clients receive them. A run asks for them if its samples begin
//! with the blocks' bytes.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{B256, Bytes};
use workload::{Batch, ReceivedBlock, Workload, block::BatchOutcome, signing::Signer};

use super::{
    block::{BlockOutcome, ChainBlock, Parent, check_length, signed},
    error::ExportError,
};
use crate::{
    envelope::Envelope,
    receipts::Receipts,
    reference::{BatchReference, ReferenceError, ReferenceRun},
};

/// Seals the blocks of each batch with the outcome of the reference, which runs once more.
/// Transactions that were imported with signatures keep them. Others are signed, with `secrets` for
/// senders outside the sender families. The blocks are no chain: a header has the parent hash of
/// the workload, and a zero state root. From Amsterdam on it has the hash of its batch's list.
///
/// # Errors
/// [`ExportError`]: a sender's secret is unknown, an imported transaction cannot be decoded, a
/// block is too long, or `cancel` was set.
pub fn received_blocks(
    workload: &Workload,
    secrets: &[B256],
    cancel: &AtomicBool,
) -> Result<Vec<Vec<ReceivedBlock>>, ExportError> {
    let mut signer = Signer::new(workload)?;
    for secret in secrets {
        signer.add_secret(*secret)?;
    }
    let mut imported = workload.signed_transactions.as_slice();
    let mut run = ReferenceRun::new(workload)?;
    let received_batch = |batch: &Batch| {
        let mut receipts = vec![Receipts::default(); batch.blocks.len()];
        let made = run.next_batch_with_txs(|ran| {
            let block_receipts = &mut receipts[ran.block];
            let tx = &batch.blocks[ran.block].transactions[block_receipts.len()];
            block_receipts.add(tx.tx_type, &ran.outcome, ran.logs);
            match cancel.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let made = made.unwrap_or(Err(ReferenceError::Cancelled))?;
        let receipts = batch.blocks.iter().zip(receipts).enumerate();
        let sealed = receipts.map(|(index, (block, receipts))| {
            let transactions = match imported.split_at_checked(block.transactions.len()) {
                Some((encoded, rest)) => {
                    imported = rest;
                    decoded(block.env.number, encoded)?
                }
                None => signed(block, workload.chain_id, &signer, cancel)?,
            };
            // The outcome of the block alone, with the batch's list.
            let made = BatchReference {
                list: made.list.clone(),
                expected: BatchOutcome {
                    header_gas: vec![made.expected.header_gas[index]],
                    ..BatchOutcome::default()
                },
                requests: vec![made.requests[index].clone()],
                ..BatchReference::default()
            };
            let (fork, state_root) = (workload.rules_of(block).fork, B256::ZERO);
            let outcome = BlockOutcome { fork, made, receipts, state_root };
            let sealed = Parent::of_hash(block.env.parent_hash).seal(block, transactions, outcome);
            check_length(&sealed)?;
            Ok(received(&sealed))
        });
        sealed.collect()
    };
    workload.batches.iter().map(received_batch).collect()
}

/// Decodes the signed transactions of an imported block.
fn decoded(block: u64, signed: &[Bytes]) -> Result<Vec<Envelope>, ExportError> {
    let decoded = signed.iter().map(|bytes| Envelope::decode_2718_exact(bytes));
    decoded
        .enumerate()
        .map(|(tx_index, tx)| {
            tx.map_err(|error| ExportError::Sign { block, tx_index, reason: error.to_string() })
        })
        .collect()
}

fn received(sealed: &ChainBlock) -> ReceivedBlock {
    ReceivedBlock { rlp: Bytes::from(alloy_rlp::encode(&sealed.block)), hash: sealed.hash }
}
