//! Shards of execution of a run: processes of this program that it starts on this host, or others that
//! run elsewhere, and the connections to them.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use executor::shards::Shards;
use shard::{Cluster, Reach};
use spec::RunSpec;

use crate::environment;

/// The variable with the token that coordinator and shards share.
pub const TOKEN: &str = "STRESS_SHARD_TOKEN";

/// Words that a shard prints before the address that it listens on.
pub const LISTENING: &str = "shard listens on ";

/// Characters of a build's hash that are shown and compared.
const HASH_CHARS: usize = 18;

/// Longest silence of a shard that executes. A transaction has 2^24 gas, which takes less than a second.
const DEADLINE: Duration = Duration::from_secs(10);

/// Shards that are connected; those that were started here end with it.
#[derive(Debug)]
pub struct Running {
    cluster: Cluster,
    _children: Children,
}

impl Running {
    /// The shards that a run wants; `None` where it wants none.
    ///
    /// # Errors
    /// One cannot be started or reached.
    pub fn of(run: &RunSpec) -> Result<Option<Self>> {
        let Some(count) = run.shards.counts.iter().max() else { return Ok(None) };
        let count = *count as usize;
        let mut children = Children(Vec::new());
        let addresses = match run.shards.addresses.as_slice() {
            [] => (0..count).map(|_| children.start()).collect::<Result<_>>()?,
            given if given.len() >= count => given[..count].to_vec(),
            given => bail!(
                "run.shards = {count}: run.shard_addresses has {}; give {count} addresses, or fewer shards",
                given.len()
            ),
        };
        let reach = Reach { addresses, token: token(), program: program(), deadline: DEADLINE };
        Ok(Some(Self { cluster: Cluster::connect(&reach)?, _children: children }))
    }

    /// The shards as engines see them.
    pub const fn shards(&self) -> &dyn Shards {
        &self.cluster
    }
}

/// The shared token, if there is one.
pub fn token() -> Option<String> {
    env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// Name and version of this program, and the beginning of its file's hash: both sides must be of one build.
pub fn program() -> String {
    let hash = environment::build().binary_hash.unwrap_or_else(|| "unknown".to_owned());
    let hash = hash.get(..HASH_CHARS).unwrap_or(&hash);
    format!("stress {} of the build {hash}", env!("CARGO_PKG_VERSION"))
}

/// Shards that were started here.
#[derive(Debug)]
struct Children(Vec<Child>);

impl Children {
    /// Starts a shard on a free port of the loopback. Returns its address.
    fn start(&mut self) -> Result<String> {
        let program = env::current_exe().context("this program is not found again")?;
        let mut command = Command::new(program);
        command.args(["shard", "--listen", "127.0.0.1:0", "--attached"]);
        // An interrupt from the keyboard is for the coordinator: its shards end with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("cannot start a shard")?;
        let out = child.stdout.take();
        self.0.push(child);
        let mut line = String::new();
        let read = out.map(|out| BufReader::new(out).read_line(&mut line));
        read.transpose().context("cannot hear a shard that was started")?;
        match line.trim().strip_prefix(LISTENING) {
            Some(address) => Ok(address.to_owned()),
            None => bail!("a shard that was started ended before it listened"),
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
