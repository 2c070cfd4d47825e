//! Fills a cluster with the rows of a recipe, when the store is opened. Each row is sent to the
//! node that has its key's hash slot, in pipelines. A marker without a number of rows is written
//! first, so that a later run recognises a half-filled cluster.

use std::{fs, time::Instant};

use workload::{AccountFamily, ContentDigest, Genesis, Table};

use super::{
    cluster::Topology,
    connections::{Content, ControlConnections, Marker, Memory},
    error::{RedisError, fault},
    pipelines::NodeConnections,
    row::{Key, seal},
};
use crate::{
    error::StoreError,
    state::{BuildInput, BuildPhase, StateError, Watch},
    store::ordered,
};

/// Number of rows in one pipeline to a node.
const PIPELINED_ROWS: usize = 500;

/// Approximate number of bytes of a row in Redis: key, value, two objects, and an entry of a
/// half-full hash table.
const BYTES_PER_ROW: u64 = 230;
/// Approximate number of bytes of an empty cluster and of the buffers.
const BYTES_MIN: u64 = 16 << 20;

/// A complete state in the cluster.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    pub(super) row_count: u64,
    /// Text for the result: when the rows were written, and how fast.
    pub(super) history: String,
}

/// Returns the approximate memory of a cluster with the rows of `genesis`, in bytes.
fn needed_bytes(genesis: &Genesis) -> u64 {
    let made = genesis.account_families.iter().map(AccountFamily::code_bytes);
    let written = genesis.accounts.iter().map(|account| account.code.len() as u64);
    row_count(genesis)
        .saturating_mul(BYTES_PER_ROW)
        .saturating_add(made.chain(written).fold(BYTES_MIN, u64::saturating_add))
}

/// Returns the number of slots and accounts.
fn row_count(genesis: &Genesis) -> u64 {
    genesis.slot_count().saturating_add(genesis.account_count())
}

/// Checks that the rows of `genesis` fit within `limit_bytes`.
pub(super) fn check_size(genesis: &Genesis, limit_bytes: u64) -> Result<(), RedisError> {
    let need_bytes = needed_bytes(genesis);
    if need_bytes <= limit_bytes {
        return Ok(());
    }
    Err(RedisError::TooLarge { row_count: row_count(genesis), need_bytes, limit_bytes })
}

/// Fills the cluster with the wanted state, unless the cluster holds that state already.
///
/// # Errors
/// The cluster holds keys of other programs, is in use by another process, or cannot be filled.
pub(super) fn ensure_filled(
    connections: &ControlConnections,
    topology: &Topology,
    wanted: &BuildInput<'_>,
    watch: &Watch<'_>,
) -> Result<Filled, RedisError> {
    let marker = Marker::unfilled(wanted.genesis.digest(), wanted.layout);
    let content = connections.content()?;
    if let Content::Marked(Some(found)) = &content
        && found.is_same_state(&marker)
        && let Some(row_count) = found.row_count
        && connections.check_key_count(row_count).is_ok()
    {
        return Ok(Filled { row_count, history: "before this run".to_owned() });
    }
    let Memory { used_bytes, limit_bytes } = connections.memory()?;
    // A marked cluster will be emptied, so its memory counts as free.
    let free_bytes = match content {
        Content::Nothing | Content::Unmarked => limit_bytes.saturating_sub(used_bytes),
        Content::Marked(_) => limit_bytes,
    };
    check_size(wanted.genesis, free_bytes)?;
    if let Content::Marked(found) = &content {
        let state = match found {
            Some(found) if found.is_same_state(&marker) => "a part of this state, or more than it",
            _ => "another state",
        };
        watch.progress.note(&format!("the Redis Cluster holds {state}: it is filled again"));
    }
    connections.clear(&content)?;
    let start = Instant::now();
    connections.mark(&marker)?;
    let digest = fill(topology, wanted, watch)?;
    let row_count = digest.row_count();
    connections.check_key_count(row_count)?;
    connections.mark(&Marker {
        row_count: Some(row_count),
        content: Some(digest.finish()),
        ..marker
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = row_count as f64 / seconds.max(1e-3);
    let history = format!("{row_count} rows in {seconds:.2} s, {rate:.0} a second");
    Ok(Filled { row_count, history })
}

/// Writes all rows, with scratch files in a directory that is removed afterwards.
fn fill(
    topology: &Topology,
    wanted: &BuildInput<'_>,
    watch: &Watch<'_>,
) -> Result<ContentDigest, RedisError> {
    let scratch = wanted.scratch;
    fs::create_dir_all(scratch).map_err(StateError::io("make", scratch))?;
    let written = write_tables(topology, wanted, watch);
    fs::remove_dir_all(scratch).map_err(StateError::io("remove", scratch))?;
    written
}

fn write_tables(
    topology: &Topology,
    input: &BuildInput<'_>,
    watch: &Watch<'_>,
) -> Result<ContentDigest, RedisError> {
    let mut connections = NodeConnections::connect(topology)?;
    let mut digest = ContentDigest::default();
    let mut sealed = Vec::new();
    for table in [Table::Slots, Table::Accounts, Table::Codes] {
        let phase = BuildPhase::Writing;
        let written = ordered::stream_rows(input, watch, table, phase, &mut |row, value| {
            let key = Key::of(table, row);
            seal(&key, value, &mut sealed);
            let node = &mut connections.nodes[topology.node_of(key.as_slice())];
            node.add(redis::cmd("SET").arg(key.as_slice()).arg(&sealed), 0);
            if node.collected_count() < PIPELINED_ROWS {
                return Ok(());
            }
            // Receives the answers to the previous pipeline. The node has executed it while this
            // pipeline was filled.
            node.receive(&mut expect_ok)?;
            Ok(node.send()?)
        })?;
        digest.merge(&written);
    }
    for node in &mut connections.nodes {
        node.receive(&mut expect_ok)?;
        node.send()?;
        node.receive(&mut expect_ok)?;
    }
    Ok(digest)
}

fn expect_ok(_number: usize, answer: redis::Value) -> Result<(), StoreError> {
    match answer {
        redis::Value::Okay => Ok(()),
        other => Err(fault("write a row", format!("the server answers {other:?}"))),
    }
}
