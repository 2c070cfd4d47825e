//! The sums over the receipts of generated blocks.

use workload::Batch;

/// Gas of the receipts of each block.
pub(crate) fn receipt_gas(batch: &Batch) -> Vec<u64> {
    let mut outcomes = batch.expected.transactions.iter();
    let of_block = |block: &workload::Block| {
        let of_block = outcomes.by_ref().take(block.transactions.len());
        of_block.map(|outcome| outcome.gas_used).sum()
    };
    batch.blocks.iter().map(of_block).collect()
}
