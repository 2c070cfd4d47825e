//! Connections of the store to all nodes of a cluster, for all commands but those for rows. The
//! store uses these connections to read and write the marker, to count keys, and to empty the
//! cluster. They stay open as long as the store. Their name shows other processes that the cluster
//! is in use.

use std::{
    collections::BTreeMap,
    fmt, process,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use alloy_primitives::{B256, hex};
use redis::{Connection, FromRedisValue};
use serde::{Deserialize, Serialize};
use workload::Layout;

use super::{
    cluster::Topology,
    error::{RedisError, failed, fault},
    row::{MARKER_KEY, is_ours},
};
use crate::{error::StoreError, lock::lock};

/// Prefix of the names of connections of `stress`.
const NAME_PREFIX: &str = "stress:";
/// Number of keys that a server scans in one call.
const SCAN_COUNT: usize = 10_000;
/// Maximal number of bytes of a key that an error shows.
const SHOWN_BYTES: usize = 40;

/// Version of the encoding of rows and marker.
const FORMAT_VERSION: u32 = 1;

/// The marker in a cluster: it names the state that the cluster holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Version of the encoding of the rows.
    pub(super) format_version: u32,
    /// Digest of the recipe.
    pub(super) recipe: B256,
    /// Layout of the keys of the rows.
    pub(super) layout: Layout,
    /// Number of all rows; `None` until the cluster is filled.
    pub(super) row_count: Option<u64>,
    /// Digest of the rows; `None` until the cluster is filled.
    pub(super) content: Option<B256>,
}

impl Marker {
    /// Makes the marker of a state that is being filled.
    pub(super) const fn unfilled(recipe: B256, layout: Layout) -> Self {
        Self { format_version: FORMAT_VERSION, recipe, layout, row_count: None, content: None }
    }

    /// Returns whether both markers name the same state, filled or not.
    pub(super) fn is_same_state(&self, other: &Self) -> bool {
        (self.format_version, self.recipe, self.layout)
            == (other.format_version, other.recipe, other.layout)
    }

    /// Describes the state, for an error.
    fn describe(&self) -> String {
        let (recipe, layout) = (self.recipe.to_string(), self.layout.name());
        let recipe = recipe.get(..18).unwrap_or(&recipe);
        match self.row_count {
            Some(rows) => format!("the state of recipe {recipe}… ({layout}, {rows} rows)"),
            None => format!("the half-filled state of recipe {recipe}… ({layout})"),
        }
    }
}

/// Content of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The cluster has no keys.
    Nothing,
    /// The cluster has keys and this marker; `None` for a marker that cannot be decoded.
    Marked(Option<Marker>),
    /// The cluster has keys, but no marker.
    Unmarked,
}

/// Memory of all servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) used_bytes: u64,
    /// Number of bytes that the servers may use.
    pub(super) limit_bytes: u64,
}

/// Connections to all nodes in the order of the topology's nodes.
pub(super) struct ControlConnections {
    topology: Arc<Topology>,
    connections: Mutex<Vec<Connection>>,
    /// Name of these connections, different for each store.
    name: String,
}

/// Returns the value of the field `key` in an answer to `INFO`.
fn field<'i>(info: &'i str, key: &str) -> Option<&'i str> {
    info.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

/// Returns the field `key` in an answer to `INFO` as a number.
fn number_field(info: &str, key: &str) -> Option<u64> {
    field(info, key)?.parse().ok()
}

