//! The root of a state that is written out.

use std::collections::BTreeMap;

use alloy_primitives::{B256, keccak256};
use trie::{AccountValue, Builder, SlotValue};
use workload::GenesisAccount;

/// Root of a state that has exactly `accounts`.
pub(super) fn state_root(accounts: &[GenesisAccount]) -> B256 {
    let rows = accounts.iter().map(|account| {
        let slots = account.storage.iter().filter_map(|(key, value)| {
            let value = SlotValue::new(value)?.as_slice().to_vec();
            Some((keccak256(key.to_be_bytes::<32>()), value))
        });
        let storage_root = root(&slots.collect());
        let GenesisAccount { nonce, balance, .. } = *account;
        let mut value = Vec::new();
        AccountValue { nonce, balance, storage_root, code_hash: keccak256(&account.code) }
            .encode_to(&mut value);
        (keccak256(account.address), value)
    });
    root(&rows.collect())
}

/// Root of a trie.
fn root(rows: &BTreeMap<B256, Vec<u8>>) -> B256 {
    let mut builder = Builder::root_only();
    for (key, value) in rows {
        builder.push(key.as_slice(), value).expect("sorted, of one length, no empty value");
    }
    builder.finish().expect("no node is stored").root
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes, U256};
    use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles, TrieAccount};
    use proptest::prelude::*;

    use super::*;

    /// The root by the reference, which encodes accounts by its own code.
    fn reference(rows: &BTreeMap<B256, Vec<u8>>) -> B256 {
        let mut builder = HashBuilder::default();
        rows.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
        builder.root()
    }

    fn reference_state(accounts: &[GenesisAccount]) -> B256 {
        let item = |account: &GenesisAccount| {
            let slot = |(key, value): &(U256, U256)| {
                (keccak256(key.to_be_bytes::<32>()), alloy_rlp::encode(value))
            };
            let value = TrieAccount {
                nonce: account.nonce,
                balance: account.balance,
                storage_root: reference(&account.storage.iter().map(slot).collect()),
                code_hash: keccak256(&account.code),
            };
            (keccak256(account.address), alloy_rlp::encode(value))
        };
        reference(&accounts.iter().map(item).collect())
    }

    fn accounts() -> impl Strategy<Value = Vec<GenesisAccount>> {
        let slots = prop::collection::btree_map(0_u64..500, 1_u128.., 0..40);
        let account = (any::<u64>(), any::<u128>(), 0_usize..40, slots);
        prop::collection::btree_map(any::<[u8; 20]>(), account, 0..12).prop_map(|all| {
            let account =
                |(address, (nonce, balance, code, slots)): (_, (_, u128, _, BTreeMap<_, u128>))| {
                    let slots = slots.into_iter();
                    GenesisAccount {
                        address: Address::new(address),
                        nonce,
                        balance: U256::from(balance),
                        code: Bytes::from(vec![0x5b; code]),
                        storage: slots
                            .map(|(key, value)| (U256::from::<u64>(key), U256::from(value)))
                            .collect(),
                    }
                };
            all.into_iter().map(account).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn roots_are_those_of_the_reference(accounts in accounts()) {
            prop_assert_eq!(state_root(&accounts), reference_state(&accounts));
        }
    }

    #[test]
    fn an_empty_state_has_the_empty_root() {
        assert_eq!(state_root(&[]), EMPTY_ROOT_HASH);
    }
}
