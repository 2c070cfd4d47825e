//! Flushes and compactions of a sample. They happen, are counted, write files of the state's
//! format, and leave the state unchanged.

use std::sync::atomic::AtomicBool;

use alloy_primitives::U256;
use executor::store::{
    Background, Reader, Sample, Settled, Store, WriteCounters,
    rocksdb::{RocksSample, RocksSettings},
};
use variant::{CacheMode, Compaction, ReadMethod};
use workload::{Genesis, Layout, NetChanges};

use super::contents;
use crate::common::{KECCAK, genesis, rows::assert_holds, store};

/// Slots of the contract.
const SLOT_COUNT: u64 = 3_000;
/// Slots that a commit overwrites.
const COMMIT_SLOT_COUNT: u64 = 500;

/// Settings with a flush after a few commits, and a compaction after a few flushes.
fn small() -> RocksSettings {
    RocksSettings {
        compaction: Compaction::On,
        write_buffer_bytes: 64 << 10,
        read_method: ReadMethod::Get,
        options: "level0_file_num_compaction_trigger=2".to_owned(),
        ..RocksSettings::default()
    }
}

/// Commit of this number: values of its own at the next slots, around and around.
fn commit(genesis: &Genesis, number: u64) -> NetChanges {
    let slot = |index: u64| {
        let key = genesis.slots[0].key((number * COMMIT_SLOT_COUNT + index) % SLOT_COUNT);
        (KECCAK, key, U256::from(1 + number))
    };
    let slots = (0..COMMIT_SLOT_COUNT).map(slot).collect();
    let mut changes = NetChanges { slots, ..NetChanges::default() };
    changes.sort();
    changes
}

/// The last value of each slot after so many commits.
fn assert_committed(reader: &mut dyn Reader, genesis: &Genesis, commit_count: u64) {
    for number in commit_count.saturating_sub(SLOT_COUNT / COMMIT_SLOT_COUNT)..commit_count {
        for (address, key, value) in commit(genesis, number).slots {
            assert_eq!(reader.slot(&address, &key).unwrap(), value, "commit {number}");
        }
    }
}

/// The work of a sample that compacts.
fn work<'a>(sample: &'a RocksSample<'_>) -> &'a dyn Background {
    sample.background().unwrap()
}

/// Waits for that work.
fn settle(sample: &RocksSample<'_>) {
    let settled = work(sample).settle(&AtomicBool::new(false));
    assert_eq!(settled.unwrap(), Settled::Ended);
}

#[test]
fn compactions_run_from_the_clocks_start_and_leave_rows_and_state_as_they_are() {
    let (data, genesis) = (tempfile::tempdir().unwrap(), genesis(SLOT_COUNT));
    let store = store(data.path(), &genesis, Layout::Hashed, small());
    let before = contents(store.built_state().unwrap().dir());
    let sample = store.sample(CacheMode::Cold).unwrap();
    let space = sample.file_bytes().unwrap();
    assert!(space >= store.built_state().unwrap().manifest().byte_count() / 2, "{space}");
    let opened = work(&sample).counters().unwrap();
    work(&sample).begin().unwrap();
    let mut committed_bytes = 0;
    for number in 0..60 {
        sample.commit(&commit(&genesis, number)).unwrap();
        committed_bytes += COMMIT_SLOT_COUNT * (64 + 32);
    }
    settle(&sample);
    let counters = work(&sample).counters().unwrap();
    let since = counters.since(&opened);
    assert_eq!(since.log_bytes + opened.log_bytes, counters.log_bytes);
    let counters = since;
    assert!(counters.log_bytes >= committed_bytes, "{counters:?} of {committed_bytes}");
    assert!(counters.flush_count > 5 && counters.flush_bytes > committed_bytes / 4, "{counters:?}");
    assert!(counters.compaction_count > 0, "{counters:?}");
    // None of them wrote more than all rows, and what surrounds them in files.
    let rows_bytes = SLOT_COUNT * 150 + (64 << 10);
    let compacted_bytes = COMMIT_SLOT_COUNT * 32..=counters.compaction_count * rows_bytes;
    assert!(compacted_bytes.contains(&counters.compaction_write_bytes), "{counters:?}");
    assert!(counters.compaction_read_bytes >= counters.compaction_write_bytes / 4, "{counters:?}");
    assert_committed(sample.reader().unwrap().as_mut(), &genesis, 60);
    // Nothing runs once it has settled.
    settle(&sample);
    assert_eq!(work(&sample).counters().unwrap().since(&opened), counters);
    assert_eq!(contents(store.built_state().unwrap().dir()), before, "while the sample is open");
    sample.close().unwrap();
    assert_eq!(contents(store.built_state().unwrap().dir()), before, "after it");
    let sample = store.sample(CacheMode::Cold).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    sample.close().unwrap();
}

