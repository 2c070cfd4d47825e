//! Shapes of a state in RocksDB. Blocks, filters, index and age do not change the content, but each
//! changes the cost of a read.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::HashSet, path::Path, sync::atomic::AtomicBool};

use executor::{
    state::{DataDir, Manifest, NoProgress, StateSpec},
    store::{
        ReadCounters, Store,
        rocksdb::{Filter, PPM, RocksFormat, RocksSettings, RocksStore},
    },
};
use variant::{CacheMode, FilterKind, IndexShape};
use workload::{Genesis, Layout};

use crate::common::{FORMAT, KECCAK, WEYL, genesis};

const SLOTS: u64 = 6_000;

fn formats() -> Vec<RocksFormat> {
    vec![
        FORMAT,
        RocksFormat { block_bytes: 3_900, ..FORMAT },
        RocksFormat { block_bytes: 16_384, ..FORMAT },
        RocksFormat { filter: Filter::NOTHING, ..FORMAT },
        RocksFormat { filter: Filter::new(FilterKind::Ribbon, 10), ..FORMAT },
        RocksFormat { index: IndexShape::Partitioned, ..FORMAT },
        RocksFormat { index: IndexShape::Partitioned, filter: Filter::NOTHING, ..FORMAT },
        RocksFormat { file_bytes: 1 << 40, ..FORMAT },
        RocksFormat { aged_ppm: PPM / 3, ..FORMAT },
        RocksFormat { aged_ppm: PPM, filter: Filter::NOTHING, ..FORMAT },
    ]
}

fn open(data: &Path, genesis: &Genesis, format: &RocksFormat) -> RocksStore {
    let spec = StateSpec { genesis, layout: Layout::Hashed, format, scenario: "test", threads: 2 };
    let dir = DataDir::open(data).unwrap();
    let state = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    RocksStore::open(state, RocksSettings::default()).unwrap()
}

/// Reads the slots of `range` one by one, and compares each with the recipe.
fn read(store: &RocksStore, genesis: &Genesis, range: std::ops::Range<u64>) -> ReadCounters {
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    for (address, family) in [KECCAK, WEYL].into_iter().zip(&genesis.slots) {
        for index in range.clone() {
            let value = reader.slot(&address, &family.key(index)).unwrap();
            let is_present = index < family.count;
            assert_eq!(value, if is_present { family.value(index) } else { Default::default() });
        }
    }
    let counters = reader.counters();
    drop(reader);
    sample.close().unwrap();
    counters
}

/// Blocks that were searched per key, read or in the cache.
fn places_per_key(counters: &ReadCounters) -> f64 {
    (counters.block_count + counters.cache_hit_count) as f64 / counters.key_count as f64
}

fn fact(store: &RocksStore, name: &str) -> String {
    let facts = store.facts();
    facts.into_iter().find(|(fact, _)| fact == name).map(|(_, text)| text).unwrap()
}

#[test]
fn every_shape_holds_the_same_rows_under_a_name_of_its_own() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(SLOTS);
    let dir = DataDir::open(data.path()).unwrap();
    let mut names = HashSet::new();
    let mut digests = HashSet::new();
    for format in formats() {
        let store = open(data.path(), &genesis, &format);
        let name = store.built_state().unwrap().name().to_owned();
        read(&store, &genesis, 0..SLOTS + 100);
        drop(store);
        let verified = dir.verify(&name, &[&FORMAT], &NoProgress, &AtomicBool::new(false));
        let manifest: Manifest = verified.unwrap().manifest;
        assert_eq!(manifest.rows.slots, 2 * SLOTS + 4, "{format:?}");
        digests.insert(manifest.content_digest);
        assert!(names.insert(name), "{format:?}");
    }
    assert_eq!(digests.len(), 1);
}

#[test]
fn a_get_looks_into_one_place_of_a_fresh_state_and_into_more_of_an_aged_one() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(SLOTS);
    let digest = |store: &RocksStore| store.built_state().unwrap().manifest().content_digest;
    for filter in [Filter::new(FilterKind::Bloom, 4), Filter::NOTHING] {
        let fresh = open(data.path(), &genesis, &RocksFormat { filter, ..FORMAT });
        assert_eq!(places_per_key(&read(&fresh, &genesis, 0..SLOTS)), 1.0, "{filter:?}");
        let format = RocksFormat { filter, aged_ppm: PPM / 2, ..FORMAT };
        let aged = open(data.path(), &genesis, &format);
        let places = places_per_key(&read(&aged, &genesis, 0..SLOTS));
        let at_least = if filter == Filter::NOTHING { 2.0 } else { 1.05 };
        assert!(places > at_least, "{filter:?}: {places}");
        assert_eq!(digest(&aged), digest(&fresh));
        assert_eq!(
            (fact(&fresh, "aged_ppm"), fact(&aged, "aged_ppm")),
            ("0".into(), "500000".into())
        );
    }
}

#[test]
fn a_filter_spares_reads_of_absent_keys_and_without_one_each_costs_a_read() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(SLOTS);
    let places = |filter, index| {
        let store = open(data.path(), &genesis, &RocksFormat { filter, index, ..FORMAT });
        places_per_key(&read(&store, &genesis, SLOTS..2 * SLOTS))
    };
    assert!(places(Filter::NOTHING, IndexShape::Whole) > 0.95);
    assert!(places(Filter::new(FilterKind::Bloom, 10), IndexShape::Whole) < 0.05);
    assert!(places(Filter::new(FilterKind::Ribbon, 10), IndexShape::Whole) < 0.05);
    // The partition of the filter is a block, too.
    let partitioned = places(Filter::new(FilterKind::Bloom, 10), IndexShape::Partitioned);
    assert!((0.9..1.5).contains(&partitioned), "{partitioned}");
}

#[test]
fn aligned_blocks_are_whole_pages_and_packed_ones_are_about_as_long_as_asked() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(SLOTS);
    for (block_bytes, is_aligned, expected) in
        [(4_096, "true", 3_500.0..=4_096.0), (3_900, "false", 3_400.0..=4_200.0)]
    {
        let store = open(data.path(), &genesis, &RocksFormat { block_bytes, ..FORMAT });
        let counters = read(&store, &genesis, 0..SLOTS);
        let bytes = counters.block_bytes as f64 / counters.block_count as f64;
        assert!(expected.contains(&bytes), "{block_bytes}: {bytes}");
        assert_eq!(fact(&store, "blocks_aligned"), is_aligned);
        assert_eq!(fact(&store, "block_bytes"), block_bytes.to_string());
    }
}

#[test]
fn few_open_files_are_enough_to_read_all() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(SLOTS);
    drop(open(data.path(), &genesis, &FORMAT));
    let spec = StateSpec {
        genesis: &genesis,
        layout: Layout::Hashed,
        format: &FORMAT,
        scenario: "test",
        threads: 2,
    };
    let dir = DataDir::open(data.path()).unwrap();
    let state = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    let settings = RocksSettings { open_file_count: Some(32), ..RocksSettings::default() };
    let store = RocksStore::open(state, settings).unwrap();
    assert_eq!(read(&store, &genesis, 0..SLOTS).key_count, 2 * SLOTS);
    assert_eq!(fact(&store, "open_files"), "32");
}
