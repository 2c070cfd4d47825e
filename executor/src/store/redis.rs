//! State in a Redis Cluster: values come over the network. Its rows are those of a recipe, written once and only
//! read by samples; a marker beside them says which they are. Servers are given by their addresses, or three of
//! them are started on this host.
//!
//! Every read is checked: by the length and the checksum of its value, and codes by their hash. A row that is gone
//! is found by the number of keys, before and after a sample.

use std::{fmt, path::Path, sync::Arc};

use variant::{CacheMode, StoreKind};
use workload::{Genesis, Layout};

mod cluster;
mod error;
mod fill;
mod held;
mod lines;
mod reader;
mod row;
mod sample;
mod servers;

pub use self::{cluster::Credentials, error::RedisError, servers::RedisServers};
use self::{
    cluster::Topology,
    error::NAME,
    fill::Filled,
    held::{Held, Memory},
    lines::Pool,
    sample::{RedisSample, Shared},
    servers::ServerDir,
};
use super::{Sample, Store, StoreError};
use crate::state::{BuildInput, Watch};

/// A state that is wanted in Redis.
#[derive(Clone, Copy, Debug)]
pub struct RedisInput<'a> {
    /// The recipe.
    pub genesis: &'a Genesis,
    /// How its rows are keyed.
    pub layout: Layout,
    /// Where nodes of a cluster listen, host and port; none: servers are started on this host.
    pub addresses: &'a [String],
    /// User and password of these.
    pub credentials: &'a Credentials,
    /// The data directory: scratch files, and the servers that are started.
    pub data_dir: &'a Path,
    /// Memory that servers on this host may take.
    pub limit_bytes: u64,
    /// Threads that make rows.
    pub threads: usize,
}

/// A whole state in a Redis Cluster.
pub struct RedisStore {
    shared: Shared,
    held: Held,
    filled: Filled,
    facts: Vec<(String, String)>,
    /// After the connections: they close first.
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
    /// Opens the state, filled first where the cluster does not hold it; starts servers where none are given.
    ///
    /// # Errors
    /// [`RedisError`]. A cluster that holds keys of others, or that another process uses, is left as it is.
    pub fn open(input: &RedisInput<'_>, watch: &Watch<'_>) -> Result<Self, RedisError> {
        let RedisInput { genesis, layout, credentials, data_dir, limit_bytes, threads, .. } =
            *input;
        let servers = match input.addresses {
            [] => {
                // Before they are started: it would be in vain.
                fill::check_size(genesis, limit_bytes)?;
                Some(RedisServers::start(data_dir, watch)?)
            }
            _ => None,
        };
        let nobody = Credentials::default();
        let (addresses, credentials) = match &servers {
            Some(servers) => (servers.addresses(), &nobody),
            None => (input.addresses, credentials),
        };
        let topology = Arc::new(Topology::of(addresses, credentials)?);
        let held = Held::connect(Arc::clone(&topology))?;
        let place = match &servers {
            Some(_) => None,
            None => Some(ServerDir::make(data_dir)?),
        };
        let scratch = match (&place, &servers) {
            (Some(place), _) => place.path(),
            (None, Some(servers)) => servers.dir(),
            (None, None) => data_dir,
        };
        let (dir, scratch) = (scratch, &scratch.join("scratch"));
        let wanted = BuildInput { genesis, layout, dir, scratch, threads: threads.max(1) };
        let filled = fill::see_to_it(&held, &topology, &wanted, watch)?;
        let shared = Shared { layout, topology, pool: Pool::default() };
        let facts = facts(&shared.topology, &held, &filled, servers.as_ref())?;
        Ok(Self { shared, held, filled, facts, servers })
    }

    /// Where its nodes listen: host and port.
    pub fn addresses(&self) -> Vec<String> {
        self.shared.topology.nodes().iter().map(|node| node.address.clone()).collect()
    }

    /// Directory of the servers that were started here.
    pub fn server_dir(&self) -> Option<&Path> {
        self.servers.as_ref().map(RedisServers::dir)
    }
}

/// Facts for the result, as they are when the state is whole.
fn facts(
    topology: &Topology,
    held: &Held,
    filled: &Filled,
    servers: Option<&RedisServers>,
) -> Result<Vec<(String, String)>, RedisError> {
    let Memory { used_bytes, .. } = held.memory()?;
    let place = servers.map_or("given by address", |_| "started on this host");
    let servers =
        format!("{}, {} nodes of a cluster, {place}", held.version()?, topology.nodes().len());
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
        self.held.check_key_count(self.filled.row_count)?;
        Ok(Box::new(RedisSample::new(&self.shared, &self.held, self.filled.row_count)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.facts.clone()
    }

    fn never_cold(&self) -> Option<&'static str> {
        Some("the values of the redis store are in its servers' memory")
    }

    fn slots_per_block(&self) -> Option<f64> {
        None
    }
}
