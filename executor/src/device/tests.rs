//! Tests of device measurements. If the temporary directory is on a file system in memory, tests
//! that need a device pass without a check.

use std::{collections::HashSet, io::Write, path::Path, sync::atomic::AtomicBool, time::Duration};

use tempfile::NamedTempFile;

use super::{files::Block, *};

/// Time of the reads by one method.
const SHORT: Duration = Duration::from_millis(20);

fn file_in(directory: &Path, byte_count: usize) -> NamedTempFile {
    let mut file = NamedTempFile::new_in(directory).expect("temporary file");
    let bytes: Vec<u8> = (0..byte_count).map(|i| (i / BLOCK_BYTES) as u8).collect();
    file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).expect("written");
    file
}

fn file_of(byte_count: usize) -> NamedTempFile {
    file_in(&std::env::temp_dir(), byte_count)
}

/// Opens `files`; `None` if there is no device below them.
fn open(files: &[&NamedTempFile]) -> Option<DirectFiles> {
    let paths: Vec<_> = files.iter().map(|file| file.path()).collect();
    match DirectFiles::open(&paths) {
        Ok(files) => Some(files),
        Err(MeasureError::InMemory { .. } | MeasureError::DirectRefused { .. }) => None,
        Err(e) => panic!("{e}"),
    }
}

/// Opens the device below `files`; `None` if there is none.
fn disk(files: &[&NamedTempFile]) -> Option<Disk> {
    Some(Disk::of(open(files)?, 0, 7))
}

/// Returns the measurement; `None` if this machine does not allow it.
fn measured<T>(result: Result<T, MeasureError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(MeasureError::RingRefused { .. } | MeasureError::NotFromDevice { .. }) => None,
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn a_file_in_memory_has_no_ceiling() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let file = file_in(memory, 1 << 20);
    let error = DirectFiles::open(&[file.path()]).expect_err("no device");
    assert!(
        matches!(error, MeasureError::InMemory { .. } | MeasureError::DirectRefused { .. }),
        "{error}"
    );
}

#[test]
fn files_without_a_whole_block_are_too_small() {
    let file = file_of(BLOCK_BYTES - 1);
    let error = DirectFiles::open(&[file.path()]).expect_err("no block");
    assert!(matches!(error, MeasureError::TooSmall { block_count: 0 }), "{error}");
    let none: [&Path; 0] = [];
    assert!(DirectFiles::open(&none).is_err());
}

#[test]
fn a_missing_file_is_named() {
    let error = DirectFiles::open(&["/nonexistent/000007.sst"]).expect_err("missing");
    assert!(error.to_string().contains("/nonexistent/000007.sst"), "{error}");
}

#[test]
fn each_whole_block_of_each_file_has_one_number() {
    let (small, large) = (file_of(3 * BLOCK_BYTES + 1), file_of(5 * BLOCK_BYTES));
    let Some(files) = open(&[&small, &large]) else { return };
    assert_eq!(files.block_count(), 8);
    let place = |extent: Extent| (extent.file, extent.offset);
    let places: Vec<_> = (0..8).map(|block| place(files.extent(block))).collect();
    let expected = (0..5).map(|i| (0, i * 4096)).chain((0..3).map(|i| (1, i * 4096)));
    assert_eq!(places, expected.collect::<Vec<_>>());
    for number in 0..8 {
        let mut block = [Block::ZERO];
        files.read(&files.extent(number), &mut block).expect("read");
        assert_eq!(block[0].0, [(number % 5) as u8; BLOCK_BYTES]);
    }
}

