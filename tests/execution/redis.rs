//! The store in a Redis Cluster. Its content is checked to be the state before use, and a fault of
//! a server or of a row ends the sample.

use std::{
    net::TcpListener, num::NonZeroUsize, path::Path, process::Command, thread, time::Duration,
};

use executor::store::{
    Store,
    redis::{RedisError, RedisServers, RedisStore},
};
use redis::{Connection, Value};
use spec::Scenario;

use variant::{CacheMode, Design, ListForm, Variant};
use workload::{Layout, Workload};

use crate::common::{agree, redis as cluster};

fn generated(state: &str) -> Workload {
    let text = format!(
        "schema = 1\nname = \"small\"\nseed = 7\n[state]\naccounts = 50\n{state}\n[block]\ngas = \"2M\"\n\
         tx_gas = \"1M\"\nblocks = 2\n[[load]]\nkind = \"sstore-storm\"\nop = \"update\"\n"
    );
    let scenario = Scenario::parse("small.toml", &text, &[]).unwrap();
    generator::generate(&scenario, |_| ()).unwrap()
}

fn small() -> Workload {
    generated("slots = 5_000")
}

/// Connections to all servers.
fn connected(servers: &RedisServers) -> Vec<Connection> {
    let connect = |address: &String| {
        redis::Client::open(format!("redis://{address}/")).unwrap().get_connection().unwrap()
    };
    servers.addresses().iter().map(connect).collect()
}

/// Keys of a server.
fn keys(connection: &mut Connection) -> Vec<Vec<u8>> {
    redis::cmd("KEYS").arg("*").query(connection).unwrap()
}

fn key_count(servers: &RedisServers) -> u64 {
    let count = |mut connection| redis::cmd("DBSIZE").query::<u64>(&mut connection).unwrap();
    connected(servers).into_iter().map(count).sum()
}

fn said(opened: Result<RedisStore, RedisError>) -> String {
    opened.map(|store| format!("{store:?}")).unwrap_err().to_string()
}

fn fact(store: &RedisStore, name: &str) -> String {
    store.facts().into_iter().find(|(fact, _)| fact == name).unwrap().1
}

/// Runs a sample in order, which must fail. Returns its error.
fn fails(store: &RedisStore, workload: &Workload) -> String {
    let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
    let lists = agree::lists(workload, variant.list).unwrap();
    match agree::take(store, workload, &lists, variant) {
        Err(error) => error.to_string(),
        Ok(taken) => panic!("a sample came of it: {:?}", taken.disagreement),
    }
}

fn agrees(store: &RedisStore, workload: &Workload) {
    for design in [Design::Sequential, Design::BatchedIo, Design::BlockStm] {
        let two = NonZeroUsize::new(2).unwrap();
        let variant = Variant::of(design, two, two);
        let lists = agree::lists(workload, variant.list).unwrap();
        let taken = agree::take(store, workload, &lists, variant).unwrap();
        assert_eq!(taken.disagreement, None, "{design}");
    }
}

