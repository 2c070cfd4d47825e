//! `stress import`: real blocks become a workload file. Their outcome in the files or the node is
//! compared with the reference's before anything is written.

mod blockchain_test;
mod file;

use std::{
    num::{NonZeroU64, NonZeroUsize},
    path::PathBuf,
};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use generator::import::{
    self, Imported, TransitionFiles,
    rpc::{BlockName, MAX_BLOCKS, Wanted},
};
use workload::Fork;

use crate::{
    cli::args::OutputArgs,
    client::node::HttpNode,
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail},
};

use blockchain_test::BlockchainTestArgs;
use file::{Named, failure, read, write};

const IMPORT_EXAMPLES: &str = "\
Examples:
  stress import rpc --url http://127.0.0.1:8545 --out block.workload
  stress import blockchain-test test.json --out test.workload
  stress import t8n --alloc alloc.json --env env.json --txs txs.json \\
                    --fork bpo2 --result result.json --out block.workload
  stress --workload block.workload --store rocksdb,memory

Exit codes: 0 fine, 2 a file is wrong or the block cannot be run, 3 the block's outcome is
not that of the files or the node, 6 input or output, or no answer from the node, 130 interrupted.
More: docs/import-export.md";

const T8N_EXAMPLES: &str = "\
Examples:
  stress import t8n --alloc alloc.json --env env.json --txs txs.json \\
                    --fork bpo2 --out block.workload
  stress import t8n --alloc alloc.json --env env.json --txs txs.json \\
                    --fork bpo2 --result result.json --out block.workload";

/// Its usage in lines of a screen; `clap` does not wrap it.
const T8N_USAGE: &str = "\
stress import t8n [OPTIONS] --alloc <FILE> --env <FILE> --txs <FILE>
                         --fork <FORK> --out <FILE>";

const RPC_EXAMPLES: &str = "\
Examples:
  stress import rpc --url http://127.0.0.1:8545 --out block.workload
  stress import rpc --url http://127.0.0.1:8545 --block 24476005 --blocks 8 \\
                    --batch 8 --out mega.workload";

/// Arguments of `stress import`.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// The format
    #[command(subcommand)]
    pub command: ImportCommand,
}

/// Formats of `stress import`.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Files of go-ethereum's state transition tool (`evm t8n`)
    T8n(T8nArgs),
    /// A `blockchain_test` file of execution-spec-tests
    BlockchainTest(BlockchainTestArgs),
    /// Blocks of a running node, by its JSON-RPC interface
    Rpc(RpcArgs),
}

impl ImportCommand {
    /// The file to write.
    const fn to(&self) -> &OutputArgs {
        match self {
            Self::T8n(args) => &args.to,
            Self::BlockchainTest(args) => &args.to,
            Self::Rpc(args) => &args.to,
        }
    }
}

/// Arguments of `stress import t8n`.
#[derive(Debug, Args)]
#[command(after_help = T8N_EXAMPLES, override_usage = T8N_USAGE)]
pub struct T8nArgs {
    /// The state before the block: --input.alloc of the tool
    #[arg(long, value_name = "FILE")]
    pub alloc: PathBuf,
    /// The block's environment: --input.env
    #[arg(long, value_name = "FILE")]
    pub env: PathBuf,
    /// Its transactions, as JSON or as RLP in a JSON text: --input.txs
    #[arg(long, value_name = "FILE")]
    pub txs: PathBuf,
    /// The tool's result, to be compared: --output.result
    #[arg(long, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// The tool was given more accounts than FILE of --alloc has: do not compare the state root
    #[arg(long, requires = "result")]
    pub partial_alloc: bool,
    /// Rules of the block: paris, shanghai, cancun, prague, osaka, bpo1, bpo2 or amsterdam (--state.fork)
    #[arg(long, value_name = "FORK")]
    pub fork: String,
    /// Chain id (--state.chainid)
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub chain_id: u64,
    /// The file
    #[command(flatten)]
    pub to: OutputArgs,
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
pub fn import(args: &ImportArgs) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::look());
    if let ImportCommand::BlockchainTest(args) = &args.command
        && args.file.is_dir()
    {
        return blockchain_test::import_folder(args, &progress);
    }
    // A file that cannot be written is better known before the work than after it.
    let file = args.command.to().file()?;
    let (imported, batch) = match &args.command {
        ImportCommand::T8n(args) => (transition(args)?, NonZeroUsize::MIN),
        ImportCommand::BlockchainTest(args) => (blockchain_test::imported(args)?, args.batch),
        ImportCommand::Rpc(args) => (rpc(args, &progress)?, args.batch),
    };
    terminal::out(&write(imported, file, batch, &progress)?);
    Ok(Code::Fine)
}

/// The fork that was named.
fn fork_named(name: &str) -> Result<Fork, Failure> {
    let fork = import::fork_of(name)
        .ok_or_else(|| anyhow!("--fork {name}: no such fork; there are {}", import::fork_names()));
    fork.with_exit_code(Code::Usage)
}

fn rpc(args: &RpcArgs, progress: &Progress) -> Result<Imported, Failure> {
    let most = MAX_BLOCKS;
    if args.blocks.get() > most {
        fail!(Code::Usage, "--blocks {}: give 1 to {most}", args.blocks);
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

fn transition(args: &T8nArgs) -> Result<Imported, Failure> {
    let fork = fork_named(&args.fork)?;
    let (alloc, env, txs) = (read(&args.alloc)?, read(&args.env)?, read(&args.txs)?);
    let result = args.result.as_deref().map(read).transpose()?;
    let files = TransitionFiles {
        alloc: alloc.text(),
        env: env.text(),
        txs: txs.text(),
        result: result.as_ref().map(Named::text),
    };
    let mut imported = import::transition(files, fork, args.chain_id).map_err(failure)?;
    if args.partial_alloc {
        for block in &mut imported.blocks {
            block.state_root = None;
        }
    }
    Ok(imported)
}
