//! A workload as a chain: numbers, chain id and gas limit, which do not depend on the outcome of blocks.

use alloy_primitives::U256;
use workload::{Workload, file::MAX_BLOCK_GAS};

/// Numbers of a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Chain id.
    pub(super) chain_id: u64,
    /// Blocks between the genesis block and the workload's first one.
    pub(super) below_count: u64,
    /// The least gas limit of all blocks.
    pub(super) least_gas_limit: u64,
}

/// The gas limit of all blocks of a chain: the largest of the workload's, or `least`. A block may change
/// the limit by no more than 1/1,024 of its parent's.
pub(super) fn gas_limit(workload: &Workload, least: u64) -> u64 {
    workload.blocks().map(|block| block.env.gas_limit).fold(least, u64::max)
}

/// The least gas limit of a chain above its genesis. Blocks that use more than half of their limit raise the
/// base fee (EIP-1559), by an eighth where they are full: a hundred of them make it 130,000 times as high, more
/// than senders can pay. So several blocks have twice the limit. One block has its own.
pub(super) fn steady_gas_limit(workload: &Workload) -> u64 {
    let largest = gas_limit(workload, 0);
    match workload.blocks().count() {
        0 | 1 => largest,
        _ => largest.saturating_mul(2).min(MAX_BLOCK_GAS).max(largest),
    }
}

/// `workload` with consecutive numbers behind those of the blocks below it, and one gas limit.
pub(super) fn numbered(workload: &Workload, numbers: Numbers) -> Workload {
    let Numbers { chain_id, below_count, least_gas_limit } = numbers;
    let of_workload = workload.chain_id;
    let gas_limit = gas_limit(workload, least_gas_limit);
    let mut out = Workload { chain_id, ..workload.clone() };
    let mut number = below_count;
    for block in out.batches.iter_mut().flat_map(|batch| &mut batch.blocks) {
        number += 1;
        (block.env.number, block.env.gas_limit) = (number, gas_limit);
        // A delegation for no other chain but the workload's (EIP-7702).
        let authorizations = block.transactions.iter_mut().flat_map(|tx| &mut tx.authorizations);
        for authorization in authorizations {
            if authorization.chain_id == U256::from(of_workload) {
                authorization.chain_id = U256::from(chain_id);
            }
        }
    }
    out
}
