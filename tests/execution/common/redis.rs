//! States in a Redis Cluster whose servers a test starts, if they are installed.

use std::{io::Write, path::Path, process::Command, sync::atomic::AtomicBool};

use executor::{
    state::{NoProgress, Watch},
    store::redis::{Credentials, RedisError, RedisInput, RedisServers, RedisStore},
};
use workload::Workload;

const LIMIT_BYTES: u64 = 1 << 30;

/// Whether the servers can be started. If not, prints past the test's captured output that tests
/// are skipped.
pub(crate) fn is_here() -> bool {
    let asked = Command::new("redis-server").arg("--version").output();
    if let Err(error) = &asked {
        let reason =
            format!("there is no redis-server on PATH ({error}): the redis store is NOT tested");
        drop(writeln!(std::io::stderr(), "SKIPPED: {reason}"));
    }
    asked.is_ok()
}

/// Servers with an empty cluster.
pub(crate) fn servers(dir: &Path) -> RedisServers {
    let cancel = AtomicBool::new(false);
    RedisServers::start(dir, &Watch { progress: &NoProgress, cancel: &cancel }).unwrap()
}

/// Opens the state of `workload` in the cluster of `addresses`, or in servers that it starts.
pub(crate) fn open(
    workload: &Workload,
    dir: &Path,
    addresses: &[String],
) -> Result<RedisStore, RedisError> {
    open_within(workload, dir, addresses, LIMIT_BYTES)
}

/// Opens it within this much memory.
pub(crate) fn open_within(
    workload: &Workload,
    dir: &Path,
    addresses: &[String],
    limit_bytes: u64,
) -> Result<RedisStore, RedisError> {
    let cancel = AtomicBool::new(false);
    let input = RedisInput {
        genesis: &workload.genesis,
        layout: workload.layout,
        addresses,
        credentials: &Credentials::default(),
        data_dir: dir,
        limit_bytes,
        threads: 2,
    };
    RedisStore::open(&input, &Watch { progress: &NoProgress, cancel: &cancel })
}