#[test]
fn every_read_is_that_of_the_state_in_memory_alone_and_in_batches_under_both_layouts() {
    if !cluster::is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for layout in ["hashed", "plain"] {
        let workload = generated(&format!("slots = 5_000\nlayout = \"{layout}\""));
        assert_eq!(workload.layout == Layout::Plain, layout == "plain");
        let store = cluster::open(&workload, dir.path(), &[]).unwrap();
        let memory = agree::in_memory(&workload);
        let open = (
            store.open_sample(CacheMode::Cold).unwrap(),
            memory.open_sample(CacheMode::Cold).unwrap(),
        );
        let (mut there, mut here) = (open.0.reader().unwrap(), open.1.reader().unwrap());
        let family = &workload.genesis.slots[0];
        // More keys than one exchange takes, some of which do not exist.
        let keys: Vec<_> =
            (family.count - 700..family.count + 100).map(|i| family.key(i)).collect();
        let mut together = vec![None; keys.len()];
        there
            .slots(&family.address, &keys, &mut |place, value| {
                assert_eq!(together[place].replace(value), None);
            })
            .unwrap();
        for (key, value) in keys.iter().zip(together) {
            let expected = here.slot(&family.address, key).unwrap();
            assert_eq!(value, Some(expected));
            assert_eq!(there.slot(&family.address, key).unwrap(), expected);
        }
        let mut addresses: Vec<_> =
            workload.genesis.accounts.iter().map(|account| account.address).collect();
        addresses.push(alloy_primitives::Address::repeat_byte(0xee));
        let mut rows = vec![None; addresses.len()];
        there.accounts(&addresses, &mut |place, row| rows[place] = Some(row)).unwrap();
        for (address, row) in addresses.iter().zip(rows) {
            let expected = here.account(address).unwrap();
            assert_eq!((row, there.account(address).unwrap()), (Some(expected), expected));
            let Some(account) = expected else { continue };
            let codes = (there.code(&account.code_hash), here.code(&account.code_hash));
            assert_eq!(codes.0.unwrap(), codes.1.unwrap());
        }
    }
}

#[test]
fn a_state_that_is_there_is_used_as_it_is_and_a_half_filled_one_is_filled_again() {
    if !cluster::is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let servers = cluster::servers(dir.path());
    let (first, other) = (small(), generated("slots = 4_000"));
    let open = |workload: &Workload| cluster::open(workload, dir.path(), servers.addresses());
    let store = open(&first).unwrap();
    assert!(fact(&store, "filled").contains("rows in"), "{:?}", store.facts());
    let rows = key_count(&servers);
    // Another process may read the same state, and must not replace it meanwhile.
    let again = open(&first).unwrap();
    assert_eq!(fact(&again, "filled"), "before this run");
    agrees(&again, &first);
    let error = said(open(&other));
    assert!(error.contains("another `stress` is connected"), "{error}");
    drop((store, again));
    assert_eq!(key_count(&servers), rows, "samples write nothing");

    // A lost row.
    let mut nodes = connected(&servers);
    let row = keys(&mut nodes[0]).into_iter().find(|key| key[0] == 2).unwrap();
    redis::cmd("DEL").arg(&row).exec(&mut nodes[0]).unwrap();
    let store = open(&first).unwrap();
    assert!(fact(&store, "filled").contains("rows in"), "{:?}", store.facts());
    assert_eq!(key_count(&servers), rows);
    agrees(&store, &first);
    drop(store);
    // A marker of a half-filled state.
    let mut marked = nodes.iter_mut().filter_map(|node| {
        let text: Option<String> = redis::cmd("GET").arg("stress:state").query(node).ok()?;
        text.map(|text| (node, text))
    });
    let (node, text) = marked.next().unwrap();
    let half = text.replace(&format!("\"row_count\":{}", rows - 1), "\"row_count\":null");
    assert_ne!(half, text);
    redis::cmd("SET").arg("stress:state").arg(half).exec(node).unwrap();
    let store = open(&first).unwrap();
    assert!(fact(&store, "filled").contains("rows in"), "{:?}", store.facts());
    drop(store);
    // Another state replaces it.
    let store = open(&other).unwrap();
    agrees(&store, &other);
    assert_ne!(key_count(&servers), rows);
}

#[test]
fn data_of_others_are_left_as_they_are() {
    if !cluster::is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let servers = cluster::servers(dir.path());
    let workload = small();
    let open = || cluster::open(&workload, dir.path(), servers.addresses());
    let mut nodes = connected(&servers);
    // Only the node that owns the key accepts it.
    let set = |nodes: &mut [Connection]| {
        let written = nodes.iter_mut().filter_map(|node| {
            redis::cmd("SET").arg("user:1").arg("precious").query::<Value>(node).ok()
        });
        assert_eq!(written.count(), 1);
    };
    set(&mut nodes);
    let error = said(open());
    assert!(error.contains("user:1") && error.contains("a cluster of its own"), "{error}");
    assert_eq!(key_count(&servers), 1);
    for node in &mut nodes {
        redis::cmd("FLUSHALL").exec(node).unwrap();
    }
    // A foreign key beside a complete state: the state is not used, and not filled again.
    drop(open().unwrap());
    set(&mut nodes);
    let rows = key_count(&servers);
    let error = said(open());
    assert!(error.contains("user:1"), "{error}");
    assert_eq!(key_count(&servers), rows);
}

