//! The nodes of a Redis Cluster and their hash slots, which decide the node of a key. Connects to
//! nodes. Hash slots must not move between nodes while a state is in use: an answer that a slot has
//! moved fails the sample.

use std::{fmt, panic::resume_unwind, thread, time::Duration};

use alloy_primitives::map::HashMap;
use redis::{
    Client, Connection, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisResult,
    Value, cluster_routing::Slot,
};

use super::error::{RedisError, error_text, failed};
use crate::error::StoreError;

/// Number of hash slots, the same in every cluster.
pub(super) const SLOT_COUNT: u16 = 16_384;

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(800);
/// Longest wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// User and password of the servers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// User; `None` for the default user.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// A server of a cluster.
#[derive(Clone)]
pub(super) struct Node {
    /// Host and port.
    pub(super) address: String,
    client: Client,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

impl Node {
    /// Makes the node at an address, without connecting to it.
    ///
    /// # Errors
    /// The address is invalid.
    pub(super) fn at(address: &str, credentials: &Credentials) -> Result<Self, RedisError> {
        let wrong =
            |reason: String| RedisError::Unreachable { address: address.to_owned(), reason };
        let (host, port) =
            address.rsplit_once(':').ok_or_else(|| wrong("it is not HOST:PORT".to_owned()))?;
        let port = port.parse().map_err(|_| wrong(format!("{port} is not a port")))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let mut settings = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(user) = &credentials.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &credentials.password {
            settings = settings.set_password(password);
        }
        let info = ConnectionAddr::Tcp(host, port).into_connection_info();
        let client = info.and_then(|info| {
            let tcp = info.tcp_settings().clone().set_nodelay(true);
            Client::open(info.set_redis_settings(settings).set_tcp_settings(tcp))
        });
        let client = client.map_err(|error| wrong(error_text(&error)))?;
        Ok(Self { address: address.to_owned(), client })
    }

    /// Connects, with a time limit for each answer.
    pub(super) fn connect(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(CONNECT_TIMEOUT)?;
        connection.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        connection.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(connection)
    }

    /// Connects as [`Self::connect`] does, with an error of a store.
    pub(super) fn connect_for_sample(&self) -> Result<Connection, StoreError> {
        self.connect().map_err(failed("connect to", &self.address))
    }
}

/// A range of hash slots, with the server that has them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SlotRange {
    first: u16,
    last: u16,
    /// The server's id, which is the same in the answers of all nodes.
    id: String,
    address: String,
}

/// The nodes of a cluster that have hash slots.
#[derive(Debug)]
pub(super) struct Topology {
    nodes: Vec<Node>,
    /// Index in `nodes` of the node that has a hash slot.
    node_of: HashMap<Slot, u16>,
}

