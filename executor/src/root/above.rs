//! The nodes above the changes of a list: those whose pages a cold sample must not find in memory.

use alloy_primitives::{Address, B256, U256};
use trie::{Format, NodeKey, guess_nodes};
use workload::{Genesis, Layout, list::ListIndex};

use super::{listed::changes, way::guess_depth};
use crate::tries::TrieId;

/// The nodes that may stand above the keys that a list changes, in tries of a state from `genesis`.
pub(crate) fn nodes_above(
    list: &ListIndex,
    format: Format,
    genesis: &Genesis,
) -> Vec<(TrieId, NodeKey)> {
    let depth = guess_depth(format, genesis);
    let changes = changes(list);
    let addresses: Vec<Address> = changes.accounts.iter().map(|(address, ..)| *address).collect();
    let mut accounts = vec![[0; 32]; addresses.len()];
    Layout::Hashed.account_key_parts(&addresses, &mut accounts);
    let keys: Vec<U256> = changes.slots.iter().map(|(_, key, _)| *key).collect();
    let mut slots = vec![[0; 32]; keys.len()];
    Layout::Hashed.slot_key_parts(&keys, &mut slots);
    let mut nodes = Vec::new();
    let mut add = |trie, keys: &[[u8; 32]]| {
        let mut keys: Vec<B256> = keys.iter().map(|key| B256::new(*key)).collect();
        keys.sort_unstable();
        let guessed = guess_nodes(format, &keys, depth).into_iter();
        nodes.extend(guessed.map(|key| (trie, key)));
    };
    for (account, (_, _, of_account)) in accounts.iter().zip(&changes.accounts) {
        add(TrieId::Slots(B256::new(*account)), &slots[of_account.clone()]);
    }
    add(TrieId::Accounts, &accounts);
    nodes
}
