//! Joins the writes of all steps into the net changes of the batch. A net change is the last write
//! of a key, if it differs from the state before the batch. All values are the steps' own; the list
//! gives only the ids of the keys.

use std::sync::atomic::AtomicBool;

use alloy_primitives::{B256, Bytes, U256, map::HashMap};
use evm::AccountWrite;
use workload::{
    BlockAccessIndex, NetChanges,
    genesis::AccountState,
    list::{AccountId, SlotId},
};

use super::{prestate::PreState, view::Shared};
use crate::{engine::error::ViewError, store::Reader};

/// Writes of one field: the key, the step and the new value of each write.
#[derive(Debug)]
struct Writes<K, V>(Vec<(K, BlockAccessIndex, V)>);

impl<K, V> Default for Writes<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Ord, V: Copy> Writes<K, V> {
    /// Keeps the last write of each key, by ascending key.
    fn keep_last(&mut self) {
        // The stable sort merges sequences that are sorted already, such as each worker's writes.
        self.0.sort_by_key(|(key, index, _)| (*key, *index));
        self.0.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                *kept = *later;
            }
            is_same
        });
    }

    /// Removes the write of `key` from the front of `writes`, and returns its value. `writes` must
    /// have no lower keys. Returns `None` if `key` has no write.
    fn take(writes: &mut &[(K, BlockAccessIndex, V)], key: K) -> Option<V> {
        let ((first, _, value), rest) = writes.split_first()?;
        (*first == key).then(|| {
            *writes = rest;
            *value
        })
    }
}

/// Writes of the steps of one worker, or of all workers, by the keys' ids in the list. Writes of
/// keys outside the list were refused before. So no map of keys is needed, and the net changes are
/// in the list's order.
#[derive(Debug, Default)]
pub(crate) struct Written {
    balances: Writes<AccountId, U256>,
    nonces: Writes<AccountId, u64>,
    code_hashes: Writes<AccountId, B256>,
    slots: Writes<SlotId, U256>,
    codes: HashMap<B256, Bytes>,
}

impl Written {
    /// Adds the writes of the step at `index` to account `id`.
    pub(crate) fn add_account(
        &mut self,
        index: BlockAccessIndex,
        id: AccountId,
        write: &AccountWrite,
    ) {
        self.balances.0.extend(write.balance.map(|balance| (id, index, balance)));
        self.nonces.0.extend(write.nonce.map(|nonce| (id, index, nonce)));
        if let Some((hash, code)) = &write.code {
            self.code_hashes.0.push((id, index, *hash));
            self.codes.insert(*hash, code.clone());
        }
    }

    /// Adds the write of `value` to slot `id` by the step at `index`.
    pub(crate) fn add_slot(&mut self, index: BlockAccessIndex, id: SlotId, value: U256) {
        self.slots.0.push((id, index, value));
    }

    /// Keeps the last write of each key. Each worker calls this for its own writes, so that the
    /// join only merges sorted sequences.
    pub(crate) fn keep_last(&mut self) {
        self.balances.keep_last();
        self.nonces.keep_last();
        self.code_hashes.keep_last();
        self.slots.keep_last();
    }

    fn append(&mut self, other: Self) {
        self.balances.0.extend(other.balances.0);
        self.nonces.0.extend(other.nonces.0);
        self.code_hashes.0.extend(other.code_hashes.0);
        self.slots.0.extend(other.slots.0);
        self.codes.extend(other.codes);
    }

    /// Returns the last writes to each account, by ascending id: the new balance, nonce and code
    /// hash; `None` for a field without a write.
    fn accounts(
        &self,
    ) -> impl Iterator<Item = (AccountId, Option<U256>, Option<u64>, Option<B256>)> {
        let (mut balances, mut nonces, mut code_hashes) =
            (&self.balances.0[..], &self.nonces.0[..], &self.code_hashes.0[..]);
        std::iter::from_fn(move || {
            let next = [
                balances.first().map(|write| write.0),
                nonces.first().map(|write| write.0),
                code_hashes.first().map(|write| write.0),
            ];
            let id = next.into_iter().flatten().min()?;
            let balance = Writes::take(&mut balances, id);
            let nonce = Writes::take(&mut nonces, id);
            Some((id, balance, nonce, Writes::take(&mut code_hashes, id)))
        })
    }
}

/// Returns the net changes of the writes of all workers. Each worker has called
/// [`Written::keep_last`]. `reader` reads keys whose values before the batch nobody has read yet,
/// such as slots of a created contract.
///
/// # Errors
/// [`ViewError`]: a read failed.
pub(crate) fn net_changes<P: PreState>(
    shared: &Shared<P>,
    reader: &mut dyn Reader,
    cancel: &AtomicBool,
    workers: impl IntoIterator<Item = Written>,
) -> Result<NetChanges, ViewError> {
    let list = &shared.list;
    let mut last = Written::default();
    workers.into_iter().for_each(|written| last.append(written));
    last.keep_last();
    let mut changes = NetChanges::default();
    for (id, balance, nonce, code_hash) in last.accounts() {
        let address = *list.address(id);
        let read = || reader.account(&address).map_err(ViewError::from);
        let (before, _) = shared.pre_state.account(Some(id), &address, cancel, read)?;
        let mut after = before.unwrap_or_default();
        after.balance = balance.unwrap_or(after.balance);
        after.nonce = nonce.unwrap_or(after.nonce);
        after.code_hash = code_hash.unwrap_or(after.code_hash);
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
    for (id, _, value) in &last.slots.0 {
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
