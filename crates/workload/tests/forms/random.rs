//! Random lists for the tests of the list.

use alloy_eip7928::{
    AccountChanges, BalanceChange, BlockAccessIndex, CodeChange, NonceChange, SlotChanges,
    StorageChange,
};
use alloy_primitives::{Address, Bytes, U256};
use proptest::{collection::btree_map, prelude::*};
use workload::ListBounds;

/// Last index of the random lists.
pub(crate) const LAST_INDEX: u32 = 300;

/// Bounds that every random list keeps.
pub(crate) fn bounds() -> ListBounds {
    ListBounds {
        last_index: LAST_INDEX,
        gas_limit: 10_000_000,
        free_item_count: 0,
        surplus_item_count: 0,
        max_code_bytes: 200,
    }
}

/// Keys of all lengths, likely to meet.
pub(crate) fn key() -> impl Strategy<Value = U256> {
    prop_oneof![
        3 => (0_u64..40).prop_map(U256::from),
        1 => any::<u64>().prop_map(U256::from),
        3 => any::<[u8; 32]>().prop_map(U256::from_be_bytes),
        1 => (0_usize..256).prop_map(|bit| U256::from(1) << bit),
    ]
}

/// Addresses, likely to meet.
pub(crate) fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        (0_u8..20).prop_map(Address::with_last_byte),
        any::<[u8; 20]>().prop_map(Address::from),
    ]
}

fn at(index: u32) -> BlockAccessIndex {
    BlockAccessIndex::new(index.into())
}

fn writes<V: Strategy>(value: V) -> impl Strategy<Value = Vec<(u32, V::Value)>>
where
    V::Value: Clone,
{
    btree_map(0..=LAST_INDEX, value, 0..8).prop_map(|writes| writes.into_iter().collect())
}

/// Codes that a block can set: none that begins with 0xef, but for delegations.
fn code() -> impl Strategy<Value = Bytes> {
    let created = prop::collection::vec(any::<u8>(), 0..200).prop_map(|mut code| {
        if let Some(first) = code.first_mut().filter(|first| **first == 0xef) {
            *first = 0xfe;
        }
        Bytes::from(code)
    });
    let delegation =
        any::<[u8; 20]>().prop_map(|target| [&[0xef, 1, 0][..], &target].concat().into());
    prop_oneof![9 => created, 1 => delegation]
}

/// Lists that keep every rule.
pub(crate) fn list() -> impl Strategy<Value = Vec<AccountChanges>> {
    let slots =
        btree_map(key(), prop_oneof![Just(Vec::new()).boxed(), writes(key()).boxed()], 0..40);
    let fields = (slots, writes(key()), writes(any::<u64>()), writes(code()));
    btree_map(address(), fields, 0..24).prop_map(|accounts| {
        let accounts = accounts.into_iter();
        accounts
            .map(|(address, (slots, balances, nonces, codes))| {
                let mut account = AccountChanges::new(address);
                for (slot, writes) in slots {
                    if writes.is_empty() {
                        account.storage_reads.push(slot);
                        continue;
                    }
                    let writes = writes.into_iter();
                    let changes = writes.map(|(i, value)| StorageChange::new(at(i), value));
                    account.storage_changes.push(SlotChanges::new(slot, changes.collect()));
                }
                let balances = balances.into_iter();
                account.balance_changes =
                    balances.map(|(i, balance)| BalanceChange::new(at(i), balance)).collect();
                let nonces = nonces.into_iter();
                account.nonce_changes =
                    nonces.map(|(i, nonce)| NonceChange::new(at(i), nonce)).collect();
                let codes = codes.into_iter();
                account.code_changes =
                    codes.map(|(i, code)| CodeChange::new(at(i), code)).collect();
                account
            })
            .collect()
    })
}
