//! Ends a batch, with or without shards: finds its failure or its net changes. A net change is the
//! last version of a key, with the deferred fees, if it differs from the state before the batch.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, KECCAK256_EMPTY, U256};
use workload::{BlockAccessIndex, NetChanges, genesis::AccountState};

use super::{
    deferred_fees::BatchFees,
    memory::{Account, Memory},
    view,
};
use crate::{engine::error::EngineError, error::StoreError, store::Reader};

/// Returns the net changes of a batch whose `step_count` steps are all committed. `reader` reads
/// values before the batch that no run has read, such as a beneficiary's account, or a slot of a
/// created contract.
///
/// # Errors
/// [`StoreError`]: a read failed.
pub(super) fn net_changes(
    memory: &Memory,
    fees: &BatchFees,
    step_count: BlockAccessIndex,
    reader: &mut dyn Reader,
) -> Result<NetChanges, StoreError> {
    let mut changes = NetChanges::default();
    for id in 0..memory.accounts.count() {
        let cell = memory.accounts.cell(id);
        let last = cell.cell.last();
        let owed = if fees.has(id) {
            fees.sum(id, last.map_or(0, |(index, _)| index + 1), step_count)
        } else if last.is_some() {
            U256::ZERO
        } else {
            continue;
        };
        let before = match cell.cell.base() {
            Some(before) => *before,
            None if last.is_none() && owed.is_zero() => continue,
            None => reader.account(&cell.key)?,
        };
        let written = last.map(|(_, account)| account.clone());
        let mut after = written.unwrap_or(Account::from_base(before));
        view::pay(&mut after, owed);
        add_account(&mut changes, &cell.key, before, &after);
    }
    add_slots(&mut changes, memory, reader)?;
    changes.sort();
    Ok(changes)
}

fn add_account(
    changes: &mut NetChanges,
    address: &Address,
    before: Option<AccountState>,
    after: &Account,
) {
    if before == after.state {
        return;
    }
    changes.accounts.push((*address, after.state));
    let [old_hash, new_hash] =
        [before, after.state].map(|state| state.map(|state| state.code_hash));
    if let (Some(hash), Some(code)) = (new_hash, &after.code)
        && new_hash != old_hash
        && hash != KECCAK256_EMPTY
    {
        changes.codes.push((hash, code.original_bytes()));
    }
}

fn add_slots(
    changes: &mut NetChanges,
    memory: &Memory,
    reader: &mut dyn Reader,
) -> Result<(), StoreError> {
    for id in 0..memory.slots.count() {
        let cell = memory.slots.cell(id);
        let Some((_, value)) = cell.cell.last() else { continue };
        let (account, key) = cell.key;
        let address = memory.accounts.cell(account).key;
        let before = match cell.cell.base() {
            Some(before) => *before,
            None => reader.slot(&address, &key)?,
        };
        if before != *value {
            changes.slots.push((address, key, *value));
        }
    }
    Ok(())
}

/// Checks that no thread failed, and that nobody cancelled the execution.
///
/// # Errors
/// The failure of the lowest step. A cancellation is returned only if there is no other failure,
/// because a failure of one thread cancels the others.
pub(super) fn check_failures(
    failures: Vec<(BlockAccessIndex, EngineError)>,
    cancel: &AtomicBool,
) -> Result<(), EngineError> {
    let first = failures
        .into_iter()
        .min_by_key(|(index, error)| (matches!(error, EngineError::Cancelled), *index));
    match first {
        Some((_, error)) => Err(error),
        None if cancel.load(Ordering::Relaxed) => Err(EngineError::Cancelled),
        None => Ok(()),
    }
}
