//! `stress shard`: serves a shard of execution for a coordinator on this host or another, or
//! simulates shards.

use std::{io::Read, net::SocketAddr, thread, time::Duration};

use clap::{Args, Subcommand};
use shard::ServerInput;

use super::simulate::{self, SimulateArgs};
use crate::{
    run::shards::{self, LISTENING, TOKEN},
    terminal::{self, Code, Failure, WithExitCode, exit::fail, interrupt},
};

/// Interval at which the server checks whether it must end.
const END_CHECK: Duration = Duration::from_millis(50);

/// Help of `stress shard`.
pub const EXAMPLES: &str = "\
Examples:
  stress shard serve --listen 127.0.0.1:7001
  stress shard simulate dapps --shards 1,8,30";

/// Verbs of `stress shard`.
#[derive(Debug, Subcommand)]
pub enum ShardCommand {
    /// Execute parts of batches for a coordinator
    Serve(ServeArgs),
    /// Predict times on more shards of execution than there are here
    Simulate(Box<SimulateArgs>),
}

impl ShardCommand {
    /// Carries out the verb.
    pub fn run(self) -> Result<Code, Failure> {
        match self {
            Self::Serve(args) => serve(&args),
            Self::Simulate(args) => simulate::simulate(*args),
        }
    }
}

/// Arguments of `stress shard serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress shard serve --listen 127.0.0.1:7001
  STRESS_SHARD_TOKEN=$(cat token) stress shard serve --listen 10.0.0.7:7001
  stress sload-storm --design batched-io --set run.shards=1 --set run.shard_addresses=127.0.0.1:7001
  stress dapps --design block-stm --shards 2       starts two shards on this host by itself

docs/shards.md says how work and values travel.")]
pub struct ServeArgs {
    /// Address and port to listen on; beyond the loopback `STRESS_SHARD_TOKEN` must be set, here
    /// and at the coordinator
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7001")]
    pub listen: SocketAddr,
    /// End when standard input does: for a coordinator that starts its shards
    #[arg(long, hide = true)]
    pub attached: bool,
}

/// Serves until the user interrupts, or with `--attached` until standard input ends.
fn serve(args: &ServeArgs) -> Result<Code, Failure> {
    let (listen, token) = (args.listen, shards::token());
    if !listen.ip().is_loopback() && token.is_none() {
        fail!(
            Code::Usage,
            "--listen {listen}: whoever reaches this address could have work executed; set {TOKEN} to a \
             secret, here and at the coordinator, or listen on 127.0.0.1"
        );
    }
    if args.attached {
        thread::spawn(|| {
            // The coordinator writes nothing to standard input: only its end matters.
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
            interrupt::flag().store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
    let program = shards::program().with_exit_code(Code::Io)?;
    let input = ServerInput { listen, token, program };
    let served = shard::serve(
        &input,
        |address| terminal::out(&format!("{LISTENING}{address}\n")),
        END_CHECK,
        interrupt::happened,
    );
    served.with_exit_code(Code::Io)?;
    Ok(Code::Fine)
}
