//! The list against alloy's own decoder and naive lookups, on random lists and on damaged bytes.

use crate::random::{LAST_INDEX, address, bounds, key, list};
use alloy_eip7928::{AccountChanges, BlockAccessIndex, CodeChange};
use alloy_primitives::{Address, Bytes, U256, keccak256};
use alloy_rlp::Decodable;
use proptest::prelude::*;
use workload::{
    AccountId, ListBounds, ListError, ListIndex, SlotId,
    list::{encode, parallel_io_form},
};

/// The last of `writes` below `limit`.
fn naive<V: Clone>(writes: impl Iterator<Item = (u64, V)>, limit: u64) -> Option<V> {
    writes.filter(|(index, _)| *index < limit).last().map(|(_, value)| value)
}

fn check_account(index: &ListIndex, id: AccountId, account: &AccountChanges) {
    assert_eq!(index.account_id(&account.address), Some(id));
    assert_eq!(index.address(id), &account.address);
    let mut slots: Vec<U256> = account.storage_slots().collect();
    slots.sort_unstable();
    let ids = index.slots_of(id);
    assert_eq!(ids.clone().map(|slot| index.slot_key(SlotId(slot))).collect::<Vec<_>>(), slots);
    for (slot, key) in ids.map(SlotId).zip(&slots) {
        assert_eq!(index.account_of(slot), id);
        assert_eq!(index.slot_id(id, key), Some(slot));
        let near = *key ^ U256::from(1);
        assert_eq!(index.slot_id(id, &near).is_some(), slots.contains(&near));
        let changes = account.storage_changes.iter().find(|changes| changes.slot == *key);
        assert_eq!(index.has_changes(slot), changes.is_some());
        let writes = || {
            let changes = changes.into_iter().flat_map(|changes| &changes.changes);
            changes.map(|change| (change.block_access_index.get(), change.new_value))
        };
        for at in 0..=LAST_INDEX + 1 {
            assert_eq!(index.slot_before(slot, at), naive(writes(), at.into()));
            let exact = writes().find(|(index, _)| *index == u64::from(at));
            assert_eq!(index.slot_at(slot, at), exact.map(|(_, value)| value));
        }
    }
    check_fields(index, id, account);
}

fn check_fields(index: &ListIndex, id: AccountId, account: &AccountChanges) {
    let balances =
        || account.balance_changes.iter().map(|c| (c.block_access_index.get(), c.post_balance));
    let nonces = || account.nonce_changes.iter().map(|c| (c.block_access_index.get(), c.new_nonce));
    let codes =
        || account.code_changes.iter().map(|c| (c.block_access_index.get(), c.new_code.clone()));
    for at in 0..=LAST_INDEX + 1 {
        let limit = u64::from(at);
        assert_eq!(index.balance_before(id, at), naive(balances(), limit));
        assert_eq!(index.nonce_before(id, at), naive(nonces(), limit));
        let code = index.code_before(id, at);
        assert_eq!(code.map(|code| code.bytes.clone()), naive(codes(), limit));
        assert!(code.is_none_or(|code| code.hash == keccak256(&code.bytes)));
        assert_eq!(
            (
                index.balance_at(id, at).is_some(),
                index.nonce_at(id, at).is_some(),
                index.code_at(id, at).is_some()
            ),
            (
                balances().any(|(index, _)| index == limit),
                nonces().any(|(index, _)| index == limit),
                codes().any(|(index, _)| index == limit)
            )
        );
    }
}

fn all_indices(list: &[AccountChanges]) -> Vec<u64> {
    let slots = list.iter().flat_map(|a| &a.storage_changes).flat_map(|slot| &slot.changes);
    let mut all: Vec<u64> = slots.map(|c| c.block_access_index.get()).collect();
    for account in list {
        all.extend(account.balance_changes.iter().map(|c| c.block_access_index.get()));
        all.extend(account.nonce_changes.iter().map(|c| c.block_access_index.get()));
        all.extend(account.code_changes.iter().map(|c| c.block_access_index.get()));
    }
    all
}

fn check_list(list: &[AccountChanges]) {
    let bytes = encode(list);
    let alloys = <Vec<AccountChanges> as Decodable>::decode(&mut &bytes[..]).expect("alloy reads");
    assert_eq!(alloys, list);
    let index = ListIndex::decode(&bytes, &bounds()).expect("the list is right");
    assert_eq!(index.account_count() as usize, list.len());
    for (id, account) in index.accounts().zip(list) {
        check_account(&index, id, account);
    }
    let indices = all_indices(list);
    for at in 0..=LAST_INDEX + 1 {
        let count = indices.iter().filter(|index| **index == u64::from(at)).count();
        assert_eq!(index.change_count_at(at) as usize, count);
    }
    assert_eq!(index.change_count(), indices.len());
    assert_eq!(index.to_changes(), list);
    assert_eq!(index.encode(), bytes);
}

