//! Stores locate rows in exactly the blocks that they read.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::HashSet, fs::File, os::unix::fs::FileExt, sync::atomic::AtomicBool};

use alloy_primitives::{Address, U256, keccak256};
use executor::{
    place::{BlockPlace, RequestedRow, RowPages},
    state::{BuiltState, DataDir, NoProgress, StateFormat, StateSpec},
    store::{
        Sample, Store,
        flat::{FlatFormat, FlatSettings, FlatStore},
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
        recorded::Recorded,
        rocksdb::{Filter, RocksFormat, RocksSettings, RocksStore},
    },
};
use variant::{CacheMode, IndexShape};
use workload::{Genesis, Layout};

use crate::common::{FORMAT, KECCAK, WEYL, genesis};

const LAYOUTS: [Layout; 2] = [Layout::Hashed, Layout::Plain];

fn built(
    dir: &std::path::Path,
    genesis: &Genesis,
    layout: Layout,
    format: &dyn StateFormat,
) -> BuiltState {
    let spec = StateSpec { genesis, layout, format, scenario: "test", threads: 2 };
    DataDir::open(dir).unwrap().open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap()
}

/// Existing slots of both contracts, `step` apart, and accounts.
fn rows(genesis: &Genesis, step: usize) -> Vec<RequestedRow> {
    let slots = genesis.slots.iter().flat_map(|family| {
        let indices = (0..family.count).step_by(step);
        indices.map(|index| RequestedRow::Slot(family.address, family.key(index)))
    });
    let accounts = [KECCAK, WEYL, Address::repeat_byte(0x11)].map(RequestedRow::Account);
    slots.chain(accounts).collect()
}

/// Reads `rows` one by one from a cold sample. Returns the counted blocks and bytes, and the
/// store's places of the rows.
fn read(store: &dyn Store, rows: &[RequestedRow]) -> (u64, u64, Vec<Option<BlockPlace>>) {
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    for row in rows {
        match row {
            RequestedRow::Account(address) => assert!(reader.account(address).unwrap().is_some()),
            RequestedRow::Slot(address, key) => {
                assert_ne!(reader.slot(address, key).unwrap(), U256::ZERO);
            }
            RequestedRow::Code(hash) => assert!(reader.code(hash).unwrap().is_some()),
        }
    }
    let counters = reader.counters();
    drop(reader);
    let blocks = sample.locate(rows).unwrap().blocks;
    sample.close().unwrap();
    (counters.block_count, counters.block_bytes, blocks)
}

fn distinct(blocks: &[Option<BlockPlace>]) -> HashSet<BlockPlace> {
    blocks.iter().map(|block| block.expect("the row exists")).collect()
}

#[test]
fn rocksdb_reads_the_blocks_that_its_indices_name_and_their_bytes() {
    let genesis = genesis(20_000);
    let unaligned = RocksFormat { block_bytes: 3_900, ..FORMAT };
    for (layout, format) in
        LAYOUTS.into_iter().flat_map(|layout| [(layout, FORMAT), (layout, unaligned)])
    {
        let data = tempfile::tempdir().unwrap();
        let state = built(data.path(), &genesis, layout, &format);
        let store = RocksStore::open(state, RocksSettings::default()).unwrap();
        let (block_count, block_bytes, blocks) = read(&store, &rows(&genesis, 7));
        let distinct = distinct(&blocks);
        assert!(distinct.len() > 500, "{}", distinct.len());
        assert_eq!(block_count, distinct.len() as u64, "{layout:?} {format:?}");
        // RocksDB's counter of bytes either includes the trailer of every block or of none.
        let bytes: u64 = distinct.iter().map(|block| u64::from(block.byte_count)).sum();
        let without = bytes - 5 * distinct.len() as u64;
        assert!([bytes, without].contains(&block_bytes), "{block_bytes} of {bytes}");
    }
}

#[test]
fn rocksdb_says_why_where_it_cannot_tell() {
    let genesis = genesis(2_000);
    let partitioned = RocksFormat { index: IndexShape::Partitioned, ..FORMAT };
    let aged = RocksFormat { aged_ppm: 300_000, ..FORMAT };
    for (format, why) in [(partitioned, "partitions"), (aged, "aged")] {
        let data = tempfile::tempdir().unwrap();
        let state = built(data.path(), &genesis, Layout::Hashed, &format);
        let store = RocksStore::open(state, RocksSettings::default()).unwrap();
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let reason = sample.locate(&rows(&genesis, 100)).unwrap_err();
        assert!(reason.contains(why), "{reason}");
        sample.close().unwrap();
    }
}

