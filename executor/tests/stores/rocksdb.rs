//! The store over RocksDB: its rows, and its files after samples.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod format;
mod tries;
mod writes;

use std::{fs, path::Path};

use alloy_primitives::{B256, Bytes, U256, keccak256};
use executor::store::{
    Sample, Store, StoreError,
    rocksdb::{RocksSettings, RocksStore, check_options},
};
use variant::{CacheMode, Durability, FileAccess, ReadMethod};
use workload::{Genesis, Layout, NetChanges};

use crate::common::{
    self, KECCAK, genesis,
    rows::{assert_committed, assert_holds},
    store,
};

const LAYOUTS: [Layout; 2] = [Layout::Hashed, Layout::Plain];

fn settings(read_method: ReadMethod) -> RocksSettings {
    RocksSettings { read_method, multi_get_key_count: 64, ..RocksSettings::default() }
}

#[test]
fn a_built_state_holds_exactly_what_the_recipe_enumerates() {
    let genesis = genesis(3_000);
    for layout in LAYOUTS {
        let data = tempfile::tempdir().unwrap();
        for method in [ReadMethod::Get, ReadMethod::MultiGet] {
            let store = store(data.path(), &genesis, layout, settings(method));
            let rows = store.built_state().unwrap().manifest().rows;
            assert_eq!((rows.accounts, rows.slots, rows.codes), (1_604, 6_004, 5));
            let tables = store.built_state().unwrap().manifest().files.iter();
            assert!(tables.filter(|file| file.name.ends_with(".sst")).count() >= 6);
            let sample = store.open_sample(CacheMode::Cold).unwrap();
            assert_holds(sample.reader().unwrap().as_mut(), &genesis);
            sample.close().unwrap();
        }
    }
}

#[test]
fn a_present_slot_costs_one_block_read_and_an_absent_one_hardly_any() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(3_000);
    let store = store(data.path(), &genesis, Layout::Hashed, settings(ReadMethod::Get));
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    reader.slot(&KECCAK, &genesis.slots[0].key(11)).unwrap();
    let counters = reader.counters();
    assert_eq!((counters.key_count, counters.block_count), (1, 1));
    assert!((1_000..=4_096).contains(&counters.block_bytes), "{counters:?}");
    reader.slot(&KECCAK, &genesis.slots[0].key(11)).unwrap();
    assert_eq!(reader.counters().block_count, 1);
    assert_eq!(reader.counters().cache_hit_count, 1);
    for index in 3_000..4_000 {
        reader.slot(&KECCAK, &genesis.slots[0].key(index)).unwrap();
    }
    assert!(reader.counters().block_count < 50, "{:?}", reader.counters());
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
            let settings = RocksSettings { durability, ..RocksSettings::default() };
            let store = store(data.path(), &genesis, layout, settings);
            let before = contents(store.built_state().unwrap().dir());
            assert_committed(&store, &genesis);
            let sample = store.open_sample(CacheMode::Cold).unwrap();
            assert_holds(sample.reader().unwrap().as_mut(), &genesis);
            sample.close().unwrap();
            store.built_state().unwrap().verify_untouched().unwrap();
            assert_eq!(contents(store.built_state().unwrap().dir()), before);
            assert_eq!(fs::read_dir(data.path().join("samples")).unwrap().count(), 0);
        }
    }
}

/// Blocks that a sample reads for all slots of a contract.
fn blocks_read(store: &RocksStore, genesis: &Genesis, mode: CacheMode) -> u64 {
    let sample = store.open_sample(mode).unwrap();
    let mut reader = sample.reader().unwrap();
    let slots = &genesis.slots[0];
    let keys: Vec<_> = (0..slots.count).map(|index| slots.key(index)).collect();
    reader.slots(&KECCAK, &keys, &mut |_, _| {}).unwrap();
    let counters = reader.counters();
    drop(reader);
    sample.close().unwrap();
    counters.block_count
}

#[test]
fn a_cold_sample_starts_with_an_empty_cache_and_a_warm_one_with_what_was_read() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(2_000);
    let store = store(data.path(), &genesis, Layout::Hashed, settings(ReadMethod::Get));
    let blocks = |mode| blocks_read(&store, &genesis, mode);
    let cold = blocks(CacheMode::Cold);
    assert!(cold >= 2_000 / 60, "{cold} blocks");
    assert_eq!(blocks(CacheMode::Cold), cold);
    assert_eq!(blocks(CacheMode::Warm), cold);
    assert_eq!(blocks(CacheMode::Warm), 0);
    assert_eq!(blocks(CacheMode::Cold), cold);
}

#[test]
fn a_store_that_is_opened_again_is_as_warm_as_it_was_where_its_blocks_were_kept() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(2_000);
    let open = || store(data.path(), &genesis, Layout::Hashed, settings(ReadMethod::Get));
    let first = open();
    assert!(first.warm_blocks().is_none(), "there was no warm sample");
    let cold = blocks_read(&first, &genesis, CacheMode::Warm);
    let kept = first.warm_blocks().unwrap();
    first.clear_warm_blocks();
    assert!(first.warm_blocks().is_none(), "they were forgotten");
    drop(first);
    let again = open();
    again.use_warm_blocks(&kept);
    assert_eq!(blocks_read(&again, &genesis, CacheMode::Warm), 0);
    assert_eq!(blocks_read(&again, &genesis, CacheMode::Cold), cold);
    drop(again);
    assert_eq!(blocks_read(&open(), &genesis, CacheMode::Warm), cold);
}

