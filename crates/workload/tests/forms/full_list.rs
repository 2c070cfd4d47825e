//! The `full` form of a list: an encoded one is decoded again, and nothing else is accepted.

use crate::random::{bounds, list};
use alloy_eip7928::{AccountChanges, BlockAccessIndex, SlotChanges, StorageChange};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::{Encodable, Header};
use proptest::prelude::*;
use workload::{
    AccountState, ListBounds, ListError, ListIndex,
    list::{FullList, encode, full_encode},
};

/// The account that is at an address before the block: for a quarter of them none, for a quarter an
/// empty one.
fn account_before(address: &Address) -> Option<AccountState> {
    let hash = keccak256(address);
    let state = AccountState {
        nonce: u64::from(hash[1]),
        balance: U256::from_be_slice(&hash[..usize::from(hash[2]) % 32]),
        code_hash: hash,
    };
    match hash[0] % 4 {
        0 => None,
        // Exists and is empty: another thing than none, and so other bytes.
        1 => Some(AccountState::default()),
        _ => Some(state),
    }
}

/// The value of a slot before the block, of any length from nothing to 32 bytes.
fn slot_before(address: &Address, key: &U256) -> U256 {
    let hash = keccak256([address.as_slice(), &key.to_be_bytes::<32>()].concat());
    U256::from_be_slice(&hash[..usize::from(hash[0]) % 33])
}

fn encoded(list: &[AccountChanges]) -> Bytes {
    full_encode(list, account_before, slot_before)
}