#[test]
fn a_row_that_goes_or_is_damaged_ends_the_sample() {
    if !cluster::is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let servers = cluster::servers(dir.path());
    let workload = small();
    let store = cluster::open(&workload, dir.path(), servers.addresses()).unwrap();
    agrees(&store, &workload);
    let mut nodes = connected(&servers);
    let all: Vec<Vec<Vec<u8>>> = nodes.iter_mut().map(keys).collect();
    // Changes a byte of every value, so that the next read meets one.
    for (node, keys) in nodes.iter_mut().zip(&all) {
        for key in keys.iter().filter(|key| key[0] < 4) {
            redis::cmd("SETRANGE").arg(key).arg(1).arg("?").exec(node).unwrap();
        }
    }
    let error = fails(&store, &workload);
    assert!(error.contains("is damaged") && error.contains("FLUSHALL"), "{error}");
    // Values that are too short, and values of another type.
    for (node, keys) in nodes.iter_mut().zip(&all) {
        for (number, key) in keys.iter().filter(|key| key[0] < 4).enumerate() {
            redis::cmd("DEL").arg(key).exec(node).unwrap();
            let command = if number % 2 == 0 { "SET" } else { "LPUSH" };
            redis::cmd(command).arg(key).arg("x").exec(node).unwrap();
        }
    }
    let error = fails(&store, &workload);
    assert!(error.contains("is damaged") || error.contains("WRONGTYPE"), "{error}");
    // A row that is lost during a sample, and one lost before a sample.
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    redis::cmd("DEL").arg(&all[1][0]).exec(&mut nodes[1]).unwrap();
    let error = sample.close().unwrap_err().to_string();
    assert!(error.contains("keys"), "{error}");
    let error = fails(&store, &workload);
    assert!(error.contains("a node lost its data"), "{error}");
}

#[test]
fn a_node_that_ends_in_a_batch_ends_the_sample_with_its_address() {
    if !cluster::is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let servers = cluster::servers(dir.path());
    let workload = small();
    let store = cluster::open(&workload, dir.path(), servers.addresses()).unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    let family = &workload.genesis.slots[0];
    let slots: Vec<_> = (0..family.count).map(|i| family.key(i)).collect();
    let mut count = 0;
    reader.slots(&family.address, &slots, &mut |_, _| count += 1).unwrap();
    assert_eq!(count, slots.len());
    let victim = &servers.addresses()[1];
    let mut node = connected(&servers).remove(1);
    // The server does not answer this command, so it fails.
    drop(redis::cmd("SHUTDOWN").arg("NOSAVE").exec(&mut node));
    let error = reader.slots(&family.address, &slots, &mut |_, _| ()).unwrap_err().to_string();
    assert!(error.contains(victim), "{error}");
    // Earlier answers must not be taken for those of other keys.
    let again = reader.slots(&family.address, &slots[..1], &mut |_, _| ()).unwrap_err().to_string();
    assert!(again.contains("was lost before"), "{again}");
    drop(reader);
    sample.close().unwrap();
    let error = fails(&store, &workload);
    assert!(error.contains(victim), "{error}");
    let error = said(cluster::open(&workload, dir.path(), servers.addresses()));
    assert!(error.contains(victim) && error.contains("run.redis_addresses"), "{error}");
}

/// A server that is no node of a cluster.
struct Alone {
    child: std::process::Child,
    address: String,
}

