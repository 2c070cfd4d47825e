//! From what each step wrote to what the batch changed: the last write of each key, against
//! the state below the batch. Nothing is taken from the list.

use std::sync::atomic::AtomicBool;

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use evm::StepWrites;
use workload::{NetChanges, genesis::AccountState};

use crate::{
    prestate::PreState,
    store::Reader,
    view::{Shared, ViewError},
};

#[derive(Debug, Default)]
struct Fields {
    balance: Option<U256>,
    nonce: Option<u64>,
    code_hash: Option<B256>,
}

/// The net changes of steps whose writes come in the order of their indices. A key whose value
/// below the batch nobody has read yet (a slot of a contract that a step created) is read by
/// `reader`.
///
/// # Errors
/// [`ViewError`] when such a read fails.
pub(crate) fn net_changes<'w, P: PreState, R: Reader>(
    shared: &Shared<P>,
    reader: &mut R,
    cancel: &AtomicBool,
    writes: impl Iterator<Item = &'w StepWrites>,
) -> Result<NetChanges, ViewError> {
    let mut accounts = HashMap::<Address, Fields>::default();
    let mut slots = HashMap::<(Address, U256), U256>::default();
    let mut codes = HashMap::<B256, Bytes>::default();
    for step in writes {
        for write in &step.accounts {
            let fields = accounts.entry(write.address).or_default();
            fields.balance = write.balance.or(fields.balance);
            fields.nonce = write.nonce.or(fields.nonce);
            if let Some((hash, code)) = &write.code {
                fields.code_hash = Some(*hash);
                codes.insert(*hash, code.clone());
            }
        }
        slots.extend(step.slots.iter().map(|(address, key, value)| ((*address, *key), *value)));
    }
    let mut changes = NetChanges::default();
    for (address, fields) in accounts {
        let id = shared.list.account_id(&address);
        let read = || reader.account(&address).map_err(ViewError::from);
        let (before, _) = shared.pre_state.account(id, &address, cancel, read)?;
        let mut after = before.unwrap_or_default();
        after.balance = fields.balance.unwrap_or(after.balance);
        after.nonce = fields.nonce.unwrap_or(after.nonce);
        after.code_hash = fields.code_hash.unwrap_or(after.code_hash);
        // An empty account does not exist (EIP-161).
        let after = (after != AccountState::default()).then_some(after);
        if after == before {
            continue;
        }
        changes.accounts.push((address, after));
        let hash = after.map(|account| account.code_hash);
        if let Some(code) = hash.and_then(|hash| codes.get(&hash))
            && hash != before.map(|account| account.code_hash)
            && !code.is_empty()
        {
            changes.codes.extend(hash.map(|hash| (hash, code.clone())));
        }
    }
    for ((address, key), value) in slots {
        let id = shared.list.account_id(&address);
        let id = id.and_then(|account| shared.list.slot_id(account, &key));
        let read = || reader.slot(&address, &key).map_err(ViewError::from);
        let (before, _) = shared.pre_state.slot(id, &address, &key, cancel, read)?;
        if before != value {
            changes.slots.push((address, key, value));
        }
    }
    changes.sort();
    Ok(changes)
}