#[test]
fn moved_extents_keep_file_length_and_order_and_leave_their_places() {
    let (small, large) = (file_of(5 * BLOCK_BYTES + 1), file_of(8 * BLOCK_BYTES));
    let Some(files) = open(&[&small, &large]) else { return };
    for length in [1_u64, 2, 9] {
        let extent = |file, block| Extent {
            file,
            offset: block * BLOCK_BYTES as u64,
            byte_count: (length as usize * BLOCK_BYTES) as u32,
            block_count: 1,
        };
        let of_file =
            |file, count: u64| (0..=count.saturating_sub(length)).map(move |b| extent(file, b));
        let extents: Vec<Extent> = of_file(0, 8).chain(of_file(1, 5)).collect();
        for seed in [0, 1, 6, 7, 1 << 40, u64::MAX] {
            let moved = files.moved(&extents, seed);
            assert_eq!(moved.len(), extents.len());
            let mut places = HashSet::new();
            for (new, old) in moved.iter().zip(&extents) {
                assert_eq!((new.file, new.byte_count), (old.file, old.byte_count));
                let end = new.offset + u64::from(new.byte_count);
                let file_bytes = [8, 5][new.file as usize] * BLOCK_BYTES as u64;
                if length == 1 {
                    assert!(places.insert((new.file, new.offset)), "{moved:?}");
                    assert_ne!(new.offset, old.offset, "seed {seed}");
                }
                assert!(end <= file_bytes || new == old, "longer than its file only");
            }
        }
    }
}

#[test]
fn every_read_is_counted_once_and_timed_once() {
    let file = file_of(2_000 * BLOCK_BYTES);
    let Some(disk) = disk(&[&file]) else { return };
    let go = AtomicBool::new(false);
    for method in [
        Method::Ring { depth: 8, threads: 1 },
        Method::Ring { depth: 8, threads: 3 },
        Method::Threads { count: 3 },
    ] {
        let Some(rate) = measured(measure_random(&disk, method, SHORT, &go)) else { continue };
        assert!(rate.read_count > 0);
        assert_eq!(rate.read_bytes, rate.read_count * 4096);
        assert_eq!(rate.latencies.histogram().len(), rate.read_count);
        assert!(rate.iops.is_finite() && rate.iops > 0.0);
        assert_eq!(rate.method, method);
    }
}

#[test]
fn a_list_is_read_to_its_end_by_every_method() {
    let file = file_of(500 * BLOCK_BYTES);
    let Some(files) = open(&[&file]) else { return };
    let go = AtomicBool::new(false);
    let blocks: Vec<u64> = (0..500).rev().collect();
    for method in [
        Method::Ring { depth: 1, threads: 1 },
        Method::Ring { depth: 7, threads: 1 },
        Method::Ring { depth: 512, threads: 1 },
        Method::Ring { depth: 7, threads: 4 },
        Method::Ring { depth: 512, threads: 2 },
        Method::Threads { count: 1 },
        Method::Threads { count: 7 },
    ] {
        let result = measure(&files, method, &Work::Listed(&blocks), &go);
        let Some(rate) = measured(result) else { continue };
        assert_eq!(rate.read_count, 500, "{method}");
    }
}

#[test]
fn a_ceiling_is_the_best_of_what_was_tried() {
    let file = file_of(2_000 * BLOCK_BYTES);
    let Some(disk) = disk(&[&file]) else { return };
    let go = AtomicBool::new(false);
    let Some(ceiling) = measured(ceiling(&disk, SHORT, &go)) else { return };
    let tried = 1 + ceiling.others.len();
    assert!((2..=3).contains(&tried), "{tried} methods");
    assert!(ceiling.others.iter().all(|other| other.iops <= ceiling.best.iops));
    let is_ring = matches!(ceiling.best.method, Method::Ring { .. });
    assert_eq!(is_ring, ceiling.ring_refused.is_none());
}

#[test]
fn a_set_flag_cancels_every_measurement() {
    let file = file_of(4_000 * BLOCK_BYTES);
    let Some(disk) = disk(&[&file]) else { return };
    let stop = AtomicBool::new(true);
    let is_cancelled = |error| matches!(error, MeasureError::Cancelled);
    assert!(is_cancelled(ceiling(&disk, SHORT, &stop).expect_err("cancelled")));
    assert!(is_cancelled(serial_latency(&disk, SHORT, &stop).expect_err("cancelled")));
    assert!(is_cancelled(probe_host_cache(&disk, &stop).expect_err("cancelled")));
}

