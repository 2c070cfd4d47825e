//! The store over flat files: its rows, the files after samples, and its reaction to damage.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    sync::atomic::AtomicBool,
};

use alloy_primitives::{Address, B256, U256, keccak256};
use executor::{
    state::{BuiltState, DataDir, NoProgress, StateError, StateSpec},
    store::{
        Store, StoreError,
        flat::{FlatFormat, FlatSettings, FlatStore},
    },
};
use variant::{CacheMode, Durability};
use workload::{Genesis, GenesisAccount, Layout};

use crate::common::{
    self, KECCAK, genesis,
    rows::{assert_committed, assert_holds},
};

const LAYOUTS: [Layout; 2] = [Layout::Hashed, Layout::Plain];

fn spec(genesis: &Genesis, layout: Layout) -> StateSpec<'_> {
    StateSpec { genesis, layout, format: &FlatFormat::ROWS, scenario: "test", threads: 2 }
}

fn open(data: &Path, genesis: &Genesis, layout: Layout) -> Result<BuiltState, StateError> {
    let spec = spec(genesis, layout);
    DataDir::open(data)?.open_or_build(&spec, &NoProgress, &AtomicBool::new(false))
}

fn store(data: &Path, genesis: &Genesis, layout: Layout) -> FlatStore {
    FlatStore::open(open(data, genesis, layout).unwrap(), FlatSettings::default()).unwrap()
}

fn verify(data: &Path, name: &str) -> Result<(), StateError> {
    let data = DataDir::open(data)?;
    data.verify(name, &[&FlatFormat::ROWS], &NoProgress, &AtomicBool::new(false)).map(drop)
}

#[test]
fn a_built_state_holds_exactly_what_the_recipe_enumerates() {
    let genesis = genesis(30_000);
    for layout in LAYOUTS {
        let data = tempfile::tempdir().unwrap();
        for (depth, keys_per_call) in [(1, 10), (3, 1), (256, 4096)] {
            let settings = FlatSettings { depth, keys_per_call, ..FlatSettings::default() };
            let state = open(data.path(), &genesis, layout).unwrap();
            let rows = state.manifest().rows;
            assert_eq!((rows.accounts, rows.slots, rows.codes), (1_604, 60_004, 5));
            let store = FlatStore::open(state, settings).unwrap();
            for cache in [CacheMode::Cold, CacheMode::Warm] {
                let sample = store.open_sample(cache).unwrap();
                assert_holds(sample.reader().unwrap().as_mut(), &genesis);
                sample.close().unwrap();
            }
        }
        let name = spec(&genesis, layout).name();
        assert!(name.starts_with("flat-"), "{name}");
        verify(data.path(), &name).unwrap();
    }
}

#[test]
fn the_content_is_that_of_the_same_recipe_in_rocksdb_whatever_the_threads() {
    let genesis = genesis(5_000);
    for layout in LAYOUTS {
        let data = tempfile::tempdir().unwrap();
        let rocks = common::open(data.path(), &genesis, layout).unwrap();
        for threads in [1, 3] {
            let data = tempfile::tempdir().unwrap();
            let spec = StateSpec { threads, ..spec(&genesis, layout) };
            let dir = DataDir::open(data.path()).unwrap();
            let built = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
            assert_eq!(built.manifest().content_digest, rocks.manifest().content_digest);
            assert_eq!(built.manifest().rows, rocks.manifest().rows);
        }
    }
}

#[test]
fn small_slots_of_many_accounts_are_found_though_the_index_cannot_tell_them_apart() {
    // In the plain layout these keys agree in all bytes that the index holds.
    let account = |byte: u8, slot_count: u64| GenesisAccount {
        address: Address::repeat_byte(byte),
        storage: (0..slot_count).map(|i| (U256::from(2 * i), U256::from(i + 1))).collect(),
        ..GenesisAccount::default()
    };
    let accounts = (1..12).map(|byte| account(byte, u64::from(byte) * 31));
    let genesis = Genesis { accounts: accounts.collect(), ..Genesis::default() };
    let data = tempfile::tempdir().unwrap();
    for layout in LAYOUTS {
        let store = store(data.path(), &genesis, layout);
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let mut reader = sample.reader().unwrap();
        for account in &genesis.accounts {
            let keys: Vec<_> = (0..2 * account.storage.len() as u64 + 3).map(U256::from).collect();
            let expected = |index: usize| match index.is_multiple_of(2) {
                true => account.storage.get(index / 2).map_or(U256::ZERO, |(_, value)| *value),
                false => U256::ZERO,
            };
            let mut seen = vec![0; keys.len()];
            reader
                .slots(&account.address, &keys, &mut |place, value| {
                    assert_eq!(value, expected(place));
                    seen[place] += 1;
                })
                .unwrap();
            assert!(seen.iter().all(|count| *count == 1));
            for place in (0..keys.len()).step_by(7) {
                assert_eq!(reader.slot(&account.address, &keys[place]).unwrap(), expected(place));
            }
        }
        drop(reader);
        sample.close().unwrap();
    }
}

