//! The keys a scenario may have. The one list that the reader, the overrides and the test of
//! `docs/scenario.md` share.

use crate::load::KINDS;
use crate::rocksdb;

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
    "io_threads",
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
    "cache",
    "databases",
    "samples",
    "budget",
    "rocksdb",
    "recover_senders",
];
/// The keys of [`RUN`] that are tables.
const RUN_TABLES: &[&str] = &["rocksdb"];
pub(crate) const EXPECT: &[&str] = &["metric", "min", "max", "when"];
pub(crate) const WHEN: &[&str] = &["store", "cache"];

/// Pairs of keys of which exactly one is given: setting one from outside removes the other.
pub(crate) const ALTERNATIVES: &[(&str, &str, &str)] = &[
    ("state", "slots", "size"),
    ("block", "gas", "transactions"),
    ("load", "lengths", "hotspots"),
];

/// Every key path that may be given from outside, such as `block.gas` and `load.keys`.
pub(crate) fn override_paths() -> Vec<String> {
    let plain = ["name", "description", "fork", "seed"].map(str::to_owned);
    let within = |table: &str, keys: &[&str]| -> Vec<String> {
        keys.iter().map(|key| format!("{table}.{key}")).collect()
    };
    let mut load_keys = LOAD.to_vec();
    for key in KINDS.iter().flat_map(|kind| kind.keys) {
        if !load_keys.contains(key) {
            load_keys.push(key);
        }
    }
    [
        plain.to_vec(),
        within("state", STATE),
        within("block", BLOCK),
        within("load", &load_keys),
        within("run", RUN).into_iter().filter(|path| !is_run_table(path)).collect(),
        within(rocksdb::PATH, rocksdb::KEYS),
    ]
    .concat()
}

fn is_run_table(path: &str) -> bool {
    path.strip_prefix("run.").is_some_and(|key| RUN_TABLES.contains(&key))
}

/// Every key path of a file, as the documentation names them.
pub fn all_paths() -> Vec<String> {
    let mut paths = vec!["schema".to_owned()];
    paths.extend(override_paths());
    paths.extend(EXPECT.iter().map(|key| format!("expect.{key}")));
    paths.extend(WHEN.iter().map(|key| format!("expect.when.{key}")));
    paths
}