impl fmt::Debug for ControlConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlConnections").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ControlConnections {
    /// Connects to all nodes.
    pub(super) fn connect(topology: Arc<Topology>) -> Result<Self, StoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{NAME_PREFIX}{}-{:x}", process::id(), now.as_nanos());
        let connections = topology.nodes().iter().map(|node| {
            let mut connection = node.connect_for_sample()?;
            let named = redis::cmd("CLIENT").arg("SETNAME").arg(&name).exec(&mut connection);
            named.map_err(failed("name the connection to", &node.address))?;
            Ok::<_, StoreError>(connection)
        });
        let connections = connections.collect::<Result<_, _>>()?;
        Ok(Self { topology, connections: Mutex::new(connections), name })
    }

    /// Sends a command to all nodes. Returns each node's address and answer.
    fn ask<T: FromRedisValue>(
        &self,
        action: &str,
        command: &[&str],
    ) -> Result<Vec<(&str, T)>, StoreError> {
        let mut connections = lock(&self.connections);
        let nodes = self.topology.nodes().iter().zip(connections.iter_mut());
        nodes
            .map(|(node, connection)| {
                let mut request = redis::cmd(command[0]);
                command[1..].iter().for_each(|word| {
                    request.arg(word);
                });
                let answer = request.query(connection).map_err(failed(action, &node.address))?;
                Ok((node.address.as_str(), answer))
            })
            .collect()
    }

    /// Returns the address of another `stress` process that uses the cluster; `None` if there is
    /// none.
    pub(super) fn other_user(&self) -> Result<Option<String>, StoreError> {
        let lists = self.ask::<String>("list the clients of", &["CLIENT", "LIST"])?;
        let clients = lists.iter().flat_map(|(_, list)| list.lines());
        let mut others = clients.filter_map(|client| {
            let [name, address] = ["name=", "addr="]
                .map(|key| client.split(' ').find_map(|word| word.strip_prefix(key)));
            let is_other = name?.starts_with(NAME_PREFIX) && name != Some(self.name.as_str());
            is_other.then(|| address.unwrap_or("an unknown address").to_owned())
        });
        Ok(others.next())
    }

    /// Returns the number of keys on all nodes.
    pub(super) fn key_count(&self) -> Result<u64, StoreError> {
        Ok(self.ask::<u64>("count the keys of", &["DBSIZE"])?.iter().map(|(_, count)| count).sum())
    }

    /// Checks that the number of keys is that of a state with `row_count` rows.
    pub(super) fn check_key_count(&self, row_count: u64) -> Result<(), StoreError> {
        let found = self.key_count()?;
        // The marker is one more key.
        let expected = row_count + 1;
        if found == expected {
            return Ok(());
        }
        let reason = format!(
            "its nodes have {found} keys, and its state has {expected}: others write to it, or a \
             node lost its data; run again to fill it, if it has no keys of others"
        );
        Err(fault("trust the cluster", reason))
    }

    /// Reads the content of the cluster.
    pub(super) fn content(&self) -> Result<Content, StoreError> {
        if self.key_count()? == 0 {
            return Ok(Content::Nothing);
        }
        let text: Option<Vec<u8>> = self.marker_command("GET", None)?;
        Ok(match text {
            None => Content::Unmarked,
            Some(text) => Content::Marked(serde_json::from_slice(&text).ok()),
        })
    }

    pub(super) fn mark(&self, marker: &Marker) -> Result<(), StoreError> {
        let text = serde_json::to_vec(marker);
        let text = text.map_err(|error| fault("write the marker", error.to_string()))?;
        self.marker_command("SET", Some(&text))
    }

    /// Sends a command about the marker to the marker's node.
    fn marker_command<T: FromRedisValue>(
        &self,
        command: &str,
        value: Option<&[u8]>,
    ) -> Result<T, StoreError> {
        let index = self.topology.node_of(MARKER_KEY);
        let mut connections = lock(&self.connections);
        let answer = redis::cmd(command).arg(MARKER_KEY).arg(value).query(&mut connections[index]);
        answer.map_err(failed("ask for the marker", &self.topology.nodes()[index].address))
    }

    /// Empties the cluster. Fails if the cluster holds keys of other programs, or if another
    /// process uses it.
    pub(super) fn clear(&self, content: &Content) -> Result<(), RedisError> {
        if let Some(user) = self.other_user()? {
            let holds = match content {
                Content::Marked(Some(marker)) => marker.describe(),
                _ => "another state".to_owned(),
            };
            return Err(RedisError::InUse { holds, user });
        }
        if let Some((address, key)) = self.foreign_key()? {
            return Err(RedisError::Foreign { address, key });
        }
        self.ask::<()>("empty", &["FLUSHALL", "ASYNC"])?;
        Ok(())
    }

    /// Finds a key that `stress` has not written. Returns the node's address and the key.
    pub(super) fn foreign_key(&self) -> Result<Option<(String, String)>, StoreError> {
        let mut connections = lock(&self.connections);
        for (node, connection) in self.topology.nodes().iter().zip(connections.iter_mut()) {
            let mut cursor = 0_u64;
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor).arg("COUNT").arg(SCAN_COUNT);
                let answer = scan.query::<(u64, Vec<Vec<u8>>)>(connection);
                let (next, keys) = answer.map_err(failed("look at the keys of", &node.address))?;
                if let Some(key) = keys.iter().find(|key| !is_ours(key)) {
                    return Ok(Some((node.address.clone(), shown(key))));
                }
                cursor = next;
                if cursor == 0 {
                    break;
                }
            }
        }
        Ok(None)
    }

    /// Returns the memory of all servers. Servers without a limit of their own share their host's
    /// memory.
    ///
    /// # Errors
    /// A server does not answer, or drops keys when its memory is full.
    pub(super) fn memory(&self) -> Result<Memory, RedisError> {
        let mut all = Memory::default();
        let mut host_limits = BTreeMap::new();
        for (address, info) in self.ask::<String>("see the memory of", &["INFO", "memory"])? {
            all.used_bytes += number_field(&info, "used_memory").unwrap_or(0);
            match number_field(&info, "maxmemory") {
                Some(limit_bytes @ 1..) => {
                    let policy = field(&info, "maxmemory_policy").unwrap_or("unknown");
                    // The other policies drop only keys with a time to live, which rows do not
                    // have.
                    if policy.starts_with("allkeys") {
                        let (address, policy) = (address.to_owned(), policy.to_owned());
                        return Err(RedisError::Evicts { address, policy });
                    }
                    all.limit_bytes += limit_bytes;
                }
                _ => {
                    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
                    let memory = number_field(&info, "total_system_memory");
                    host_limits.insert(host, memory.unwrap_or(u64::MAX));
                }
            }
        }
        let host_limits = host_limits.into_values().fold(0, u64::saturating_add);
        all.limit_bytes = all.limit_bytes.saturating_add(host_limits);
        Ok(all)
    }

    /// Returns the version of the servers.
    pub(super) fn version(&self) -> Result<String, StoreError> {
        let infos = self.ask::<String>("see the version of", &["INFO", "server"])?;
        let version = infos.iter().find_map(|(_, info)| field(info, "redis_version"));
        Ok(version.unwrap_or("of an unknown version").to_owned())
    }
}

/// Returns a key as text, for an error.
fn shown(key: &[u8]) -> String {
    let is_text = key.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    let start = &key[..key.len().min(SHOWN_BYTES)];
    let text = match is_text {
        true => String::from_utf8_lossy(start).into_owned(),
        false => hex::encode_prefixed(start),
    };
    if start.len() < key.len() { format!("{text}…") } else { text }
}