impl Topology {
    /// Finds the cluster of the servers at `addresses`, which must all be nodes of one cluster.
    ///
    /// # Errors
    /// A server does not answer, or is not a node of the cluster.
    pub(super) fn of(addresses: &[String], credentials: &Credentials) -> Result<Self, RedisError> {
        // In parallel, since each server that does not answer costs a timeout.
        let answers = thread::scope(|scope| {
            let threads: Vec<_> = addresses
                .iter()
                .map(|address| scope.spawn(move || ranges_of(address, credentials)))
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|ranges| ranges.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect::<Result<Vec<_>, _>>()
        })?;
        for (address, ranges) in addresses.iter().zip(&answers) {
            let is_same = |(a, b): (&SlotRange, &SlotRange)| {
                (a.first, a.last, &a.id) == (b.first, b.last, &b.id)
            };
            if ranges.len() != answers[0].len() || !ranges.iter().zip(&answers[0]).all(is_same) {
                let reason = format!("it is of another cluster than {}", addresses[0]);
                return Err(RedisError::NoCluster { address: address.clone(), reason });
            }
        }
        let (mut nodes, mut node_of): (Vec<Node>, _) = (Vec::new(), HashMap::default());
        let ranges = answers.into_iter().next().unwrap_or_default();
        for SlotRange { first, last, address, .. } in ranges {
            let known = nodes.iter().position(|node| node.address == address);
            let index = match known {
                Some(index) => index,
                None => {
                    nodes.push(Node::at(&address, credentials)?);
                    nodes.len() - 1
                }
            };
            let slots = (first..=last).filter_map(Slot::new);
            node_of.extend(slots.map(|slot| (slot, index as u16)));
        }
        if node_of.len() != usize::from(SLOT_COUNT) {
            let reason = format!("{} of its {SLOT_COUNT} hash slots have a node", node_of.len());
            let address = addresses.first().cloned().unwrap_or_default();
            return Err(RedisError::NoCluster { address, reason });
        }
        Ok(Self { nodes, node_of })
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the index of the node that has the hash slot of `key`. Every hash slot has a node.
    pub(super) fn node_of(&self, key: &[u8]) -> usize {
        self.node_of.get(&Slot::for_key(key)).copied().map_or(0, usize::from)
    }
}

/// Asks the server at `address` for the hash slots of all servers.
fn ranges_of(address: &str, credentials: &Credentials) -> Result<Vec<SlotRange>, RedisError> {
    let node = Node::at(address, credentials)?;
    let mut connection = node.connect().map_err(|error| {
        let reason = error_text(&error);
        RedisError::Unreachable { address: address.to_owned(), reason }
    })?;
    let slots = redis::cmd("CLUSTER").arg("SLOTS").query(&mut connection);
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let ranges = slots.map_err(|error| error_text(&error)).and_then(|slots| {
        let ranges = ranges_in(slots, host);
        ranges.ok_or_else(|| "its answer to CLUSTER SLOTS is not understood".to_owned())
    });
    let mut ranges =
        ranges.map_err(|reason| RedisError::NoCluster { address: address.to_owned(), reason })?;
    ranges.sort_unstable();
    Ok(ranges)
}

/// Decodes an answer to `CLUSTER SLOTS`. If a node has no host in the answer, it has the host of
/// the answering node.
fn ranges_in(slots: Value, answering_host: &str) -> Option<Vec<SlotRange>> {
    let Value::Array(ranges) = slots else { return None };
    let ranges = ranges.into_iter().map(|range| {
        let Value::Array(parts) = range else { return None };
        let mut parts = parts.into_iter();
        let (Value::Int(first), Value::Int(last), Value::Array(node)) =
            (parts.next()?, parts.next()?, parts.next()?)
        else {
            return None;
        };
        let mut node = node.into_iter();
        let host = match node.next()? {
            Value::BulkString(host) if !host.is_empty() => String::from_utf8(host).ok()?,
            Value::BulkString(_) | Value::Nil => answering_host.to_owned(),
            _ => return None,
        };
        let Value::Int(port) = node.next()? else { return None };
        // An address has brackets around a host with colons.
        let is_bare = host.contains(':') && !host.starts_with('[');
        let host = if is_bare { format!("[{host}]") } else { host };
        let Value::BulkString(id) = node.next()? else { return None };
        Some(SlotRange {
            first: u16::try_from(first).ok()?,
            last: u16::try_from(last).ok()?,
            id: String::from_utf8(id).ok()?,
            address: format!("{host}:{port}"),
        })
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: i64, last: i64, host: Value, port: i64) -> Value {
        let node = Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())]);
        Value::Array(vec![Value::Int(first), Value::Int(last), node])
    }

    #[test]
    fn an_answer_says_which_server_has_which_slots() {
        let host = |name: &str| Value::BulkString(name.as_bytes().to_vec());
        let slots = Value::Array(vec![
            range(0, 9, host("10.0.0.1"), 7000),
            range(10, 19, host(""), 7001),
            range(20, 29, Value::Nil, 7002),
            range(30, 39, host("::1"), 7003),
        ]);
        let found = ranges_in(slots, "here").unwrap();
        let addresses: Vec<_> = found.iter().map(|range| range.address.as_str()).collect();
        assert_eq!(addresses, ["10.0.0.1:7000", "here:7001", "here:7002", "[::1]:7003"]);
        assert_eq!((found[3].first, found[3].last), (30, 39));
        for wrong in [Value::Nil, Value::Array(vec![Value::Int(1)]), Value::Okay] {
            assert_eq!(ranges_in(wrong, "here"), None);
        }
        assert_eq!(ranges_in(Value::Array(vec![range(0, 70_000, host("a"), 1)]), "here"), None);
    }

    #[test]
    fn credentials_are_not_shown() {
        let secret = Credentials { user: Some("u5er".into()), password: Some("s3cret".into()) };
        let node = Node::at("127.0.0.1:7000", &secret).unwrap();
        let shown = format!("{secret:?} {node:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("u5er"), "{shown}");
    }
}
