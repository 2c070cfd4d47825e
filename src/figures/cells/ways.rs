//! Facts of a variant's settings for a result: prefetch policy, state root, shards, priority of the
//! verifying threads.

use executor::process;
use result::{PrefetchFacts, Priority, RootWayFacts, ShardWayFacts};
use variant::{Prefetch, RootWay, Sharding};

/// Returns how the state root is computed; `None` for a variant without a root.
pub(super) fn root_way(way: &RootWay) -> Option<RootWayFacts> {
    let RootWay { shard_count, reads, cache, .. } = *way;
    let facts =
        RootWayFacts { root_shards: u64::from(shard_count), root_reads: reads, root_cache: cache };
    (!way.is_none()).then_some(facts)
}

/// Returns how shards execute.
pub fn sharding_facts(sharding: &Sharding) -> ShardWayFacts {
    let Sharding { partitioner, partition_time, micro_batch_key_count, delay_us, .. } = *sharding;
    ShardWayFacts {
        partitioner,
        partition_time,
        micro_batch_key_count: u64::from(micro_batch_key_count),
        delay_ns: u64::from(delay_us) * 1_000,
    }
}

/// Returns how readers read ahead.
pub(super) fn policy_facts(policy: &Prefetch) -> PrefetchFacts {
    PrefetchFacts {
        time: policy.time,
        order: policy.order,
        accounts: policy.accounts,
        codes: policy.codes,
        stop: policy.stop,
        share: policy.share,
        chunk_key_count: policy.chunk.map(|keys| u64::from(keys.get())),
    }
}

pub(super) const fn priority(priority: process::Priority) -> Priority {
    match priority {
        process::Priority::Idle => Priority::Idle,
        process::Priority::Nice19 => Priority::Nice19,
        process::Priority::Normal => Priority::Normal,
    }
}
