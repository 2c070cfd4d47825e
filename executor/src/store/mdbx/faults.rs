//! Reads of a thread, counted as its major page faults.

use super::environment::PAGE_BYTES;
use crate::{process::thread_major_fault_count, read_counters::ReadCounters};

/// Reads of the calling thread since it had `start_fault_count` page faults.
pub(super) fn fault_counters(start_fault_count: u64, key_count: u64) -> ReadCounters {
    let faults = thread_major_fault_count().unwrap_or(0);
    let block_count = faults.saturating_sub(start_fault_count);
    let block_bytes = block_count * PAGE_BYTES as u64;
    ReadCounters { key_count, block_count, block_bytes, cache_hit_count: 0 }
}