/// Bytes that decode must be the only encoding of what they decode to.
fn check_bytes(bytes: &[u8]) {
    if let Ok(full) = FullList::decode(bytes, &bounds()) {
        assert_eq!(&full.encode()[..], bytes, "two encodings of one list");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn what_is_encoded_is_decoded_with_every_value(list in list()) {
        let bytes = encoded(&list);
        let full = FullList::decode(&bytes, &bounds()).expect("the list is right");
        let plain = ListIndex::decode(&encode(&list), &bounds()).expect("the list is right");
        prop_assert_eq!(full.index().to_changes(), plain.to_changes());
        for id in full.index().accounts() {
            let address = *full.index().address(id);
            prop_assert_eq!(full.account(id), account_before(&address));
            prop_assert_eq!(plain.address(id), &address);
        }
        for slot in full.index().slots() {
            let address = full.index().address(full.index().account_of(slot));
            let key = full.index().slot_key(slot);
            prop_assert_eq!(full.slot(slot), slot_before(address, &key));
            prop_assert_eq!(plain.slot_key(slot), key);
            prop_assert_eq!(plain.has_changes(slot), full.index().has_changes(slot));
        }
        prop_assert_eq!(full.encode(), bytes);
    }

    #[test]
    fn a_list_without_values_is_not_a_full_one(list in list()) {
        prop_assume!(!list.is_empty());
        prop_assert!(FullList::decode(&encode(&list), &bounds()).is_err());
        prop_assert!(ListIndex::decode(&encoded(&list), &bounds()).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_flipped_byte_is_rejected_or_means_another_list(
        list in list(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
    ) {
        let mut bytes = encoded(&list).to_vec();
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
        let bytes = encoded(&list).to_vec();
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
        let bytes = encoded(&list);
        let got_bytes = cut.index(bytes.len());
        let error = ListError::Truncated { got_bytes: got_bytes as u64 };
        prop_assert_eq!(FullList::decode(&bytes[..got_bytes], &bounds()).err(), Some(error));
    }

    #[test]
    fn arbitrary_bytes_are_rejected_or_canonical(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        check_bytes(&bytes);
    }
}

/// One RLP list of parts that are encoded already.
fn of(parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let mut out = Vec::new();
    Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.extend(payload);
    out
}

const ADDRESS: Address = Address::repeat_byte(7);

/// A list of one account that changes slot 5 at index 1 and has these values before.
fn with_values(before: &[u8], values: &[(u64, u64)]) -> Vec<u8> {
    let mut address = Vec::new();
    ADDRESS.encode(&mut address);
    let change = StorageChange::new(BlockAccessIndex::new(1), U256::from(9));
    let mut changes = Vec::new();
    vec![SlotChanges::new(U256::from(5), vec![change])].encode(&mut changes);
    let pair = |(slot, value): &(u64, u64)| {
        let mut parts = [Vec::new(), Vec::new()];
        slot.encode(&mut parts[0]);
        value.encode(&mut parts[1]);
        of(&[&parts[0], &parts[1]])
    };
    let values: Vec<Vec<u8>> = values.iter().map(pair).collect();
    let values = of(&values.iter().map(Vec::as_slice).collect::<Vec<_>>());
    of(&[&of(&[&address, before, &changes, &values, &[0xc0], &[0xc0], &[0xc0]])])
}

#[test]
fn every_rule_of_the_values_has_its_reason() {
    let fault = |before: &[u8], values: &[(u64, u64)]| {
        FullList::decode(&with_values(before, values), &bounds()).err()
    };
    let (address, slot) = (ADDRESS, U256::from(5));
    let none = &[0xc0][..];
    assert_eq!(fault(none, &[(5, 0)]), None);
    assert_eq!(fault(none, &[(4, 1), (5, 0), (6, 0)]), None);
    assert_eq!(fault(none, &[]), Some(ListError::MissingValue { address, slot }));
    assert_eq!(fault(none, &[(4, 1)]), Some(ListError::MissingValue { address, slot }));
    assert_eq!(fault(none, &[(6, 1)]), Some(ListError::MissingValue { address, slot }));
    let twice = [(5, 0), (5, 0)];
    assert_eq!(fault(none, &twice), Some(ListError::DuplicateValue { address, slot }));
    let order = ListError::ValueOrder { address, slot: U256::from(6) };
    assert_eq!(fault(none, &[(5, 0), (7, 1), (6, 1)]), Some(order));

    let hash = [&[0xa0][..], B256::repeat_byte(3).as_slice()].concat();
    assert_eq!(fault(&of(&[&[1], &[2], &hash]), &[(5, 0)]), None);
    let short = of(&[&[1], &[2], &[0x82, 3, 3]]);
    assert!(matches!(fault(&short, &[(5, 0)]), Some(ListError::HashLength { got_bytes: 2, .. })));
    let more = of(&[&[1], &[2], &hash, &[1]]);
    assert!(matches!(fault(&more, &[(5, 0)]), Some(ListError::SurplusField { .. })));
    let less = of(&[&[1], &[2]]);
    assert!(matches!(fault(&less, &[(5, 0)]), Some(ListError::MissingItem { .. })));
    let padded = of(&[&[0], &[2], &hash]);
    assert!(matches!(fault(&padded, &[(5, 0)]), Some(ListError::LeadingZero { .. })));
    assert!(matches!(fault(&[0x80], &[(5, 0)]), Some(ListError::NotAList { .. })));
}

#[test]
fn items_are_counted_as_in_the_list_without_values() {
    let reads = (0..9_u64).map(U256::from);
    let change = StorageChange::new(BlockAccessIndex::new(1), U256::from(9));
    let account = AccountChanges::new(ADDRESS)
        .with_storage_change(SlotChanges::new(U256::from(20), vec![change]))
        .extend_storage_reads(reads);
    let list = [account];
    for gas_limit in [22_000, 21_999] {
        let bounds = ListBounds { gas_limit, ..bounds() };
        let full = FullList::decode(&encoded(&list), &bounds).map(|_| ());
        assert_eq!(full, ListIndex::decode(&encode(&list), &bounds).map(|_| ()));
        assert_eq!(full.is_ok(), gas_limit == 22_000);
    }
}

#[test]
fn the_byte_bound_holds_whatever_the_items_can_carry() {
    // The longest entries there are: full keys, values, balances and nonces everywhere.
    let max = |_: &Address| {
        Some(AccountState { nonce: u64::MAX, balance: U256::MAX, code_hash: B256::repeat_byte(1) })
    };
    let account = |n: u8| {
        let reads = (0..3_u64).map(|k| U256::MAX - U256::from(10 - k));
        AccountChanges::new(Address::repeat_byte(n)).extend_storage_reads(reads)
    };
    let list: Vec<_> = (1..=200).map(account).collect();
    let bytes = full_encode(&list, max, |_, _| U256::MAX);
    let bounds = ListBounds { gas_limit: 800 * 2_000, ..bounds() };
    assert!(FullList::decode(&bytes, &bounds).is_ok());
    let long = vec![0; bounds.max_full_bytes() as usize + 1];
    let (got_bytes, max_bytes) = (long.len() as u64, bounds.max_full_bytes());
    let error = ListError::TooLong { got_bytes, max_bytes };
    assert_eq!(FullList::decode(&long, &bounds).err(), Some(error));
}

#[test]
fn the_form_of_changes_only_names_nothing_else() {
    let change = StorageChange::new(BlockAccessIndex::new(1), U256::from(9));
    let changed = AccountChanges::new(ADDRESS)
        .with_storage_change(SlotChanges::new(U256::from(20), vec![change]));
    let first = |list: &[AccountChanges]| {
        let index = ListIndex::decode(&encode(list), &bounds()).expect("the list is right");
        index.account_beyond_changes().map(|id| *index.address(id))
    };
    assert_eq!(first(std::slice::from_ref(&changed)), None);
    assert_eq!(first(&[changed.clone().with_storage_read(U256::from(1))]), Some(ADDRESS));
    let other = Address::repeat_byte(9);
    assert_eq!(first(&[changed, AccountChanges::new(other)]), Some(other));
}