impl Alone {
    fn start(dir: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--logfile", "log", "--port"]);
        let child = command.arg(port.to_string()).current_dir(dir).spawn().unwrap();
        Self { child, address: format!("127.0.0.1:{port}") }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_server_that_is_no_cluster_and_an_address_without_one_are_said_so() {
    let dir = tempfile::tempdir().unwrap();
    let workload = small();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let error = said(cluster::open(&workload, dir.path(), std::slice::from_ref(&nobody)));
    assert!(error.contains(&nobody) && error.contains("run.redis_addresses"), "{error}");
    // A listener that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let error = said(cluster::open(&workload, dir.path(), std::slice::from_ref(&address)));
    assert!(error.contains(&address), "{error}");
    if !cluster::is_here() {
        return;
    }
    let alone = Alone::start(dir.path());
    let error = loop {
        let error =
            said(cluster::open(&workload, dir.path(), std::slice::from_ref(&alone.address)));
        if !error.contains("no Redis server answers") {
            break error;
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(
        error.contains(&alone.address) && error.contains("no node of a Redis Cluster"),
        "{error}"
    );
    // Nodes of two clusters.
    let (one, other) = (cluster::servers(dir.path()), cluster::servers(dir.path()));
    let both = [one.addresses()[0].clone(), other.addresses()[0].clone()];
    let error = said(cluster::open(&workload, dir.path(), &both));
    assert!(error.contains("of another cluster"), "{error}");
}

#[test]
fn a_state_that_cannot_fit_is_refused_before_anything_is_started_or_written() {
    let dir = tempfile::tempdir().unwrap();
    let workload = small();
    let error = said(
        cluster::open_within(&workload, dir.path(), &[], 20 << 20)
            .and_then(|_| cluster::open_within(&workload, dir.path(), &[], 10 << 20)),
    );
    let is_here = cluster::is_here();
    assert_eq!(error.contains("redis-server on PATH"), !is_here, "{error}");
    assert_eq!(error.contains("10.5 MB are there"), is_here, "{error}");
    if !is_here {
        return;
    }
    let servers = cluster::servers(dir.path());
    for node in &mut connected(&servers) {
        redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("3mb").exec(node).unwrap();
    }
    let open = || cluster::open(&workload, dir.path(), servers.addresses());
    let error = said(open());
    assert!(error.contains("are there") && error.contains("state.slots"), "{error}");
    assert_eq!(key_count(&servers), 0);
    for node in &mut connected(&servers) {
        redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("300mb").exec(node).unwrap();
        let policy = ["SET", "maxmemory-policy", "allkeys-lru"];
        redis::cmd("CONFIG").arg(&policy).exec(node).unwrap();
    }
    let error = said(open());
    assert!(error.contains("allkeys-lru") && error.contains("noeviction"), "{error}");
    assert_eq!(key_count(&servers), 0);
}

#[test]
fn commits_of_a_sample_are_seen_by_its_readers_and_by_no_other_sample() {
    if !cluster::is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let workload = small();
    let store = cluster::open(&workload, dir.path(), &[]).unwrap();
    let variant = Variant::of(Design::BatchedIo, NonZeroUsize::MIN, NonZeroUsize::MIN);
    let lists = agree::lists(&workload, Some(ListForm::BatchedIo)).unwrap();
    let taken = agree::take(&store, &workload, &lists, variant).unwrap();
    let changes = &taken.executed.batches[0].net_changes;
    let (address, key, value) = changes.slots[0];
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    let before = reader.slot(&address, &key).unwrap();
    assert_ne!(before, value);
    sample.commit(changes).unwrap();
    assert_eq!(reader.slot(&address, &key).unwrap(), value);
    let mut found = None;
    reader.slots(&address, &[key], &mut |_, value| found = Some(value)).unwrap();
    assert_eq!(found, Some(value));
    drop(reader);
    sample.close().unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    assert_eq!(sample.reader().unwrap().slot(&address, &key).unwrap(), before);
    let _ = store.server_dir().unwrap();
}
