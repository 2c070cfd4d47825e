//! Laws of a cell of a result.

use std::{num::NonZeroUsize, time::Duration};

use executor::{
    engine::{BackgroundWrites, BatchResult, Executed, SpeculativePassCounts},
    process,
    sample::Disagreement,
};
use result::Device;
use variant::{Design, Prefetch, SampleKeys, StoreKind, Variant};
use workload::{
    Batch, Block, Genesis, KeyRule, SlotFamily, Transaction, TxOutcome, TxStatus, ValueRule,
    Workload,
};

use super::*;
use crate::figures::facts::DeclaredKeys;

/// Gas of the transactions of the workload.
const GAS: [u64; 4] = [50, 25, 15, 10];

fn workload(slot_count: u64) -> Workload {
    let outcome = |gas| TxOutcome::new(TxStatus::Success, gas, &[], &[]);
    let mut batch = Batch::default();
    batch.expected.transactions = GAS.map(outcome).to_vec();
    let transactions = GAS.map(|_| Transaction::default()).to_vec();
    batch.blocks = vec![Block { transactions, ..Block::default() }];
    let family = SlotFamily {
        address: alloy_primitives::Address::ZERO,
        count: slot_count,
        keys: KeyRule::Keccak,
        values: ValueRule::Random,
        seed: alloy_primitives::B256::ZERO,
    };
    let genesis = Genesis { slots: vec![family], ..Genesis::default() };
    Workload { batches: vec![batch], genesis, ..Workload::default() }
}

fn device() -> Device {
    Device {
        ceiling_iops: Some(100_000.0),
        ceiling_end_iops: None,
        ceiling_drift: None,
        method: None,
        depth1_p50_ns: Some(100_000),
        host_cache_ratio: Some(1.0),
        probed_block_share: Some(0.02),
        repeated_read_count: 0,
        state_age_s: None,
        reason: None,
        shared: None,
    }
}

fn variant(design: Design, threads: usize, io_threads: usize) -> Variant {
    let count = |n| NonZeroUsize::new(n).unwrap();
    Variant::of(design, count(threads), count(io_threads))
}

fn input<'a>(workload: &'a Workload, device: &'a Device, variant: Variant) -> CellInput<'a> {
    CellInput {
        store: StoreKind::Rocksdb,
        never_cold: None,
        variant,
        cache: CacheMode::Cold,
        workload,
        keys: SampleKeys::Same,
        asked_before_share: None,
        declared: DeclaredKeys { account_count: 0, slot_count: 1_000 },
        present_share: 1.0,
        slots_per_block: Some(4096.0 / 76.0),
        device: Some(device),
        core_count: 4,
    }
}

/// A sample of a second that read `blocks`, `device_blocks` of them from the device.
fn measurement(blocks: u64, device_blocks: u64) -> Measurement {
    let mut executed = Executed { wall: Duration::from_secs(1), ..Executed::default() };
    executed.counters.block_count = blocks;
    executed.counters.block_bytes = blocks * 4096;
    executed.counters.key_count = 1_000;
    executed.batches = vec![BatchResult::default()];
    let io = process::IoCounters {
        read_call_bytes: 0,
        write_call_bytes: 0,
        read_call_count: 0,
        write_call_count: 0,
        device_read_bytes: device_blocks * 4096,
        device_write_bytes: 0,
    };
    let usage = process::Usage {
        user: Duration::from_millis(4),
        system: Duration::ZERO,
        minor_fault_count: 0,
        major_fault_count: 0,
        voluntary_switch_count: 0,
        involuntary_switch_count: 0,
    };
    let process =
        process::Activity { io: Some(io), usage: Some(usage), ..process::Activity::default() };
    Measurement {
        executed,
        process,
        disagreement: None,
        open: Duration::ZERO,
        disk: None,
        row_pages: None,
        requests: None,
    }
}

fn cell(input: &CellInput<'_>, measurements: &[Measurement]) -> Cell {
    let mut samples = CellSamples::default();
    assert!(samples.is_empty());
    measurements.iter().for_each(|measurement| samples.add(input, measurement));
    samples.cell(input, None)
}

/// Reads of `count` that lasted `ms` each, all within a second.
fn tally(count: u64, ms: u64) -> executor::engine::ReadTally {
    let mut tally = executor::engine::ReadTally::default();
    (0..count).for_each(|_| tally.latencies.record(Duration::from_millis(ms)));
    tally.read_time_sum = Duration::from_millis(count * ms);
    let start = std::time::Instant::now();
    tally.window = Some((start, start + Duration::from_secs(1)));
    tally
}

