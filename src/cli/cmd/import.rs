//! `stress import`: turns blocks of files or of a node into a workload file. Before it writes, it
//! compares the outcome that the files or the node give with the outcome of the reference.

mod chain;
mod file;
mod files;
mod folder;
mod spec_tests;

use std::num::{NonZeroU64, NonZeroUsize};

use clap::{Args, Subcommand};
use generator::import::{
    self, Imported,
    rpc::{BlockName, MAX_BLOCKS, Wanted},
};

use crate::{
    cli::args::{ArgsOrVerb, OutputArgs},
    client::node::HttpNode,
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail},
};

pub(super) use file::failure;
use file::{fork_named, write};

pub use files::FilesArgs;

const RPC_EXAMPLES: &str = "\
Examples:
  stress import rpc --url http://127.0.0.1:8545 --out block.workload
  stress import rpc --url http://127.0.0.1:8545 --block 24476005 --blocks 8 \\
                    --batch 8 --out mega.workload";

/// Verbs of `stress import`.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Blocks of a running node, by its JSON-RPC interface
    Rpc(RpcArgs),
}

/// Arguments of `stress import rpc`.
#[derive(Debug, Args)]
#[command(after_help = RPC_EXAMPLES)]
pub struct RpcArgs {
    /// The node's JSON-RPC interface over HTTP
    #[arg(long, value_name = "URL", env = "STRESS_RPC_URL", hide_env_values = true)]
    pub url: String,
    /// The last block: a number, a hash, or latest
    #[arg(long, value_name = "BLOCK", default_value = "latest")]
    pub block: BlockName,
    /// Number of consecutive blocks, of which --block is the last
    #[arg(long, value_name = "N", default_value = "1")]
    pub blocks: NonZeroU64,
    /// Consecutive blocks that are run as one
    #[arg(long, value_name = "N", default_value = "1")]
    pub batch: NonZeroUsize,
    /// Rules of the blocks, from paris to amsterdam; else as the node says (`eth_config`)
    #[arg(long, value_name = "FORK")]
    pub fork: Option<String>,
    /// The file
    #[command(flatten)]
    pub to: OutputArgs,
}

/// Imports blocks and writes their workloads.
pub fn import(verb: &ArgsOrVerb<FilesArgs, ImportCommand>) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::progress_form());
    let args = match verb {
        ArgsOrVerb::Args(args) => return files::import(args, &progress),
        ArgsOrVerb::Verb(ImportCommand::Rpc(args)) => args,
    };
    // A file that cannot be written is an error before the work, not after it.
    let file = args.to.file()?;
    terminal::out(&write(rpc(args, &progress)?, file, args.batch, &progress)?);
    Ok(Code::Fine)
}

fn rpc(args: &RpcArgs, progress: &Progress) -> Result<Imported, Failure> {
    if args.blocks.get() > MAX_BLOCKS {
        fail!(Code::Usage, "--blocks {}: give 1 to {MAX_BLOCKS}", args.blocks);
    }
    let wanted = Wanted {
        last: args.block,
        count: args.blocks,
        fork: args.fork.as_deref().map(fork_named).transpose()?,
    };
    let stage = progress.stage("asking the node", 0);
    let on_answers = |count| stage.set(count, 0);
    let mut node = HttpNode::new(&args.url, &on_answers).with_exit_code(Code::Usage)?;
    let imported = import::rpc_blocks(&mut node, &wanted).map_err(failure)?;
    stage.finish();
    Ok(imported)
}
