//! A workload as a chain from block 1 on: numbers, chain id and gas limit, which do not depend on
//! the outcome of blocks.

use alloy_primitives::U256;
use workload::Workload;

/// `workload` with its blocks numbered from 1 on, all with the largest gas limit among them, on the
/// chain `chain_id`. A block may change the limit by no more than 1/1,024 of its parent's.
pub(super) fn numbered(workload: &Workload, chain_id: u64) -> Workload {
    let of_workload = workload.chain_id;
    let gas_limit = workload.blocks().map(|block| block.env.gas_limit).max().unwrap_or(0);
    let mut out = Workload { chain_id, ..workload.clone() };
    let mut number = 0;
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
