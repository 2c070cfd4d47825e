//! Tries in memory beside a state, updated block by block: for chains that are imported, and for
//! states that exported blocks grow.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256, keccak256};
use trie::{AccountValue, EMPTY_ROOT, Error, Format, MemoryTrie, Rows, SlotValue, update};
use workload::AccountState;

/// Format of the stored nodes. All formats give the same roots; this one stores the fewest nodes.
const FORMAT: Format = Format::RethLike;

/// A trie and its root.
#[derive(Clone, Debug)]
pub(crate) struct HashedTrie {
    trie: MemoryTrie,
    pub(crate) root: B256,
}

impl Default for HashedTrie {
    fn default() -> Self {
        Self { trie: MemoryTrie::default(), root: EMPTY_ROOT }
    }
}

impl HashedTrie {
    /// Builds the trie of `rows`, which have no empty value.
    pub(crate) fn build(rows: BTreeMap<B256, Vec<u8>>) -> Result<Self, Error> {
        let (trie, root) = MemoryTrie::build(FORMAT, rows)?;
        Ok(Self { trie, root })
    }

    /// Writes rows by their hashed keys; an empty value deletes.
    pub(crate) fn write(&mut self, mut writes: Vec<(B256, Vec<u8>)>) -> Result<(), Error> {
        writes.retain(|(key, value)| !value.is_empty() || self.trie.rows.contains_key(key));
        if writes.is_empty() {
            return Ok(());
        }
        writes.sort_unstable_by_key(|(key, _)| *key);
        let mut rows = Rows::default();
        writes.iter().for_each(|(key, value)| rows.push(*key, value));
        let folded = update(FORMAT, rows.clone(), &self.trie)?;
        self.trie.apply(&rows, &folded);
        self.root = folded.root;
        Ok(())
    }
}

/// Key of a slot in its trie.
pub(crate) fn hashed_key(key: &U256) -> B256 {
    keccak256(key.to_be_bytes::<32>())
}

/// A slot's value as its leaf has it; empty where the slot does not exist.
pub(crate) fn slot_leaf(value: &U256) -> Vec<u8> {
    SlotValue::new(value).map_or(Vec::new(), |value| value.as_slice().to_vec())
}

/// An account as its leaf has it.
pub(crate) fn account_leaf(account: &AccountState, storage_root: B256) -> Vec<u8> {
    let AccountState { nonce, balance, code_hash } = *account;
    let mut out = Vec::new();
    AccountValue { nonce, balance, storage_root, code_hash }.encode_to(&mut out);
    out
}