#[test]
fn percentiles_are_over_the_reads_of_all_samples() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::ParallelIo, 4, 1));
    let mut measurement = measurement(900, 900);
    measurement.executed.on_demand = tally(30, 100);
    measurement.executed.prefetch_reads_at_once = Some(32);
    let cell = cell(&input, &[measurement.clone(), measurement]);
    assert_eq!((cell.read_latency_ns.count, cell.samples.len()), (60, 2));
    // On demand no read is made together with another, also where the store could do so.
    assert!(!cell.read_latency_of_batches);
    assert!((cell.reads_in_flight.unwrap() - 3.0).abs() < 1e-9);
    assert!((cell.uniform_ceiling_ratio.unwrap() - 0.009).abs() < 1e-9);
    assert_eq!(cell.device_fraction, None, "nobody has read the blocks again");
}

#[test]
fn latencies_times_and_rates_are_of_the_same_samples_and_the_warm_up_is_in_none() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::ParallelIo, 4, 1));
    // Many samples, so that a piece has several; the first are a thousand times as slow.
    for (sample_count, slow_count) in [(20, 3), (60, 7), (100, 11), (300, 60)] {
        let mut samples = CellSamples::default();
        for n in 0..sample_count {
            let ms = if n < slow_count { 10_000 } else { 10 };
            let mut measurement = measurement(900, 900);
            measurement.executed.wall = Duration::from_millis(ms);
            measurement.executed.on_demand = tally(30, ms);
            measurement.executed.tx_latencies.record(Duration::from_millis(ms));
            samples.add(&input, &measurement);
        }
        let WarmUpEnd::Found(found) = samples.warm_up() else {
            panic!("{sample_count}: no warm-up")
        };
        assert_eq!(found, slow_count);
        let left_out = found.next_multiple_of(piece_size(sample_count));
        let (cell, all) = (samples.cell(&input, Some(left_out)), samples.cell(&input, None));
        let count = (sample_count - left_out) as u64;
        assert_eq!(cell.counted()[0].len() as u64, count);
        assert_eq!((cell.tx_latency_ns.count, cell.read_latency_ns.count), (count, 30 * count));
        let near =
            |ns: Option<u64>| ns.is_some_and(|ns| ns.abs_diff(10_000_000) < 10_000_000 / 500);
        assert!(near(cell.tx_latency_ns.max) && near(cell.read_latency_ns.max), "{cell:?}");
        assert_eq!(cell.ms_per_batch.ci95, Some([10.0, 10.0]));
        assert_eq!(all.tx_latency_ns.count, sample_count as u64);
        assert!(!near(all.tx_latency_ns.max) && !near(all.read_latency_ns.max));
        // The log that is written is the one of the percentiles.
        let [transactions, reads] = samples.latencies(Some(left_out));
        assert_eq!((transactions.len(), reads.len()), (count, 30 * count));
    }
}

#[test]
fn reads_made_together_are_said_to_be_whoever_makes_them() {
    let (workload, device) = (workload(1 << 20), device());
    let by_readers = variant(Design::BatchedIo, 4, 8);
    for variant in [by_readers, by_readers.without_readers()] {
        let input = input(&workload, &device, variant);
        for together in [false, true] {
            let mut measurement = measurement(900, 900);
            measurement.executed.prefetched = tally(10, 200);
            measurement.executed.prefetch_reads_at_once = together.then_some(32);
            let cell = cell(&input, &[measurement]);
            let of_reader = if together { 32 } else { 1 };
            let of_readers = (variant.io_thread_count > 0).then_some(of_reader);
            assert_eq!(cell.reads_per_reader, of_readers, "{variant}");
            assert_eq!(cell.read_latency_of_batches, together, "{variant}");
            assert_eq!(cell.reads_in_flight, Some(2.0), "{variant}");
        }
    }
}

#[test]
fn the_chain_of_a_transaction_binds_where_there_are_more_threads_than_it_needs() {
    let (workload, device) = (workload(1 << 20), device());
    let chain_of = |variant| serial_read_count(&input(&workload, &device, variant), 1_000.0);
    assert_eq!(chain_of(variant(Design::Sequential, 64, 64)), 1_000.0);
    assert_eq!(chain_of(variant(Design::ParallelIo, 1, 1)), 1_000.0);
    // The largest transaction has half of the gas.
    assert_eq!(chain_of(variant(Design::ParallelIo, 64, 1)), 500.0);
    assert_eq!(chain_of(variant(Design::BatchedIo, 2, 50)), 20.0);
    let by_itself = variant(Design::BatchedIo, 4, 50).without_readers();
    assert_eq!(chain_of(by_itself), 250.0);
    let mut binds = input(&workload, &device, variant(Design::ParallelIo, 64, 1));
    assert_eq!(cell(&binds, &[measurement(1_000, 1_000)]).bottleneck, Some(Bottleneck::Chain));
    binds.variant = variant(Design::BatchedIo, 2, 256);
    assert_eq!(cell(&binds, &[measurement(1_000, 1_000)]).bottleneck, Some(Bottleneck::Device));
}