#[test]
fn buffered_reads_see_the_same_rows_and_say_that_they_are_buffered() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(500);
    let settings = RocksSettings { access: FileAccess::Buffered, ..RocksSettings::default() };
    let store = store(data.path(), &genesis, Layout::Hashed, settings);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    sample.close().unwrap();
    let facts = store.facts();
    let fact = |name| &facts.iter().find(|(key, _)| key == name).unwrap().1;
    assert_eq!(fact("reads"), "buffered");
    if store.never_cold_reason().is_none() {
        // Dropping is advice: a few pages may stay.
        let resident = fact("page_cache_resident").strip_suffix(" after dropping").unwrap();
        assert!(resident.parse::<f64>().unwrap() < 0.2, "{resident}");
    }
    assert!(fact("index_and_filter_bytes").parse::<u64>().unwrap() > 0);
}

/// Files below `dir` with the options with which RocksDB opened a database.
fn option_files(dir: &std::path::Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(option_files(&path));
        } else if path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-") {
            texts.push(std::fs::read_to_string(path).unwrap());
        }
    }
    texts
}

#[test]
fn further_options_reach_a_samples_database_and_leave_its_cache_and_the_states_name() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(500);
    let plain = store(data.path(), &genesis, Layout::Hashed, RocksSettings::default());
    let name = plain.built_state().unwrap().name().to_owned();
    let sample = plain.sample(CacheMode::Cold).unwrap();
    let empty_bytes = sample.cached_bytes();
    sample.close().unwrap();
    drop(plain);
    let options = "max_file_opening_threads=3;advise_random_on_open=false;ttl=77".to_owned();
    let settings = RocksSettings { options: options.clone(), ..RocksSettings::default() };
    let store = store(data.path(), &genesis, Layout::Hashed, settings);
    assert_eq!(store.built_state().unwrap().name(), name);
    let sample = store.sample(CacheMode::Cold).unwrap();
    assert_eq!(sample.cached_bytes(), empty_bytes);
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    assert!(sample.cached_bytes() > empty_bytes, "blocks go into the cache of the sample");
    let texts = option_files(data.path());
    let has_all = |text: &&String| options.split(';').all(|option| text.contains(option));
    assert!(texts.iter().any(|text| has_all(&text)), "{texts:#?}");
    sample.close().unwrap();
    assert!(!option_files(data.path()).iter().any(|text| has_all(&text)), "the base has none");
    let facts = store.facts();
    assert!(facts.contains(&("options".to_owned(), options)), "{facts:?}");
}

#[test]
fn an_option_that_rocksdb_does_not_know_and_a_value_that_it_does_not_take_are_named() {
    assert_eq!(check_options(""), Ok(()));
    assert_eq!(
        check_options("max_background_jobs=1; compression_opts={level=1;strategy=0};"),
        Ok(())
    );
    for (options, name) in [
        ("max_background_jobs=1;no_such_option=1", "no_such_option"),
        ("max_background_jobs=many", "max_background_jobs"),
        ("stats_level=kNone", "stats_level"),
    ] {
        let reason = check_options(options).unwrap_err();
        assert!(reason.contains(name), "{options}: {reason}");
    }
}

#[test]
fn a_code_whose_bytes_do_not_have_its_hash_is_damaged() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(10);
    let store = store(data.path(), &genesis, Layout::Hashed, RocksSettings::default());
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let (good, bad) = (keccak256(b"good"), B256::repeat_byte(3));
    let codes =
        vec![(bad, Bytes::from_static(&[0xef, 0x01, 0, 7])), (good, Bytes::from_static(b"good"))];
    sample.commit(&NetChanges { codes, ..NetChanges::default() }).unwrap();
    let mut reader = sample.reader().unwrap();
    for _ in 0..2 {
        assert_eq!(reader.code(&good).unwrap(), Some(Bytes::from_static(b"good")));
        let error = reader.code(&bad).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(&bad.to_string()), "{error}");
    }
    drop(reader);
    sample.close().unwrap();
}

#[test]
fn a_state_on_a_memory_file_system_is_never_cold() {
    let Ok(data) = tempfile::tempdir_in("/dev/shm") else { return };
    let genesis = genesis(500);
    let store = store(data.path(), &genesis, Layout::Plain, RocksSettings::default());
    assert!(store.never_cold_reason().is_some());
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
}

#[test]
fn a_damaged_block_is_an_error_and_not_a_value() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(3_000);
    let state = common::open(data.path(), &genesis, Layout::Hashed).unwrap();
    common::damage_a_block(state.dir(), state.manifest());
    drop(state);
    for method in [ReadMethod::Get, ReadMethod::MultiGet] {
        let store = store(data.path(), &genesis, Layout::Hashed, settings(method));
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let mut reader = sample.reader().unwrap();
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
            }
        }
        assert!((10..100).contains(&damaged), "{damaged} rows of one block");
    }
}
