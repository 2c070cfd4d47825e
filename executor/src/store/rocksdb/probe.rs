//! Tests whether `MultiGet` reads through `io_uring`, when a store is opened. Without `io_uring`,
//! RocksDB silently reads one block after the other. So the test reads a few keys and counts the
//! thread's read calls: reads through `io_uring` are not among them.

use ::rocksdb::perf::{PerfStatsLevel, set_perf_stats};
use alloy_primitives::{Address, U256};
use workload::Genesis;

use super::{
    options,
    sample::{RocksSample, SampleInput},
    settings::effective_read_method,
};
use crate::{error::StoreError, process::IoCounters, store::Sample};
use variant::{CacheMode, ReadMethod};

/// Number of keys in each of the two passes.
const KEY_COUNT: u64 = 256;
/// Minimal number of blocks for a conclusion.
const BLOCK_COUNT_MIN: u64 = 32;
/// Size in bytes of a cache that holds the blocks of both passes.
const CACHE_BYTES: usize = 8 << 20;

/// Returns whether most blocks of a `MultiGet` came without a read call. `None` if the test is
/// inconclusive: the store reads by `Get`, has too few rows, or the system has no counters.
pub(super) fn multi_get_io_uring(input: SampleInput<'_>) -> Result<Option<bool>, StoreError> {
    if effective_read_method(input.settings.read_method) == ReadMethod::Get {
        return Ok(None);
    }
    let sample = RocksSample::open(input, options::block_cache(CACHE_BYTES), CacheMode::Cold)?;
    let measured = measure(&sample, &input.state.manifest().recipe);
    sample.close()?;
    measured
}

/// Makes two passes, and compares the blocks of the second pass with its read calls.
fn measure(sample: &RocksSample<'_>, recipe: &Genesis) -> Result<Option<bool>, StoreError> {
    // The first pass loads index partitions, if the index has partitions.
    let [Some(first), Some(second)] = [0, 1].map(|pass| keys(recipe, pass)) else {
        return Ok(None);
    };
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut reader = sample.reader()?;
    let (address, first_keys) = first;
    reader.slots(&address, &first_keys, &mut |_, _| ())?;
    let blocks_before = reader.counters().block_count;
    let before = IoCounters::of_this_thread();
    reader.slots(&second.0, &second.1, &mut |_, _| ())?;
    let now = IoCounters::of_this_thread();
    let block_count = reader.counters().block_count - blocks_before;
    let calls = now.zip(before).map(|(now, before)| now.since(&before).read_call_count);
    Ok(calls.filter(|_| block_count >= BLOCK_COUNT_MIN).map(|calls| calls * 2 < block_count))
}

/// Returns keys of existing slots, spread over the largest family. The two passes have different
/// keys. `None` if the family is too small.
fn keys(recipe: &Genesis, pass: u64) -> Option<(Address, Vec<U256>)> {
    let family = recipe.slots.iter().max_by_key(|family| family.count)?;
    let step = family.count / (2 * KEY_COUNT);
    let index = |number: u64| (2 * number + pass) * step;
    (step > 0).then(|| (family.address, (0..KEY_COUNT).map(|n| family.key(index(n))).collect()))
}
