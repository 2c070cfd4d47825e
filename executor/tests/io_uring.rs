//! `MultiGet` really reads through `io_uring`. RocksDB does not report it, so the test counts
//! system calls of the whole process. It is the only test of its binary, since other tests would
//! make calls.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "stores/common.rs"]
mod common;

use std::fs;

use common::{KECCAK, genesis, store};
use executor::store::{
    ReadCounters, Store,
    rocksdb::{IoUring, RocksSettings, io_uring_state},
};
use variant::{CacheMode, ReadMethod};
use workload::Layout;

/// Calls of the `read` family by this process so far. Submissions to `io_uring` do not count.
fn read_calls() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn multi_get_reads_through_io_uring_and_get_does_not() {
    if cfg!(feature = "io-uring") {
        assert_ne!(io_uring_state(), IoUring::NotBuilt);
    }
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(20_000);
    let keys: Vec<_> = (0..20_000).map(|index| genesis.slots[0].key(index)).collect();
    let read = |read_method| -> (ReadCounters, u64) {
        let settings = RocksSettings { read_method, ..RocksSettings::default() };
        let store = store(data.path(), &genesis, Layout::Hashed, settings);
        // Result of the store's own probe at its opening.
        let is_available = io_uring_state() == IoUring::Available;
        let expected = (read_method != ReadMethod::Get && is_available).then_some(true);
        assert_eq!(store.multi_get_io_uring(), expected);
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let mut reader = sample.reader().unwrap();
        let before = read_calls();
        reader.slots(&KECCAK, &keys, &mut |_, value| assert!(!value.is_zero())).unwrap();
        let calls = read_calls() - before;
        let counters = reader.counters();
        drop(reader);
        sample.close().unwrap();
        (counters, calls)
    };
    let (by_get, get_calls) = read(ReadMethod::Get);
    let (by_multi_get, multi_get_calls) = read(ReadMethod::MultiGet);
    assert_eq!(by_get.key_count, 20_000);
    assert!(by_get.block_count >= 300, "{by_get:?}");
    assert!(get_calls >= by_get.block_count, "{get_calls} calls, {by_get:?}");
    if io_uring_state() == IoUring::Available {
        assert_eq!(by_multi_get.key_count, 20_000);
        assert!(by_multi_get.block_count >= 300, "{by_multi_get:?}");
        assert!(multi_get_calls < by_multi_get.block_count / 10, "{multi_get_calls} calls");
    }
}
