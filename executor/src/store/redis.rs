//! State in a Redis Cluster, whose values come over the network. The rows of a recipe are written
//! once, with a marker that names the recipe; samples only read them. The user gives the addresses
//! of a cluster's nodes. Without addresses, three servers are started on this host.
//!
//! Every read is verified: a value by its length and checksum, a code by its hash, too. The number
//! of keys is checked before and after each sample, to detect lost rows.

use std::{fmt, path::Path, sync::Arc};

use variant::{CacheMode, StoreKind};
use workload::{Genesis, Layout};

mod cluster;
mod connections;
mod error;
mod fill;
mod pipelines;
mod reader;
mod row;
mod sample;
mod servers;

pub use self::{cluster::Credentials, error::RedisError, servers::RedisServers};
use self::{
    cluster::Topology,
    connections::{ControlConnections, Memory},
    error::NAME,
    fill::Filled,
    pipelines::Pool,
    sample::{RedisSample, Shared},
    servers::ServerDir,
};
use super::{Sample, Store, StoreError};
use crate::state::{BuildInput, Watch};

/// Input to open a state in Redis.
#[derive(Clone, Copy, Debug)]
pub struct RedisInput<'a> {
    /// The recipe.
    pub genesis: &'a Genesis,
    /// Layout of the keys of rows.
    pub layout: Layout,
    /// Hosts and ports of nodes of a cluster. If empty, servers are started on this host.
    pub addresses: &'a [String],
    /// User and password for the nodes at `addresses`.
    pub credentials: &'a Credentials,
    /// The data directory, for scratch files and for servers that are started.
    pub data_dir: &'a Path,
    /// Number of bytes of memory that servers started on this host may take.
    pub limit_bytes: u64,
    /// Number of threads that make rows.
    pub threads: usize,
}

/// A complete state in a Redis Cluster.
pub struct RedisStore {
    shared: Shared,
    connections: ControlConnections,
    filled: Filled,
    facts: Vec<(String, String)>,
    /// Servers that were started here. Declared after the connections, which must close first.
    servers: Option<RedisServers>,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("topology", &self.shared.topology)
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Opens the state. Fills the cluster first if it does not hold the state. Starts servers if
    /// `input` gives no addresses.
    ///
    /// # Errors
    /// [`RedisError`]. A cluster with keys of other programs, or in use by another process, is not
    /// changed.
    pub fn open(input: &RedisInput<'_>, watch: &Watch<'_>) -> Result<Self, RedisError> {
        let RedisInput { genesis, layout, credentials, data_dir, limit_bytes, threads, .. } =
            *input;
        let servers = match input.addresses {
            [] => {
                // A state that is too large needs no servers.
                fill::check_size(genesis, limit_bytes)?;
                Some(RedisServers::start(data_dir, watch)?)
            }
            _ => None,
        };
        let no_credentials = Credentials::default();
        let (addresses, credentials) = match &servers {
            Some(servers) => (servers.addresses(), &no_credentials),
            None => (input.addresses, credentials),
        };
        let topology = Arc::new(Topology::of(addresses, credentials)?);
        let connections = ControlConnections::connect(Arc::clone(&topology))?;
        // Holds the scratch files, and is removed on return.
        let own_dir;
        let dir = match &servers {
            Some(servers) => servers.dir(),
            None => {
                own_dir = ServerDir::make(data_dir)?;
                own_dir.path()
            }
        };
        let scratch = &dir.join("scratch");
        let wanted = BuildInput { genesis, layout, dir, scratch, threads: threads.max(1) };
        let filled = fill::ensure_filled(&connections, &topology, &wanted, watch)?;
        let shared = Shared { layout, topology, pool: Pool::default() };
        let facts = facts(&shared.topology, &connections, &filled, servers.as_ref())?;
        Ok(Self { shared, connections, filled, facts, servers })
    }

    /// Returns host and port of each node.
    pub fn addresses(&self) -> Vec<String> {
        self.shared.topology.nodes().iter().map(|node| node.address.clone()).collect()
    }

    /// Returns the directory of the servers that were started here; `None` if the user gave
    /// addresses.
    pub fn server_dir(&self) -> Option<&Path> {
        self.servers.as_ref().map(RedisServers::dir)
    }
}

/// Returns the facts of the filled state for the result.
fn facts(
    topology: &Topology,
    connections: &ControlConnections,
    filled: &Filled,
    servers: Option<&RedisServers>,
) -> Result<Vec<(String, String)>, RedisError> {
    let Memory { used_bytes, .. } = connections.memory()?;
    let origin = servers.map_or("given by address", |_| "started on this host");
    let node_count = topology.nodes().len();
    let servers = format!("{}, {node_count} nodes of a cluster, {origin}", connections.version()?);
    let facts = [
        (NAME, servers),
        ("rows", "a string with a checksum each".to_owned()),
        ("filled", filled.history.clone()),
        ("server_memory_bytes", used_bytes.to_string()),
        ("reads", "a pipeline of GET to each node".to_owned()),
        ("commits", "in memory of this process, above the rows".to_owned()),
    ];
    Ok(facts.map(|(name, text)| (name.to_owned(), text)).to_vec())
}

impl Store for RedisStore {
    fn kind(&self) -> StoreKind {
        StoreKind::Redis
    }

    fn open_sample(&self, _cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        self.connections.check_key_count(self.filled.row_count)?;
        Ok(Box::new(RedisSample::new(&self.shared, &self.connections, self.filled.row_count)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.facts.clone()
    }

    fn never_cold_reason(&self) -> Option<&'static str> {
        Some("the values of the redis store are in its servers' memory")
    }

    fn slots_per_block(&self) -> Option<f64> {
        None
    }
}