#[test]
fn a_slot_costs_one_block_and_neighbours_in_a_call_share_theirs() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(20_000);
    let store = store(data.path(), &genesis, Layout::Hashed);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    for index in 0..500 {
        reader.slot(&KECCAK, &genesis.slots[0].key(index)).unwrap();
    }
    let counters = reader.counters();
    assert_eq!((counters.key_count, counters.block_count), (500, 500));
    assert_eq!(counters.block_bytes, 500 * 4096);
    drop(reader);
    let mut reader = sample.reader().unwrap();
    let keys: Vec<_> = (0..20_000).map(|index| genesis.slots[0].key(index)).collect();
    reader.slots(&KECCAK, &keys, &mut |_, _| {}).unwrap();
    let blocks = reader.counters().block_count as f64;
    let expected = 20_000.0 / store.slots_per_block().unwrap();
    assert!(blocks >= expected && blocks <= expected + 2.0, "{blocks} {expected}");
    drop(reader);
    sample.close().unwrap();
}

#[test]
fn readers_of_fibers_find_the_same_rows_in_as_many_blocks() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(2_000);
    let store = store(data.path(), &genesis, Layout::Hashed);
    for cache in [CacheMode::Cold, CacheMode::Warm] {
        let sample = store.open_sample(cache).unwrap();
        let mut alone = sample.reader().unwrap();
        let mut readers = sample.fiber_readers(3).unwrap();
        for family in &genesis.slots {
            for index in 0..family.count {
                let key = family.key(index);
                let found = readers[index as usize % 3].slot(&family.address, &key).unwrap();
                assert_eq!(found, alone.slot(&family.address, &key).unwrap());
            }
        }
        for (place, account) in genesis.accounts.iter().map(|account| &account.address).enumerate()
        {
            let found = readers[place % 3].account(account).unwrap();
            assert_eq!(found, alone.account(account).unwrap());
        }
        let block_count: u64 = readers.iter().map(|reader| reader.counters().block_count).sum();
        assert_eq!(block_count, alone.counters().block_count);
        drop((alone, readers));
        sample.close().unwrap();
    }
}

fn contents(dir: &Path) -> Vec<(String, B256)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), keccak256(fs::read(&path).unwrap())))
        .collect();
    files.sort();
    files
}

#[test]
fn what_a_sample_commits_is_read_there_and_gone_after() {
    let genesis = genesis(500);
    for layout in LAYOUTS {
        let data = tempfile::tempdir().unwrap();
        for durability in [Durability::Synced, Durability::Logged, Durability::Unlogged] {
            let state = open(data.path(), &genesis, layout).unwrap();
            let settings = FlatSettings { durability, ..FlatSettings::default() };
            let store = FlatStore::open(state, settings).unwrap();
            let before = contents(store.built_state().unwrap().dir());
            assert_committed(&store, &genesis);
            let sample = store.open_sample(CacheMode::Cold).unwrap();
            assert_holds(sample.reader().unwrap().as_mut(), &genesis);
            sample.close().unwrap();
            assert_eq!(contents(store.built_state().unwrap().dir()), before);
            assert_eq!(fs::read_dir(data.path().join("samples")).unwrap().count(), 0);
        }
    }
}

#[test]
fn a_state_on_a_memory_file_system_is_never_cold() {
    let Ok(data) = tempfile::tempdir_in("/dev/shm") else { return };
    let genesis = genesis(500);
    let store = store(data.path(), &genesis, Layout::Plain);
    assert!(store.never_cold_reason().unwrap().contains("memory"));
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    sample.close().unwrap();
}