#[test]
fn a_chain_that_the_time_refutes_binds_nothing() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::Sequential, 1, 1));
    let of_wall = |ms: u64| {
        let mut measurement = measurement(1_000, 1_000);
        measurement.executed.wall = Duration::from_millis(ms);
        let cell = cell(&input, &[measurement]);
        (cell.bottleneck, cell.bottleneck_share)
    };
    // A thousand reads of 0.1 ms, one after the other.
    let (term, share) = of_wall(100);
    assert_eq!((term, share), (Some(Bottleneck::Chain), Some(1.0)));
    let (term, share) = of_wall(15);
    assert!(term != Some(Bottleneck::Chain) && share <= Some(1.25), "{term:?} {share:?}");
}

#[test]
fn cpu_time_is_divided_among_no_more_cores_than_there_are_threads() {
    let (workload, device) = (workload(1 << 20), device());
    // 4 ms on one thread bind before 30 reads of 0.1 ms one after the other.
    let sequential = input(&workload, &device, variant(Design::Sequential, 1, 1));
    assert_eq!(cell(&sequential, &[measurement(30, 30)]).bottleneck, Some(Bottleneck::Cpu));
    // On four cores the same work is 1 ms; the longest transaction reads for 1.5 ms.
    let parallel = input(&workload, &device, variant(Design::ParallelIo, 64, 1));
    assert_eq!(cell(&parallel, &[measurement(30, 30)]).bottleneck, Some(Bottleneck::Chain));
}

#[test]
fn nothing_binds_where_the_store_works_on_threads_of_its_own() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::Sequential, 1, 1));
    // The work of two threads within a second, on one thread of the variant.
    let mut busy = measurement(30, 30);
    let usage = busy.process.usage.as_mut().unwrap();
    usage.user = Duration::from_secs(2);
    let alone = cell(&input, &[busy.clone()]);
    assert_eq!((alone.bottleneck, alone.bottleneck_share), (Some(Bottleneck::Cpu), Some(2.0)));
    busy.executed.writes.background = Some(BackgroundWrites::default());
    let beside = cell(&input, &[busy]);
    assert_eq!((beside.bottleneck, beside.bottleneck_share), (None, None));
}

#[test]
fn what_binds_is_that_of_the_median_sample_and_not_of_the_last() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::Sequential, 1, 1));
    let samples = [1_000, 1_000, 1].map(|blocks| measurement(blocks, blocks));
    assert_eq!(cell(&input, &samples).bottleneck, Some(Bottleneck::Chain));
}

#[test]
fn blocks_are_counted_by_keys_that_exist_on_both_sides() {
    let (workload, device) = (workload(1 << 30), device());
    let mut input = input(&workload, &device, variant(Design::ParallelIo, 4, 1));
    let figures = |input: &CellInput<'_>| {
        let cell = cell(input, &[measurement(500, 500)]);
        (
            cell.blocks_per_present_key,
            cell.expected_blocks_per_present_key,
            cell.samples[0].unique_keys,
        )
    };
    let (seen, expected, keys) = figures(&input);
    assert_eq!((seen, keys), (Some(0.5), 1_000));
    assert!(expected.unwrap() > 0.99);
    input.present_share = 0.5;
    let (seen, expected, keys) = figures(&input);
    assert_eq!((seen, keys), (Some(1.0), 1_000));
    assert!(expected.unwrap() > 0.99);
    input.present_share = 0.0;
    input.declared.account_count = 40;
    assert_eq!(figures(&input), (None, None, 1_040));
}

#[test]
fn all_cells_of_a_workload_have_the_same_number_of_keys() {
    let (workload, device) = (workload(1 << 20), device());
    for design in Design::ALL.iter().copied() {
        let input = input(&workload, &device, variant(design, 4, 8));
        let cell = cell(&input, &[measurement(1, 1)]);
        assert_eq!((cell.samples[0].unique_keys, cell.samples[0].store_reads), (1_000, 1_000));
    }
}

