//! The keys of a scenario's tables, but for those of a kind of load, of `[run.rocksdb]` and of
//! `[run.mdbx]`, which their own files list. `paths.rs` has them all.

/// The version of the format that this reader reads.
pub(crate) const SCHEMA: i128 = 1;

pub(crate) const TOP: &[&str] =
    &["schema", "name", "description", "fork", "seed", "state", "block", "load", "run", "expect"];
pub(crate) const STATE: &[&str] = &["accounts", "slots", "size", "layout", "present", "seed"];
pub(crate) const BLOCK: &[&str] =
    &["gas", "transactions", "blocks", "batch", "tx_gas", "order", "seed"];
/// Keys of every load; each kind adds its own.
pub(crate) const LOAD: &[&str] =
    &["kind", "share", "name", "tx_gas", "tx_gas_least", "sizes", "zipf", "seed"];
pub(crate) const RUN: &[&str] = &[
    "designs",
    "stores",
    "threads",
    "fibers",
    "shards",
    "shard_addresses",
    "partitioner",
    "partition",
    "shard_batch",
    "shard_delay_us",
    "io_threads",
    "list",
    "prefetch",
    "prefetch_order",
    "prefetch_accounts",
    "prefetch_codes",
    "prefetch_stop",
    "prefetch_share",
    "prefetch_chunk",
    "warm_cache",
    "schedule",
    "read",
    "checksums",
    "cache_fill",
    "commit",
    "root",
    "root_shards",
    "root_reads",
    "root_cache",
    "trie",
    "duties",
    "execution_alone",
    "whole",
    "cache",
    "keys",
    "draw_seed",
    "databases",
    "samples",
    "budget",
    "rocksdb",
    "mdbx",
    "redis_addresses",
    "recover_senders",
];
/// The keys of [`RUN`] that are tables.
pub(crate) const RUN_TABLES: &[&str] = &["rocksdb", "mdbx"];
pub(crate) const EXPECT: &[&str] = &["metric", "min", "max", "when"];
pub(crate) const WHEN: &[&str] = &["store", "cache"];

/// Pairs of keys of which exactly one is given: setting one from outside removes the other.
pub(crate) const ALTERNATIVES: &[(&str, &str, &str)] = &[
    ("state", "slots", "size"),
    ("block", "gas", "transactions"),
    ("load", "lengths", "hotspots"),
];
