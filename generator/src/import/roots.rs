//! Roots that headers have: of lists (transactions, receipts, withdrawals) and of a state that is
//! written out.

use std::collections::BTreeMap;

use alloy_primitives::{B256, KECCAK256_EMPTY, keccak256};
use trie::{AccountValue, Builder, SlotValue};
use workload::GenesisAccount;

/// Root of the trie that has `values` under the RLP of their indices. No value is empty.
pub(super) fn list_root(values: impl IntoIterator<Item = Vec<u8>>) -> B256 {
    let item = |(index, value): (usize, Vec<u8>)| (alloy_rlp::encode(index), value);
    root(&values.into_iter().enumerate().map(item).collect())
}

/// Root of a state that has exactly `accounts`.
pub(super) fn state_root(accounts: &[GenesisAccount]) -> B256 {
    let item = |account: &GenesisAccount| {
        let slots = account.storage.iter().filter_map(|(key, value)| {
            let value = SlotValue::new(value)?.as_slice().to_vec();
            Some((keccak256(key.to_be_bytes::<32>()), value))
        });
        let storage_root = root(&slots.collect());
        let code_hash =
            if account.code.is_empty() { KECCAK256_EMPTY } else { keccak256(&account.code) };
        let GenesisAccount { nonce, balance, .. } = *account;
        let mut value = Vec::new();
        AccountValue { nonce, balance, storage_root, code_hash }.encode_to(&mut value);
        (keccak256(account.address), value)
    };
    root(&accounts.iter().map(item).collect())
}

/// Root of a trie. No key begins another: RLP is free of prefixes, hashes have one length.
fn root<K: AsRef<[u8]> + Ord>(rows: &BTreeMap<K, Vec<u8>>) -> B256 {
    let mut builder = Builder::root_only();
    for (key, value) in rows {
        builder.push(key.as_ref(), value).expect("sorted, short, no prefixes, no empty value");
    }
    builder.finish().expect("no node is stored").root
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes, U256, b256};
    use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles, root::ordered_trie_root_with_encoder};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn roots_are_those_that_all_know() {
        assert_eq!(list_root([]), EMPTY_ROOT_HASH);
        assert_eq!(state_root(&[]), EMPTY_ROOT_HASH);
        let list = list_root([b"doe".to_vec(), b"reindeer".to_vec()]);
        assert_eq!(list, b256!("e766d5d51b89dc39d981b41bda63248d7abce4f0225eefd023792a540bcffee3"));
        // Of the trie tests of Ethereum.
        let rows = BTreeMap::from([("doe", b"reindeer".to_vec()), ("dog", b"puppy".to_vec())]);
        let expected = b256!("05ae693aac2107336a79309e0c60b24a7aac6aa3edecaef593921500d33c63c4");
        assert_eq!(root(&rows), expected);
    }

    /// By the reference, with accounts encoded apart from ours.
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
            let fields = [
                alloy_rlp::encode(account.nonce),
                alloy_rlp::encode(account.balance),
                alloy_rlp::encode(reference(&account.storage.iter().map(slot).collect())),
                alloy_rlp::encode(keccak256(&account.code)),
            ];
            (keccak256(account.address), crate::import::rlp::list(fields.concat()))
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
        fn roots_are_those_of_the_reference(
            accounts in accounts(),
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..300),
        ) {
            prop_assert_eq!(state_root(&accounts), reference_state(&accounts));
            let by_reference = ordered_trie_root_with_encoder(&values, |value, out| {
                out.extend_from_slice(value);
            });
            prop_assert_eq!(list_root(values), by_reference);
        }
    }

    #[test]
    fn a_root_depends_on_every_value_and_on_their_order() {
        let values = |count: usize| (0..count).map(|i| vec![(i % 251) as u8 + 1; i % 50 + 1]);
        for count in [1, 2, 16, 127, 128, 129, 255, 256, 257] {
            let whole: Vec<_> = values(count).collect();
            for index in [0, count / 2, count - 1] {
                let mut other = whole.clone();
                other[index].push(0);
                assert_ne!(list_root(other), list_root(whole.clone()), "{count} {index}");
            }
            assert_ne!(list_root(values(count + 1)), list_root(whole), "{count}");
        }
        assert_ne!(list_root(values(9)), list_root(values(9).rev()));
    }
}