#[test]
fn a_filter_answers_for_absent_rows_and_without_one_a_block_is_read() {
    let genesis = genesis(2_000);
    for (filter, reads) in [(FORMAT.filter, false), (Filter::NOTHING, true)] {
        let data = tempfile::tempdir().unwrap();
        let format = RocksFormat { filter, ..FORMAT };
        let state = built(data.path(), &genesis, Layout::Hashed, &format);
        let store = RocksStore::open(state, RocksSettings::default()).unwrap();
        assert_eq!(store.reads_absent_rows(), reads);
    }
}

#[test]
fn the_flat_store_reads_the_blocks_that_its_index_names() {
    let genesis = genesis(20_000);
    for layout in LAYOUTS {
        let data = tempfile::tempdir().unwrap();
        let state = built(data.path(), &genesis, layout, &FlatFormat::ROWS);
        let store = FlatStore::open(state, FlatSettings::default()).unwrap();
        // The store caches nothing: each row is one read, except for keys that share their lead
        // with a block.
        let (block_count, _, blocks) = read(&store, &rows(&genesis, 7));
        let located = blocks.iter().flatten().count() as u64;
        assert_eq!(located, blocks.len() as u64);
        assert!(block_count >= located && block_count - located <= located / 100 + 3);
    }
}

const MDBX_FORMATS: [MdbxFormat; 2] = [MdbxFormat::ROWS, MdbxFormat::DUP_SORT];

fn mdbx(dir: &std::path::Path, genesis: &Genesis, layout: Layout, format: MdbxFormat) -> MdbxStore {
    let state = built(dir, genesis, layout, &format);
    MdbxStore::open(state, MdbxSettings::default()).unwrap()
}

/// Bytes that a page with `row` must contain.
fn key_on_page(row: &RequestedRow, layout: Layout, format: MdbxFormat) -> Vec<u8> {
    match (row, layout) {
        (RequestedRow::Slot(address, key), Layout::Plain) if format == MdbxFormat::ROWS => {
            [address.as_slice(), &key.to_be_bytes::<32>()].concat()
        }
        (RequestedRow::Slot(_, key), Layout::Plain) => key.to_be_bytes::<32>().to_vec(),
        (RequestedRow::Slot(_, key), Layout::Hashed) => keccak256(key.to_be_bytes::<32>()).to_vec(),
        (RequestedRow::Account(address), Layout::Plain) => address.to_vec(),
        (RequestedRow::Account(address), Layout::Hashed) => keccak256(address).to_vec(),
        (RequestedRow::Code(hash), _) => hash.to_vec(),
    }
}

#[test]
fn mdbx_rows_lie_in_the_pages_that_its_index_pages_name() {
    let genesis = genesis(20_000);
    for (layout, format) in LAYOUTS.into_iter().flat_map(|l| MDBX_FORMATS.map(|f| (l, f))) {
        let data = tempfile::tempdir().unwrap();
        let store = mdbx(data.path(), &genesis, layout, format);
        let mut rows = rows(&genesis, 7);
        // Slots of accounts without their own tree: they lie within a leaf of the table.
        rows.push(RequestedRow::Slot(Address::repeat_byte(0x11), U256::from(2)));
        rows.push(RequestedRow::Slot(Address::repeat_byte(0x44), U256::from(7)));
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let places = sample.locate(&rows).unwrap();
        sample.close().unwrap();
        let file = File::open(&places.files[0]).unwrap();
        let mut page = [0; 4096];
        for (row, block) in rows.iter().zip(&places.blocks) {
            file.read_exact_at(&mut page, block.unwrap().offset).unwrap();
            let key = key_on_page(row, layout, format);
            assert!(page.windows(key.len()).any(|bytes| bytes == key), "{row:?} in {block:?}");
        }
    }
}

