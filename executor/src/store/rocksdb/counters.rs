//! RocksDB's own counts of reads, by thread.

use ::rocksdb::perf::{PerfContext, PerfMetric};

use crate::read_counters::ReadCounters;

/// RocksDB's counters of this thread.
pub(super) fn thread_counters() -> ReadCounters {
    let context = PerfContext::default();
    ReadCounters {
        block_count: context.metric(PerfMetric::BlockReadCount),
        block_bytes: context.metric(PerfMetric::BlockReadByte),
        key_count: 0,
        cache_hit_count: context.metric(PerfMetric::BlockCacheHitCount),
    }
}