#[test]
fn new_files_have_the_states_format_and_are_read_through_the_samples_cache() {
    let (data, genesis) = (tempfile::tempdir().unwrap(), genesis(SLOT_COUNT));
    let store = store(data.path(), &genesis, Layout::Hashed, small());
    let sample = store.sample(CacheMode::Cold).unwrap();
    work(&sample).begin().unwrap();
    let numbers = 0..60;
    numbers.clone().for_each(|number| sample.commit(&commit(&genesis, number)).unwrap());
    settle(&sample);
    let empty_bytes = sample.cached_bytes();
    let mut reader = sample.reader().unwrap();
    assert_committed(reader.as_mut(), &genesis, numbers.end);
    let counters = reader.counters();
    assert!(counters.block_count >= SLOT_COUNT / 60, "{counters:?}");
    // An aligned block of 4 KiB has no more bytes, and most of them are full.
    let bytes_per_block = counters.block_bytes / counters.block_count;
    assert!((3_000..=4_096).contains(&bytes_per_block), "{counters:?}");
    assert!(sample.cached_bytes() > empty_bytes);
    drop(reader);
    sample.close().unwrap();
}

#[test]
fn without_compactions_nothing_is_waited_for_or_counted() {
    let (data, genesis) = (tempfile::tempdir().unwrap(), genesis(SLOT_COUNT));
    let settings = RocksSettings { compaction: Compaction::Off, ..small() };
    let store = store(data.path(), &genesis, Layout::Hashed, settings);
    let sample = store.sample(CacheMode::Cold).unwrap();
    (0..20).for_each(|number| sample.commit(&commit(&genesis, number)).unwrap());
    assert!(sample.background().is_none());
    assert_committed(sample.reader().unwrap().as_mut(), &genesis, 20);
    sample.close().unwrap();
}

/// A sample for a check never starts a clock.
#[test]
fn a_sample_whose_clock_does_not_start_compacts_nothing() {
    let (data, genesis) = (tempfile::tempdir().unwrap(), genesis(SLOT_COUNT));
    let store = store(data.path(), &genesis, Layout::Hashed, small());
    let sample = store.sample(CacheMode::Warm).unwrap();
    (0..20).for_each(|number| sample.commit(&commit(&genesis, number)).unwrap());
    // Whatever was scheduled has ended.
    settle(&sample);
    let counters = work(&sample).counters().unwrap();
    assert!(counters.flush_count > 2 && counters.compaction_count == 0, "{counters:?}");
    // These files were due all the time.
    work(&sample).begin().unwrap();
    settle(&sample);
    assert!(work(&sample).counters().unwrap().compaction_count > 0);
    assert_committed(sample.reader().unwrap().as_mut(), &genesis, 20);
    sample.close().unwrap();
}

#[test]
fn an_interrupt_ends_the_wait_for_compactions_and_the_sample_can_be_closed() {
    let (data, genesis) = (tempfile::tempdir().unwrap(), genesis(SLOT_COUNT));
    let store = store(data.path(), &genesis, Layout::Hashed, small());
    let before = contents(store.built_state().unwrap().dir());
    let sample = store.sample(CacheMode::Cold).unwrap();
    (0..40).for_each(|number| sample.commit(&commit(&genesis, number)).unwrap());
    work(&sample).begin().unwrap();
    let settled = work(&sample).settle(&AtomicBool::new(true));
    assert_eq!(settled.unwrap(), Settled::Cancelled);
    sample.close().unwrap();
    assert_eq!(contents(store.built_state().unwrap().dir()), before);
}

#[test]
fn rows_that_are_not_flushed_take_memory_of_write_buffers() {
    let (data, genesis) = (tempfile::tempdir().unwrap(), genesis(SLOT_COUNT));
    let store = store(data.path(), &genesis, Layout::Hashed, small());
    let sample = store.sample(CacheMode::Cold).unwrap();
    let empty = work(&sample).counters().unwrap();
    let nothing =
        WriteCounters { buffered_bytes: empty.buffered_bytes, ..WriteCounters::default() };
    assert_eq!(empty.since(&empty), nothing);
    let mut few = commit(&genesis, 0);
    few.slots.truncate(200);
    sample.commit(&few).unwrap();
    let counters = work(&sample).counters().unwrap().since(&empty);
    assert_eq!((counters.flush_count, counters.flush_bytes), (0, 0));
    // The buffer may have had a part of this memory while it was empty.
    let grown_bytes = counters.buffered_bytes - empty.buffered_bytes;
    assert!(grown_bytes >= 200 * (64 + 32) / 2, "{counters:?} after {empty:?}");
    sample.close().unwrap();
}
