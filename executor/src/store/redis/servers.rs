//! Starts the servers of a cluster on this host, if the user gives no addresses. The three nodes
//! use the loopback interface, and a directory that is removed with them. If this process is
//! killed, its servers end, too: a watcher process beside each server kills the server when the
//! pipe from this process closes.

use std::{
    fs, io,
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use redis::Connection;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{
    cluster::{Credentials, Node, SLOT_COUNT},
    error::{RedisError, error_text},
};
use crate::state::{StateError, Watch, is_marked, make_marked, remove_marked};

/// Name of the server's program.
const PROGRAM: &str = "redis-server";
/// Number of servers in a cluster.
const NODE_COUNT: u16 = 3;
/// First major version with `CLUSTER ADDSLOTSRANGE` and `cluster-port`.
const MAJOR_VERSION_MIN: u32 = 7;
/// Prefix of the names of servers' directories in a data directory; the process id follows.
const DIR_PREFIX: &str = "redis-servers-";
/// Maximal number of attempts to start a cluster. An attempt fails if another process takes a port
/// that was free.
const ATTEMPTS: usize = 3;
/// Longest time until the nodes have found each other.
const FORMING_TIMEOUT: Duration = Duration::from_secs(20);
/// Time between two attempts to reach a server, and between two looks at the cluster.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Number of last lines of a server's log that an error shows.
const LOG_LINES: usize = 3;

/// Shell script that starts a watcher and then runs the server in place of the shell. The watcher
/// kills the server when the standard input closes.
const SCRIPT: &str =
    "exec 3<&0; (read -r line; kill -KILL $$) <&3 & exec 3<&-; exec redis-server redis.conf";

/// Servers of a cluster on this host, which end on drop.
#[derive(Debug)]
pub struct RedisServers {
    addresses: Vec<String>,
    children: Children,
    dir: ServerDir,
}

/// A directory of this process for servers or scratch files, removed on drop.
#[derive(Debug)]
pub(super) struct ServerDir(PathBuf);

impl ServerDir {
    /// Makes a directory in the data directory, and removes the directories of dead processes.
    pub(super) fn make(data_dir: &Path) -> Result<Self, StateError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        remove_leftovers(data_dir);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = data_dir.join(format!("{DIR_PREFIX}{}-{number}", process::id()));
            // If the name is taken, the next number is tried.
            if make_marked(&path)? {
                return Ok(Self(path));
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ServerDir {
    fn drop(&mut self) {
        // If this fails, the next run removes the directory.
        drop(remove_marked(&self.0));
    }
}

/// Removes the directories of dead processes. Does nothing on a system without `/proc`.
fn remove_leftovers(data_dir: &Path) {
    let Ok(entries) = fs::read_dir(data_dir) else { return };
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(DIR_PREFIX).and_then(|rest| rest.split_once('-'));
        let pid = pid.and_then(|(pid, _)| pid.parse::<u32>().ok());
        let is_dead = pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if is_dead && is_marked(&entry.path()) {
            drop(remove_marked(&entry.path()));
        }
    }
}

/// Server processes, which are killed on drop. Each is the leader of a process group.
#[derive(Debug, Default)]
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // The group has the server and its watcher. The call fails if both have already ended.
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                let _ended_by_itself = kill_process_group(group, Signal::KILL);
            }
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Ports of a node: for clients, and for the other nodes.
#[derive(Clone, Copy, Debug)]
struct Ports {
    clients: u16,
    nodes: u16,
}

impl RedisServers {
    /// Starts a cluster in a directory of the data directory.
    ///
    /// # Errors
    /// [`RedisError::NoServer`] if the program is not installed, else [`RedisError::NotStarted`].
    pub fn start(data_dir: &Path, watch: &Watch<'_>) -> Result<Self, RedisError> {
        check_version()?;
        for _ in 1..ATTEMPTS {
            match Self::attempt(ServerDir::make(data_dir)?, watch) {
                Err(RedisError::NotStarted { .. }) => {}
                started => return started,
            }
        }
        Self::attempt(ServerDir::make(data_dir)?, watch)
    }

    fn attempt(dir: ServerDir, watch: &Watch<'_>) -> Result<Self, RedisError> {
        let ports = free_ports().map_err(not_started("find free ports"))?;
        let mut children = Children::default();
        for (number, ports) in ports.iter().enumerate() {
            children.0.push(start_server(&node_dir(&dir, number), *ports)?);
        }
        let addresses: Vec<_> = ports
            .iter()
            .map(|ports| format!("{}:{}", Ipv4Addr::LOCALHOST, ports.clients))
            .collect();
        let mut servers = Self { addresses, children, dir };
        servers.form(&ports, watch)?;
        Ok(servers)
    }

    /// Returns host and port of each server.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Directory of the servers.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Joins the servers to one cluster.
    fn form(&mut self, ports: &[Ports], watch: &Watch<'_>) -> Result<(), RedisError> {
        let deadline = Instant::now() + FORMING_TIMEOUT;
        let mut connections = Vec::new();
        for number in 0..self.addresses.len() {
            connections.push(self.connect(number, deadline, watch)?);
        }
        let share = SLOT_COUNT.div_ceil(NODE_COUNT);
        for (number, connection) in (0..).zip(&mut connections) {
            let (first, end) = (number * share, ((number + 1) * share).min(SLOT_COUNT));
            let mut add = redis::cmd("CLUSTER");
            add.arg("ADDSLOTSRANGE").arg(first).arg(end - 1);
            add.exec(connection).map_err(not_formed)?;
            let mut epoch = redis::cmd("CLUSTER");
            epoch.arg("SET-CONFIG-EPOCH").arg(number + 1).exec(connection).map_err(not_formed)?;
        }
        for other in &ports[1..] {
            let mut meet = redis::cmd("CLUSTER");
            meet.arg("MEET").arg("127.0.0.1").arg(other.clients).arg(other.nodes);
            meet.exec(&mut connections[0]).map_err(not_formed)?;
        }
        for (number, connection) in connections.iter_mut().enumerate() {
            while !is_formed(connection).map_err(not_formed)? {
                self.wait(number, deadline, "form a cluster", watch)?;
            }
        }
        Ok(())
    }

    /// Connects to a server that may still be starting.
    fn connect(
        &mut self,
        number: usize,
        deadline: Instant,
        watch: &Watch<'_>,
    ) -> Result<Connection, RedisError> {
        let node = Node::at(&self.addresses[number], &Credentials::default())?;
        loop {
            match node.connect() {
                Ok(connection) => return Ok(connection),
                Err(_) => self.wait(number, deadline, "start redis-server", watch)?,
            }
        }
    }

    /// Waits for [`POLL_INTERVAL`]. Fails if server `number` has ended, or the deadline has passed.
    fn wait(
        &mut self,
        number: usize,
        deadline: Instant,
        action: &str,
        watch: &Watch<'_>,
    ) -> Result<(), RedisError> {
        watch.check()?;
        let ended = self.children.0[number].try_wait().map_err(not_started(action))?;
        let reason = match ended {
            Some(status) => format!("it ended with {status}"),
            None if Instant::now() > deadline => {
                format!("it took more than {} s", FORMING_TIMEOUT.as_secs())
            }
            None => {
                thread::sleep(POLL_INTERVAL);
                return Ok(());
            }
        };
        let log = log_tail(&node_dir(&self.dir, number));
        Err(RedisError::NotStarted { action: action.to_owned(), reason: format!("{reason}{log}") })
    }
}

fn node_dir(dir: &ServerDir, number: usize) -> PathBuf {
    dir.path().join(format!("node-{number}"))
}

/// Returns a function for `map_err` that makes the error of a system call.
fn not_started(action: &str) -> impl FnOnce(io::Error) -> RedisError {
    let action = action.to_owned();
    move |error| RedisError::NotStarted { action, reason: error.to_string() }
}

/// Checks that the program is installed and not too old.
fn check_version() -> Result<(), RedisError> {
    let output = Command::new(PROGRAM).arg("--version").output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => RedisError::NoServer,
        _ => not_started("start redis-server")(error),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split(' ').find_map(|word| word.strip_prefix("v="));
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major >= MAJOR_VERSION_MIN) {
        return Ok(());
    }
    let version = version.unwrap_or("of an unknown version");
    let reason = format!(
        "redis-server on PATH is {version}, and a cluster takes {MAJOR_VERSION_MIN} or later; \
         install that, or say where a cluster listens (run.redis_addresses)"
    );
    Err(RedisError::NotStarted { action: "start a cluster".to_owned(), reason })
}