#[test]
fn a_store_without_a_device_is_neither_cold_nor_warm() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::ParallelIo, 4, 1));
    let want = |store, cache| {
        let cell = cell(&CellInput { store, cache, ..input }, &[measurement(0, 0)]);
        cell.cache.want
    };
    for cache in [CacheMode::Cold, CacheMode::Warm] {
        assert_eq!(want(StoreKind::Memory, cache), None);
        assert_eq!(want(StoreKind::Redis, cache), None);
        assert_eq!(want(StoreKind::Mdbx, cache), Some(cache));
    }
}

#[test]
fn cold_is_proved_by_every_sample_that_read_and_by_none_where_none_did() {
    let (workload, device) = (workload(1 << 20), device());
    let mut input = input(&workload, &device, variant(Design::ParallelIo, 4, 1));
    let proved = |input: &CellInput<'_>, counts: &[(u64, u64)]| {
        let samples: Vec<_> =
            counts.iter().map(|(all, device)| measurement(*all, *device)).collect();
        let CacheFacts { proved, reason, .. } = cell(input, &samples).cache;
        (proved, reason)
    };
    assert_eq!(proved(&input, &[(100, 100), (100, 95)]).0, Some(true));
    assert_eq!(proved(&input, &[(100, 100), (100, 94)]).0, Some(false));
    assert_eq!(proved(&input, &[(0, 0), (100, 100)]).0, Some(true));
    let nothing = proved(&input, &[(0, 0), (0, 0)]);
    assert_eq!(nothing, (None, "no block was read: the filters answered".to_owned()));
    input.cache = CacheMode::Warm;
    let (proved, reason) = proved(&input, &[(100, 0), (100, 3)]);
    assert!(proved.is_none() && reason.contains("at most 12.3 kB came from a device"), "{reason}");
}

#[test]
fn a_wrong_sample_is_kept_as_wrong() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::ParallelIo, 4, 1));
    let mut wrong = measurement(1, 1);
    let (what, expected, got) = ("x".to_owned(), "1".to_owned(), "2".to_owned());
    wrong.disagreement = Some(Disagreement::ReadBack { what, expected, got });
    let cell = cell(&input, &[measurement(1, 1), wrong]);
    assert_eq!(cell.samples.iter().map(|s| s.agree).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn who_reads_beside_the_readers_shortens_the_chain() {
    let (workload, device) = (workload(1 << 20), device());
    let before = variant(Design::BatchedIo, 2, 10);
    let beside = Prefetch { time: ReadTime::While, ..Prefetch::default() };
    let beside = Variant { io: Io::Batched(beside), ..before };
    assert_eq!(serial_read_count(&input(&workload, &device, before), 1_200.0), 120.0);
    assert_eq!(serial_read_count(&input(&workload, &device, beside), 1_200.0), 100.0);
}

#[test]
fn a_sample_takes_the_time_of_one_read_after_the_other_or_that_of_the_ceiling() {
    let (workload, device) = (workload(100_000_000), device());
    let time = |input: CellInput<'_>| time_by_device(&input).map(|time| time.as_secs_f64());
    let in_order = input(&workload, &device, variant(Design::Sequential, 1, 1));
    let of_order = time(in_order).expect("cold");
    assert!((of_order / 0.1 - 1.0).abs() < 1e-3, "1,000 reads of 100 us: {of_order}");
    let batched = input(&workload, &device, variant(Design::BatchedIo, 2, 64));
    let of_batches = time(batched).expect("cold");
    assert!((of_batches / 0.01 - 1.0).abs() < 1e-3, "1,000 of 100,000 a second: {of_batches}");
    assert_eq!(time(CellInput { cache: CacheMode::Warm, ..in_order }), None);
    assert_eq!(time(CellInput { device: None, ..in_order }), None);
    assert_eq!(time(CellInput { never_cold: Some("memory"), ..in_order }), None);
}

#[test]
fn waiting_for_verification_is_taken_off_where_there_is_some() {
    let (workload, device) = (workload(1 << 20), device());
    let mut measured = measurement(10, 10);
    measured.executed.verification_wait = Duration::from_millis(750);
    let full = cell(&input(&workload, &device, variant(Design::Full, 2, 8)), &[measured]);
    assert_eq!(full.samples[0].unverified_wall_ns, Some(250_000_000));
    assert_eq!(full.unverified_ms_per_batch.median, Some(250.0));
    assert_eq!(full.ms_per_batch.median, Some(1_000.0));
    let plain = input(&workload, &device, variant(Design::BatchedIo, 2, 8));
    let plain = cell(&plain, &[measurement(10, 10)]);
    assert_eq!(plain.samples[0].unverified_wall_ns, None);
    assert_eq!(plain.unverified_ms_per_batch.median, None);
}

#[test]
fn the_share_that_a_warm_up_found_is_of_what_was_asked() {
    let (workload, device) = (workload(1 << 20), device());
    let mut measured = measurement(10, 10);
    let pass = SpeculativePassCounts {
        read_count: 40,
        requested_count: 20,
        found_count: 15,
        unused_count: 25,
        pass_wait: Duration::from_millis(3),
    };
    measured.executed.speculative_pass = Some(pass);
    let cell = cell(&input(&workload, &device, variant(Design::Prewarm, 2, 1)), &[measured]);
    assert_eq!(cell.warm_up_found_share, Some(0.75));
    assert_eq!(cell.samples[0].warm_up.unwrap().pass_wait_ns, 3_000_000);
}

#[test]
fn the_share_of_the_device_is_one_at_most_whatever_was_measured() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::BatchedIo, 2, 8));
    let share = |again: Result<f64, String>| {
        let mut samples = CellSamples::default();
        let mut measurement = measurement(900, 900);
        measurement.executed.prefetched = tally(30, 100);
        samples.add(&input, &measurement);
        samples.add_trace_ceiling(again);
        let cell = samples.cell(&input, None);
        (cell.device_fraction, cell.device_fraction_unknown, cell.uniform_ceiling_ratio)
    };
    // 900 blocks in a second; a plain ring reads 1,200 of them.
    assert_eq!(share(Ok(1_200.0)), (Some(0.75), None, Some(0.009)));
    // A ring that is slower than the sample was bounds nothing.
    assert_eq!(share(Ok(300.0)).0, Some(1.0));
    let (none, why, _) = share(Err("the state is aged".to_owned()));
    assert_eq!((none, why.as_deref()), (None, Some("the state is aged")));
}