/// Flips a bit of a `file` of the state.
fn flip(dir: &Path, file: &str, offset: u64) {
    let file = File::options().read(true).write(true).open(dir.join(file)).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

#[test]
fn a_damaged_block_is_an_error_and_not_a_value() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(3_000);
    let state = open(data.path(), &genesis, Layout::Hashed).unwrap();
    flip(state.dir(), "storage.flat", 5 * 4096 + 1_000);
    let name = state.name().to_owned();
    let store = FlatStore::open(state, FlatSettings::default()).unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    let mut of_fiber = sample.fiber_readers(1).unwrap().remove(0);
    let mut damaged = 0;
    for family in &genesis.slots {
        for index in 0..family.count {
            let mut found = U256::ZERO;
            let key = [family.key(index)];
            match reader.slots(&family.address, &key, &mut |_, value| found = value) {
                Ok(()) => assert_eq!(found, family.value(index)),
                Err(StoreError::Damaged { .. }) => damaged += 1,
                Err(other) => panic!("{other}"),
            }
            for reader in [&mut reader, &mut of_fiber] {
                let alone = reader.slot(&family.address, &key[0]);
                assert!(alone.map_or(true, |value| value == family.value(index)));
            }
        }
    }
    assert_eq!(damaged, 42, "rows of one block");
    // The whole call fails, and the reader stays usable.
    let keys: Vec<_> = (0..3_000).map(|index| genesis.slots[0].key(index)).collect();
    let results = genesis
        .slots
        .iter()
        .map(|family| reader.slots(&family.address, &keys, &mut |_, _| {}).is_err());
    assert!(results.filter(|is_err| *is_err).count() <= 2);
    drop((reader, of_fiber));
    drop(sample);
    drop(store);
    let error = verify(data.path(), &name).unwrap_err();
    assert!(matches!(error, StateError::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains("block 5 of storage.flat"), "{error}");
}

#[test]
fn damaged_indices_and_codes_and_cut_files_are_refused() {
    let genesis = genesis(300);
    for index in ["accounts.index", "storage.index", "code.index"] {
        let data = tempfile::tempdir().unwrap();
        let state = open(data.path(), &genesis, Layout::Plain).unwrap();
        flip(state.dir(), index, 20);
        let name = state.name().to_owned();
        let error = FlatStore::open(state, FlatSettings::default()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(index), "{error}");
        let error = verify(data.path(), &name).unwrap_err();
        assert!(matches!(error, StateError::Untrusted { .. }), "{error}");
    }
    let data = tempfile::tempdir().unwrap();
    let state = open(data.path(), &genesis, Layout::Plain).unwrap();
    let (dir, name) = (state.dir().to_owned(), state.name().to_owned());
    flip(&dir, "code.flat", 2);
    let store = FlatStore::open(state, FlatSettings::default()).unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    let written_out = genesis.accounts.iter().map(|account| account.code.clone());
    let families = genesis.account_families.iter();
    let made = families.flat_map(|of| (0..of.code_count()).map(|place| of.code(place)));
    let codes = written_out.chain(made).filter(|code| !code.is_empty());
    let read: Vec<_> = codes.map(|code| reader.code(&keccak256(code))).collect();
    assert_eq!(read.iter().filter(|code| code.is_err()).count(), 1);
    drop(reader);
    drop(sample);
    drop(store);
    assert!(verify(data.path(), &name).unwrap_err().to_string().contains("rows have digest"));
    let file = File::options().write(true).open(dir.join("storage.flat")).unwrap();
    file.set_len(file.metadata().unwrap().len() - 4096).unwrap();
    let error = open(data.path(), &genesis, Layout::Plain).unwrap_err();
    assert!(error.to_string().contains("bytes and should have"), "{error}");
}

#[test]
fn a_base_that_somebody_wrote_is_noticed_when_the_sample_closes() {
    let data = tempfile::tempdir().unwrap();
    let store = store(data.path(), &genesis(100), Layout::Hashed);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    fs::write(store.built_state().unwrap().dir().join("more.flat"), "x").unwrap();
    let error = sample.close().unwrap_err();
    assert!(matches!(error, StoreError::NotRestored { .. }), "{error}");
}

#[test]
fn a_cancelled_build_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(2_000);
    let cancel = AtomicBool::new(true);
    let spec = spec(&genesis, Layout::Hashed);
    let error = DataDir::open(data.path()).unwrap().open_or_build(&spec, &NoProgress, &cancel);
    assert!(matches!(error.unwrap_err(), StateError::Cancelled));
    assert!(!data.path().join(spec.name()).exists());
    open(data.path(), &genesis, Layout::Hashed).unwrap();
}