/// Finds ports on which no process listens.
fn free_ports() -> io::Result<Vec<Ports>> {
    // All ports are bound at once, so that they differ.
    let bound = (0..2 * NODE_COUNT).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let bound = bound.collect::<io::Result<Vec<_>>>()?;
    let ports = bound.iter().map(|listener| Ok(listener.local_addr()?.port()));
    let ports = ports.collect::<io::Result<Vec<u16>>>()?;
    let (pairs, _) = ports.as_chunks::<2>();
    Ok(pairs.iter().map(|[clients, nodes]| Ports { clients: *clients, nodes: *nodes }).collect())
}

/// Starts a server in a new directory.
fn start_server(dir: &Path, ports: Ports) -> Result<Child, RedisError> {
    fs::create_dir(dir).map_err(StateError::io("make", dir))?;
    let Ports { clients, nodes } = ports;
    let settings = format!(
        "bind 127.0.0.1\nport {clients}\ncluster-enabled yes\ncluster-port {nodes}\n\
         cluster-config-file nodes.conf\ncluster-node-timeout 5000\nsave \"\"\nappendonly no\n\
         daemonize no\nlogfile redis.log\n"
    );
    let path = dir.join("redis.conf");
    fs::write(&path, settings).map_err(StateError::io("write", &path))?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(SCRIPT).current_dir(dir);
    // An interrupt from the keyboard must reach only this process, which then ends its servers.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(not_started("start redis-server"))
}

fn not_formed(error: redis::RedisError) -> RedisError {
    RedisError::NotStarted { action: "form a cluster".to_owned(), reason: error_text(&error) }
}

/// Returns whether a server knows all other servers and the owners of all hash slots.
fn is_formed(connection: &mut Connection) -> redis::RedisResult<bool> {
    let info: String = redis::cmd("CLUSTER").arg("INFO").query(connection)?;
    let wanted = ["cluster_state:ok".to_owned(), format!("cluster_known_nodes:{NODE_COUNT}")];
    Ok(wanted.iter().all(|wanted| info.lines().any(|line| line.trim() == wanted)))
}

/// Returns a colon and the last lines of a server's log; an empty text for an empty log.
fn log_tail(dir: &Path) -> String {
    let log = fs::read_to_string(dir.join("redis.log")).unwrap_or_default();
    let lines: Vec<_> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
    if last.is_empty() { String::new() } else { format!(": {}", last.join("; ")) }
}