#[test]
fn a_probe_of_the_hosts_cache_reads_the_same_blocks_twice() {
    let file = file_of(4_000 * BLOCK_BYTES);
    let Some(disk) = disk(&[&file]) else { return };
    let go = AtomicBool::new(false);
    let Some(probe) = measured(probe_host_cache(&disk, &go)) else { return };
    assert_eq!(probe.block_count, 2_000);
    assert_eq!((probe.first.read_count, probe.second.read_count), (2_000, 2_000));
    assert_eq!(probe.first.method, probe.second.method);
    assert!(probe.ratio().is_finite());
}

#[test]
fn too_few_blocks_say_nothing_about_the_hosts_cache() {
    let file = file_of(1_998 * BLOCK_BYTES);
    let Some(disk) = disk(&[&file]) else { return };
    let error = probe_host_cache(&disk, &AtomicBool::new(false)).expect_err("too few");
    assert!(matches!(error, MeasureError::TooSmall { block_count: 1_998 }), "{error}");
}

#[test]
fn holes_are_no_reads_of_a_device() {
    let file = NamedTempFile::new().expect("temporary file");
    file.as_file().set_len(64 << 20).expect("grown");
    let Some(disk) = disk(&[&file]) else { return };
    let method = Method::Threads { count: 1 };
    match measure_random(&disk, method, SHORT, &AtomicBool::new(false)) {
        Err(MeasureError::NotFromDevice { .. }) => {}
        // Other tests of this process read from the device meanwhile.
        Ok(rate) => assert!(rate.device_read_bytes.is_none_or(|bytes| bytes > 0)),
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn a_file_cut_after_opening_is_an_error_that_names_it() {
    let file = file_of(100 * BLOCK_BYTES);
    let Some(disk) = disk(&[&file]) else { return };
    file.as_file().set_len(0).expect("cut");
    for method in [Method::Ring { depth: 4, threads: 2 }, Method::Threads { count: 2 }] {
        match measure_random(&disk, method, SHORT, &AtomicBool::new(false)) {
            Err(MeasureError::Failed { path, .. }) => assert_eq!(path, file.path()),
            Err(MeasureError::RingRefused { .. }) => {}
            result => panic!("{result:?}"),
        }
    }
}

#[test]
fn what_was_just_read_is_resident_and_what_was_dropped_is_not() {
    let file = file_of(64 * BLOCK_BYTES);
    assert_eq!(std::fs::read(file.path()).expect("read").len(), 64 * BLOCK_BYTES);
    let Some(before) = resident_fraction(&[file.path()]) else { return };
    assert!(before > 0.9, "{before}");
    if open(&[&file]).is_some() {
        fadvise_dontneed(&[file.path()]).expect("dropped");
        assert_eq!(resident_fraction(&[file.path()]), Some(0.0));
    }
}

#[test]
fn the_resident_fraction_of_nothing_is_unknown() {
    let none: [&Path; 0] = [];
    assert_eq!(resident_fraction(&none), None);
    assert_eq!(resident_fraction(&[file_of(0).path()]), None);
    assert_eq!(resident_fraction(&[Path::new("/nonexistent")]), None);
    assert!(fadvise_dontneed(&[Path::new("/nonexistent")]).is_err());
}

#[test]
fn a_method_is_named_with_its_depth_and_threads() {
    let ring = |depth, threads| Method::Ring { depth, threads }.to_string();
    assert_eq!(ring(256, 1), "io_uring depth 256");
    assert_eq!(ring(64, 2), "io_uring depth 64 x 2 threads");
    assert_eq!(Method::Threads { count: 16 }.to_string(), "pread, 16 threads");
}

/// Makes a file that is read through the page cache, as a stand-in for a device with a host's
/// cache: blocks stay in the cache once they are read. `None` if pages do not leave the cache.
fn behind_a_cache(byte_count: usize, seed: u64) -> Option<(NamedTempFile, Disk)> {
    let file = file_of(byte_count);
    open(&[&file])?;
    fadvise_dontneed(&[file.path()]).expect("dropped");
    if resident_fraction(&[file.path()]) != Some(0.0) {
        return None;
    }
    let files = DirectFiles::open_as(&[file.path()], Access::Cached).expect("opened");
    Some((file, Disk::of(files, 0, seed)))
}

fn resident_blocks(file: &NamedTempFile, block_count: u64) -> u64 {
    let share = resident_fraction(&[file.path()]).expect("the kernel tells");
    (share * block_count as f64).round() as u64
}

/// Repeats the reads, since the kernel may drop pages of the file at any time. Then fewer blocks
/// are in the cache than were read, as if a block had been read twice. A real repetition recurs.
#[test]
fn no_method_worker_or_pass_reads_a_block_that_a_cache_below_has_of_another() {
    const BLOCK_COUNT: u64 = 10_000;
    let bytes = BLOCK_COUNT as usize * BLOCK_BYTES;
    let faults: Vec<_> = (0..3).map_while(|_| read_twice(bytes, BLOCK_COUNT)).collect();
    assert!(faults.len() < 3, "{faults:?}");
}

/// Reads a new file by every method in turn. Returns the first count of blocks in the cache that is
/// not the number of reads.
fn read_twice(byte_count: usize, block_count: u64) -> Option<String> {
    let (file, disk) = behind_a_cache(byte_count, 2)?;
    let go = AtomicBool::new(false);
    let probe = probe_host_cache(&disk, &go).expect("probed");
    let mut read_count = probe.block_count as u64;
    let fault = |what: &dyn std::fmt::Display, read_count: u64| {
        let resident = resident_blocks(&file, block_count);
        (resident != read_count).then(|| format!("{what}: {resident} blocks of {read_count} reads"))
    };
    if let Some(fault) = fault(&"the second pass", read_count) {
        return Some(fault);
    }
    for method in [
        Method::Ring { depth: 64, threads: 1 },
        Method::Ring { depth: 8, threads: 2 },
        Method::Threads { count: 1 },
        Method::Threads { count: 3 },
    ] {
        let rate = measure(&disk.files, method, &Work::Listed(&disk.unread.take(1_000)), &go);
        let Some(rate) = measured(rate) else { continue };
        read_count += rate.read_count;
        if let Some(fault) = fault(&method, read_count) {
            return Some(fault);
        }
    }
    let rate = measure_random(&disk, Method::Threads { count: 2 }, SHORT, &go).expect("measured");
    let read_count = read_count + rate.read_count;
    fault(&"random reads", read_count).filter(|_| disk.repeated_count() == 0)
}

#[test]
fn a_run_with_the_seed_of_the_one_before_reads_what_a_cache_below_has() {
    const BLOCK_COUNT: u64 = 10_000;
    let bytes = BLOCK_COUNT as usize * BLOCK_BYTES;
    let Some((file, first)) = behind_a_cache(bytes, 3) else { return };
    let go = AtomicBool::new(false);
    let cached = |disk: &Disk| {
        let before = resident_blocks(&file, BLOCK_COUNT);
        let probe = probe_host_cache(disk, &go).expect("probed");
        probe.block_count as u64 - (resident_blocks(&file, BLOCK_COUNT) - before)
    };
    assert_eq!(cached(&first), 0);
    let again = |seed| {
        let files = DirectFiles::open_as(&[file.path()], Access::Cached).expect("opened");
        Disk::of(files, 0, seed)
    };
    assert_eq!(cached(&again(3)), 5_000, "all of it");
    // Half of all blocks are in the cache, so another seed finds half of its blocks there by
    // chance.
    let met = cached(&again(4));
    assert!(met.abs_diff(2_500) < 250, "{met} of 5,000");
}
