//! Turns rows of flat state into leaves of tries, for root computation, its check, and the build of
//! tries. An account's leaf contains the root of the trie of the account's slots. No row contains
//! this root, so it is read from the topmost node of that trie.

use alloy_primitives::{B256, U256};
use trie::{AccountValue, Format, NodeKey, Path, RowRange, Rows, SlotValue, stored_root};
use workload::AccountState;

use crate::{
    error::StoreError,
    tries::{TrieId, TrieReader},
};

/// Writes the value of an account's leaf to `out`.
pub(crate) fn encode_account(state: &AccountState, storage_root: B256, out: &mut Vec<u8>) {
    let AccountState { nonce, balance, code_hash } = *state;
    AccountValue { nonce, balance, storage_root, code_hash }.encode_to(out);
}

/// Adds the leaves of the rows in `ranges` to `out`. Adds to `ends` the length of `out` after each
/// range. Reads the ranges in one call if all of them are ranges of slots.
pub(crate) fn add_ranges(
    reader: &mut dyn TrieReader,
    format: Format,
    ranges: &[(TrieId, RowRange)],
    out: &mut Rows,
    ends: &mut Vec<usize>,
) -> Result<(), StoreError> {
    let slot_ranges = ranges.iter().map(|(trie, range)| match trie {
        TrieId::Slots(account) => Some((*account, *range)),
        TrieId::Accounts => None,
    });
    let Some(slot_ranges) = slot_ranges.collect::<Option<Vec<_>>>() else {
        for (trie, range) in ranges {
            add_rows(reader, format, trie, range, out)?;
            ends.push(out.len());
        }
        return Ok(());
    };
    let first = ends.len();
    reader.slot_ranges(&slot_ranges, &mut |index, key, value| {
        // The store has passed all rows of earlier ranges, so these ranges end here.
        ends.resize((first + index).max(ends.len()), out.len());
        push_slot(key, value, out);
    })?;
    ends.resize(first + slot_ranges.len(), out.len());
    Ok(())
}

/// Adds to `out` the leaves of the rows of `trie` in `range`.
pub(crate) fn add_rows(
    reader: &mut dyn TrieReader,
    format: Format,
    trie: &TrieId,
    range: &RowRange,
    out: &mut Rows,
) -> Result<(), StoreError> {
    match trie {
        TrieId::Slots(account) => {
            reader.slots(account, range, &mut |key, value| push_slot(key, value, out))
        }
        TrieId::Accounts => {
            let mut found = Vec::new();
            reader.accounts(range, &mut |key, state| found.push((key, state)))?;
            let keys: Vec<B256> = found.iter().map(|(key, _)| *key).collect();
            let roots = storage_roots(reader, format, &keys)?;
            let mut leaf = Vec::new();
            for ((key, state), root) in found.iter().zip(roots) {
                encode_account(state, root, &mut leaf);
                out.push(*key, &leaf);
            }
            Ok(())
        }
    }
}

fn push_slot(key: B256, value: U256, out: &mut Rows) {
    let value = SlotValue::new(&value);
    out.push(key, value.as_ref().map_or(&[], SlotValue::as_slice));
}

/// Returns the root of the trie of slots of each account.
pub(crate) fn storage_roots(
    reader: &mut dyn TrieReader,
    format: Format,
    accounts: &[B256],
) -> Result<Vec<B256>, StoreError> {
    let top = NodeKey::top(format);
    let keys: Vec<_> = accounts.iter().map(|account| (TrieId::Slots(*account), top)).collect();
    let mut roots = vec![Ok(B256::ZERO); accounts.len()];
    reader.nodes(&keys, &mut |index, node| roots[index] = stored_root(format, node))?;
    let roots = accounts.iter().zip(roots).map(|(account, root)| {
        root.map_err(|error| {
            let what = format!("the node at {} of the slots of {account}", Path::ROOT);
            StoreError::damaged("tries", what, error)
        })
    });
    roots.collect()
}
