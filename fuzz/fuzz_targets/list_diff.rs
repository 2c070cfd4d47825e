//! Any bytes are a list with its faults or an error, as the strict decoder says; two lists have no
//! difference if and only if their bytes are equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::list::{LenientList, ListBounds, ListIndex, diff};

fuzz_target!(|bytes: &[u8]| {
    let bounds = ListBounds::of_block(1_000, 60_000_000);
    let read = |bytes: &[u8]| LenientList::read(bytes.to_vec().into(), &bounds);
    let check = |bytes: &[u8]| {
        let strict = ListIndex::decode(bytes, &bounds).err();
        match read(bytes) {
            Ok(list) => {
                assert_eq!(list.faults.first().map(|fault| fault.error), strict);
                assert!(diff(&list, &list).is_empty());
                Some(list)
            }
            Err(_) => {
                assert!(strict.is_some());
                None
            }
        }
    };
    let whole = check(bytes);
    // The first byte says where the second list begins: behind the first one, or on a changed byte of it.
    let [split, rest @ ..] = bytes else { return };
    let (left, right) = rest.split_at(usize::from(*split).min(rest.len()));
    let mut damaged = bytes.to_vec();
    let at = usize::from(*split) % damaged.len();
    damaged[at] ^= 1 << (split % 8);
    let pairs = [(check(left), check(right)), (whole, check(&damaged))];
    for (left, right) in pairs.into_iter().filter_map(|(left, right)| left.zip(right)) {
        assert_eq!(diff(&left, &right).is_empty(), left.encoded == right.encoded);
    }
});
