//! Solidity's layout of storage and calldata, for loads: keys of mappings, selectors, words.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};

/// Slot key of the entry `key` in the mapping at `slot`.
pub(crate) fn mapped(key: B256, slot: U256) -> U256 {
    U256::from_be_bytes(keccak256([key, B256::from(slot)].concat()).0)
}

/// Slot key of an account's entry in the mapping at slot number `slot`.
pub(crate) fn of_account(account: &Address, slot: u64) -> U256 {
    mapped(account.into_word(), U256::from(slot))
}

/// The entries 0 to `count` - 1 of the mapping at slot 0, as slots. No value is zero, so that each
/// access costs the same.
pub(crate) fn filled_mapping(count: u64) -> Vec<(U256, U256)> {
    (0..count).map(|index| (mapped(word(index), U256::ZERO), U256::from(index + 1))).collect()
}

/// Calldata of the function with `signature`, its arguments as words.
pub(crate) fn calldata(signature: &str, words: &[B256]) -> Bytes {
    let selector = &keccak256(signature)[..4];
    let words = words.iter().flat_map(|word| word.0);
    selector.iter().copied().chain(words).collect::<Vec<u8>>().into()
}

/// A number as a word.
pub(crate) fn word(number: u64) -> B256 {
    B256::from(U256::from(number))
}

/// An account's address as a value in storage.
pub(crate) fn value_of(account: &Address) -> U256 {
    account.into_word().into()
}
