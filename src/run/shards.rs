//! Starts the shards of execution of a run on this host, or connects to shards elsewhere.

use std::{
    env,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use executor::shards::Shards;
use shard::{Cluster, ClusterInput};
use spec::RunSpec;

use crate::machine::environment;

/// The environment variable with the token that coordinator and shards share.
pub const TOKEN: &str = "STRESS_SHARD_TOKEN";

/// Words that a shard prints before the address that it listens on.
pub const LISTENING: &str = "shard listens on ";

/// Number of characters of a build's hash that are shown and compared: `0x` and 16 digits.
const HASH_CHARS: usize = 18;

/// Maximal time without a message from a shard that executes. A transaction of 2^24 gas, the
/// maximum (EIP-7825), takes less than a second.
const DEADLINE: Duration = Duration::from_secs(10);

/// Maximal time until a shard that is started on this host listens.
const START_MAX: Duration = Duration::from_secs(10);

/// The connected shards. Shards that were started on this host end on drop.
#[derive(Debug)]
pub struct RunningShards {
    cluster: Cluster,
    _children: Children,
}

impl RunningShards {
    /// Starts or connects the shards of a run; `None` if the run has no shards.
    ///
    /// # Errors
    /// A shard cannot be started or reached.
    pub fn start(run: &RunSpec) -> Result<Option<Self>> {
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
        let input =
            ClusterInput { addresses, token: token(), program: program()?, deadline: DEADLINE };
        Ok(Some(Self { cluster: Cluster::connect(&input)?, _children: children }))
    }

    /// Returns the shards in the form that engines use.
    pub const fn shards(&self) -> &dyn Shards {
        &self.cluster
    }
}

/// Returns the shared token, if the environment has one.
pub fn token() -> Option<String> {
    env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// Returns name and version of this program, and the beginning of its file's hash. Coordinator and
/// shards must be of one build.
///
/// # Errors
/// The file cannot be read. Without hashes, two different builds would look equal.
pub fn program() -> Result<String> {
    program_of(environment::build().binary_hash)
}

fn program_of(hash: Option<String>) -> Result<String> {
    let hash = hash.ok_or_else(|| {
        anyhow!(
            "the file of this program cannot be read, so shards cannot tell its build; start it from a file \
             that is still there"
        )
    })?;
    let hash = hash.get(..HASH_CHARS).unwrap_or(&hash);
    Ok(format!("stress {} of the build {hash}", env!("CARGO_PKG_VERSION")))
}

/// Shards that were started on this host.
#[derive(Debug)]
struct Children(Vec<Child>);

impl Children {
    /// Starts a shard on a free port of the loopback interface. Returns its address.
    fn start(&mut self) -> Result<String> {
        let program = env::current_exe().context("cannot find the file of this program")?;
        let mut command = Command::new(program);
        command.args(["shard", "serve", "--listen", "127.0.0.1:0", "--attached"]);
        // An interrupt from the keyboard is for the coordinator. Its shards end with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("cannot start a shard")?;
        let out = child.stdout.take();
        self.0.push(child);
        let line = out.map(|out| first_line(out, START_MAX)).transpose()?.unwrap_or_default();
        match line.trim().strip_prefix(LISTENING) {
            Some(address) => Ok(address.to_owned()),
            None => bail!("a shard that was started ended before it listened"),
        }
    }
}

/// Returns the first line that a shard prints within `timeout`.
fn first_line(out: impl Read + Send + 'static, timeout: Duration) -> Result<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        // The receiver may have timed out. The shard is ended then.
        drop(sender.send(read.map(|_| line)));
    });
    match receiver.recv_timeout(timeout) {
        Ok(line) => line.context("cannot read from a shard that was started"),
        Err(RecvTimeoutError::Timeout) => {
            bail!("a shard that was started does not listen after {} s", timeout.as_secs_f64())
        }
        Err(RecvTimeoutError::Disconnected) => bail!("cannot read from a shard that was started"),
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // The child may have ended by itself.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output on which nothing comes until the sender is dropped.
    struct Silent(mpsc::Receiver<()>);

    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            self.0.recv().unwrap_or(());
            Ok(0)
        }
    }

    #[test]
    fn a_shard_that_does_not_listen_in_time_is_an_error() {
        let (end, silent) = mpsc::channel();
        let error = first_line(Silent(silent), Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.to_string(), "a shard that was started does not listen after 0.02 s");
        drop(end);
        let said = first_line(&b"shard listens on 127.0.0.1:7\nmore"[..], START_MAX).unwrap();
        assert_eq!(said.trim(), "shard listens on 127.0.0.1:7");
        assert_eq!(first_line(&b""[..], START_MAX).unwrap(), "");
    }

    #[test]
    fn a_build_that_is_not_known_is_taken_for_no_other_one() {
        assert!(program_of(None).unwrap_err().to_string().contains("cannot tell its build"));
        let program = program_of(Some("0x0123456789abcdef0123".to_owned())).unwrap();
        assert!(program.ends_with("of the build 0x0123456789abcdef"), "{program}");
    }
}
