//! Faults of a shard's result that no execution has, so that no check of execution looks for them: a
//! message may say anything.

use alloy_primitives::keccak256;
use workload::Transaction;

use crate::shards::ShardStep;

/// The fault of a step's result; `tx` is the step's transaction, if it is one.
pub(super) fn fault(step: &ShardStep, tx: Option<&Transaction>) -> Option<String> {
    let ShardStep { index, result, writes, .. } = step;
    let (mut accounts, mut slots): (Vec<_>, Vec<_>) = (
        writes.accounts.iter().map(|write| write.address).collect(),
        writes.slots.iter().map(|(address, key, _)| (*address, *key)).collect(),
    );
    accounts.sort_unstable();
    slots.sort_unstable();
    if let Some(same) = accounts.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("step {index} writes account {} twice", same[0]));
    }
    if let Some(same) = slots.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("step {index} writes slot {:#x} of {} twice", same[0].1, same[0].0));
    }
    for write in &writes.accounts {
        if let Some((hash, code)) = &write.code
            && keccak256(code) != *hash
        {
            return Some(format!(
                "the code of {} in step {index} has not the hash {hash}",
                write.address
            ));
        }
    }
    let (gas, limit) = (result.as_ref()?.gas(), tx?.gas_limit);
    let most = gas.receipt_gas.max(gas.block_regular_gas).max(gas.block_state_gas);
    (most > limit).then(|| format!("step {index} has a gas limit of {limit}, and used {most}"))
}