/// Bytes that decode must be the only encoding of what they decode to.
fn check_bytes(bytes: &[u8]) {
    if let Ok(index) = ListIndex::decode(bytes, &bounds()) {
        assert_eq!(&index.encode()[..], bytes, "two encodings of one list");
        let alloys = <Vec<AccountChanges> as Decodable>::decode(&mut &bytes[..]);
        assert_eq!(alloys.as_ref(), Ok(&index.to_changes()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn the_index_says_what_the_list_says(list in list()) {
        check_list(&list);
    }

    #[test]
    fn the_parallel_io_form_decodes_too(list in list()) {
        check_list(&parallel_io_form(&list));
    }

    #[test]
    fn undeclared_keys_have_no_id(list in list(), account in address(), slot in key()) {
        let index = ListIndex::decode(&encode(&list), &bounds()).expect("the list is right");
        let listed = list.iter().any(|entry| entry.address == account);
        prop_assert_eq!(index.account_id(&account).is_some(), listed);
        for (id, entry) in index.accounts().zip(&list) {
            let listed = entry.storage_slots().any(|listed| listed == slot);
            prop_assert_eq!(index.slot_id(id, &slot).is_some(), listed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_flipped_byte_is_rejected_or_means_another_list(
        list in list(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
    ) {
        let mut bytes = encode(&list).to_vec();
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        check_bytes(&bytes);
    }

    #[test]
    fn an_inserted_or_removed_byte_is_rejected_or_means_another_list(
        list in list(),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let bytes = encode(&list).to_vec();
        let place = place.index(bytes.len());
        let mut longer = bytes.clone();
        longer.insert(place, value);
        check_bytes(&longer);
        let mut shorter = bytes;
        shorter.remove(place);
        check_bytes(&shorter);
    }

    #[test]
    fn a_cut_list_is_rejected(list in list(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&list);
        let got_bytes = cut.index(bytes.len());
        let error = ListError::Truncated { got_bytes: got_bytes as u64 };
        prop_assert_eq!(ListIndex::decode(&bytes[..got_bytes], &bounds()).err(), Some(error));
    }

    #[test]
    fn arbitrary_bytes_are_rejected_or_canonical(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        check_bytes(&bytes);
    }
}

#[test]
fn a_storm_list_is_indexed_as_a_whole() {
    let keys = (0..5_000_u64).map(|i| keccak256(U256::from(i).to_be_bytes::<32>()).into());
    let mut random = AccountChanges::new(Address::repeat_byte(1)).extend_storage_reads(keys);
    random.sort();
    let clustered = AccountChanges::new(Address::repeat_byte(2))
        .extend_storage_reads((0..5_000_u64).map(U256::from));
    let bytes = encode(&[random.clone(), clustered.clone()]);
    let bounds = ListBounds { gas_limit: 1 << 30, ..bounds() };
    let index = ListIndex::decode(&bytes, &bounds).expect("the list is right");
    check_account(&index, AccountId(0), &random);
    check_account(&index, AccountId(1), &clustered);
}

#[test]
fn bounds_are_kept_to_the_item_and_the_byte() {
    let reads = (0..10_u64).map(U256::from);
    let bytes = encode(&[AccountChanges::new(Address::ZERO).extend_storage_reads(reads)]);
    let bounds = ListBounds { gas_limit: 22_000, ..bounds() };
    assert!(ListIndex::decode(&bytes, &bounds).is_ok());
    let fewer = ListBounds { gas_limit: 21_999, ..bounds };
    let error = ListError::TooManyItems { max_count: 10 };
    assert_eq!(ListIndex::decode(&bytes, &fewer).err(), Some(error));
    let free = ListBounds { surplus_item_count: 1, ..fewer };
    assert!(ListIndex::decode(&bytes, &free).is_ok());
    let long = vec![0; fewer.max_bytes() as usize + 1];
    let error = ListError::TooLong { got_bytes: long.len() as u64, max_bytes: fewer.max_bytes() };
    assert_eq!(ListIndex::decode(&long, &fewer).err(), Some(error));
}

#[test]
fn code_that_no_block_can_set_is_rejected() {
    let decode = |code: &[u8]| {
        let change = CodeChange::new(BlockAccessIndex::new(1), Bytes::copy_from_slice(code));
        let account = AccountChanges::new(Address::repeat_byte(9)).with_code_change(change);
        let bytes = encode(&[account]);
        let offset = bytes.len() - code.len() - usize::from(code.len() > 1 || code[0] > 0x7f);
        (ListIndex::decode(&bytes, &bounds()).err(), offset)
    };
    let of_version = |version| [&[0xef, 1, version][..], &[7; 20]].concat();
    let longer = [of_version(0), vec![7]].concat();
    let wrong = [&[0xef, 1][..], &[0xef, 1, 0], &of_version(1), &longer, &[0xef], &[0xef, 0, 1]];
    for code in wrong {
        let (error, offset) = decode(code);
        let expected = ListError::InvalidCode { address: Address::repeat_byte(9), offset };
        assert_eq!(error, Some(expected), "{code:02x?}");
    }
    for code in [&of_version(0)[..], &[0xee, 0xef], &[1]] {
        assert_eq!(decode(code).0, None, "{code:02x?}");
    }
}
