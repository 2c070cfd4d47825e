//! The rows that every store of the small recipe must give.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use executor::store::{Reader, Store};
use variant::CacheMode;
use workload::{AccountState, Genesis, NetChanges};

use super::{KECCAK, WEYL};

/// Checks every row of the recipe, one by one, and keys that do not exist.
pub(crate) fn assert_holds(reader: &mut dyn Reader, genesis: &Genesis) {
    for account in &genesis.accounts {
        assert_eq!(reader.account(&account.address).unwrap(), Some(account.state()));
        for (key, value) in &account.storage {
            assert_eq!(reader.slot(&account.address, key).unwrap(), *value);
        }
        if !account.code.is_empty() {
            let hash = account.state().code_hash;
            assert_eq!(reader.code(&hash).unwrap().as_ref(), Some(&account.code));
        }
    }
    for family in &genesis.senders {
        let state = AccountState { balance: family.balance, ..AccountState::default() };
        for address in family.addresses(0..family.count).unwrap() {
            assert_eq!(reader.account(&address).unwrap(), Some(state));
        }
    }
    for family in &genesis.account_families {
        for index in 0..family.count + 5 {
            let code = family.code_index(index).map(|place| family.code(place));
            let state = family.state(index, code.as_ref().map(keccak256));
            let held = (index < family.count).then_some(state);
            assert_eq!(reader.account(&family.address(index)).unwrap(), held);
            if let Some(code) = code {
                assert_eq!(reader.code(&state.code_hash).unwrap(), Some(code));
            }
        }
    }
    for family in &genesis.slots {
        let keys: Vec<U256> = (0..family.count + 50).map(|index| family.key(index)).collect();
        let mut seen = vec![0; keys.len()];
        reader
            .slots(&family.address, &keys, &mut |place, value| {
                let index = place as u64;
                let expected = if index < family.count { family.value(index) } else { U256::ZERO };
                assert_eq!(value, expected, "slot {index} of {}", family.address);
                seen[place] += 1;
            })
            .unwrap();
        assert!(seen.iter().all(|count| *count == 1));
        assert_eq!(reader.slot(&family.address, &keys[7]).unwrap(), family.value(7));
    }
    assert_eq!(reader.account(&Address::repeat_byte(0x99)).unwrap(), None);
    assert_eq!(reader.slot(&Address::repeat_byte(0x99), &U256::ZERO).unwrap(), U256::ZERO);
    assert_eq!(reader.code(&B256::repeat_byte(1)).unwrap(), None);
}

/// Changes of each kind: a row is created, changed and removed.
pub(crate) fn changes(genesis: &Genesis) -> NetChanges {
    let code = Bytes::from_static(b"new code");
    let new = AccountState { nonce: 1, code_hash: keccak256(&code), ..AccountState::default() };
    let mut changes = NetChanges {
        accounts: vec![(Address::repeat_byte(0x44), None), (Address::repeat_byte(0x77), Some(new))],
        slots: vec![
            (KECCAK, genesis.slots[0].key(0), U256::from(1)),
            (KECCAK, genesis.slots[0].key(1), U256::ZERO),
            (WEYL, genesis.slots[1].key(999_999), U256::from(2)),
        ],
        codes: vec![(new.code_hash, code)],
    };
    changes.sort();
    changes
}

/// Commits in a sample and reads the commit there, by an earlier reader and a new one.
pub(crate) fn assert_committed(store: &dyn Store, genesis: &Genesis) {
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let changes = changes(genesis);
    let mut early = sample.reader().unwrap();
    assert_holds(early.as_mut(), genesis);
    sample.commit(&changes).unwrap();
    assert_reads(early.as_mut(), &changes);
    drop(early);
    assert_reads(sample.reader().unwrap().as_mut(), &changes);
    // A second batch overwrites a slot of the first.
    let mut back = changes.clone();
    back.slots.truncate(1);
    back.slots[0].2 = U256::from(77);
    let mut early = sample.reader().unwrap();
    sample.commit(&back).unwrap();
    assert_reads(early.as_mut(), &back);
    drop(early);
    sample.close().unwrap();
}

fn assert_reads(reader: &mut dyn Reader, changes: &NetChanges) {
    for (address, account) in &changes.accounts {
        assert_eq!(reader.account(address).unwrap(), *account);
    }
    for (address, key, value) in &changes.slots {
        assert_eq!(reader.slot(address, key).unwrap(), *value);
    }
    for (hash, code) in &changes.codes {
        assert_eq!(reader.code(hash).unwrap().as_ref(), Some(code));
    }
    let together: Vec<U256> = changes.slots.iter().map(|(_, key, _)| *key).collect();
    let (address, ..) = changes.slots[0];
    reader
        .slots(&address, &together, &mut |place, value| {
            let (of, _, committed) = changes.slots[place];
            assert!(of != address || value == committed);
        })
        .unwrap();
}