#[test]
fn samples_of_different_works_have_no_exact_figures_in_common() {
    let (first, device) = (workload(1 << 20), device());
    let second = Workload { seed: 7, ..first.clone() };
    let counted = |works: &[&Workload]| {
        let mut samples = CellSamples::default();
        let variant = variant(Design::ParallelIo, 4, 1);
        for work in works {
            let is_first = std::ptr::eq(*work, &first);
            let keys = if is_first { SampleKeys::Same } else { SampleKeys::Fresh };
            let input = CellInput { keys, ..input(work, &device, variant) };
            samples.add(&input, &measurement(9, 9));
        }
        let cell = samples.cell(&input(&first, &device, variant), None);
        (cell.counters.is_some(), cell.samples.iter().map(|s| s.seed).collect::<Vec<_>>())
    };
    assert_eq!(counted(&[&first, &first]), (true, vec![0, 0]));
    assert_eq!(counted(&[&second]), (false, vec![7]));
    assert_eq!(counted(&[&second, &second]), (false, vec![7, 7]));
    assert_eq!(counted(&[&first, &second]), (false, vec![0, 7]));
    assert_eq!(counted(&[&first, &second, &second]), (false, vec![0, 7, 7]));
}

#[test]
fn one_row_in_memory_before_the_clock_and_cold_is_disproved() {
    let (workload, device) = (workload(1 << 20), device());
    let input = input(&workload, &device, variant(Design::ParallelIo, 4, 1));
    let proved = |pages: &[Result<(u64, u64), &str>], device_pages, resident_node_count| {
        let mut samples = CellSamples::default();
        for pages in pages {
            let mut measurement = measurement(100, device_pages);
            let pages = pages.map(|(page_count, resident_count)| RowPages {
                page_count,
                resident_count,
                node_page_count: 50,
                resident_node_count,
            });
            measurement.row_pages = Some(pages.map_err(str::to_owned));
            samples.add(&input, &measurement);
        }
        let CacheFacts { proved, reason, .. } = samples.cell(&input, None).cache;
        (proved, reason)
    };
    assert_eq!(proved(&[Ok((100, 0)), Ok((100, 0))], 100, 0).0, Some(true));
    let (warmed, reason) = proved(&[Ok((100, 0)), Ok((100, 1))], 100, 0);
    assert_eq!(warmed, Some(false));
    assert!(reason.contains("1 of the 100 pages"), "{reason}");
    let (warmed, reason) = proved(&[Ok((100, 0))], 100, 3);
    assert_eq!(warmed, Some(false));
    assert!(reason.contains("3 of the 50 pages with nodes"), "{reason}");
    // Page faults are as many as device reads always: rows that nobody read from the device are not.
    assert_eq!(proved(&[Ok((200, 0))], 100, 0).0, Some(false));
    let (unknown, reason) = proved(&[Err("no mincore")], 100, 0);
    assert!(unknown.is_none() && reason.contains("no mincore"), "{reason}");
}
