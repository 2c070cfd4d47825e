//! Raw reads over the memory store: counts and refusals.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::{Address, B256};
use workload::{Genesis, GenesisAccount, KeyRule, SlotFamily, ValueRule};

use super::*;
use crate::store::memory::MemoryStore;

fn genesis(count: u64) -> Genesis {
    let address = Address::repeat_byte(1);
    let seed = B256::repeat_byte(3);
    Genesis {
        accounts: vec![GenesisAccount { address, nonce: 1, ..GenesisAccount::default() }],
        slots: vec![SlotFamily {
            address,
            count,
            keys: KeyRule::Weyl,
            values: ValueRule::Random,
            seed,
        }],
        ..Genesis::default()
    }
}

fn reads<'a>(
    family: &'a SlotFamily,
    sequence: &'a SlotSequence,
    cancel: &'a AtomicBool,
) -> RawReads<'a> {
    RawReads {
        family,
        sequence,
        thread_count: NonZeroUsize::new(3).unwrap(),
        slots_per_call: SlotsPerCall::One,
        time: Duration::from_secs(60),
        cancel,
    }
}

#[test]
fn a_point_ends_when_every_key_was_asked_for_once_and_the_next_goes_on() {
    let genesis = genesis(5_000);
    let store = MemoryStore::build(&genesis, None, u64::MAX).unwrap();
    let (family, cancel) = (&genesis.slots[0], AtomicBool::new(false));
    let sequence = SlotSequence::new(family, 1, 0.5);
    let first = measure(&store, &reads(family, &sequence, &cancel)).unwrap();
    assert!(first.is_exhausted);
    assert_eq!((first.read_count(), sequence.draw_count()), (5_000, 5_000));
    assert!((2_300..2_700).contains(&first.present_count), "{}", first.present_count);
    assert_eq!(first.counters.key_count, 5_000);
    measure(&store, &reads(family, &sequence, &cancel)).unwrap();
    assert_eq!(sequence.draw_count(), 10_000);
}

#[test]
fn a_value_that_is_not_the_recipes_is_an_error_and_no_rate() {
    let genesis = genesis(500);
    let store = MemoryStore::build(&genesis, None, u64::MAX).unwrap();
    let other = SlotFamily { seed: B256::repeat_byte(4), ..genesis.slots[0].clone() };
    let (cancel, sequence) = (AtomicBool::new(false), SlotSequence::new(&other, 1, 1.0));
    let error = measure(&store, &reads(&other, &sequence, &cancel)).unwrap_err().to_string();
    assert!(error.contains("the recipe says"), "{error}");
}

#[test]
fn a_store_without_multi_get_is_not_measured_as_if_it_had_one() {
    let genesis = genesis(500);
    let store = MemoryStore::build(&genesis, None, u64::MAX).unwrap();
    let (family, cancel) = (&genesis.slots[0], AtomicBool::new(false));
    let sequence = SlotSequence::new(family, 1, 1.0);
    let slots_per_call = SlotsPerCall::Many(NonZeroUsize::new(8).unwrap());
    let reads = RawReads { slots_per_call, ..reads(family, &sequence, &cancel) };
    let error = measure(&store, &reads).unwrap_err();
    assert!(matches!(error, RawError::NotTogether { store: "memory" }), "{error}");
}

#[test]
fn an_interrupted_point_is_no_point() {
    let genesis = genesis(500);
    let store = MemoryStore::build(&genesis, None, u64::MAX).unwrap();
    let (family, cancel) = (&genesis.slots[0], AtomicBool::new(true));
    let sequence = SlotSequence::new(family, 1, 1.0);
    let error = measure(&store, &reads(family, &sequence, &cancel)).unwrap_err();
    assert!(matches!(error, RawError::Cancelled), "{error}");
}
