//! Faults of a run that no execution has: a message may say anything.

use alloy_primitives::keccak256;
use workload::{Transaction, genesis::AccountState};

use crate::{
    engine::repeated::repeated,
    shards::versions::{OptimisticStep, VersionWrites},
};

/// The fault of a run; `tx` is the step's transaction, if it is one.
pub(super) fn fault(step: &OptimisticStep, tx: Option<&Transaction>) -> Option<String> {
    let index = step.index;
    let VersionWrites { accounts, slots, codes } = &step.writes;
    if let Some(address) = repeated(accounts.iter().map(|(address, _)| *address)) {
        return Some(format!("step {index} writes account {address} twice"));
    }
    if let Some((address, key)) = repeated(slots.iter().map(|(address, key, _)| (*address, *key))) {
        return Some(format!("step {index} writes slot {key:#x} of {address} twice"));
    }
    let is_empty = |state: Option<AccountState>| state == Some(AccountState::default());
    if let Some((address, _)) = accounts.iter().find(|(_, version)| is_empty(version.state)) {
        return Some(format!("step {index} leaves {address} empty and existing (EIP-161)"));
    }
    if let Some((hash, _)) = codes.iter().find(|(hash, code)| keccak256(code) != *hash) {
        return Some(format!("a code in step {index} has not the hash {hash}"));
    }
    let (gas, limit) = (step.result.as_ref()?.gas(), tx?.gas_limit);
    let most = gas.receipt_gas.max(gas.block_regular_gas).max(gas.block_state_gas);
    (most > limit).then(|| format!("step {index} has a gas limit of {limit}, and used {most}"))
}
