//! Both forms of MDBX's table of slots return the same values, whatever is written and removed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, path::Path, sync::atomic::AtomicBool};

use alloy_primitives::{Address, Bytes, U256};
use executor::{
    state::{DataDir, NoProgress, StateSpec},
    store::{
        Reader, Store,
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
    },
};
use proptest::{collection::vec, prelude::*};
use variant::CacheMode;
use workload::{Genesis, GenesisAccount, Layout, NetChanges};

/// Upper bound of the keys of an account's slots: few fit within a leaf, many need a tree of
/// several pages.
const KEYS: u64 = 160;

/// The slots' values, by account and key.
type Slots = BTreeMap<(Address, U256), U256>;

fn address(index: u8) -> Address {
    Address::repeat_byte(index + 1)
}

/// Values of every length.
fn value() -> impl Strategy<Value = U256> {
    (any::<[u8; 32]>(), 0_usize..256).prop_map(|(bytes, shift)| U256::from_be_bytes(bytes) >> shift)
}

/// Slots of a few accounts, each with a random part of its keys.
fn slots() -> impl Strategy<Value = Slots> {
    let account = (1..=KEYS, vec((0..KEYS, value()), 0..160));
    vec(account, 1..6).prop_map(|accounts| {
        let slot = |(index, (bound, slots)): (usize, (u64, Vec<(u64, U256)>))| {
            let of = move |(key, value)| ((address(index as u8), U256::from(key % bound)), value);
            slots.into_iter().map(of)
        };
        accounts
            .into_iter()
            .enumerate()
            .flat_map(slot)
            .filter(|(_, value)| !value.is_zero())
            .collect()
    })
}

/// A change of a batch: sets one value, or clears all slots of an account.
#[derive(Clone, Debug)]
enum Change {
    Set(u8, u64, U256),
    Clear(u8),
}

fn batch() -> impl Strategy<Value = Vec<Change>> {
    let set = (0..6_u8, 0..KEYS, prop_oneof![value(), Just(U256::ZERO)]);
    let set = set.prop_map(|(account, key, value)| Change::Set(account, key, value));
    vec(prop_oneof![30 => set, 1 => (0..6_u8).prop_map(Change::Clear)], 0..200)
}

/// Applies a batch to `slots`. Returns its net changes.
fn apply(batch: &[Change], slots: &mut Slots) -> NetChanges {
    let mut changed = Slots::new();
    for change in batch {
        match change {
            Change::Set(account, key, value) => {
                changed.insert((address(*account), U256::from(*key)), *value);
            }
            Change::Clear(account) => {
                let keys = slots.keys().filter(|(of, _)| *of == address(*account));
                changed.extend(keys.map(|key| (*key, U256::ZERO)));
            }
        }
    }
    slots.extend(changed.iter().map(|(key, value)| (*key, *value)));
    slots.retain(|_, value| !value.is_zero());
    let changed = changed.into_iter().map(|((address, key), value)| (address, key, value));
    NetChanges { slots: changed.collect(), ..NetChanges::default() }
}

fn genesis(slots: &Slots) -> Genesis {
    let account = |index| GenesisAccount {
        address: address(index),
        nonce: 1,
        balance: U256::ZERO,
        code: Bytes::new(),
        storage: slots
            .iter()
            .filter(|((of, _), _)| *of == address(index))
            .map(|((_, key), value)| (*key, *value))
            .collect(),
    };
    Genesis { accounts: (0..6).map(account).collect(), ..Genesis::default() }
}

fn store(dir: &Path, genesis: &Genesis, layout: Layout, format: MdbxFormat) -> MdbxStore {
    let spec = StateSpec { genesis, layout, format: &format, scenario: "test", threads: 1 };
    let data = DataDir::open(dir).unwrap();
    let state = data.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    MdbxStore::open(state, MdbxSettings::default()).unwrap()
}

/// Checks each slot, alone and together with all of its account.
fn assert_reads(reader: &mut dyn Reader, slots: &Slots) {
    let keys: Vec<U256> = (0..KEYS).map(U256::from).collect();
    for account in (0..6).map(address) {
        let expected = |key: &U256| slots.get(&(account, *key)).copied().unwrap_or_default();
        let mut together = vec![None; keys.len()];
        let mut sink = |index: usize, value| together[index] = Some(value);
        reader.slots(&account, &keys, &mut sink).unwrap();
        for (key, value) in keys.iter().zip(together) {
            assert_eq!(value, Some(expected(key)), "slot {key} of {account}, with others");
            assert_eq!(reader.slot(&account, key).unwrap(), expected(key), "{key} of {account}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn both_forms_answer_the_same_after_all_that_is_written(
        before in slots(),
        batches in vec(batch(), 1..4),
        layout in prop_oneof![Just(Layout::Hashed), Just(Layout::Plain)],
    ) {
        let genesis = genesis(&before);
        let dir = tempfile::tempdir().unwrap();
        let mut digests = Vec::new();
        for format in [MdbxFormat::ROWS, MdbxFormat::DUP_SORT] {
            let store = store(dir.path(), &genesis, layout, format);
            let mut slots = before.clone();
            let sample = store.open_sample(CacheMode::Warm).unwrap();
            // A reader that stays open sees each commit, as a new one does.
            let mut early = sample.reader().unwrap();
            assert_reads(early.as_mut(), &slots);
            for batch in &batches {
                sample.commit(&apply(batch, &mut slots)).unwrap();
                assert_reads(early.as_mut(), &slots);
                assert_reads(sample.reader().unwrap().as_mut(), &slots);
            }
            drop(early);
            sample.close().unwrap();
            let sample = store.open_sample(CacheMode::Warm).unwrap();
            assert_reads(sample.reader().unwrap().as_mut(), &before);
            sample.close().unwrap();
            let name = store.built_state().unwrap().name().to_owned();
            digests.push(store.built_state().unwrap().manifest().content_digest);
            drop(store);
            let data = DataDir::open(dir.path()).unwrap();
            let formats: [&dyn executor::state::StateFormat; 1] = [&MdbxFormat::default()];
            data.verify(&name, &formats, &NoProgress, &AtomicBool::new(false)).unwrap();
        }
        prop_assert_eq!(digests[0], digests[1]);
    }
}