/// Two kinds of pages are read on the way to a slot. An account's root may lie on a leaf with rows.
/// A slot that is the first of a leaf is searched on the leaf before.
#[test]
fn a_cold_mdbx_sample_fetches_just_the_pages_that_are_located() {
    let genesis = genesis(20_000);
    for format in MDBX_FORMATS {
        let data = tempfile::tempdir().unwrap();
        let store = mdbx(data.path(), &genesis, Layout::Hashed, format);
        if store.never_cold_reason().is_some() {
            return;
        }
        let rows = rows(&genesis, 7);
        let sample = store.open_sample(CacheMode::Warm).unwrap();
        let before = sample.locate(&rows).unwrap().before;
        sample.close().unwrap();
        let (block_count, _, blocks) = read(&store, &rows);
        let mut all = distinct(&blocks);
        all.extend(before.iter().map(|(_, block)| *block));
        assert_eq!(block_count, all.len() as u64, "{format:?}");
        let row_pages = store.row_pages(&rows, &[]).unwrap().unwrap();
        assert_eq!(row_pages.page_count, all.len() as u64);
        let first = before.windows(2).find(|two| two[0].0 == two[1].0);
        assert_eq!(first.is_some(), format == MdbxFormat::DUP_SORT);
        let Some([(row, _), _]) = first else { continue };
        assert_eq!(read(&store, &rows[*row..=*row]).0, 3, "root, leaf before, leaf");
    }
}

#[test]
fn an_absent_slot_below_a_leaf_of_roots_alone_has_no_page_of_its_own() {
    let mut genesis = genesis(2_000);
    genesis.accounts.iter_mut().for_each(|account| account.storage.clear());
    let data = tempfile::tempdir().unwrap();
    let store = mdbx(data.path(), &genesis, Layout::Hashed, MdbxFormat::DUP_SORT);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let absent = [RequestedRow::Slot(Address::repeat_byte(0x99), U256::ZERO)];
    assert_eq!(sample.locate(&absent).unwrap().blocks, [None]);
    assert_eq!(store.row_pages(&absent, &[]).unwrap(), Ok(RowPages::default()));
    sample.close().unwrap();
}

#[test]
fn a_leaf_that_was_read_before_a_cold_mdbx_sample_is_found() {
    let genesis = genesis(20_000);
    for format in MDBX_FORMATS {
        let data = tempfile::tempdir().unwrap();
        let store = mdbx(data.path(), &genesis, Layout::Hashed, format);
        if store.never_cold_reason().is_some() {
            return;
        }
        let rows = rows(&genesis, 7);
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let cold = store.row_pages(&rows, &[]).unwrap().unwrap();
        assert!(cold.page_count > 500, "{cold:?}");
        assert_eq!(cold.resident_count, 0);
        // Reads one page past MDBX, so the counters of MDBX do not change.
        let places = sample.locate(&rows[..1]).unwrap();
        let file = File::open(&places.files[0]).unwrap();
        file.read_exact_at(&mut [0; 4096], places.blocks[0].unwrap().offset).unwrap();
        let warmed = store.row_pages(&rows, &[]).unwrap().unwrap();
        assert_eq!(warmed.page_count, cold.page_count);
        assert!(warmed.resident_count >= 1, "{warmed:?}");
        assert_eq!(store.row_pages(&[], &[]).unwrap(), Ok(RowPages::default()));
        sample.close().unwrap();
    }
}

#[test]
fn what_is_asked_is_written_down_call_by_call_with_what_exists() {
    let genesis = genesis(2_000);
    let data = tempfile::tempdir().unwrap();
    let state = built(data.path(), &genesis, Layout::Hashed, &FlatFormat::ROWS);
    let store = FlatStore::open(state, FlatSettings::default()).unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let recorded = Recorded::new(sample.as_ref());
    let key = |index| genesis.slots[0].key(index);
    let absent = U256::from(1);
    let mut reader = recorded.reader().unwrap();
    let mut found = Vec::new();
    reader
        .slots(&KECCAK, &[key(3), absent, key(4)], &mut |at, value| found.push((at, value)))
        .unwrap();
    let value = reader.slot(&KECCAK, &key(5)).unwrap();
    assert_eq!(reader.account(&Address::ZERO).unwrap(), None);
    drop(reader);
    let log = recorded.into_log();
    assert_eq!(log.present, [true, false, true, true, false]);
    let counts: Vec<_> = log.calls.iter().map(|call| call.row_count).collect();
    assert_eq!(counts, [3, 1, 1]);
    assert_eq!(log.rows[3], RequestedRow::Slot(KECCAK, key(5)));
    // The wrapper returns the store's own answers.
    let mut plain = sample.reader().unwrap();
    assert_eq!(value, plain.slot(&KECCAK, &key(5)).unwrap());
    found.sort_unstable();
    assert_eq!(found[2], (2, plain.slot(&KECCAK, &key(4)).unwrap()));
    drop(plain);
    sample.close().unwrap();
}
