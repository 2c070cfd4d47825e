//! Lenient reading against the strict decoder, and the differences of lists.

use crate::random::{bounds, list};
use alloy_eip7928::AccountChanges;
use alloy_primitives::Bytes;
use proptest::prelude::*;
use workload::list::{LenientList, ListIndex, diff, encode};

/// Reads `bytes`, and checks that the strict decoder has the first fault as its error.
fn read(bytes: &[u8]) -> Option<LenientList> {
    let strict = ListIndex::decode(bytes, &bounds()).err();
    let lenient = LenientList::read(Bytes::copy_from_slice(bytes), &bounds());
    let first = lenient.as_ref().map(|list| list.faults.first().map(|fault| fault.error));
    match first {
        Ok(first) => assert_eq!(first, strict),
        Err(_) => assert!(strict.is_some(), "{lenient:?}"),
    }
    lenient.ok()
}

/// `list` with its accounts, and the slots and changes of each, in another order.
fn reversed(mut list: Vec<AccountChanges>) -> Vec<AccountChanges> {
    list.reverse();
    for account in &mut list {
        account.storage_changes.reverse();
        account.storage_reads.reverse();
        account.balance_changes.reverse();
    }
    list
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn two_lists_differ_if_and_only_if_their_bytes_do_however_damaged(
        list in list(),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let bytes = encode(&list);
        let mut flipped = bytes.to_vec();
        let place = place.index(bytes.len());
        flipped[place] = value;
        let reversed = encode(&reversed(list));
        let read: Vec<LenientList> =
            [&bytes[..], &flipped, &reversed].into_iter().filter_map(read).collect();
        prop_assert!(read.len() >= 2 && read[0].faults.is_empty());
        for left in &read {
            for right in &read {
                let is_equal = left.encoded == right.encoded;
                prop_assert_eq!(diff(left, right).is_empty(), is_equal);
            }
        }
    }
}
