//! From what each step wrote to what the batch changed: the last write of each key, against
//! the state below the batch. Nothing is taken from the list.

use std::sync::atomic::AtomicBool;

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use evm::StepWrites;
use workload::{
    NetChanges,
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use crate::{
    prestate::PreState,
    store::Reader,
    view::{Shared, ViewError},
};

#[derive(Clone, Debug, Default)]
struct Fields {
    balance: Option<U256>,
    nonce: Option<u64>,
    code_hash: Option<B256>,
}

/// Last writes by the numbers that the list has for their keys: what is not in the list was
/// refused before. So no key is hashed, and what comes out is in order.
#[derive(Debug)]
struct LastWrites {
    /// By account; `None` where no step wrote it.
    accounts: Vec<Option<Fields>>,
    /// In the order of the steps, then by slot.
    slots: Vec<(SlotId, U256)>,
    codes: HashMap<B256, Bytes>,
}

impl LastWrites {
    fn of<'w>(list: &ListIndex, writes: impl Iterator<Item = &'w StepWrites>) -> Self {
        let accounts = vec![None; list.account_count() as usize];
        let mut last = Self { accounts, slots: Vec::new(), codes: HashMap::default() };
        for step in writes {
            for write in &step.accounts {
                let id = account_id(list, &write.address);
                let fields = last.accounts[id.get()].get_or_insert_default();
                fields.balance = write.balance.or(fields.balance);
                fields.nonce = write.nonce.or(fields.nonce);
                if let Some((hash, code)) = &write.code {
                    fields.code_hash = Some(*hash);
                    last.codes.insert(*hash, code.clone());
                }
            }
            let slot = |(address, key, value): &(Address, U256, U256)| {
                (slot_id(list, address, key), *value)
            };
            last.slots.extend(step.slots.iter().map(slot));
        }
        // Stable: of the writes of a slot the last one stays last.
        last.slots.sort_by_key(|(id, _)| *id);
        last
    }
}

fn account_id(list: &ListIndex, address: &Address) -> AccountId {
    list.account_id(address).unwrap_or_else(|| panic!("a write to {address} was refused before"))
}

fn slot_id(list: &ListIndex, address: &Address, key: &U256) -> SlotId {
    let id = list.slot_id(account_id(list, address), key);
    id.unwrap_or_else(|| panic!("a write to slot {key:#x} of {address} was refused before"))
}

/// The net changes of steps whose writes come in the order of their indices and are all in the
/// list. A key whose value below the batch nobody has read yet (a slot of a contract that a step
/// created) is read by `reader`.
///
/// # Errors
/// [`ViewError`] when such a read fails.
pub(crate) fn net_changes<'w, P: PreState, R: Reader>(
    shared: &Shared<P>,
    reader: &mut R,
    cancel: &AtomicBool,
    writes: impl Iterator<Item = &'w StepWrites>,
) -> Result<NetChanges, ViewError> {
    let list = &shared.list;
    let last = LastWrites::of(list, writes);
    let mut changes = NetChanges::default();
    for (id, fields) in list.accounts().zip(last.accounts) {
        let Some(fields) = fields else { continue };
        let address = *list.address(id);
        let read = || reader.account(&address).map_err(ViewError::from);
        let (before, _) = shared.pre_state.account(Some(id), &address, cancel, read)?;
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
        if let Some(code) = hash.and_then(|hash| last.codes.get(&hash))
            && hash != before.map(|account| account.code_hash)
            && !code.is_empty()
        {
            changes.codes.extend(hash.map(|hash| (hash, code.clone())));
        }
    }
    for (place, (id, value)) in last.slots.iter().enumerate() {
        if last.slots.get(place + 1).is_some_and(|(next, _)| next == id) {
            continue;
        }
        let (address, key) = (*list.address(list.account_of(*id)), list.slot_key(*id));
        let read = || reader.slot(&address, &key).map_err(ViewError::from);
        let (before, _) = shared.pre_state.slot(Some(*id), &address, &key, cancel, read)?;
        if before != *value {
            changes.slots.push((address, key, *value));
        }
    }
    changes.sort();
    Ok(changes)
}
